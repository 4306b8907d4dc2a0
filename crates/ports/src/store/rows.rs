//! What the store answers with.

use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::notification::{Kind, State};
use homing_domain::origin::Origin;
pub use homing_domain::outbox::OutboxState;
use homing_domain::owner::Owner;
use homing_domain::process::{Consumption, Ending, ProcessState};
use homing_domain::session::{Boundary, Current, EndReason};
use homing_domain::time::Timestamp;
use homing_domain::watch::Limiter;

use crate::inbox::Together;
use crate::platform::{Attachment, Extras, OutgoingKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRow {
    pub id: ConversationId,
    pub key: SessionKey,
    /// The origin of its newest inbound message; before one, that of the key.
    pub origin: Origin,
    pub current: Option<Current>,
    /// Grows with every reset, resume, branch and compression.
    pub generation: u64,
    /// The model that was chosen here; `None` is the profile's own.
    pub model: Option<String>,
    pub created_at: Timestamp,
    pub active_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: SessionId,
    pub conversation: ConversationId,
    pub lineage: LineageId,
    /// The session that this one continues.
    pub continues: Option<SessionId>,
    /// The session that this one was branched from.
    pub parent: Option<SessionId>,
    pub title: Option<String>,
    /// What compression kept of the sessions before.
    pub summary: Option<String>,
    /// From this message of the lineage on everything was kept word for word beside the summary.
    pub kept_from: Option<MessageId>,
    pub started_at: Timestamp,
    pub ended: Option<(EndReason, Timestamp)>,
    /// Messages in it.
    pub messages: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineageRow {
    pub id: LineageId,
    pub conversation: ConversationId,
    pub tip: SessionId,
    pub closed: Option<(Boundary, Timestamp)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    Person,
    Agent,
    /// A notification block (OWN-65).
    Notification,
    /// Homing's own: command replies, notices.
    System,
    /// What a tool answered to the agent.
    Tool,
}

impl Role {
    pub const ALL: [Role; 5] = [
        Role::Person,
        Role::Agent,
        Role::Notification,
        Role::System,
        Role::Tool,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            Role::Person => "person",
            Role::Agent => "agent",
            Role::Notification => "notification",
            Role::System => "system",
            Role::Tool => "tool",
        }
    }
    pub fn parse(text: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    pub id: MessageId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub role: Role,
    pub author: Option<String>,
    pub text: String,
    /// What an agent keeps beside the text, in its own JSON. Of a person's message: [`CameWith`](crate::inbox::CameWith).
    pub data: Option<String>,
    pub at: Timestamp,
}

/// What an agent has of a conversation before a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// Of everything before `messages`.
    pub summary: Option<String>,
    /// Oldest first; without what was undone.
    pub messages: Vec<MessageRow>,
}

/// What models used, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub requests: u64,
    pub prompt_tokens: u64,
    /// Of the prompt's: found in the server's cache.
    pub cached_tokens: u64,
    pub completion_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}

/// Who waits for a person's answer. With its end the question is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asker {
    Turn(TurnId),
    /// A sub-agent.
    Delegation(DelegationId),
}

impl Asker {
    pub const fn number(self) -> u64 {
        match self {
            Asker::Turn(turn) => turn.number(),
            Asker::Delegation(delegation) => delegation.number(),
        }
    }
}

impl std::fmt::Display for Asker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Asker::Turn(turn) => write!(f, "turn {turn}"),
            Asker::Delegation(delegation) => write!(f, "delegation {delegation}"),
        }
    }
}

/// A question to a person, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRow {
    pub id: ApprovalId,
    pub conversation: ConversationId,
    pub session: SessionId,
    pub lineage: LineageId,
    pub asker: Asker,
    pub person: Option<String>,
    pub command: String,
    pub why: String,
    pub state: ApprovalState,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub settled_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    Asked,
    ApprovedOnce,
    /// And the same command for the rest of this lineage.
    ApprovedForSession,
    /// And the same command of this person in this conversation from now on.
    ApprovedAlways,
    Denied,
    /// Nobody answered in time, or the turn was over: a refusal.
    Expired,
}

