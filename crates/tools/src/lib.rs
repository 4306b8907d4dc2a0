//! What an agent may call, bound to one session.
//!
//! **Invariant:** a tool acts for the session it was made for, passed explicitly (OWN-21). What it writes is guarded in the same transaction:
//! if the session's turn is over or the conversation has moved on, nothing happens. A process of another conversation is refused (OWN-44).
//! **Absent on purpose:** a "current session", and the mailbox: a long tool blocks nobody but its own turn.

mod counting;
mod delegate;
mod environment;
mod history;
mod model;
mod process;
mod send_file;
mod terminal;
mod workspace;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, DelegationId, ProcessId, SessionId, TurnId};
use homing_domain::owner::Owner;
use homing_ports::agent::{
    Entry, Steered, ToolAnswer, ToolCall, ToolError, ToolSpec, ToolText, Toolbox,
};
use homing_ports::processes::{KillOutcome, Processes, StartRequest};
use homing_ports::store::{
    Asker, Change, Commit, Committed, Context, DelegationState, InboundRow, MessageRow, NewProcess,
    Store,
};
use homing_ports::{Clock, IdSource};
use tokio_util::sync::CancellationToken;

pub use counting::{Counting, Due};
pub use model::Inputs;

/// What the tools need of the watcher.
#[async_trait]
pub trait Supervision: Send + Sync + 'static {
    /// Commits the row under its guards, then starts it (OWN-20).
    async fn begin(
        &self,
        new: NewProcess,
        request: StartRequest,
        guards: Vec<Change>,
    ) -> Result<ProcessId, ToolError>;
    /// Returns once its end is committed, or once it has moved to the background.
    async fn ended(&self, process: ProcessId) -> Ended;
    /// Asks for its end. After an error it is tried again, and its conversation is told if that comes to nothing.
    async fn kill(&self, process: ProcessId, grace: Duration) -> Result<KillOutcome, ToolError>;
    /// A foreground command was moved to the background, and that is committed.
    fn has_moved(&self, process: ProcessId);
    /// Commits the delegation under its guards, then starts it.
    async fn delegate(
        &self,
        owner: Owner,
        key: &str,
        tasks: Vec<String>,
        guards: Vec<Change>,
    ) -> Result<Vec<DelegationId>, ToolError>;
    /// Returns once all of these, which were started together, have ended, with what they found. That is not told again, unless the wait is
    /// given up or a `guard` is not met any more.
    async fn delegations_ended(
        &self,
        conversation: ConversationId,
        delegations: &[DelegationId],
        guards: Vec<Change>,
    ) -> Result<Vec<(DelegationId, DelegationState, String)>, ToolError>;
    /// Puts a copy of a file into the outbox of the turn, if it is a person's and still runs (OWN-67).
    async fn send_file(
        &self,
        turn: TurnId,
        owner: &Owner,
        file: FileToSend,
    ) -> Result<(), ToolError>;
    /// Asks the person whose turn it is, or who had the work started, and waits for the answer. What may run already is not asked about again.
    async fn approve(&self, owner: &Owner, question: Question) -> Result<Approval, ToolError>;
    /// What people have written for this turn to take up, oldest first. Each is given once.
    fn steering(&self, turn: TurnId) -> Vec<InboundRow>;
}

/// A file of the workspace, opened: what is sent is what was checked.
#[derive(Debug)]
pub struct FileToSend {
    pub file: std::fs::File,
    /// For people.
    pub name: String,
    pub caption: String,
}

/// May this run?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub asker: Asker,
    /// The exact command that an answer is bound to, and all of what people read of it.
    pub command: String,
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    Granted,
    Denied,
    /// In time, or before the turn was over.
    Unanswered,
    /// Background work asks only where the settings allow it, and only somebody who is known (OWN-67).
    NobodyToAsk,
}

/// What waiting for a process came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Ended,
    /// It goes on in the background; nobody has to wait for it.
    Moved,
}

/// What all sessions' tools share.
#[derive(Clone)]
pub struct Workshop {
    pub store: Arc<dyn Store>,
    pub processes: Arc<dyn Processes>,
    pub supervision: Arc<dyn Supervision>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdSource,
    pub workspace: std::path::PathBuf,
    /// The gateway's own folder, as it is called without links. Tools for files do not touch it, wherever the workspace is.
    pub data: Option<std::path::PathBuf>,
    /// Variables for every child, beside the session context (OWN-22).
    pub child_environment: Vec<(String, String)>,
    /// What lets a child act for its owner (OWN-22).
    pub control: Option<ControlAccess>,
    pub kill_grace: Duration,
    /// What models have written to the processes that they started.
    pub inputs: Arc<Inputs>,
}

