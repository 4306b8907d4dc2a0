//! Everything there is: bots, people, chats, files, and what was logged.
//!
//! **Invariant:** it changes only under its lock, in whole steps: a request takes effect entirely or not at all.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::faults::Faults;
use super::files::Files;
use super::flood::Gate;
use super::ids::{Chat, ChatId, MessageId, ThreadId, UserId};
use super::log::{Log, Media, Sent, SentKey};
use super::room::{Message, Reply, Room, RoomKind};
use super::settings::{Flood, RichMessages};
use super::updates::Queue;
use super::webhook::Webhook;
use super::wishes::{Impossible, Kind, NewBot, NewUser, Standing};

#[derive(Debug)]
pub(super) struct World {
    pub bots: BTreeMap<UserId, BotState>,
    pub users: BTreeMap<UserId, User>,
    pub rooms: BTreeMap<Chat, Room>,
    pub files: Files,
    pub callbacks: BTreeMap<String, Callback>,
    pub log: Log,
    pub faults: Faults,
    pub gate: Gate,
    pub rich_messages: RichMessages,
    pub download_limit: u64,
    counters: Counters,
}

/// Where numbers begin. They are of the sizes that Telegram's have.
#[derive(Debug)]
struct Counters {
    user: i64,
    bot: i64,
    group: i64,
    supergroup: i64,
    direct_topic: i64,
    callback: u64,
    album: u64,
    token: u64,
}

#[derive(Debug)]
pub(super) struct BotState {
    pub id: UserId,
    pub token: String,
    pub name: String,
    pub username: String,
    pub reads_all: bool,
    pub topics: bool,
    pub people_create_topics: bool,
    pub queue: Queue,
    pub webhook: Option<Webhook>,
    /// Commands by scope and language.
    pub commands: BTreeMap<(String, String), Value>,
    /// Names, descriptions and the like, by field and language.
    pub texts: BTreeMap<(String, String), String>,
}

#[derive(Debug, Clone)]
pub(super) struct User {
    pub first_name: String,
    pub last_name: Option<String>,
    pub username: Option<String>,
    pub language: Option<String>,
    pub deactivated: bool,
}

/// The press of a button.
#[derive(Debug)]
pub(super) struct Callback {
    pub bot: UserId,
    /// Answered already, or too old.
    pub over: bool,
}

impl World {
    pub fn new(flood: Option<Flood>, rich_messages: RichMessages, download_limit: u64) -> World {
        World {
            bots: BTreeMap::new(),
            users: BTreeMap::new(),
            rooms: BTreeMap::new(),
            files: Files::default(),
            callbacks: BTreeMap::new(),
            log: Log::default(),
            faults: Faults::default(),
            gate: Gate::new(flood),
            rich_messages,
            download_limit,
            counters: Counters {
                user: 700_000_000,
                bot: 7_000_000_000,
                group: -4_000_000,
                supergroup: -1_001_000_000_000,
                direct_topic: 4_503_599_627_370_000,
                callback: 4_382_000_000_000_000_000,
                album: 13_579_246_801_000,
                token: 0,
            },
        }
    }

