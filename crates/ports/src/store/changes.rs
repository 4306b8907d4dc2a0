//! What can be written: rows of one conversation, each change with the state it expects.

use homing_domain::ids::*;
use homing_domain::notification::{Kind, State};
use homing_domain::origin::Origin;
use homing_domain::owner::Owner;
use homing_domain::process::{Consumption, Ending};
use homing_domain::session::{Boundary, Current};
use homing_domain::time::Timestamp;

use super::{
    ApprovalState, Asker, DelegationState, ProcessKind, Role, Source, TurnEnd, TurnKind, Usage,
    Watched,
};
use crate::platform::{Attachment, Extras, OutgoingKind};

/// One transaction of one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub conversation: ConversationId,
    pub at: Timestamp,
    pub changes: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Committed {
    Done,
    /// The change at `index` found a state it does not expect. Nothing happened.
    Unmet {
        index: usize,
        what: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Unmet if the conversation was reset, resumed, branched or compressed since.
    RequireGeneration(u64),

    /// A new lineage with its first session. `parent` for a branch.
    StartLineage {
        lineage: LineageId,
        session: SessionId,
        parent: Option<SessionId>,
        title: Option<String>,
    },
    /// Ends `from` (the lineage's tip, not ended) as `compressed` and continues it with `session` (OWN-11).
    Continue {
        lineage: LineageId,
        from: SessionId,
        session: SessionId,
        summary: String,
        /// From this message of the lineage on everything stays word for word; `None`: all of it is in the summary.
        kept_from: Option<MessageId>,
    },
    /// Ends the tip and closes the lineage. Unmet if it is closed: the first reason wins (OWN-13).
    CloseLineage {
        lineage: LineageId,
        boundary: Boundary,
    },
    /// Moves the conversation's pointer; its generation grows by one.
    Point(Option<Current>),
    Title {
        session: SessionId,
        title: String,
    },

    Append(NewMessage),
    /// From this message of the lineage on, everything but what background turns told is taken out of what the agent sees. It stays readable.
    /// Unmet if nothing is there.
    Undo {
        lineage: LineageId,
        from: MessageId,
    },
    /// The model that answers here from now on; `None` is the profile's own.
    SetModel(Option<String>),
    /// The notification is in this lineage's history from now on. Unmet if it is already: at most once, whatever crashes (OWN-65).
    EnterHistory {
        lineage: LineageId,
        session: SessionId,
        notification: NotificationId,
    },

    /// A turn takes a queued message. Unmet if it was taken or is done.
    TakeInbound {
        inbound: InboundId,
        turn: TurnId,
    },
    /// Handled. From queued or taken.
    FinishInbound {
        inbound: InboundId,
    },
    /// Handled, all that this turn has taken. Finishes any number, none included.
    FinishInboundOf {
        turn: TurnId,
    },
    /// Back in the queue: its turn was interrupted before it did anything.
    RequeueInbound {
        inbound: InboundId,
    },
    /// A command that turned out to be a message: it stays queued, with this text. Unmet unless it is queued.
    RewriteInbound {
        inbound: InboundId,
        text: String,
    },

    /// A command that asks for an earlier message again: it stays queued, as that message with all it came with. Unmet unless it is queued.
    RepeatInbound {
        inbound: InboundId,
        text: String,
        quoted: Option<String>,
        attachments: Vec<Attachment>,
    },

    StartTurn {
        turn: TurnId,
        session: SessionId,
        lineage: LineageId,
        kind: TurnKind,
    },
    /// Unmet unless it runs.
    RequireTurn(TurnId),
    /// It begins a tool: from here on it is never run again silently.
    CountTool {
        turn: TurnId,
    },
    /// The message that shows what there is of its answer.
    Previewed {
        turn: TurnId,
        message: String,
    },
    /// What a model used for it; added up. The turn may be over.
    Used {
        turn: TurnId,
        usage: Usage,
    },
    /// Unmet if it does not run any more. A question that it still asks expires with it.
    EndTurn {
        turn: TurnId,
        end: TurnEnd,
        error: Option<String>,
    },

    /// With its owner and every setting, before anything runs (OWN-20).
    AddProcess(NewProcess),
    /// From starting. Unmet if it has ended already, which is no error: short programs are fast.
    ProcessStarted {
        process: ProcessId,
    },
    /// From starting: it could not be executed.
    ProcessFailed {
        process: ProcessId,
        failure: String,
    },
    /// From starting or running. Goes together with its notification (OWN-24).
    ProcessEnded {
        process: ProcessId,
        ending: Ending,
        ended_at: Timestamp,
        output_total: u64,
        output_tail: Vec<u8>,
    },
    /// The agent has the result, or it was stopped on purpose. Unmet if it is marked already, or if `lineage` does not own it (OWN-44).
    Consume {
        process: ProcessId,
        lineage: LineageId,
        how: Consumption,
    },
    /// It could not be stopped: it is as if nobody had wanted that, and its end is news again. Unmet if it has ended.
    NotStopped {
        process: ProcessId,
    },
    /// `/adopt`: another owner, and an earlier consumption no longer counts (OWN-42). Its end is told whatever it was started with; a foreground
    /// command that lives goes on in the background.
    Adopt {
        process: ProcessId,
        owner: Owner,
    },
    Watched {
        process: ProcessId,
        watched: Watched,
    },
    /// Its run folder is gone. Unmet unless it has ended and the folder was kept.
    ForgetOutput {
        process: ProcessId,
    },
    /// A foreground command goes on in the background and its end is told. Unmet unless it lives in the foreground.
    MoveToBackground {
        process: ProcessId,
    },

    /// Unique on (source, kind, sequence); unmet if it exists.
    AddNotification {
        notification: NotificationId,
        source: Source,
        kind: Kind,
        sequence: u32,
        content: String,
        /// Matches that are counted and not among the lines of `content`.
        more: u32,
    },
    /// Every move of a notification, with its reason and facts (OWN-43). Unmet if it is not in `from`. One that is released from a claim takes back
    /// that its result was waited for or read to the end: the turn that did so has told nobody (OWN-68).
    Decide(Decision),

    Enqueue(NewOutgoing),
    /// Everything of this lineage that has not left. Cancels any number, none included.
    CancelQueued {
        lineage: LineageId,
        reason: String,
    },
    /// Queued or uncertain → sending, as attempt number `attempt`. Unmet unless `attempt` is the last one plus one.
    Sending {
        outbox: OutboxId,
        attempt: u32,
    },
    /// Settles exactly this attempt; unmet if another one is under way.
    Sent {
        outbox: OutboxId,
        attempt: u32,
        platform_message: Option<String>,
    },
    SendAgain {
        outbox: OutboxId,
        attempt: u32,
        not_before: Timestamp,
        reason: String,
    },
    SendUncertain {
        outbox: OutboxId,
        attempt: u32,
        not_before: Timestamp,
        reason: String,
    },
    SendDead {
        outbox: OutboxId,
        attempt: u32,
        reason: String,
    },

    /// It did not arrive, and its lineage was closed meanwhile.
    SendCancelled {
        outbox: OutboxId,
        attempt: u32,
        reason: String,
    },

    /// A dead letter that is told once more by `by`, enqueued before in the same commit. Unmet unless it is dead and was not told again.
    ToldAgain {
        outbox: OutboxId,
        by: OutboxId,
    },

    /// A question to a person, before it is asked.
    AddApproval(NewApproval),
    /// From asked. Unmet if it is settled: the first answer counts.
    SettleApproval {
        approval: ApprovalId,
        state: ApprovalState,
    },

    /// Opens it, or touches it if it is open on this conversation. Unmet if it was closed.
    OpenWindow {
        window: WindowId,
    },
    TouchWindow {
        window: WindowId,
    },
    CloseWindow {
        window: WindowId,
    },

    /// With its owner, before it runs (OWN-20).
    AddDelegation(NewDelegation),
    /// Unmet unless it runs: what a sub-agent does is guarded by this.
    RequireDelegation(DelegationId),
    /// From running, to any other state. Goes together with its notification.
    EndDelegation {
        delegation: DelegationId,
        state: DelegationState,
        result: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelegation {
    pub id: DelegationId,
    pub owner: Owner,
    /// Its own session and lineage, started before in the same commit.
    pub session: SessionId,
    pub lineage: LineageId,
    pub task: String,
    /// The first of those that were started together, itself included; they are told together.
    pub batch: Option<DelegationId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApproval {
    pub id: ApprovalId,
    /// Of a sub-agent: its owner's.
    pub session: SessionId,
    pub lineage: LineageId,
    pub asker: Asker,
    /// Who may answer: the person whose turn it is, or who had the work started. `None`: the platform names nobody, then anyone of the conversation.
    pub person: Option<String>,
    /// Exactly this one.
    pub command: String,
    /// Why it is asked, for people.
    pub why: String,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub id: MessageId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub role: Role,
    pub author: Option<String>,
    pub text: String,
    /// What an agent keeps beside the text, in its own JSON: tool calls, the call that a result answers, what was quoted. Of a person's message:
    /// [`CameWith`](crate::inbox::CameWith).
    pub data: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProcess {
    pub id: ProcessId,
    pub owner: Owner,
    pub turn: Option<TurnId>,
    pub kind: ProcessKind,
    pub command: String,
    pub directory: String,
    pub notify: bool,
    pub watch: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub notification: NotificationId,
    pub from: State,
    pub to: State,
    pub reason: Option<String>,
    pub facts: String,
    /// The turn that claims it, or that delivered it.
    pub turn: Option<TurnId>,
    /// A background turn failed on it: counts one attempt.
    pub failed_attempt: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOutgoing {
    pub id: OutboxId,
    pub lineage: Option<LineageId>,
    pub turn: Option<TurnId>,
    pub kind: OutgoingKind,
    pub origin: Origin,
    pub window: Option<WindowId>,
    pub text: String,
    pub extras: Extras,
}
