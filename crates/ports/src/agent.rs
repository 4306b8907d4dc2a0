//! What answers: asked for a turn, it may call tools, and says one answer.
//!
//! **Invariant:** a turn gets everything it needs as arguments. An agent keeps no conversation between turns and knows no "current session".
//! **Absent on purpose:** where the answer goes. The gateway checks and sends it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{DelegationId, NotificationId, ProcessId, SessionId, TurnId, WindowId};
use homing_domain::key::SessionKey;
use homing_domain::notification::Kind;
use homing_domain::process::{Consumption, Ending, ProcessState};
use homing_domain::time::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::store::{MessageRow, Source, StoreError};

#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Runs one turn to its end. When `cancel` fires it must return soon; what it returns then is not sent.
    async fn turn(
        &self,
        request: TurnRequest,
        tools: Arc<dyn Toolbox>,
        cancel: CancellationToken,
    ) -> Result<TurnAnswer, AgentError>;

    /// What is worth keeping of a history that is being compressed.
    async fn summarize(
        &self,
        session: SessionId,
        history: &[MessageRow],
    ) -> Result<String, AgentError>;
}

#[derive(Debug, Clone)]
pub struct TurnRequest {
    pub turn: TurnId,
    pub key: SessionKey,
    /// The session pinned for everything that this turn starts (OWN-21).
    pub session: SessionId,
    pub window: Option<WindowId>,
    pub about: TurnAbout,
}

#[derive(Debug, Clone)]
pub enum TurnAbout {
    Person {
        author: Option<String>,
        text: String,
    },
    /// A sub-agent's task (OWN-23). Its answer is the delegation's result.
    Delegated {
        delegation: DelegationId,
        task: String,
    },
    /// Notifications that wait for this conversation, told together (OWN-63).
    Background {
        items: Vec<AboutItem>,
        /// The fenced block for a model.
        block: String,
        /// The same for people; an agent without a model can answer with it.
        plain: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AboutItem {
    pub notification: NotificationId,
    pub source: Source,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnAnswer {
    /// May be empty: then nothing is sent.
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("the turn was cancelled")]
    Cancelled,
    #[error("{0}")]
    Failed(String),
    #[error("a tool could not do its work")]
    Tool(#[from] ToolError),
}

/// The tools of one turn, bound to its session.
#[async_trait]
pub trait Toolbox: fmt::Debug + Send + Sync + 'static {
    async fn call(&self, call: ToolCall) -> Result<ToolAnswer, ToolError>;
    /// The session's history, newest last, without what this turn adds.
    async fn history(&self, limit: usize) -> Result<Vec<MessageRow>, ToolError>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    /// Runs a command and waits for its end.
    Run { command: String },
    /// Starts a background process.
    Start(StartCall),
    /// Waits for a process to end; seeing the end consumes it (OWN-50).
    Wait { process: ProcessId, limit: Duration },
    /// Reads output; reaching the end of a finished process consumes it (OWN-50).
    Log {
        process: ProcessId,
        from: LogFrom,
        limit: usize,
    },
    /// Looks at one process. Never consumes.
    Poll { process: ProcessId },
    /// Looks at all processes of the conversation. Never consumes.
    List,
    /// Writes to the standard input of a process that was started with `input`.
    Write { process: ProcessId, bytes: Vec<u8> },
    /// Closes that standard input: the program sees the end of it.
    CloseInput { process: ProcessId },
    /// Starts a sub-agent and does not wait for it.
    Delegate {
        task: String,
        /// The console window that asked, where it is not the turn's own.
        window: Option<WindowId>,
    },
    /// Ends a process and what it started.
    Kill { process: ProcessId },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartCall {
    pub command: String,
    /// Tell when it ends.
    pub notify: bool,
    /// Plain text, or `re:` and a regular expression (OWN-80).
    pub watch: Vec<String>,
    /// The console window that asked, where it is not the turn's own.
    pub window: Option<WindowId>,
    /// It runs until it is stopped: nobody waits for its end.
    pub service: bool,
    /// Its standard input stays open for `Write`.
    pub input: bool,
    /// It gets a terminal instead of pipes.
    pub terminal: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFrom {
    Offset(u64),
    /// The last bytes.
    Tail,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAnswer {
    /// `Run` ended.
    Ran {
        process: ProcessId,
        ending: Ending,
        output: Vec<u8>,
        output_total: u64,
        ran_for: Duration,
    },
    Started {
        process: ProcessId,
    },
    Delegated {
        delegation: DelegationId,
    },
    /// `Write` or `CloseInput` is done.
    Done,
    /// A foreground command was moved to the background while it was waited for.
    Moved {
        process: ProcessId,
    },
    /// `Wait` or `Poll`.
    Process(ProcessView),
    /// `Wait` reached its limit; the process still runs.
    StillRunning(ProcessView),
    Log {
        from: u64,
        bytes: Vec<u8>,
        total: u64,
        ended: bool,
    },
    List(Vec<ProcessView>),
    KillAsked {
        process: ProcessId,
    },
    /// `Kill` of what had ended before.
    AlreadyEnded(ProcessView),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessView {
    pub process: ProcessId,
    pub command: String,
    pub state: ProcessState,
    pub ending: Option<Ending>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub consumed: Option<Consumption>,
}

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("process {0} does not belong to this conversation; `list` shows those that do")]
    NotYours(ProcessId),
    #[error("{0}")]
    Refused(String),
    #[error("the session of this turn has ended")]
    SessionEnded,
    #[error("the turn was cancelled")]
    Cancelled,
    #[error("the store cannot answer")]
    Store(#[from] StoreError),
    #[error("the process could not be reached")]
    Process(#[from] crate::processes::ProcessError),
}
