//! What people do, as steps of the world.

use serde_json::{Map, Value, json};

use super::files::FileParts;
use super::ids::{Chat, GENERAL, MessageId, Place, ThreadId, UserId};
use super::room::{Fate, Message, Reply, Room, RoomKind};
use super::text::{Formatted, LONGEST_CAPTION, LONGEST_TEXT, units, with_found};
use super::topics::{DEFAULT_COLOUR, NewTopic, NoChange};
use super::wishes::{Impossible, Kind, NewFile, Post, Standing, TopicEvent};
use super::world::{Callback, World};

type Done<T = ()> = Result<T, Impossible>;

fn no<T>(reason: impl Into<String>) -> Done<T> {
    Err(Impossible::because(reason))
}

impl World {
    pub fn person_posts(
        &mut self,
        by: UserId,
        place: Place,
        post: Post,
        album: Option<String>,
    ) -> Done<MessageId> {
        let key = place.chat;
        self.check_person(by, key)?;
        let thread = self.person_thread(by, place, post.reply_to)?;
        let mut content = post.extra;
        if let Some(file) = post.file {
            content.extend(self.person_file(file)?);
        }
        let mut message = Message::new(by, World::now(), content);
        message.thread = thread;
        message.album = album;
        let captioned = message.media_kind().is_some();
        let limit = match captioned {
            true => LONGEST_CAPTION,
            false => LONGEST_TEXT,
        };
        if units(&post.text) > limit {
            return no(format!(
                "Telegram's own apps split a text of more than {limit} UTF-16 units"
            ));
        }
        if post.text.is_empty() && message.content.is_empty() {
            return no("an empty message cannot be written");
        }
        let entities = with_found(&post.text, post.entities.clone());
        let words = Formatted {
            text: post.text,
            asked: post.entities,
            entities,
        };
        message.set_words(words, captioned);
        let room = self.room_mut(key)?;
        if let Some(to) = post.reply_to {
            let Some(replied) = room.message(to) else {
                return no(format!("there is no message {to} to reply to"));
            };
            message.chain = room.chain_of(replied);
            message.reply = Some(Reply::To {
                message: to,
                quote: None,
            });
        }
        let id = room.add(message);
        self.announce(key, id);
        Ok(id)
    }

    fn check_person(&self, by: UserId, key: Chat) -> Done {
        let room = self.room(key)?;
        let Some(user) = self.users.get(&by) else {
            return no(format!("there is no person {by}"));
        };
        match room.fate {
            _ if user.deactivated => no(format!("{by} is deactivated")),
            Fate::Alive => Ok(()),
            Fate::Blocked => no("the person blocked the bot; unblock it first"),
            Fate::MigratedTo(to) => no(format!("the group is the supergroup {to} now")),
            Fate::Deleted => no("the group is deleted"),
        }?;
        let standing = room.standing(by);
        match room.kind {
            RoomKind::Shared(Kind::DirectMessages) => Ok(()),
            RoomKind::Shared(Kind::Channel) if !standing.is_administrator() => {
                no(format!("{by} is no administrator of the channel"))
            }
            _ if !standing.is_inside() => no(format!("{by} is not in the chat {}", key.id)),
            _ => Ok(()),
        }
    }

    fn person_thread(
        &mut self,
        by: UserId,
        place: Place,
        reply_to: Option<MessageId>,
    ) -> Done<Option<ThreadId>> {
        if self.room(place.chat)?.is(Kind::DirectMessages) {
            return self.direct_topic(place.chat, by).map(Some);
        }
        let room = self.room(place.chat)?;
        let replied = reply_to.and_then(|id| room.message(id));
        let asked = place.thread.filter(|thread| *thread != GENERAL);
        let thread = asked.or_else(|| replied.and_then(|replied| replied.thread));
        let trusted = room.standing(by).has("can_manage_topics");
        let closed = match thread {
            None => room.is(Kind::Forum) && room.general.closed,
            Some(thread) => match room.topic(thread) {
                Some(topic) => topic.closed,
                None => return no(format!("there is no topic {thread} in {}", place.chat.id)),
            },
        };
        match closed && !trusted {
            true => no("the topic is closed"),
            false => Ok(thread),
        }
    }

