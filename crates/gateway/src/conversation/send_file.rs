//! A file that an agent sends: the gateway's own copy, through the outbox like everything else that leaves.

use std::path::PathBuf;

use homing_domain::ids::TurnId;
use homing_ports::platform::{OutgoingFile, OutgoingKind};
use homing_ports::store::{Change, NewOutgoing, StoreError};

use super::{About, Conversation};

/// A copy that is ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Copied {
    pub turn: TurnId,
    pub path: PathBuf,
    pub name: String,
    pub caption: String,
}

impl Conversation {
    /// Behind the turn's guard: what is over sends nothing any more. The error is for the agent.
    pub(super) async fn send_copied(
        &mut self,
        copied: &Copied,
    ) -> Result<Result<(), String>, StoreError> {
        let Some(running) = self
            .turn
            .as_ref()
            .filter(|running| running.turn == copied.turn)
        else {
            return Ok(Err("the turn is over".into()));
        };
        let answer = match &running.about {
            About::Person { answer } => answer.clone(),
            About::Background { .. } => {
                return Ok(Err(
                    "no files are sent with a background result; name the file in your answer"
                        .into(),
                ));
            }
        };
        let lineage = running.lineage;
        let mut said: Vec<NewOutgoing> = self.outgoing(
            Some(lineage),
            Some(copied.turn),
            OutgoingKind::Answer,
            &answer,
            // A caption is one message: what is longer is cut to the first part of it.
            match copied.caption.trim() {
                "" => &copied.name,
                caption => caption,
            },
        );
        said.truncate(1);
        if let Some(one) = said.first_mut() {
            one.extras.file = Some(OutgoingFile {
                path: copied.path.clone(),
                name: copied.name.clone(),
            });
        }
        let counted = Change::CountTool { turn: copied.turn };
        Ok(match self.commit_and_send(vec![counted], said).await? {
            true => Ok(()),
            false => Err("the turn is over".into()),
        })
    }
}