impl ApprovalState {
    pub const ALL: [ApprovalState; 6] = [
        ApprovalState::Asked,
        ApprovalState::ApprovedOnce,
        ApprovalState::ApprovedForSession,
        ApprovalState::ApprovedAlways,
        ApprovalState::Denied,
        ApprovalState::Expired,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            ApprovalState::Asked => "asked",
            ApprovalState::ApprovedOnce => "approved_once",
            ApprovalState::ApprovedForSession => "approved_for_session",
            ApprovalState::ApprovedAlways => "approved_always",
            ApprovalState::Denied => "denied",
            ApprovalState::Expired => "expired",
        }
    }
    pub fn parse(text: &str) -> Option<ApprovalState> {
        ApprovalState::ALL
            .into_iter()
            .find(|state| state.name() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundRow {
    pub id: InboundId,
    pub conversation: ConversationId,
    pub origin: Origin,
    pub author: Option<String>,
    pub text: String,
    pub window: Option<WindowId>,
    /// The turn that took it; `None` while it is queued.
    pub turn: Option<TurnId>,
    pub received_at: Timestamp,
    /// Turns that had taken it and were interrupted before they did anything.
    pub attempts: u32,
    pub quoted: Option<String>,
    pub attachments: Vec<Attachment>,
    pub together: Option<Together>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnKind {
    Foreground,
    Background,
}

impl TurnKind {
    pub const fn name(self) -> &'static str {
        match self {
            TurnKind::Foreground => "foreground",
            TurnKind::Background => "background",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnEnd {
    Done,
    Failed,
    /// `/stop`, or a boundary.
    Cancelled,
    /// The gateway died while it ran.
    Interrupted,
}

impl TurnEnd {
    pub const fn name(self) -> &'static str {
        match self {
            TurnEnd::Done => "done",
            TurnEnd::Failed => "failed",
            TurnEnd::Cancelled => "cancelled",
            TurnEnd::Interrupted => "interrupted",
        }
    }
}

/// A turn that runs, or ran when the gateway died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRow {
    pub id: TurnId,
    pub conversation: ConversationId,
    pub session: SessionId,
    pub lineage: LineageId,
    pub kind: TurnKind,
    /// Tools that it had begun.
    pub tools: u32,
    /// The message that shows what there was of its answer.
    pub preview: Option<String>,
    pub started_at: Timestamp,
}

/// Whether it is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessKind {
    /// Part of a turn: its answer is the result.
    Foreground,
    Task,
    /// Runs until it is stopped.
    Service,
}

impl ProcessKind {
    pub const ALL: [ProcessKind; 3] = [
        ProcessKind::Foreground,
        ProcessKind::Task,
        ProcessKind::Service,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            ProcessKind::Foreground => "foreground",
            ProcessKind::Task => "task",
            ProcessKind::Service => "service",
        }
    }
    pub fn parse(text: &str) -> Option<ProcessKind> {
        ProcessKind::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    pub id: ProcessId,
    pub owner: Owner,
    pub kind: ProcessKind,
    pub command: String,
    pub directory: String,
    pub notify: bool,
    pub watch: Vec<String>,
    pub state: ProcessState,
    pub ending: Option<Ending>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub output_total: u64,
    /// The last bytes of its output, kept with the exit (OWN-24).
    pub output_tail: Vec<u8>,
    /// A failed start says why.
    pub failure: Option<String>,
    pub consumed: Option<Consumption>,
    /// Watch notifications made so far, and how far its output has been read for them.
    pub watched: Watched,
}

/// How far watching has come. Stored with each match, so that a restart neither repeats nor skips one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watched {
    /// Output before this offset has been matched.
    pub scanned: u64,
    pub limiter: Limiter,
    /// Lines that matched and wait to be told; bounded by the watcher.
    pub lines: Vec<String>,
}

/// What a notification is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    Process(ProcessId),
    Delegation(DelegationId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationRow {
    pub id: NotificationId,
    pub conversation: ConversationId,
    pub source: Source,
    pub kind: Kind,
    /// 0 for an ending; counts matches.
    pub sequence: u32,
    pub state: State,
    /// Of a hold or a settled state: `parked`, `session_reset`, `waited`, ….
    pub reason: Option<String>,
    /// Lines that matched, a delegation's summary. Bounded by the watcher.
    pub content: String,
    /// Matches that were counted and are not among its lines (OWN-81, 83).
    pub more: u32,
    /// Since when it has been held, across releases that changed nothing.
    pub held_since: Option<Timestamp>,
    /// Background turns that failed on it (OWN-68).
    pub attempts: u32,
    /// The turn that claimed or delivered it.
    pub turn: Option<TurnId>,
    /// The session whose history it entered.
    pub session: Option<SessionId>,
    pub created_at: Timestamp,
    pub settled_at: Option<Timestamp>,
}

/// A notification that waits, with what its verdict needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenNotification {
    pub notification: NotificationRow,
    /// `None` if the stamp is missing or names a session that is not there (OWN-39).
    pub owner: Option<Owner>,
    /// The owner's lineage, if the store has it.
    pub lineage: Option<LineageRow>,
    /// The process it is about.
    pub process: Option<ProcessRow>,
    pub delegation: Option<DelegationRow>,
}

/// One decision about a notification: what `explain` prints (OWN-43).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    pub at: Timestamp,
    pub from: State,
    pub to: State,
    pub reason: Option<String>,
    /// The facts it was decided on, for people.
    pub facts: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    pub id: OutboxId,
    pub conversation: ConversationId,
    /// The lineage it speaks for; `None` for command replies.
    pub lineage: Option<LineageId>,
    pub turn: Option<TurnId>,
    pub kind: OutgoingKind,
    pub origin: Origin,
    pub window: Option<WindowId>,
    pub text: String,
    pub extras: Extras,
    pub state: OutboxState,
    pub attempt: u32,
    /// Not before this moment.
    pub not_before: Timestamp,
    /// Of the last failed attempt, or why it is cancelled or dead.
    pub reason: Option<String>,
    pub platform_message: Option<String>,
    pub created_at: Timestamp,
    pub settled_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowRow {
    pub id: WindowId,
    pub conversation: ConversationId,
    pub opened_at: Timestamp,
    pub active_at: Timestamp,
    pub closed_at: Option<Timestamp>,
}

/// A sub-agent that a session started and did not wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationRow {
    pub id: DelegationId,
    /// The conversation at the root of the chain (OWN-23).
    pub owner: Owner,
    /// Its own history.
    pub session: SessionId,
    pub lineage: LineageId,
    pub task: String,
    /// The first of those that were started together, itself included.
    pub batch: Option<DelegationId>,
    pub state: DelegationState,
    pub result: Option<String>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DelegationState {
    Running,
    Finished,
    Failed,
    /// A boundary, a closed window, or the end of the gateway came first (OWN-93, 100, 101).
    Interrupted,
}

impl DelegationState {
    pub const ALL: [DelegationState; 4] = [
        DelegationState::Running,
        DelegationState::Finished,
        DelegationState::Failed,
        DelegationState::Interrupted,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            DelegationState::Running => "running",
            DelegationState::Finished => "finished",
            DelegationState::Failed => "failed",
            DelegationState::Interrupted => "interrupted",
        }
    }
    pub fn parse(text: &str) -> Option<DelegationState> {
        DelegationState::ALL
            .into_iter()
            .find(|state| state.name() == text)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    pub conversations: u64,
    pub live_processes: u64,
    /// By state name.
    pub notifications: Vec<(String, u64)>,
    pub outbox: Vec<(String, u64)>,
}
