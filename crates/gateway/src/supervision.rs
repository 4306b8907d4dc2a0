//! The watcher as the tools see it.

use async_trait::async_trait;
use homing_domain::ids::ProcessId;
use homing_ports::agent::ToolError;
use homing_ports::processes::StartRequest;
use homing_ports::store::{Change, NewProcess};
use homing_tools::Supervision;
use homing_watcher::{BeginError, Watcher};

#[derive(Debug)]
pub(crate) struct WatcherSupervision(pub Watcher);

#[async_trait]
impl Supervision for WatcherSupervision {
    async fn begin(
        &self,
        new: NewProcess,
        request: StartRequest,
        guards: Vec<Change>,
    ) -> Result<ProcessId, ToolError> {
        self.0
            .begin(new, request, guards)
            .await
            .map_err(|error| match error {
                BeginError::SessionEnded => ToolError::SessionEnded,
                BeginError::Store(error) => ToolError::Store(error),
                BeginError::Pattern(_) | BeginError::CannotRun(_) => {
                    ToolError::Refused(error.to_string())
                }
            })
    }

    async fn ended(&self, process: ProcessId) {
        self.0.ended(process).await;
    }
}
