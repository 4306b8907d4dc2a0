//! What bots did, for the test to read.

use std::time::Instant;

use serde::Serialize;
use serde_json::{Map, Value};

use super::ids::{ChatId, MessageId, ThreadId, UserId};

/// A message that a bot sent, as it is now.
#[derive(Debug, Clone, Serialize)]
pub struct Sent {
    pub bot: UserId,
    /// The method that sent it, as it was called.
    pub method: String,
    pub chat: ChatId,
    /// The topic it is in. In a channel's direct messages: the topic of the person.
    pub thread: Option<ThreadId>,
    /// The `message_thread_id` of the request. It differs from `thread` if the topic came from the replied message, or by a fault.
    pub asked_thread: Option<ThreadId>,
    pub message: MessageId,
    /// Text or caption, as it is after all edits.
    pub text: String,
    pub entities: Vec<Value>,
    /// The message that it explicitly answers.
    pub reply_to: Option<MessageId>,
    /// Rows of inline buttons, as they are after all edits.
    pub buttons: Vec<Vec<Value>>,
    /// `document`, `photo` and the like; `None` for text.
    pub media: Option<Media>,
    pub album: Option<String>,
    /// What it said before each edit, oldest first.
    pub history: Vec<Earlier>,
    pub deleted: bool,
    #[serde(skip)]
    pub at: Instant,
}

/// How a message was before an edit.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Earlier {
    pub text: String,
    pub entities: Vec<Value>,
    pub buttons: Vec<Vec<Value>>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Media {
    /// The field of the message: `document`, `photo`, `audio`, `video`, `voice`, `animation`.
    pub kind: String,
    pub file_id: String,
    pub file_name: Option<String>,
    pub mime_type: Option<String>,
    pub size: u64,
}

/// A request of a bot.
#[derive(Debug, Clone, Serialize)]
pub struct Request {
    pub bot: UserId,
    pub method: String,
    pub params: Map<String, Value>,
    /// Names and sizes of uploaded parts.
    pub files: Vec<(String, usize)>,
    pub outcome: Outcome,
    #[serde(skip)]
    pub at: Instant,
}

#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Still being worked on, or its client went away.
    Open,
    Done,
    /// What it was refused with.
    Refused {
        status: u16,
        description: String,
    },
    /// A fault kept the answer away; `taken` says whether it was carried out.
    Unanswered {
        taken: bool,
    },
}

/// A chat action, such as typing.
#[derive(Debug, Clone, Serialize)]
pub struct Action {
    pub bot: UserId,
    pub chat: ChatId,
    pub thread: Option<ThreadId>,
    pub action: String,
    #[serde(skip)]
    pub at: Instant,
}

/// A preview of a message in the making.
#[derive(Debug, Clone, Serialize)]
pub struct Draft {
    pub bot: UserId,
    pub chat: ChatId,
    pub thread: Option<ThreadId>,
    pub draft: i64,
    pub text: String,
    pub can_stop: bool,
    #[serde(skip)]
    pub at: Instant,
}

/// A request that no correct client makes.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct Violation {
    pub bot: UserId,
    pub method: String,
    pub problem: String,
}

/// What a bot said to the press of a button.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct CallbackAnswer {
    pub query: String,
    pub text: Option<String>,
    pub show_alert: bool,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    pub requests: Vec<Request>,
    pub actions: Vec<Action>,
    pub drafts: Vec<Draft>,
    pub violations: Vec<Violation>,
    pub callback_answers: Vec<CallbackAnswer>,
    /// Sent messages by their place in the world, in order.
    pub sent: Vec<SentKey>,
}

/// Where the rest of a [`Sent`] is found.
#[derive(Debug, Clone)]
pub(super) struct SentKey {
    pub bot: UserId,
    pub method: String,
    pub asked_thread: Option<ThreadId>,
    pub chat: super::ids::Chat,
    pub message: MessageId,
    pub at: Instant,
}
