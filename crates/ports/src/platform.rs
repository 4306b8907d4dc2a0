//! Places where people talk, seen from the outbox: one message out, one honest outcome back.
//!
//! **Invariant:** an adapter never re-routes. What cannot go where it was sent is an error with its reason (OWN-66).
//! **Absent on purpose:** retries. The outbox owns them; an adapter tries once and says what happened.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{InboundId, OutboxId, TurnId, WindowId};
use homing_domain::origin::Origin;
pub use homing_domain::outbox::Repeats;
use homing_domain::split::{self, Limit};

#[async_trait]
pub trait Platform: Send + Sync + 'static {
    fn capabilities(&self) -> Capabilities;

    /// A text of the agent, in Markdown, as the messages it leaves as. Pure: asked once, when the text is put into the outbox.
    fn render(&self, markdown: &str) -> Vec<Rendered> {
        let parts = split::split(markdown, self.capabilities().limit);
        parts.into_iter().map(Rendered::from).collect()
    }

    /// Sends one message. `outgoing.id` with `outgoing.attempt` names the attempt; `outgoing.id` alone is the idempotency key where the
    /// platform has one.
    async fn send(&self, outgoing: Outgoing) -> Result<Receipt, SendError>;

    /// Looks for a message whose sending ended uncertain. Only asked where [`Repeats::LookUp`] was promised.
    async fn look_up(&self, outgoing: &Outgoing) -> Result<Option<Receipt>, SendError> {
        let _ = outgoing;
        Ok(None)
    }

    /// Shows that an answer is being made. Asked again every [`Live::typing_every`] while it is; ends by itself.
    async fn typing(&self, to: &Origin) -> Result<(), SendError> {
        let _ = to;
        Ok(())
    }

    /// Shows what there is of an answer. No delivery: the answer itself leaves through the outbox, whatever became of this. The platform's id
    /// of the message that shows it comes back, so that the next one, and in the end the answer, can take its place. A preview that the
    /// budget has no room for is left out.
    async fn preview(&self, preview: Preview) -> Result<Option<String>, SendError> {
        Ok(preview.shown)
    }

    /// Copies an attachment of an inbound message into a new file.
    async fn fetch(&self, attachment: &Attachment, into: &Path) -> Result<(), FetchError> {
        let _ = (attachment, into);
        Err(FetchError::Refused(
            "this platform hands over no files".into(),
        ))
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
    pub live: Live,
}

/// What can be shown while an answer is being made. `None` is: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Live {
    pub typing_every: Option<Duration>,
    /// The shortest time between two previews.
    pub preview_every: Option<Duration>,
}

/// One message's worth of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    /// How it is set, in the platform's own form.
    pub markup: Option<String>,
}

impl From<String> for Rendered {
    fn from(text: String) -> Self {
        Self { text, markup: None }
    }
}

/// What there is of an answer so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub turn: TurnId,
    pub origin: Origin,
    pub window: Option<WindowId>,
    /// Markdown, all of it so far.
    pub text: String,
    /// The message that shows it already.
    pub shown: Option<String>,
    pub stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Going,
    /// The person stopped it: this is how it stays.
    Stopped,
}

/// What an outgoing message carries beside its text. A row type: kept as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Extras {
    /// Of [`Rendered`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markup: Option<String>,
    /// The message that showed a preview: this takes its place. Doing so twice is as good as once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Rows of buttons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Vec<Button>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<OutgoingFile>,
}

impl Extras {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Pressing it is as good as writing what it says: it comes in as that person's message.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Button {
    pub label: String,
    /// At most 64 bytes.
    pub says: String,
}

/// A file that goes out with the text as its caption.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OutgoingFile {
    /// The gateway's own copy.
    pub path: PathBuf,
    pub name: String,
}

/// A file that came with an inbound message, still on the platform.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Attachment {
    /// A name for people; the platform may have none.
    pub name: Option<String>,
    pub media_type: Option<String>,
    pub bytes: Option<u64>,
    /// What [`Platform::fetch`] finds it by.
    pub reference: String,
    /// The message that it came with, where another one repeats that: a copy of it may still be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_came_with: Option<InboundId>,
}

/// Why an attachment could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It never will be: too big, gone.
    #[error("{0}")]
    Refused(String),
    /// It may be, later.
    #[error("not now: {0}")]
    Temporary(String),
    #[error("writing {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
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
    pub extras: Extras,
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
    /// Nothing was sent: the place takes no messages until somebody opens it again. A dead letter, told again when
    /// [`Inbox::reopened`](crate::inbox::Inbox::reopened) says so.
    #[error("closed: {0}")]
    Closed(String),
    /// Nothing was sent: the platform has moved this place (OWN-72). Every route to it is changed, then it is sent to the new one.
    #[error("the chat has moved to {0}")]
    Moved(String),
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