    /// Unix time in seconds, as in every date of Telegram's.
    pub fn now() -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0))
    }

    pub fn add_bot(&mut self, new: NewBot) -> &BotState {
        self.counters.bot += 1;
        let id = UserId(self.counters.bot);
        let first_update = 291_000_000 + (self.bots.len() as i64) * 1_000_000;
        let token = self.new_token(id);
        self.bots.entry(id).or_insert(BotState {
            id,
            token,
            name: new.name.unwrap_or_else(|| new.username.clone()),
            username: new.username,
            reads_all: new.reads_all,
            topics: new.topics,
            people_create_topics: new.people_create_topics,
            queue: Queue::new(first_update),
            webhook: None,
            commands: BTreeMap::new(),
            texts: BTreeMap::new(),
        })
    }

    pub fn new_token(&mut self, bot: UserId) -> String {
        self.counters.token += 1;
        // Of the form that clients check for: 35 characters after the number.
        format!(
            "{bot}:AAsimulated-token-of-a-bot-{:08}",
            self.counters.token
        )
    }

    pub fn add_user(&mut self, new: NewUser) -> UserId {
        let id = new.id.unwrap_or_else(|| {
            self.counters.user += 1;
            UserId(self.counters.user)
        });
        let user = User {
            first_name: new.first_name,
            last_name: new.last_name,
            username: new.username,
            language: new.language,
            deactivated: false,
        };
        self.users.insert(id, user);
        id
    }

    pub fn add_private(&mut self, bot: UserId, person: UserId) -> Chat {
        let key = Chat {
            id: person.into(),
            bot: Some(bot),
        };
        self.rooms.entry(key).or_insert_with(|| {
            let mut room = Room::new(key, RoomKind::Private(person), "");
            room.members.insert(person, Standing::Member);
            room.members.insert(bot, Standing::Member);
            room
        });
        key
    }

    pub fn add_chat(&mut self, kind: Kind, title: &str, members: &[UserId]) -> Chat {
        let number = match kind {
            Kind::Group => &mut self.counters.group,
            _ => &mut self.counters.supergroup,
        };
        *number -= 1;
        let key = Chat {
            id: ChatId(*number),
            bot: None,
        };
        let mut room = Room::new(key, RoomKind::Shared(kind), title);
        for (at, member) in members.iter().enumerate() {
            let standing = match at {
                0 => Standing::Creator,
                _ => Standing::Member,
            };
            room.members.insert(*member, standing);
        }
        self.rooms.insert(key, room);
        key
    }

    pub fn next_callback(&mut self) -> String {
        self.counters.callback += 1;
        self.counters.callback.to_string()
    }

    pub fn next_album(&mut self) -> String {
        self.counters.album += 1;
        self.counters.album.to_string()
    }

    pub fn next_direct_topic(&mut self) -> ThreadId {
        self.counters.direct_topic += 1;
        ThreadId(self.counters.direct_topic)
    }

    pub fn room(&self, key: Chat) -> Result<&Room, Impossible> {
        self.rooms
            .get(&key)
            .ok_or_else(|| Impossible::because(format!("there is no chat {}", key.id)))
    }

    pub fn room_mut(&mut self, key: Chat) -> Result<&mut Room, Impossible> {
        self.rooms
            .get_mut(&key)
            .ok_or_else(|| Impossible::because(format!("there is no chat {}", key.id)))
    }

    pub fn bot_of_token(&self, token: &str) -> Option<UserId> {
        let bot = self.bots.values().find(|bot| bot.token == token)?;
        Some(bot.id)
    }

    /// The chat that a bot means by a number.
    pub fn chat_seen_by(&self, bot: UserId, id: ChatId) -> Option<Chat> {
        let private = Chat { id, bot: Some(bot) };
        let shared = Chat { id, bot: None };
        [private, shared]
            .into_iter()
            .find(|key| self.rooms.contains_key(key))
    }

    pub fn log_sent(
        &mut self,
        bot: UserId,
        method: &str,
        asked_thread: Option<ThreadId>,
        chat: Chat,
        message: MessageId,
    ) {
        self.log.sent.push(SentKey {
            bot,
            method: method.to_owned(),
            asked_thread,
            chat,
            message,
            at: Instant::now(),
        });
    }

    /// What bots sent after the first so many messages, as it is now.
    pub fn sent_since(&self, index: usize) -> Vec<Sent> {
        let known = self.log.sent.iter().skip(index);
        known.filter_map(|key| self.sent_as_it_is(key)).collect()
    }

    fn sent_as_it_is(&self, key: &SentKey) -> Option<Sent> {
        let message = self.rooms.get(&key.chat)?.messages.get(&key.message)?;
        let now = message.as_it_is();
        Some(Sent {
            bot: key.bot,
            method: key.method.clone(),
            chat: key.chat.id,
            thread: message.thread,
            asked_thread: key.asked_thread,
            message: key.message,
            text: now.text,
            entities: now.entities,
            reply_to: match message.reply {
                Some(Reply::To { message, .. } | Reply::Elsewhere { message, .. }) => Some(message),
                None => None,
            },
            buttons: now.buttons,
            media: self.media(message),
            album: message.album.clone(),
            history: message.history.clone(),
            deleted: message.deleted,
            at: key.at,
        })
    }

    fn media(&self, message: &Message) -> Option<Media> {
        let kind = message.media_kind()?;
        let shown = message.content.get(kind)?;
        // Of a photo, the largest size is the last.
        let shown = shown
            .as_array()
            .and_then(|sizes| sizes.last())
            .unwrap_or(shown);
        let file_id = shown["file_id"].as_str()?;
        let file = self.files.get(file_id)?;
        Some(Media {
            kind: kind.to_owned(),
            file_id: file_id.to_owned(),
            file_name: file.name.clone(),
            mime_type: file.mime_type.clone(),
            size: file.size,
        })
    }
}
