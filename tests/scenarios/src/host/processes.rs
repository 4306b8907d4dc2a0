//! The real processes, and which of them somebody asked to end: a scenario waits for those.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::ProcessId;
use homing_ports::processes::{
    Fate, KillOutcome, OutputChunk, ProcessError, ProcessWake, Processes, StartError, StartRequest,
    Started,
};
use homing_processes::ShimProcesses;
use tokio::sync::mpsc;

#[derive(Debug)]
pub struct Recorded {
    inner: ShimProcesses,
    kill_asked: Mutex<BTreeSet<ProcessId>>,
    refusals: AtomicU32,
}

impl Recorded {
    /// The first `refusals` kills are not taken, as by a supervisor that does not read.
    pub fn new(inner: ShimProcesses, refusals: u32) -> Recorded {
        Recorded {
            inner,
            kill_asked: Mutex::default(),
            refusals: AtomicU32::new(refusals),
        }
    }

    pub fn kill_asked(&self) -> Vec<ProcessId> {
        self.kill_asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .copied()
            .collect()
    }
}

#[async_trait]
impl Processes for Recorded {
    async fn start(&self, request: StartRequest) -> Result<Started, StartError> {
        self.inner.start(request).await
    }
    async fn fate(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        self.inner.fate(process).await
    }
    async fn adopt(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        self.inner.adopt(process).await
    }
    async fn output(
        &self,
        process: ProcessId,
        from: u64,
        limit: usize,
    ) -> Result<OutputChunk, ProcessError> {
        self.inner.output(process, from, limit).await
    }
    async fn tail(&self, process: ProcessId, limit: usize) -> Result<OutputChunk, ProcessError> {
        self.inner.tail(process, limit).await
    }
    async fn kill(&self, process: ProcessId, grace: Duration) -> Result<KillOutcome, ProcessError> {
        let less = |left: u32| left.checked_sub(1);
        let refused = self
            .refusals
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        if refused.is_ok() {
            return Err(ProcessError::Folder {
                process,
                source: std::io::Error::other("its supervisor does not read"),
            });
        }
        let outcome = self.inner.kill(process, grace).await?;
        if outcome == KillOutcome::Asked {
            self.kill_asked
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(process);
        }
        Ok(outcome)
    }
    async fn write(&self, process: ProcessId, bytes: &[u8]) -> Result<(), ProcessError> {
        self.inner.write(process, bytes).await
    }
    async fn close_input(&self, process: ProcessId) -> Result<(), ProcessError> {
        self.inner.close_input(process).await
    }
    async fn acknowledge(&self, process: ProcessId) -> Result<(), ProcessError> {
        self.inner.acknowledge(process).await
    }
    async fn forget(&self, process: ProcessId) -> Result<(), ProcessError> {
        self.inner.forget(process).await
    }
    fn wakes(&self) -> Option<mpsc::UnboundedReceiver<ProcessWake>> {
        self.inner.wakes()
    }
}
