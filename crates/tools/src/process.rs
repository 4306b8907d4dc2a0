//! Looking at processes, waiting for them, reading them, ending them.
//!
//! **Invariant:** `wait`, `log` and `kill` consume, and only for the owner (OWN-50). A sub-agent shares its root's lineage and is not the owner of what
//! the root or another sub-agent started: what it saw, nobody there has seen.

use std::time::Duration;

use homing_domain::ids::ProcessId;
use homing_domain::process::Consumption;
use homing_ports::agent::{LogFrom, ProcessView, ToolAnswer, ToolError};
use homing_ports::crash;
use homing_ports::processes::KillOutcome;
use homing_ports::store::{Change, Committed, ProcessRow};

use crate::{Ended, SessionTools};

/// Most bytes that one `log` answers.
const LOG_LIMIT: usize = 64 * 1024;
/// Processes that `list` shows.
const LISTED: u32 = 50;

impl SessionTools {
    /// A process of this conversation, or a refusal.
    pub(crate) async fn row(&self, process: ProcessId) -> Result<ProcessRow, ToolError> {
        let row = self.workshop.store.process(process).await?;
        row.filter(|row| row.owner.conversation == self.owner.conversation)
            .ok_or(ToolError::NotYours(process))
    }

    pub(crate) async fn wait(
        &self,
        process: ProcessId,
        limit: Duration,
    ) -> Result<ToolAnswer, ToolError> {
        let row = self.row(process).await?;
        if row.state.is_live() {
            let deadline = self.workshop.clock.now().plus(limit);
            let over = tokio::select! {
                ended = self.workshop.supervision.ended(process) => ended == Ended::Ended,
                () = self.workshop.clock.sleep_until(deadline) => false,
                () = self.cancel.cancelled() => return Err(ToolError::Cancelled),
            };
            if !over {
                return Ok(ToolAnswer::StillRunning(view(&self.row(process).await?)));
            }
        }
        self.consume(&row, Consumption::Waited).await?;
        Ok(ToolAnswer::Process(view(&self.row(process).await?)))
    }

    pub(crate) async fn log(
        &self,
        process: ProcessId,
        from: LogFrom,
        limit: usize,
    ) -> Result<ToolAnswer, ToolError> {
        let row = self.row(process).await?;
        let limit = limit.clamp(1, LOG_LIMIT);
        let chunk = match from {
            LogFrom::Offset(offset) => {
                self.workshop
                    .processes
                    .output(process, offset, limit)
                    .await?
            }
            LogFrom::Tail => self.workshop.processes.tail(process, limit).await?,
        };
        let ended = !row.state.is_live();
        if ended && chunk.from + chunk.bytes.len() as u64 >= chunk.total {
            self.consume(&row, Consumption::ReadToEnd).await?;
        }
        Ok(ToolAnswer::Log {
            from: chunk.from,
            bytes: chunk.bytes,
            total: chunk.total,
            ended,
        })
    }

    pub(crate) async fn poll(&self, process: ProcessId) -> Result<ToolAnswer, ToolError> {
        Ok(ToolAnswer::Process(view(&self.row(process).await?)))
    }

    pub(crate) async fn list(&self) -> Result<ToolAnswer, ToolError> {
        let rows = self
            .workshop
            .store
            .processes(self.owner.conversation, LISTED)
            .await?;
        Ok(ToolAnswer::List(rows.iter().map(view).collect()))
    }

    pub(crate) async fn write(
        &self,
        process: ProcessId,
        bytes: &[u8],
    ) -> Result<ToolAnswer, ToolError> {
        self.row(process).await?;
        self.workshop.processes.write(process, bytes).await?;
        Ok(ToolAnswer::Done)
    }

    pub(crate) async fn close_input(&self, process: ProcessId) -> Result<ToolAnswer, ToolError> {
        self.row(process).await?;
        self.workshop.processes.close_input(process).await?;
        Ok(ToolAnswer::Done)
    }

    pub(crate) async fn kill(&self, process: ProcessId) -> Result<ToolAnswer, ToolError> {
        let row = self.row(process).await?;
        if !row.state.is_live() {
            return Ok(ToolAnswer::AlreadyEnded(view(&row)));
        }
        // Marked first: an end that comes at once is already known to be wanted (OWN-38).
        self.consume(&row, Consumption::AgentKilled).await?;
        self.end_tree(process).await?;
        Ok(ToolAnswer::KillAsked { process })
    }

    pub(crate) async fn end_tree(&self, process: ProcessId) -> Result<(), ToolError> {
        let supervision = &self.workshop.supervision;
        match supervision.kill(process, self.workshop.kill_grace).await? {
            KillOutcome::Asked | KillOutcome::AlreadyEnded => Ok(()),
        }
    }

    /// Whether what is seen here is seen by whoever its end would be told to.
    pub(crate) fn takes_results_of(&self, row: &ProcessRow) -> bool {
        self.owner.delegation.is_none() || row.owner.delegation == self.owner.delegation
    }

    async fn consume(&self, row: &ProcessRow, how: Consumption) -> Result<(), ToolError> {
        if !self.takes_results_of(row) {
            return Ok(());
        }
        let process = row.id;
        match self
            .commit(vec![Change::Consume {
                process,
                lineage: self.owner.lineage,
                how,
            }])
            .await?
        {
            Committed::Done => crash::point("consume-after-commit"),
            // Marked before, or another lineage of this conversation owns it: looking is allowed, consuming is not.
            Committed::Unmet { what, .. } => {
                tracing::debug!(process.id = %process, what, "not consumed")
            }
        }
        Ok(())
    }
}

pub(crate) fn view(row: &ProcessRow) -> ProcessView {
    ProcessView {
        process: row.id,
        command: row.command.clone(),
        state: row.state,
        ending: row.ending,
        started_at: row.created_at,
        ended_at: row.ended_at,
        consumed: row.consumed,
    }
}
