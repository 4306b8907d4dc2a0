//! The watcher and the delegations as the tools see them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{DelegationId, ProcessId};
use homing_domain::owner::Owner;
use homing_ports::agent::ToolError;
use homing_ports::processes::{KillOutcome, ProcessError, StartRequest};
use homing_ports::store::{Change, NewProcess};
use homing_tools::{Ended, Supervision};
use homing_watcher::{BeginError, Wait, Watcher};

use crate::delegations;
use crate::inside::Inside;

#[derive(Debug)]
pub(crate) struct InsideSupervision {
    pub watcher: Watcher,
    pub inside: Weak<Inside>,
}

#[async_trait]
impl Supervision for InsideSupervision {
    async fn begin(
        &self,
        new: NewProcess,
        request: StartRequest,
        guards: Vec<Change>,
    ) -> Result<ProcessId, ToolError> {
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
        owner: Owner,
        key: &str,
        task: String,
        guards: Vec<Change>,
    ) -> Result<DelegationId, ToolError> {
        let inside: Arc<Inside> = self.inside.upgrade().ok_or(ToolError::Cancelled)?;
        delegations::begin(&inside, owner, key, task, guards).await
    }
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