    fn person_file(&mut self, file: NewFile) -> Done<Map<String, Value>> {
        let kind = file.kind.clone();
        let parts = FileParts {
            kind: file.kind,
            name: file.name,
            mime_type: file.mime_type,
            bytes: file.bytes,
            size: file.size,
        };
        let id = self.files.add(parts);
        match self.files.content(&id, &kind) {
            Some(field) => Ok(Map::from_iter([field])),
            None => no("the file is not there"),
        }
    }

    pub fn person_edits(&mut self, by: UserId, key: Chat, id: MessageId, text: &str) -> Done {
        self.check_person(by, key)?;
        let room = self.room_mut(key)?;
        let Some(message) = room.message_mut(id).filter(|message| message.author == by) else {
            return no(format!("{by} has no message {id} in {}", key.id));
        };
        let captioned = message.is_captioned();
        message.history.push(message.as_it_is());
        let words = Formatted {
            text: text.to_owned(),
            asked: Vec::new(),
            entities: with_found(text, Vec::new()),
        };
        message.set_words(words, captioned);
        message.edited = Some(World::now());
        self.announce(key, id);
        Ok(())
    }

    pub fn person_deletes(&mut self, key: Chat, id: MessageId) -> Done {
        let Some(message) = self.room_mut(key)?.message_mut(id) else {
            return no(format!("there is no message {id} in {}", key.id));
        };
        message.deleted = true;
        Ok(())
    }

    pub fn person_presses(
        &mut self,
        by: UserId,
        key: Chat,
        id: MessageId,
        data: &str,
    ) -> Done<String> {
        self.check_person(by, key)?;
        let room = self.room(key)?;
        let Some(message) = room.message(id) else {
            return no(format!("there is no message {id} in {}", key.id));
        };
        let has_button = message
            .buttons()
            .iter()
            .flatten()
            .any(|button| button["callback_data"] == data);
        if !has_button {
            return no(format!("message {id} has no button with {data:?}"));
        }
        let bot = message.author;
        let mut query = json!({
            "from": self.show_user(by),
            "message": self.show_message(room, message),
            "chat_instance": format!("{}", key.id.0.wrapping_mul(7919)),
            "data": data,
        });
        let callback = self.next_callback();
        query["id"] = json!(callback);
        self.callbacks
            .insert(callback.clone(), Callback { bot, over: false });
        self.tell(bot, "callback_query", query, key);
        Ok(callback)
    }

    pub fn person_reacts(&mut self, by: UserId, key: Chat, id: MessageId, emoji: &[&str]) -> Done {
        self.check_person(by, key)?;
        let new: Vec<Value> = emoji
            .iter()
            .map(|emoji| json!({"type": "emoji", "emoji": emoji}))
            .collect();
        let room = self.room_mut(key)?;
        let Some(message) = room.message_mut(id) else {
            return no(format!("there is no message {id} in {}", key.id));
        };
        let old = message
            .reactions
            .insert(by, new.clone())
            .unwrap_or_default();
        let room = self.room(key)?;
        let body = json!({
            "chat": self.show_chat(room),
            "message_id": id,
            "user": self.show_user(by),
            "date": World::now(),
            "old_reaction": old,
            "new_reaction": new,
        });
        // In groups, administrators only.
        let bots: Vec<UserId> = self
            .bots
            .keys()
            .filter(|bot| key.bot == Some(**bot) || room.standing(**bot).is_administrator())
            .copied()
            .collect();
        for bot in bots {
            self.tell(bot, "message_reaction", body.clone(), key);
        }
        Ok(())
    }

    pub fn person_creates_topic(&mut self, by: UserId, key: Chat, name: &str) -> Done<ThreadId> {
        self.check_person(by, key)?;
        let room = self.room(key)?;
        let bot = key.bot.and_then(|bot| self.bots.get(&bot));
        let can =
            room.is(Kind::Forum) || bot.is_some_and(|bot| bot.topics && bot.people_create_topics);
        if !can {
            return no(format!("people cannot create topics in {}", key.id));
        }
        let implicit = name.is_empty();
        let name = match implicit {
            true => "New chat",
            false => name,
        };
        self.create_topic(
            by,
            key,
            NewTopic {
                name: name.to_owned(),
                icon_color: DEFAULT_COLOUR,
                icon: None,
                implicit,
            },
        )
    }

