//! A chat: who is in it, its topics and its messages.
//!
//! **Invariant:** messages are never removed, only marked as deleted; numbers are never used twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ids::{Chat, ChatId, MessageId, ThreadId, UserId};
use super::log::Earlier;
use super::text::Formatted;
use super::wishes::{Kind, Standing};

#[derive(Debug)]
pub(super) struct Room {
    pub key: Chat,
    pub kind: RoomKind,
    pub title: String,
    pub members: BTreeMap<UserId, Standing>,
    pub messages: BTreeMap<MessageId, Message>,
    pub topics: BTreeMap<ThreadId, Topic>,
    pub general: General,
    pub fate: Fate,
    pub pinned: Vec<MessageId>,
    last_message: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoomKind {
    Private(UserId),
    Shared(Kind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Alive,
    /// The person of a private chat blocked the bot.
    Blocked,
    MigratedTo(ChatId),
    Deleted,
}

#[derive(Debug, Clone)]
pub(super) struct Topic {
    pub name: String,
    pub icon: Option<String>,
    pub creator: UserId,
    pub closed: bool,
    pub deleted: bool,
}

#[derive(Debug, Clone)]
pub(super) struct General {
    pub name: String,
    pub closed: bool,
    pub hidden: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Message {
    pub id: MessageId,
    /// In a channel, the channel is shown instead.
    pub author: UserId,
    pub date: i64,
    pub edited: Option<i64>,
    /// The topic; in a channel's direct messages the person's.
    pub thread: Option<ThreadId>,
    /// The first message of a chain of replies outside topics.
    pub chain: Option<MessageId>,
    pub reply: Option<Reply>,
    /// `text` or `caption` and their entities, files, or what a service message says.
    pub content: Map<String, Value>,
    /// The entities as the sender asked for them.
    pub asked_entities: Vec<Value>,
    pub markup: Option<Value>,
    pub album: Option<String>,
    pub service: bool,
    pub history: Vec<Earlier>,
    pub deleted: bool,
    /// Who reacted how.
    pub reactions: BTreeMap<UserId, Vec<Value>>,
}

/// What a message answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    To {
        message: MessageId,
        quote: Option<String>,
    },
    /// In another chat or topic.
    Elsewhere { chat: Chat, message: MessageId },
}

impl Message {
    pub fn new(author: UserId, date: i64, content: Map<String, Value>) -> Message {
        Message {
            id: MessageId(0),
            author,
            date,
            edited: None,
            thread: None,
            chain: None,
            reply: None,
            content,
            asked_entities: Vec::new(),
            markup: None,
            album: None,
            service: false,
            history: Vec::new(),
            deleted: false,
            reactions: BTreeMap::new(),
        }
    }

    /// What the service says of an event: `{"forum_topic_closed": {}}`.
    pub fn service(by: UserId, date: i64, field: &str, value: Value) -> Message {
        let content = Map::from_iter([(field.to_owned(), value)]);
        Message {
            service: true,
            ..Message::new(by, date, content)
        }
    }

    /// Whether its words are a caption.
    pub fn is_captioned(&self) -> bool {
        !self.content.contains_key("text") && self.media_kind().is_some()
    }

    pub fn media_kind(&self) -> Option<&'static str> {
        // An animation is a document as well, for old clients.
        [
            "photo",
            "animation",
            "document",
            "audio",
            "video",
            "voice",
            "video_note",
            "sticker",
        ]
        .into_iter()
        .find(|kind| self.content.contains_key(*kind))
    }

    /// Text or caption.
    pub fn words(&self) -> &str {
        let field = self
            .content
            .get("text")
            .or_else(|| self.content.get("caption"));
        field.and_then(Value::as_str).unwrap_or_default()
    }

    pub fn word_entities(&self) -> &[Value] {
        let field = self
            .content
            .get("entities")
            .or_else(|| self.content.get("caption_entities"));
        field.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub fn set_words(&mut self, words: Formatted, captioned: bool) {
        let (text, entities) = match captioned {
            true => ("caption", "caption_entities"),
            false => ("text", "entities"),
        };
        self.asked_entities = words.asked;
        for (field, value, is_empty) in [
            (text, json!(words.text), words.text.is_empty()),
            (entities, json!(words.entities), words.entities.is_empty()),
        ] {
            match is_empty {
                true => self.content.remove(field),
                false => self.content.insert(field.to_owned(), value),
            };
        }
    }

    /// Rows of inline buttons.
    pub fn buttons(&self) -> Vec<Vec<Value>> {
        let rows = self
            .markup
            .as_ref()
            .and_then(|markup| markup["inline_keyboard"].as_array());
        rows.into_iter()
            .flatten()
            .map(|row| row.as_array().cloned().unwrap_or_default())
            .collect()
    }

    pub fn as_it_is(&self) -> Earlier {
        Earlier {
            text: self.words().to_owned(),
            entities: self.asked_entities.clone(),
            buttons: self.buttons(),
        }
    }
}

impl Room {
    pub fn new(key: Chat, kind: RoomKind, title: &str) -> Room {
        Room {
            key,
            kind,
            title: title.to_owned(),
            members: BTreeMap::new(),
            messages: BTreeMap::new(),
            topics: BTreeMap::new(),
            general: General {
                name: "General".into(),
                closed: false,
                hidden: false,
            },
            fate: Fate::Alive,
            pinned: Vec::new(),
            last_message: match kind {
                // A topic has the number of a message, and 1 is General.
                RoomKind::Private(_) | RoomKind::Shared(Kind::Forum) => 1,
                RoomKind::Shared(_) => 0,
            },
        }
    }

    pub fn is(&self, kind: Kind) -> bool {
        self.kind == RoomKind::Shared(kind)
    }

    /// How errors call it.
    pub fn noun(&self) -> &'static str {
        match self.kind {
            RoomKind::Private(_) => "private",
            RoomKind::Shared(Kind::Group) => "group",
            RoomKind::Shared(Kind::Channel) => "channel",
            RoomKind::Shared(_) => "supergroup",
        }
    }

    pub fn standing(&self, who: UserId) -> Standing {
        self.members.get(&who).cloned().unwrap_or(Standing::Left)
    }

    /// Numbers grow; the message gets the next one.
    pub fn add(&mut self, mut message: Message) -> MessageId {
        self.last_message += 1;
        message.id = MessageId(self.last_message);
        let id = message.id;
        self.messages.insert(id, message);
        id
    }

    /// The number that the next message will have.
    pub fn next_message(&self) -> MessageId {
        MessageId(self.last_message + 1)
    }

    pub fn message(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(&id).filter(|message| !message.deleted)
    }

    pub fn message_mut(&mut self, id: MessageId) -> Option<&mut Message> {
        self.messages
            .get_mut(&id)
            .filter(|message| !message.deleted)
    }

    /// A topic that is there.
    pub fn topic(&self, thread: ThreadId) -> Option<&Topic> {
        self.topics.get(&thread).filter(|topic| !topic.deleted)
    }

    /// Where a reply to this message belongs if it is in no topic: replies have pseudo-threads in supergroups only.
    pub fn chain_of(&self, replied: &Message) -> Option<MessageId> {
        let has_chains = self.is(Kind::Supergroup) || self.is(Kind::Forum);
        (has_chains && replied.thread.is_none()).then(|| replied.chain.unwrap_or(replied.id))
    }
}
