//! What goes over the wire. Rows of the store, in the page's words; times are milliseconds since 1970.
//!
//! **Absent on purpose:** `Serialize` on rows and domain types. What the page sees changes here, and only here.

use homing_ports::store::{
    ConversationRow, DecisionRow, DelegationRow, NotificationRow, OutboxRow, ProcessRow, Source,
    TurnRow,
};
use serde::Serialize;

use crate::threads;

#[derive(Serialize)]
pub(super) struct Conversation {
    /// `None` for a thread where nobody has been yet.
    pub id: Option<String>,
    pub key: String,
    pub title: String,
    pub platform: String,
    /// Whether one can write into it from here.
    pub writable: bool,
    pub session: Option<String>,
    pub created_at: Option<i64>,
    pub active_at: Option<i64>,
    pub running: usize,
}

impl Conversation {
    pub fn of(row: &ConversationRow, profile: &str, running: usize) -> Conversation {
        Conversation {
            id: Some(row.id.to_string()),
            session: row.current.map(|current| current.session.to_string()),
            created_at: Some(row.created_at.millis()),
            active_at: Some(row.active_at.millis()),
            running,
            ..Conversation::empty(&row.key, profile)
        }
    }

    /// A place where nobody has been yet.
    pub fn empty(key: &homing_domain::key::SessionKey, profile: &str) -> Conversation {
        Conversation {
            id: None,
            key: key.to_string(),
            title: threads::title(key),
            platform: key.platform.clone(),
            writable: threads::writable(profile, key).is_some(),
            session: None,
            created_at: None,
            active_at: None,
            running: 0,
        }
    }
}

/// A turn that runs.
#[derive(Serialize)]
pub(super) struct Turn {
    pub id: String,
    pub kind: &'static str,
    pub started_at: i64,
}

impl From<&TurnRow> for Turn {
    fn from(row: &TurnRow) -> Turn {
        Turn {
            id: row.id.to_string(),
            kind: row.kind.name(),
            started_at: row.started_at.millis(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Process {
    pub id: String,
    pub conversation: String,
    pub session: String,
    /// The window that started it: its page may show the output live.
    pub window: Option<String>,
    /// The sub-agent that started it.
    pub delegation: Option<String>,
    pub kind: &'static str,
    pub command: String,
    pub directory: String,
    pub state: &'static str,
    pub live: bool,
    /// How it ended, in words. Unknown is said to be unknown (OWN-91).
    pub ending: Option<String>,
    /// Why it could not be started.
    pub failure: Option<String>,
    /// How its result was known before it was told.
    pub consumed: Option<&'static str>,
    pub watch: Vec<String>,
    pub output_total: u64,
    pub created_at: i64,
    pub ended_at: Option<i64>,
}

impl From<&ProcessRow> for Process {
    fn from(row: &ProcessRow) -> Process {
        Process {
            id: row.id.to_string(),
            conversation: row.owner.conversation.to_string(),
            session: row.owner.session.to_string(),
            window: row.owner.window.map(|id| id.to_string()),
            delegation: row.owner.delegation.map(|id| id.to_string()),
            kind: row.kind.name(),
            command: row.command.clone(),
            directory: row.directory.clone(),
            state: row.state.name(),
            live: row.state.is_live(),
            ending: row.ending.map(|ending| ending.to_string()),
            failure: row.failure.clone(),
            consumed: row.consumed.map(|how| how.name()),
            watch: row.watch.clone(),
            output_total: row.output_total,
            created_at: row.created_at.millis(),
            ended_at: row.ended_at.map(|at| at.millis()),
        }
    }
}

/// A sub-agent.
#[derive(Serialize)]
pub(super) struct Delegation {
    pub id: String,
    pub conversation: String,
    /// Its own session, with its own history.
    pub session: String,
    pub task: String,
    pub state: &'static str,
    /// What it found, or why it failed; what it had found where it was interrupted.
    pub result: Option<String>,
    pub created_at: i64,
    pub ended_at: Option<i64>,
}

impl From<&DelegationRow> for Delegation {
    fn from(row: &DelegationRow) -> Delegation {
        Delegation {
            id: row.id.to_string(),
            conversation: row.owner.conversation.to_string(),
            session: row.session.to_string(),
            task: row.task.clone(),
            state: row.state.name(),
            result: row.result.clone(),
            created_at: row.created_at.millis(),
            ended_at: row.ended_at.map(|at| at.millis()),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Notification {
    pub id: String,
    pub conversation: String,
    /// The process or delegation it is about.
    pub source: String,
    pub kind: &'static str,
    pub sequence: u32,
    pub state: &'static str,
    pub settled: bool,
    pub reason: Option<String>,
    pub content: String,
    pub held_since: Option<i64>,
    pub attempts: u32,
    pub turn: Option<String>,
    pub session: Option<String>,
    pub created_at: i64,
    pub settled_at: Option<i64>,
}

impl From<&NotificationRow> for Notification {
    fn from(row: &NotificationRow) -> Notification {
        Notification {
            id: row.id.to_string(),
            conversation: row.conversation.to_string(),
            source: match row.source {
                Source::Process(id) => id.to_string(),
                Source::Delegation(id) => id.to_string(),
            },
            kind: row.kind.name(),
            sequence: row.sequence,
            state: row.state.name(),
            settled: row.state.is_final(),
            reason: row.reason.clone(),
            content: row.content.clone(),
            held_since: row.held_since.map(|at| at.millis()),
            attempts: row.attempts,
            turn: row.turn.map(|id| id.to_string()),
            session: row.session.map(|id| id.to_string()),
            created_at: row.created_at.millis(),
            settled_at: row.settled_at.map(|at| at.millis()),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Decision {
    pub at: i64,
    pub from: &'static str,
    pub to: &'static str,
    pub reason: Option<String>,
    pub facts: String,
}

impl From<&DecisionRow> for Decision {
    fn from(row: &DecisionRow) -> Decision {
        Decision {
            at: row.at.millis(),
            from: row.from.name(),
            to: row.to.name(),
            reason: row.reason.clone(),
            facts: row.facts.clone(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct OutboxItem {
    pub id: String,
    pub kind: &'static str,
    pub state: &'static str,
    pub attempt: u32,
    pub reason: Option<String>,
    pub turn: Option<String>,
    pub window: Option<String>,
    pub text: String,
    pub platform_message: Option<String>,
    pub created_at: i64,
    pub settled_at: Option<i64>,
}

impl From<&OutboxRow> for OutboxItem {
    fn from(row: &OutboxRow) -> OutboxItem {
        OutboxItem {
            id: row.id.to_string(),
            kind: row.kind.name(),
            state: row.state.name(),
            attempt: row.attempt,
            reason: row.reason.clone(),
            turn: row.turn.map(|id| id.to_string()),
            window: row.window.map(|id| id.to_string()),
            text: row.text.clone(),
            platform_message: row.platform_message.clone(),
            created_at: row.created_at.millis(),
            settled_at: row.settled_at.map(|at| at.millis()),
        }
    }
}
