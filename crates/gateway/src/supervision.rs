//! The watcher and the delegations as the tools see them.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, DelegationId, OutboxId, ProcessId, TurnId};
use homing_domain::owner::Owner;
use homing_ports::agent::ToolError;
use homing_ports::processes::{KillOutcome, ProcessError, StartRequest};
use homing_ports::store::{Change, DelegationState, InboundRow, NewProcess};
use homing_tools::{Approval, Ended, FileToSend, Question, Supervision};
use homing_watcher::{BeginError, Wait, Watcher};
use tokio::sync::oneshot;

use crate::conversation::{Copied, Wake};
use crate::delegations;
use crate::inside::Inside;

#[derive(Debug)]
pub(crate) struct InsideSupervision {
    pub watcher: Watcher,
    pub inside: Weak<Inside>,
}

impl InsideSupervision {
    fn inside(&self) -> Result<Arc<Inside>, ToolError> {
        self.inside.upgrade().ok_or(ToolError::Cancelled)
    }
}

#[async_trait]
impl Supervision for InsideSupervision {
    async fn begin(
        &self,
        mut new: NewProcess,
        request: StartRequest,
        guards: Vec<Change>,
    ) -> Result<ProcessId, ToolError> {
        // The turn may be older than a move of its place (OWN-72).
        new.owner.origin = self.inside()?.moves.follow(new.owner.origin);
        self.watcher
            .begin(new, request, guards)
            .await
            .map_err(|error| match error {
                BeginError::SessionEnded => ToolError::SessionEnded,
                BeginError::Store(error) => ToolError::Store(error),
                BeginError::Pattern(_) | BeginError::CannotRun(_) | BeginError::TooMany { .. } => {
                    ToolError::Refused(error.to_string())
                }
            })
    }

    async fn ended(&self, process: ProcessId) -> Ended {
        match self.watcher.ended(process).await {
            Wait::Ended => Ended::Ended,
            Wait::Moved => Ended::Moved,
        }
    }

    async fn kill(&self, process: ProcessId, grace: Duration) -> Result<KillOutcome, ToolError> {
        let inside: Arc<Inside> = self.inside.upgrade().ok_or(ToolError::Cancelled)?;
        kill(&inside, process, grace).await
    }

    async fn delegate(
        &self,
        mut owner: Owner,
        key: &str,
        tasks: Vec<String>,
        guards: Vec<Change>,
    ) -> Result<Vec<DelegationId>, ToolError> {
        let inside = self.inside()?;
        owner.origin = inside.moves.follow(owner.origin);
        delegations::begin(&inside, owner, key, tasks, guards).await
    }

    async fn delegations_ended(
        &self,
        conversation: ConversationId,
        delegations: &[DelegationId],
        guards: Vec<Change>,
    ) -> Result<Vec<(DelegationId, DelegationState, String)>, ToolError> {
        delegations::ended(&self.inside()?, conversation, delegations, guards).await
    }

    fn has_moved(&self, process: ProcessId) {
        self.watcher.has_moved_to_background(process);
    }

    async fn send_file(
        &self,
        turn: TurnId,
        owner: &Owner,
        file: FileToSend,
    ) -> Result<(), ToolError> {
        let inside = self.inside()?;
        let conversation = owner.conversation;
        let (name, caption) = (file.name.clone(), file.caption.clone());
        let folder = inside.settings.files.join(conversation.to_string());
        let number = inside.ids.next::<OutboxId>();
        let path = folder.join(format!("{number}-sent"));
        copy(file, folder, path.clone()).await?;
        let (answer, answered) = oneshot::channel();
        let copied = Copied {
            turn,
            path: path.clone(),
            name,
            caption,
        };
        let wake = Wake::SendFile(copied, answer);
        inside.mailboxes.wake(&inside, conversation, wake);
        let refused = match answered.await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => ToolError::Refused(why),
            Err(_) => ToolError::Cancelled,
        };
        // Nobody will send it.
        if let Err(error) = tokio::fs::remove_file(&path).await {
            tracing::warn!(path = %path.display(), %error, "a copy that is not sent could not be removed");
        }
        Err(refused)
    }

    async fn approve(&self, owner: &Owner, question: Question) -> Result<Approval, ToolError> {
        let inside = self.inside()?;
        let (answer, answered) = oneshot::channel();
        let wake = Wake::Approve(question, answer);
        inside.mailboxes.wake(&inside, owner.conversation, wake);
        // Nobody answers any more: the turn is over, or the gateway stops.
        Ok(answered.await.unwrap_or(Approval::Unanswered))
    }

    fn steering(&self, turn: TurnId) -> Vec<InboundRow> {
        self.inside
            .upgrade()
            .map(|inside| inside.steering.take(turn))
            .unwrap_or_default()
    }
}

/// The gateway's own copy: what the agent does to the file afterwards does not matter.
async fn copy(mut file: FileToSend, folder: PathBuf, path: PathBuf) -> Result<(), ToolError> {
    let copied = tokio::task::spawn_blocking(move || {
        std::fs::create_dir_all(&folder)?;
        let mut copy = std::fs::File::create_new(&path)?;
        std::io::copy(&mut file.file, &mut copy)?;
        copy.sync_all()
    });
    let why = match copied.await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    Err(ToolError::Refused(format!(
        "the file could not be copied: {why}"
    )))
}

/// Asks for its end. An error is not the last word: it is tried again, and its conversation is told if that comes to nothing.
pub(crate) async fn kill(
    inside: &Inside,
    process: ProcessId,
    grace: Duration,
) -> Result<KillOutcome, ToolError> {
    let watcher = inside.watcher.get().ok_or(ToolError::Cancelled)?;
    match watcher.kill(process, grace).await {
        Err(error @ ProcessError::Folder { .. }) => {
            tracing::debug!(process.id = %process, %error, "not asked to end yet");
            Err(ToolError::Refused(format!(
                "process {process} could not be asked to end yet; it is tried again, and its conversation is told if that comes to nothing"
            )))
        }
        asked => Ok(asked?),
    }
}