    pub fn person_changes_topic(&mut self, by: UserId, place: Place, event: &TopicEvent) -> Done {
        self.check_person(by, place.chat)?;
        let thread = place.thread.filter(|thread| *thread != GENERAL);
        if thread.is_none() && !self.room(place.chat)?.is(Kind::Forum) {
            return no("only a forum has a general topic");
        }
        match self.change_topic(by, place.chat, thread, event, None) {
            Ok(()) => Ok(()),
            Err(NoChange::NoTopic) => no(format!("there is no such topic in {}", place.chat.id)),
            Err(NoChange::Deleted) => no("the topic is deleted"),
            Err(NoChange::AsBefore) => no("the topic is so already"),
        }
    }

    /// The person of a private chat blocks the bot, or takes it back.
    pub fn set_blocked(&mut self, key: Chat, blocked: bool) -> Done {
        let room = self.room_mut(key)?;
        let (RoomKind::Private(person), Some(bot)) = (room.kind, key.bot) else {
            return no("only in a private chat a bot can be blocked");
        };
        let (fate, standing) = match blocked {
            true => (Fate::Blocked, Standing::Kicked),
            false => (Fate::Alive, Standing::Member),
        };
        room.fate = fate;
        self.set_standing(person, key, bot, standing)
    }

    pub fn deactivate(&mut self, person: UserId) -> Done {
        let Some(user) = self.users.get_mut(&person) else {
            return no(format!("there is no person {person}"));
        };
        user.deactivated = true;
        Ok(())
    }

    pub fn migrate(&mut self, by: UserId, key: Chat) -> Done<Chat> {
        let room = self.room(key)?;
        if !room.is(Kind::Group) || room.fate != Fate::Alive {
            return no("only a living group can become a supergroup");
        }
        let (title, members) = (room.title.clone(), room.members.clone());
        let new = self.add_chat(Kind::Supergroup, &title, &[]);
        self.room_mut(new)?.members = members;
        for (chat, field, other) in [
            (key, "migrate_to_chat_id", new),
            (new, "migrate_from_chat_id", key),
        ] {
            let message = Message::service(by, World::now(), field, json!(other.id));
            let id = self.room_mut(chat)?.add(message);
            self.announce(chat, id);
        }
        self.room_mut(key)?.fate = Fate::MigratedTo(new.id);
        Ok(new)
    }

    pub fn stop_generation(&mut self, key: Chat, draft: i64) -> Done {
        let known = self.log.drafts.iter().rev().find(|known| {
            known.chat == key.id && Some(known.bot) == key.bot && known.draft == draft
        });
        let Some(known) = known.filter(|known| known.can_stop) else {
            return no(format!("there is no draft {draft} that can be stopped"));
        };
        let (bot, thread) = (known.bot, known.thread);
        let mut body = json!({"chat": self.show_chat(self.room(key)?), "draft_id": draft});
        if let Some(thread) = thread {
            body["message_thread_id"] = json!(thread);
        }
        self.tell(bot, "stopped_message_generation", body, key);
        Ok(())
    }

    /// Messages of a place that are not deleted.
    pub fn shown_in(&self, place: Place) -> Vec<Value> {
        let Some(room) = self.rooms.get(&place.chat) else {
            return Vec::new();
        };
        let thread = place.thread.filter(|thread| *thread != GENERAL);
        let here = |message: &&Message| !message.deleted && message.thread == thread;
        let shown = |message: &Message| self.show_message(room, message);
        room.messages.values().filter(here).map(shown).collect()
    }

    pub fn delete_chat(&mut self, key: Chat) -> Done {
        let room: &mut Room = self.room_mut(key)?;
        room.fate = Fate::Deleted;
        Ok(())
    }
}
