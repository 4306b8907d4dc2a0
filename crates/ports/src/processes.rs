//! Background processes: started under a supervisor of their own that outlives the gateway.
//!
//! **Invariant:** [`Processes::fate`] reads the run folder, never memory; what it says survives every crash of the gateway.
//! **Absent on purpose:** owners. Whose process it is stands in the store, committed before [`Processes::start`] is called (OWN-20).

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::ProcessId;
use homing_domain::process::Ending;
use homing_domain::time::Timestamp;
use tokio::sync::mpsc;

#[async_trait]
pub trait Processes: Send + Sync + 'static {
    /// Starts a supervisor and, under it, the program. Returns once the program has been executed, or the reason why it could not be.
    /// A second start of the same id is refused.
    async fn start(&self, request: StartRequest) -> Result<Started, StartError>;

    /// What has become of it. `Running` is only said while the supervisor's lock is held.
    async fn fate(&self, process: ProcessId) -> Result<Fate, ProcessError>;

    /// Watches a process of an earlier gateway (again) and says what has become of it. Idempotent.
    async fn adopt(&self, process: ProcessId) -> Result<Fate, ProcessError>;

    /// Kept output from byte `from` of everything ever written; at most `limit` bytes.
    async fn output(
        &self,
        process: ProcessId,
        from: u64,
        limit: usize,
    ) -> Result<OutputChunk, ProcessError>;

    /// The last `limit` bytes of what was written.
    async fn tail(&self, process: ProcessId, limit: usize) -> Result<OutputChunk, ProcessError>;

    /// Ends the whole tree: SIGTERM to the program's group, after `grace` SIGKILL to everything that is left. Returns when the request is
    /// with the supervisor; the end itself arrives as a wake like any other.
    async fn kill(&self, process: ProcessId, grace: Duration) -> Result<KillOutcome, ProcessError>;

    /// Writes to its standard input (if it was started with `Input::Open`). All or an error.
    async fn write(&self, process: ProcessId, bytes: &[u8]) -> Result<(), ProcessError>;

    async fn close_input(&self, process: ProcessId) -> Result<(), ProcessError>;

    /// Its end is committed in the store: the folder may be cleaned once `forget` is called.
    async fn acknowledge(&self, process: ProcessId) -> Result<(), ProcessError>;

    /// Removes the run folder of an ended process. A living one is refused.
    async fn forget(&self, process: ProcessId) -> Result<(), ProcessError>;

    /// "Look again" signals. Taken once; a second call gives `None`. A wake carries no facts.
    fn wakes(&self) -> Option<mpsc::UnboundedReceiver<ProcessWake>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessWake {
    /// It wrote something (coalesced; sent for processes started with `signal_output`).
    Output(ProcessId),
    /// Its exit record is on disk, or its supervisor is gone.
    Ended(ProcessId),
}

#[derive(Debug, Clone)]
pub struct StartRequest {
    pub process: ProcessId,
    pub program: Program,
    /// Where it runs. Must exist.
    pub directory: PathBuf,
    /// The whole environment: nothing is inherited.
    pub environment: Vec<(String, String)>,
    pub input: Input,
    pub terminal: Option<TerminalSize>,
    /// Send [`ProcessWake::Output`] when it writes.
    pub signal_output: bool,
    pub keep: OutputKeep,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// Given to `/bin/sh -c`.
    Shell(String),
    Arguments(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Input {
    /// `/dev/null`.
    #[default]
    Empty,
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

/// How much output stays on disk, in bytes. The first `head` and at least the last `tail`; the total is always counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputKeep {
    pub head: u64,
    pub tail: u64,
}

impl Default for OutputKeep {
    fn default() -> Self {
        Self {
            head: 64 * 1024,
            tail: 4 * 1024 * 1024,
        }
    }
}

/// Which process it is: a pid alone is recycled, a pid with its start time is not (OWN-92).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub pid: i32,
    /// Clock ticks since boot, field 22 of `/proc/PID/stat`.
    pub start_time: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub supervisor: Identity,
    pub program: Identity,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    Running(Started),
    /// It ended; `ending` is a code, a signal, or lost with its reason.
    Ended(ExitRecord),
    /// It could not be executed, or no supervisor was ever started for it. Nothing ran.
    NeverRan(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitRecord {
    pub ending: Ending,
    pub ended_at: Timestamp,
    /// Bytes ever written by it.
    pub output_total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputChunk {
    /// Offset of the first byte of `bytes` in everything ever written. Greater than asked for if what was asked for is no longer kept.
    pub from: u64,
    pub bytes: Vec<u8>,
    /// Bytes written so far.
    pub total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum KillOutcome {
    Asked,
    AlreadyEnded,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("process {0} was started before")]
    StartedBefore(ProcessId),
    /// The program could not be executed: no such directory, no such file, no permission. Final.
    #[error("cannot run it: {0}")]
    CannotRun(String),
    /// The supervisor could not be started, or its folder not be made: too many files, disk full. Nothing ran.
    #[error("starting the supervisor of process {process}")]
    Supervisor {
        process: ProcessId,
        #[source]
        source: std::io::Error,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("there is no run folder for process {0}")]
    Unknown(ProcessId),
    #[error("process {0} has ended")]
    Ended(ProcessId),
    #[error("process {0} is still running")]
    Running(ProcessId),
    #[error("process {0} was started without an open standard input")]
    NoInput(ProcessId),
    #[error("reading the run folder of process {process}")]
    Folder {
        process: ProcessId,
        #[source]
        source: std::io::Error,
    },
}
