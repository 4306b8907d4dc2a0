//! Places where people talk, seen from the outbox: one message out, one honest outcome back.
//!
//! **Invariant:** an adapter never re-routes. What cannot go where it was sent is an error with its reason (OWN-66).
//! **Absent on purpose:** retries. The outbox owns them; an adapter tries once and says what happened.

use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{OutboxId, WindowId};
use homing_domain::origin::Origin;
pub use homing_domain::outbox::Repeats;
use homing_domain::split::Limit;

#[async_trait]
pub trait Platform: Send + Sync + 'static {
    fn capabilities(&self) -> Capabilities;

    /// Sends one message. `outgoing.id` with `outgoing.attempt` names the attempt; `outgoing.id` alone is the idempotency key where the
    /// platform has one.
    async fn send(&self, outgoing: Outgoing) -> Result<Receipt, SendError>;

    /// Looks for a message whose sending ended uncertain. Only asked where [`Repeats::LookUp`] was promised.
    async fn look_up(&self, outgoing: &Outgoing) -> Result<Option<Receipt>, SendError> {
        let _ = outgoing;
        Ok(None)
    }

    /// Takes back a message that landed in the wrong place (OWN-71). Best effort.
    async fn take_back(&self, receipt: &Receipt) -> Result<(), SendError> {
        let _ = receipt;
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The longest text of one message.
    pub limit: Limit,
    pub repeats: Repeats,
}

/// One message on its way out. One part of what was split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub id: OutboxId,
    /// 1 for the first try.
    pub attempt: u32,
    pub origin: Origin,
    /// The console window it is addressed to.
    pub window: Option<WindowId>,
    pub kind: OutgoingKind,
    pub text: String,
    /// An earlier attempt may have arrived, and the platform cannot tell.
    pub may_repeat: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutgoingKind {
    /// The agent to a person's message.
    Answer,
    /// A slash command's answer.
    Reply,
    /// The answer of a background turn.
    Background,
    /// Plain text from Homing itself.
    Notice,
}

impl OutgoingKind {
    pub const ALL: [OutgoingKind; 4] = [
        OutgoingKind::Answer,
        OutgoingKind::Reply,
        OutgoingKind::Background,
        OutgoingKind::Notice,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            OutgoingKind::Answer => "answer",
            OutgoingKind::Reply => "reply",
            OutgoingKind::Background => "background",
            OutgoingKind::Notice => "notice",
        }
    }
    pub fn parse(text: &str) -> Option<OutgoingKind> {
        OutgoingKind::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
    }
}

/// The platform's word that it has the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its own id of the message. Some platforms give none; that is no failure (public bug 4647).
    pub message: Option<String>,
    /// Where it says the message landed: chat and thread. `None` if it does not say.
    pub landed: Option<Landed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    pub chat: String,
    pub thread: Option<String>,
}

/// How a send can fail. The outbox decides by the variant alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Nothing was sent; the platform is away. Sent again when the adapter says `ready`, or after a backoff (OWN-69).
    #[error("the platform is away: {0}")]
    Away(String),
    /// Nothing was sent; the platform said when to come back.
    #[error("rate limited for {} ms", .0.as_millis())]
    RateLimited(Duration),
    /// Nothing was sent, for a reason that may pass.
    #[error("for now: {0}")]
    Temporary(String),
    /// It will never be accepted: thread deleted, bot removed, text refused. A dead letter (OWN-66).
    #[error("refused: {0}")]
    Refused(String),
    /// It may have arrived: the connection broke after the request went out.
    #[error("outcome unknown: {0}")]
    Uncertain(String),
}
