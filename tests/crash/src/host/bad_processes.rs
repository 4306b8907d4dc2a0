//! Processes that are started once more by a restart, or whose unknown end is rounded to success.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::ProcessId;
use homing_domain::process::Ending;
use homing_ports::processes::{
    Fate, KillOutcome, OutputChunk, ProcessError, ProcessWake, Processes, StartError, StartRequest,
    Started,
};
use homing_processes::ShimProcesses;
use homing_shim::folder::Folder;
use tokio::sync::mpsc;

use crate::planted::Planted;

pub fn concerns(planted: Planted) -> bool {
    matches!(planted, Planted::StartAgain | Planted::LostAsSuccess)
}

pub struct Bad {
    inner: ShimProcesses,
    run: PathBuf,
    planted: Planted,
}

impl Bad {
    pub fn new(inner: ShimProcesses, run: PathBuf, planted: Planted) -> Bad {
        Bad {
            inner,
            run,
            planted,
        }
    }

    /// As a gateway would that takes what it finds for something it still has to start.
    fn start_again(&self, process: ProcessId) -> Option<()> {
        let spec = Folder::new(self.run.join(process.to_string()))
            .spec()
            .ok()??;
        let (program, arguments) = spec.arguments.split_first()?;
        let environment = spec.environment.iter().filter_map(|entry| {
            let (name, value) = entry.to_str()?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        // Not waited for: it is to run beside the first one. It ends by itself within seconds.
        command.spawn().ok().map(drop)
    }

    fn rounded(&self, fate: Fate) -> Fate {
        match fate {
            Fate::Ended(mut record)
                if self.planted == Planted::LostAsSuccess
                    && matches!(record.ending, Ending::Lost(_)) =>
            {
                record.ending = Ending::Code(0);
                Fate::Ended(record)
            }
            fate => fate,
        }
    }
}

#[async_trait]
impl Processes for Bad {
    async fn start(&self, request: StartRequest) -> Result<Started, StartError> {
        self.inner.start(request).await
    }
    async fn fate(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        Ok(self.rounded(self.inner.fate(process).await?))
    }
    async fn adopt(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        let fate = self.inner.adopt(process).await?;
        if self.planted == Planted::StartAgain {
            self.start_again(process);
        }
        Ok(self.rounded(fate))
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
        self.inner.kill(process, grace).await
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
