//! What a test puts into the world: bots, people, what they write and do.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::ids::{MessageId, UserId};

/// A bot to be made.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewBot {
    pub username: String,
    #[serde(default)]
    pub name: Option<String>,
    /// Privacy mode is off: it reads every message of its groups.
    #[serde(default)]
    pub reads_all: bool,
    /// Its private chats have topics.
    #[serde(default)]
    pub topics: bool,
    /// People may create topics in its private chats.
    #[serde(default)]
    pub people_create_topics: bool,
}

impl NewBot {
    /// In privacy mode, without topics in private chats.
    pub fn named(username: impl Into<String>) -> NewBot {
        NewBot {
            username: username.into(),
            name: None,
            reads_all: false,
            topics: false,
            people_create_topics: false,
        }
    }

    pub fn reading_all(self) -> NewBot {
        NewBot {
            reads_all: true,
            ..self
        }
    }

    pub fn with_private_topics(self) -> NewBot {
        NewBot {
            topics: true,
            people_create_topics: true,
            ..self
        }
    }
}

/// A person to be made.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    pub first_name: String,
    #[serde(default)]
    pub last_name: Option<String>,
    #[serde(default)]
    pub username: Option<String>,
    #[serde(default)]
    pub language: Option<String>,
    /// A number of one's own choice; otherwise the next free one.
    #[serde(default)]
    pub id: Option<UserId>,
}

impl NewUser {
    pub fn named(first_name: impl Into<String>) -> NewUser {
        NewUser {
            first_name: first_name.into(),
            last_name: None,
            username: None,
            language: Some("en".into()),
            id: None,
        }
    }

    pub fn username(self, username: impl Into<String>) -> NewUser {
        NewUser {
            username: Some(username.into()),
            ..self
        }
    }

    pub fn id(self, id: impl Into<UserId>) -> NewUser {
        NewUser {
            id: Some(id.into()),
            ..self
        }
    }
}

impl From<&str> for NewUser {
    fn from(first_name: &str) -> NewUser {
        NewUser::named(first_name)
    }
}

/// What somebody is in a chat.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Creator,
    /// With these rights, such as `can_manage_topics`.
    Administrator(BTreeSet<String>),
    Member,
    /// Still in the chat, but may not write.
    Restricted,
    Left,
    Kicked,
}

impl Standing {
    pub fn administrator<'a>(rights: impl IntoIterator<Item = &'a str>) -> Standing {
        Standing::Administrator(rights.into_iter().map(str::to_owned).collect())
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Standing::Creator => "creator",
            Standing::Administrator(_) => "administrator",
            Standing::Member => "member",
            Standing::Restricted => "restricted",
            Standing::Left => "left",
            Standing::Kicked => "kicked",
        }
    }

    pub(super) fn is_inside(&self) -> bool {
        !matches!(self, Standing::Left | Standing::Kicked)
    }

    pub(super) fn is_administrator(&self) -> bool {
        matches!(self, Standing::Creator | Standing::Administrator(_))
    }

    pub(super) fn has(&self, right: &str) -> bool {
        match self {
            Standing::Creator => true,
            Standing::Administrator(rights) => rights.contains(right),
            _ => false,
        }
    }
}

/// A kind of chat with several people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An old group: no topics, may migrate to a supergroup.
    Group,
    Supergroup,
    /// A supergroup with topics.
    Forum,
    Channel,
    /// What people write to a channel, each in a topic of their own.
    DirectMessages,
}

/// What a person writes. Commands, mentions, links and hashtags in the text become entities by themselves.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Post {
    /// Text, or the caption of a file.
    #[serde(default)]
    pub text: String,
    /// Besides those that are found in the text.
    #[serde(default)]
    pub entities: Vec<Value>,
    #[serde(default)]
    pub reply_to: Option<MessageId>,
    #[serde(default)]
    pub file: Option<NewFile>,
    /// Any further fields of the message, such as `location` or `contact`, as Telegram shows them.
    #[serde(default)]
    pub extra: serde_json::Map<String, Value>,
}

/// A file that a person sends.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewFile {
    /// `photo`, `document`, `audio`, `video`, `voice` or `animation`.
    pub kind: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub mime_type: Option<String>,
    /// As text; for other bytes see `size`, or [`Post::document`].
    #[serde(default, with = "text_bytes")]
    pub bytes: Vec<u8>,
    /// A size to claim instead of the true one, for files that are too big.
    #[serde(default)]
    pub size: Option<u64>,
}

mod text_bytes {
    use serde::{Deserialize as _, Deserializer};

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(from).map(String::into_bytes)
    }
}

impl Post {
    pub fn text(text: impl Into<String>) -> Post {
        Post {
            text: text.into(),
            ..Post::default()
        }
    }

    pub fn photo(bytes: impl Into<Vec<u8>>) -> Post {
        Post::file("photo", None, Some("image/jpeg"), bytes)
    }

    pub fn document(name: &str, mime_type: &str, bytes: impl Into<Vec<u8>>) -> Post {
        Post::file("document", Some(name), Some(mime_type), bytes)
    }

    pub fn voice(bytes: impl Into<Vec<u8>>) -> Post {
        Post::file("voice", None, Some("audio/ogg"), bytes)
    }

    /// A message of another kind: `fields` are what Telegram shows of it, `{"location": {…}}`.
    pub fn raw(fields: serde_json::Map<String, Value>) -> Post {
        Post {
            extra: fields,
            ..Post::default()
        }
    }

    pub fn file(
        kind: &str,
        name: Option<&str>,
        mime_type: Option<&str>,
        bytes: impl Into<Vec<u8>>,
    ) -> Post {
        Post {
            file: Some(NewFile {
                kind: kind.to_owned(),
                name: name.map(str::to_owned),
                mime_type: mime_type.map(str::to_owned),
                bytes: bytes.into(),
                size: None,
            }),
            ..Post::default()
        }
    }

    pub fn caption(self, text: impl Into<String>) -> Post {
        Post {
            text: text.into(),
            ..self
        }
    }

    pub fn reply_to(self, message: impl Into<MessageId>) -> Post {
        Post {
            reply_to: Some(message.into()),
            ..self
        }
    }

    pub fn entities(self, entities: Vec<Value>) -> Post {
        Post { entities, ..self }
    }

    /// The file claims to have this many bytes.
    pub fn claiming_size(mut self, size: u64) -> Post {
        if let Some(file) = &mut self.file {
            file.size = Some(size);
        }
        self
    }
}

impl From<&str> for Post {
    fn from(text: &str) -> Post {
        Post::text(text)
    }
}

impl From<String> for Post {
    fn from(text: String) -> Post {
        Post::text(text)
    }
}

/// What a person does to a topic. General is meant where the place names no topic.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicEvent {
    Renamed(String),
    Closed,
    Reopened,
    /// Nobody is told, as on Telegram: the next message to it fails.
    Deleted,
    /// General only.
    Hidden,
    Unhidden,
}

/// The test asked for something that cannot be in this world.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Impossible(pub(super) String);

impl Impossible {
    pub(super) fn because(reason: impl Into<String>) -> Impossible {
        Impossible(reason.into())
    }
}
