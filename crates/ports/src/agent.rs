//! What answers: asked for a turn, it may call tools, and says one answer.
//!
//! **Invariant:** a turn gets everything it needs as arguments. An agent keeps no conversation between turns and knows no "current session".
//! **Absent on purpose:** where the answer goes. The gateway checks and sends it.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{
    DelegationId, MessageId, NotificationId, ProcessId, SessionId, TurnId, WindowId,
};
use homing_domain::key::SessionKey;
use homing_domain::notification::Kind;
use homing_domain::process::{Consumption, Ending, ProcessState};
use homing_domain::time::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::store::{Context, DelegationState, MessageRow, Source, StoreError, Usage};

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
    async fn summarize(&self, request: SummaryRequest) -> Result<Summary, AgentError>;

    /// The models that `/model` can choose, the profile's own first. Empty for an agent without models.
    fn models(&self) -> Vec<String> {
        Vec::new()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub text: String,
    /// From this message on everything stays word for word; `None`: all of it is in the text.
    pub kept_from: Option<MessageId>,
}

#[derive(Debug, Clone)]
pub struct SummaryRequest {
    pub session: SessionId,
    /// The model that was chosen for this conversation.
    pub model: Option<String>,
    pub context: Context,
    pub used: UsageMeter,
}

impl From<String> for Summary {
    fn from(text: String) -> Self {
        Self {
            text,
            kept_from: None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct TurnRequest {
    pub turn: TurnId,
    pub key: SessionKey,
    /// The session pinned for everything that this turn starts (OWN-21).
    pub session: SessionId,
    pub window: Option<WindowId>,
    /// The model that was chosen for this conversation.
    pub model: Option<String>,
    pub about: TurnAbout,
    /// Where what there is of the answer is shown while it is made.
    pub stream: TurnStream,
    pub used: UsageMeter,
}

/// What models have used and nobody has counted yet. The agent adds after each answer of a server, however the turn goes on; whoever keeps count
/// takes. Clones are the same meter.
#[derive(Debug, Clone, Default)]
pub struct UsageMeter(Arc<Mutex<Usage>>);

impl UsageMeter {
    pub fn add(&self, usage: Usage) {
        *self.lock() += usage;
    }

    /// Each is given once.
    pub fn take(&self) -> Usage {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        // Whole after every operation.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What there is of an answer, for people who wait. Nothing of it is a delivery. A turn that is to be quiet (OWN-67) has one that nobody reads.
#[derive(Debug, Clone)]
pub struct TurnStream(watch::Sender<Partial>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Partial {
    /// Markdown, all of it so far.
    pub text: String,
    /// Bytes of its beginning that are in the history already, as entries of the turn.
    pub recorded: usize,
    /// What is being done instead of writing, such as a tool that runs.
    pub doing: Option<String>,
}

impl Partial {
    /// What the history lacks of it.
    pub fn unrecorded(&self) -> &str {
        self.text.get(self.recorded..).unwrap_or_default().trim()
    }
}

impl TurnStream {
    pub fn new() -> (Self, watch::Receiver<Partial>) {
        let (sender, receiver) = watch::channel(Partial::default());
        (Self(sender), receiver)
    }

    pub fn push(&self, more: &str) {
        self.0.send_modify(|partial| {
            partial.text.push_str(more);
            partial.doing = None;
        });
    }

    /// What was shown so far is void, or is followed by something else.
    pub fn replace(&self, text: String) {
        self.0.send_modify(|partial| {
            partial.recorded = partial.recorded.min(text.len());
            partial.text = text;
        });
    }

    /// All of this is in the history now; more comes after it.
    pub fn keep(&self, text: String) {
        self.0.send_modify(|partial| {
            partial.recorded = text.len();
            partial.text = text;
        });
    }

    pub fn doing(&self, what: Option<String>) {
        self.0.send_modify(|partial| partial.doing = what);
    }
}

#[derive(Debug, Clone)]
pub enum TurnAbout {
    Person {
        author: Option<String>,
        text: String,
        /// What it answers to, if the person quoted something.
        quoted: Option<String>,
        /// Files that came with it, where they lie now.
        files: Vec<ReceivedFile>,
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

/// A file that a person sent, copied here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedFile {
    pub name: String,
    /// Where it lies, or why it does not.
    pub path: Result<PathBuf, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AboutItem {
    pub notification: NotificationId,
    pub source: Source,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnAnswer {
    /// May be empty: then nothing is sent.
    pub text: String,
    /// What the agent keeps beside it in the history.
    pub data: Option<String>,
}

impl From<String> for TurnAnswer {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("the turn was cancelled")]
    Cancelled,
    #[error("{0}")]
    Failed(String),
    /// The history does not fit the model any more. Said before any tool has run; the conversation is compressed and the turn begins again.
    #[error("the conversation is too long for the model")]
    TooLong,
    /// `plain` is one sentence for the person; `detail` is everything, for the operator's log.
    #[error("{plain}")]
    Model { plain: String, detail: String },
    #[error("a tool could not do its work")]
    Tool(#[from] ToolError),
}

/// The tools of one turn, bound to its session.
#[async_trait]
pub trait Toolbox: fmt::Debug + Send + Sync + 'static {
    async fn call(&self, call: ToolCall) -> Result<ToolAnswer, ToolError>;
    /// The session's history, newest last, this turn's own message included.
    async fn history(&self, limit: usize) -> Result<Vec<MessageRow>, ToolError>;
    /// The same as an agent sees it: the summary, what was kept beside it, without what was undone.
    async fn context(&self, limit: usize) -> Result<Context, ToolError>;

    /// The tools as a model is told of them.
    fn specs(&self) -> Vec<ToolSpec>;
    /// A call by a model: checked, asked about if it is dangerous, carried out, and answered in bounded text. What is wrong with it is an
    /// answer, too; an error is of the turn.
    async fn call_named(&self, name: &str, arguments: &str) -> Result<ToolText, ToolError>;
    /// Puts what the agent did into the history, as it happens.
    async fn record(&self, entry: Entry) -> Result<(), ToolError>;
    /// What people have written meanwhile for this turn to take up; each is given once, and is in the history then. `said` is what the agent would
    /// have ended with: if there is something to take up it enters the history before that, else not at all.
    async fn steering(&self, said: Option<Entry>) -> Result<Vec<Steered>, ToolError>;
}

/// A message that a turn has taken up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steered {
    /// As the history names them.
    pub author: Option<String>,
    pub text: String,
}

/// A tool for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: serde_json::Value,
}

/// What a model is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolText {
    pub text: String,
    /// The call did not do what it was asked for.
    pub failed: bool,
}

/// What an agent did within a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub role: EntryRole,
    pub text: String,
    /// In the agent's own JSON: tool calls, or the call that this answers.
    pub data: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryRole {
    Agent,
    Tool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    /// Runs a command and waits for its end.
    Run {
        command: String,
        /// After this long it goes on in the background.
        limit: Option<Duration>,
    },
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
        /// One sub-agent each. Several are told together, once all have ended.
        tasks: Vec<String>,
        /// Waits for all of them, and answers with what they found.
        wait: bool,
        /// The console window that asked, where it is not the turn's own.
        window: Option<WindowId>,
    },
    /// Ends a process and what it started.
    Kill { process: ProcessId },
    /// Sends a file of the workspace to where the turn's answer goes. Not in a background turn (OWN-67).
    SendFile { path: PathBuf, caption: String },
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
        delegations: Vec<DelegationId>,
    },
    /// `Delegate` with `wait`: each with its state and what it found.
    Found(Vec<(DelegationId, DelegationState, String)>),
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
