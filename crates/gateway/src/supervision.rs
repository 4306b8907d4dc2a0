//! The watcher and the delegations as the tools see them.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{DelegationId, ProcessId, TurnId};
use homing_domain::owner::Owner;
use homing_ports::agent::ToolError;
use homing_ports::processes::{KillOutcome, ProcessError, StartRequest};
use homing_ports::store::{Change, DelegationState, InboundRow, NewProcess};
use homing_tools::{Ended, Supervision};
use homing_watcher::{BeginError, Wait, Watcher};

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
        tasks: Vec<String>,
        guards: Vec<Change>,
    ) -> Result<Vec<DelegationId>, ToolError> {
        delegations::begin(&self.inside()?, owner, key, tasks, guards).await
    }

    async fn delegations_ended(
        &self,
        delegations: &[DelegationId],
    ) -> Result<Vec<(DelegationId, DelegationState, String)>, ToolError> {
        delegations::ended(&self.inside()?, delegations).await
    }

    fn has_moved(&self, process: ProcessId) {
        self.watcher.has_moved_to_background(process);
    }

    async fn send_file(
        &self,
        _turn: TurnId,
        _owner: &Owner,
        _path: &Path,
        _caption: String,
    ) -> Result<(), ToolError> {
        Err(ToolError::Refused("this cannot send files yet".into()))
    }

    fn steering(&self, _turn: TurnId) -> Vec<InboundRow> {
        Vec::new()
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
