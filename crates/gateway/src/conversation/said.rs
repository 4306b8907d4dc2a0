//! What a turn had said when it ended without an answer: people have read it, so it stays, and the history has it.
//!
//! **Invariant:** the history has each text once: what the turn has recorded itself is not entered again.

use homing_ports::store::{Change, Role, StoreError};

use super::live::Live;
use super::too_long::RECENT;
use super::{About, Conversation, RunningTurn};

/// Why a turn ended before its answer was whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutShort {
    Stopped,
    Interrupted,
}

impl Conversation {
    /// What the turn that runs had said, for the history.
    pub(super) async fn said_until_now(&self, why: CutShort) -> Result<Option<Change>, StoreError> {
        match &self.turn {
            Some(running) if matches!(running.about, About::Person { .. }) => {
                self.said_by(running, why).await
            }
            Some(_) | None => Ok(None),
        }
    }

    pub(super) async fn said_by(
        &self,
        running: &RunningTurn,
        why: CutShort,
    ) -> Result<Option<Change>, StoreError> {
        let said = running.said.borrow().unrecorded().to_owned();
        if said.is_empty() {
            return Ok(None);
        }
        // It may have been recorded a moment ago, and the turn has not said so yet.
        let recent = self.inside.store.history(running.session, RECENT).await?;
        let is_recorded = recent.iter().any(|message| {
            message.turn == Some(running.turn)
                && message.role == Role::Agent
                && message.text.trim() == said
        });
        let was_seen = running
            .live
            .as_ref()
            .is_some_and(|live| Live::shown(live).is_some());
        let text = told_with(&said, mark(why, was_seen));
        Ok((!is_recorded).then(|| self.append(running, Role::Agent, text, None)))
    }
}

/// Pure.
const fn mark(why: CutShort, was_seen: bool) -> &'static str {
    match (why, was_seen) {
        (CutShort::Stopped, true) => "(Stopped here.)",
        (CutShort::Stopped, false) => "(Stopped here, before this was sent.)",
        (CutShort::Interrupted, true) => "(Interrupted here by the next message.)",
        (CutShort::Interrupted, false) => {
            "(Interrupted here by the next message, before this was sent.)"
        }
    }
}

/// What was said, and then how it ended. Pure.
pub(crate) fn told_with(said: &str, ending: &str) -> String {
    match said.trim() {
        "" => ending.to_owned(),
        said => format!("{said}\n\n{ending}"),
    }
}
