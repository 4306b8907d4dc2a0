//! What adapters hand in. The gateway implements this; adapters hold it as `Arc<dyn Inbox>`.
//!
//! **Invariant:** when [`Inbox::accept`] returns, the message is committed; only then may it be confirmed to the platform (OWN-70).

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, InboundId, ProcessId, WindowId};
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use tokio::sync::broadcast;

use crate::platform::Attachment;
use crate::store::StoreError;

#[async_trait]
pub trait Inbox: Send + Sync + 'static {
    /// Stores what a person wrote and wakes its conversation.
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError>;

    /// The adapter of this account can send (again): what waited for it goes out.
    fn ready(&self, account: &AccountName);

    /// A person has changed a message. It is taken as changed if nothing has been made of it yet.
    async fn edited(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> Result<Edited, AcceptError>;

    /// The platform has moved a chat: every stored route to it changes, in one transaction (OWN-72). The number of conversations that moved.
    async fn moved(&self, account: &AccountName, from: &str, to: &str) -> Result<u64, AcceptError>;

    /// A place that was closed takes messages again: what could not be told there is told now.
    async fn reopened(&self, place: &Origin) -> Result<(), AcceptError>;

    /// Something that an operator should know: said in the home conversation, where there is one, and logged.
    async fn tell_operator(&self, text: &str);

    /// A console window shows this conversation from now on. Creates no session (OWN-10).
    /// Opening the same id again keeps it open and counts as use.
    async fn open_window(
        &self,
        window: WindowId,
        at: &SessionKey,
    ) -> Result<ConversationId, AcceptError>;
    async fn touch_window(&self, window: WindowId) -> Result<(), AcceptError>;
    /// Closed for good: it owns nothing any more (OWN-42, 101).
    async fn close_window(&self, window: WindowId) -> Result<(), AcceptError>;

    /// Hints that something of a conversation changed: read it again. A slow reader misses hints, never facts.
    fn changes(&self) -> broadcast::Receiver<ConversationId>;

    /// Hints that a process which a console window started has written: its output can be read on. An inside that offers none gives a
    /// receiver that is closed.
    fn outputs(&self) -> broadcast::Receiver<Wrote> {
        broadcast::channel(1).1
    }
}

/// A process of a console window wrote something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrote {
    pub process: ProcessId,
    pub conversation: ConversationId,
    pub window: WindowId,
}

/// A person's message as it was written, where it was more than its text: kept beside its entry in the history, so that it can be asked again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CameWith {
    /// Without the lines that name files.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<String>,
    /// Each says which message it came with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl CameWith {
    /// `None`: its text is all there is.
    pub fn write(&self) -> Option<String> {
        if self.quoted.is_none() && self.attachments.is_empty() {
            return None;
        }
        serde_json::to_string(self).ok()
    }

    /// Of the data beside a person's message. What cannot be read counts as nothing.
    pub fn read(data: Option<&str>) -> Option<CameWith> {
        data.and_then(|data| serde_json::from_str(data).ok())
    }
}

/// One message of a person, commands included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    pub origin: Origin,
    /// The platform's own id of the message or update: with platform and account, what makes it unique.
    pub platform_id: String,
    /// A name for people to read. Never used to decide anything.
    pub author: Option<String>,
    pub text: String,
    pub window: Option<WindowId>,
    /// The platform's own form of it, kept as it came.
    pub raw: Option<String>,
    /// What it answers to, if the person quoted something. For the agent to read; never a command.
    pub quoted: Option<String>,
    pub attachments: Vec<Attachment>,
    /// It is one of several that a person sent as one.
    pub together: Option<Together>,
}

impl Inbound {
    /// A plain message.
    pub fn new(origin: Origin, platform_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            origin,
            platform_id: platform_id.into(),
            author: None,
            text: text.into(),
            window: None,
            raw: None,
            quoted: None,
            attachments: Vec::new(),
            together: None,
        }
    }
}

/// Messages of one group are one message once none has come for a while: an album, a long text that the client had to cut.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Together {
    pub group: String,
    /// How long after its newest part it is whole, in milliseconds.
    pub whole_after_ms: u64,
    /// Between two texts: nothing where a client cut inside a line, a line end between captions.
    pub joined_by: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Edited {
    Changed {
        conversation: ConversationId,
    },
    /// The agent has it already.
    TooLate,
    /// It was never accepted here.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Accepted {
    New {
        inbound: InboundId,
        conversation: ConversationId,
    },
    /// It was accepted before; nothing happens twice.
    Repeat {
        inbound: InboundId,
        conversation: ConversationId,
    },
}

/// Longest text of one inbound message, in bytes. Platforms allow far less; a console paste may be long.
pub const INBOUND_TEXT_LIMIT: usize = 256 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    #[error(
        "a message of {bytes} bytes is too long: at most {INBOUND_TEXT_LIMIT} are taken; put it in a file and send its path"
    )]
    TooLong { bytes: usize },
    #[error("no account {0} is configured here")]
    UnknownAccount(AccountName),
    #[error("there is no open window {0}; open the page again")]
    UnknownWindow(WindowId),
    #[error("the gateway is stopping; send it again in a moment")]
    Stopping,
    #[error("storing it")]
    Store(#[from] StoreError),
}