/// How a child reaches the gateway: a socket, and a token that is valid for its own owner only (OWN-22).
#[derive(Clone)]
pub struct ControlAccess {
    pub socket: std::path::PathBuf,
    pub token: Arc<dyn Fn(ProcessId) -> String + Send + Sync>,
}

impl fmt::Debug for ControlAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlAccess")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

/// What holds a tool to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It must still run when the tool writes.
    Turn(TurnId),
    /// A call without a turn: the conversation must not have moved on.
    Generation(u64),
    /// A sub-agent: its delegation must still run.
    Delegation(DelegationId),
    /// A call of a process, for the owner it carries. What it starts has the same owner, and shares its fate.
    Owner,
}

/// The tools of one session.
pub struct SessionTools {
    workshop: Workshop,
    owner: Owner,
    /// Whose history it reads: its owner's, or a sub-agent's own.
    session: SessionId,
    key: String,
    bound: Bound,
    cancel: CancellationToken,
    counting: Option<Counting>,
}

impl SessionTools {
    pub fn new(
        workshop: Workshop,
        owner: Owner,
        key: String,
        bound: Bound,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            workshop,
            session: owner.session,
            owner,
            key,
            bound,
            cancel,
            counting: None,
        }
    }

    /// What the agent records counts what it used until then.
    #[must_use]
    pub fn counting(mut self, counting: Counting) -> Self {
        self.counting = Some(counting);
        self
    }

    /// For a sub-agent: what it starts is its owner's, its history is its own.
    #[must_use]
    pub fn with_history_of(mut self, session: SessionId) -> Self {
        self.session = session;
        self
    }

    fn guards(&self) -> Vec<Change> {
        match self.bound {
            Bound::Turn(turn) => vec![Change::CountTool { turn }],
            Bound::Generation(generation) => vec![Change::RequireGeneration(generation)],
            Bound::Delegation(delegation) => vec![Change::RequireDelegation(delegation)],
            Bound::Owner => Vec::new(),
        }
    }

    fn turn(&self) -> Option<TurnId> {
        match self.bound {
            Bound::Turn(turn) => Some(turn),
            Bound::Generation(_) | Bound::Delegation(_) | Bound::Owner => None,
        }
    }

    async fn commit(&self, changes: Vec<Change>) -> Result<Committed, ToolError> {
        let commit = Commit {
            conversation: self.owner.conversation,
            at: self.workshop.clock.now(),
            changes,
        };
        Ok(self.workshop.store.commit(commit).await?)
    }
}

#[async_trait]
impl Toolbox for SessionTools {
    async fn call(&self, call: ToolCall) -> Result<ToolAnswer, ToolError> {
        match call {
            ToolCall::Run { command, limit } => self.run(command, limit).await,
            ToolCall::Start(start) => self.start(start).await,
            ToolCall::Wait { process, limit } => self.wait(process, limit).await,
            ToolCall::Log {
                process,
                from,
                limit,
            } => self.log(process, from, limit).await,
            ToolCall::Poll { process } => self.poll(process).await,
            ToolCall::List => self.list().await,
            ToolCall::Write { process, bytes } => {
                self.workshop.inputs.forget(process);
                self.write(process, &bytes).await
            }
            ToolCall::CloseInput { process } => self.close_input(process).await,
            ToolCall::Delegate {
                tasks,
                wait,
                window,
            } => self.delegate(tasks, wait, window).await,
            ToolCall::Kill { process } => self.kill(process).await,
            ToolCall::SendFile { path, caption } => self.send_file(&path, caption).await,
        }
    }

    async fn history(&self, limit: usize) -> Result<Vec<MessageRow>, ToolError> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        Ok(self.workshop.store.history(self.session, limit).await?)
    }

    async fn context(&self, limit: usize) -> Result<Context, ToolError> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        Ok(self.workshop.store.context(self.session, limit).await?)
    }

    fn specs(&self) -> Vec<ToolSpec> {
        model::specs()
    }

    async fn call_named(&self, name: &str, arguments: &str) -> Result<ToolText, ToolError> {
        self.answer_model(name, arguments).await
    }

    async fn record(&self, entry: Entry) -> Result<(), ToolError> {
        self.add_to_history(entry).await
    }

    async fn steering(&self, said: Option<Entry>) -> Result<Vec<Steered>, ToolError> {
        self.take_up_steering(said).await
    }
}

impl fmt::Debug for SessionTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTools")
            .field("key", &self.key)
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Workshop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workshop")
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}
