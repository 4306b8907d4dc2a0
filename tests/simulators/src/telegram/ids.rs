//! Telegram's numbers, each of its own kind.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl From<i64> for $name {
            fn from(number: i64) -> $name {
                $name(number)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    )+};
}

numbers! {
    /// A person or a bot.
    UserId,
    /// A chat as bots name it. That of a private chat is the person's number.
    ChatId,
    /// A message, unique within its chat.
    MessageId,
    /// A topic: the number of the message that announced its creation.
    ThreadId,
}

/// The general topic of a forum. It is never reported with messages, and no message may be sent to it by this number.
pub const GENERAL: ThreadId = ThreadId(1);

impl From<MessageId> for ThreadId {
    fn from(root: MessageId) -> ThreadId {
        ThreadId(root.0)
    }
}

impl From<ThreadId> for MessageId {
    fn from(thread: ThreadId) -> MessageId {
        MessageId(thread.0)
    }
}

impl From<UserId> for ChatId {
    fn from(person: UserId) -> ChatId {
        ChatId(person.0)
    }
}

/// A chat for the test that owns the world. Every bot has a private chat of its own with a person, though all of them have the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Chat {
    pub id: ChatId,
    /// The bot of a private chat; `None` for all others.
    pub bot: Option<UserId>,
}

impl Chat {
    pub fn topic(self, thread: ThreadId) -> Place {
        Place {
            chat: self,
            thread: Some(thread),
        }
    }
}

/// Where in a chat: in a topic, or outside topics (in a forum: in General). In a channel's direct messages `thread` is the topic of one person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub chat: Chat,
    pub thread: Option<ThreadId>,
}

impl Place {
    /// The topic of this place, or General.
    pub fn thread_or_general(&self) -> ThreadId {
        self.thread.unwrap_or(GENERAL)
    }
}

impl From<Chat> for Place {
    fn from(chat: Chat) -> Place {
        Place { chat, thread: None }
    }
}
