//! Which bot hears of what.
//!
//! **Invariant:** no bot hears what it said itself, except for service messages, as on Telegram. In privacy mode it hears, in groups, only what
//! is meant for it.

use serde_json::{Value, json};

use super::ids::{Chat, MessageId, UserId};
use super::room::{Message, Reply, Room, RoomKind};
use super::text::covered;
use super::wishes::{Impossible, Kind, Standing};
use super::world::World;

impl World {
    /// An update of this kind for one bot, if it asked for such.
    pub fn tell(&mut self, bot: UserId, kind: &str, body: Value, chat: Chat) {
        if let Some(bot) = self.bots.get_mut(&bot)
            && bot.queue.allows(kind)
        {
            bot.queue.push(&json!({kind: body}), chat.id.0);
        }
    }

    /// A message is new, or was edited: every bot that may know is told.
    pub fn announce(&mut self, key: Chat, id: MessageId) {
        let Some((room, message)) = self
            .rooms
            .get(&key)
            .and_then(|room| Some((room, room.message(id)?)))
        else {
            return;
        };
        let kind = match (room.is(Kind::Channel), message.edited.is_some()) {
            (true, true) => "edited_channel_post",
            (true, false) => "channel_post",
            (false, true) => "edited_message",
            (false, false) => "message",
        };
        let shown = self.show_message(room, message);
        for bot in self.bots_that_hear(room, message) {
            self.tell(bot, kind, shown.clone(), key);
        }
    }

    fn bots_that_hear(&self, room: &Room, message: &Message) -> Vec<UserId> {
        let said_by_bot = self.bots.contains_key(&message.author) && !message.service;
        let inside = self.bots.values().filter(|bot| match room.key.bot {
            Some(own) => own == bot.id,
            None => room.standing(bot.id).is_inside(),
        });
        inside
            .filter(|bot| !said_by_bot || (room.is(Kind::Channel) && message.author != bot.id))
            .filter(|bot| bot.reads_all || is_meant_for(bot.id, &bot.username, room, message))
            .map(|bot| bot.id)
            .collect()
    }

    /// Somebody's standing changes, and those who may know are told.
    pub fn set_standing(
        &mut self,
        by: UserId,
        key: Chat,
        who: UserId,
        standing: Standing,
    ) -> Result<(), Impossible> {
        let room = self.room_mut(key)?;
        let before = room.standing(who);
        room.members.insert(who, standing.clone());
        let room = self.room(key)?;
        let body = json!({
            "chat": self.show_chat(room),
            "from": self.show_user(by),
            "date": World::now(),
            "old_chat_member": self.show_member(who, &before),
            "new_chat_member": self.show_member(who, &standing),
        });
        let administrators: Vec<UserId> = self
            .bots
            .keys()
            .filter(|bot| **bot != who && room.standing(**bot).is_administrator())
            .copied()
            .collect();
        let is_group = matches!(
            room.kind,
            RoomKind::Shared(Kind::Group | Kind::Supergroup | Kind::Forum)
        );
        if self.bots.contains_key(&who) {
            self.tell(who, "my_chat_member", body.clone(), key);
        }
        for bot in administrators {
            self.tell(bot, "chat_member", body.clone(), key);
        }
        let shown = self.show_user(who);
        let service = match (before.is_inside(), standing.is_inside()) {
            (false, true) => Some(("new_chat_members", json!([shown]))),
            (true, false) => Some(("left_chat_member", shown)),
            _ => None,
        };
        if let Some((field, value)) = service.filter(|_| is_group) {
            let message = Message::service(by, World::now(), field, value);
            let id = self.room_mut(key)?.add(message);
            self.announce(key, id);
        }
        Ok(())
    }
}

/// Whether a bot in privacy mode hears it.
fn is_meant_for(bot: UserId, username: &str, room: &Room, message: &Message) -> bool {
    if message.service
        || matches!(
            room.kind,
            RoomKind::Private(_) | RoomKind::Shared(Kind::Channel | Kind::DirectMessages)
        )
        || room.standing(bot).is_administrator()
    {
        return true;
    }
    let answers_it = match &message.reply {
        Some(Reply::To { message, .. }) => room
            .message(*message)
            .is_some_and(|replied| replied.author == bot),
        _ => false,
    };
    answers_it
        || message
            .word_entities()
            .iter()
            .any(|entity| names(entity, message.words(), bot, username))
}

fn names(entity: &Value, words: &str, bot: UserId, username: &str) -> bool {
    let covered = covered(words, entity);
    match entity["type"].as_str().unwrap_or_default() {
        "mention" => covered[1..].eq_ignore_ascii_case(username),
        "text_mention" => entity["user"]["id"] == json!(bot),
        "bot_command" => covered
            .split_once('@')
            .is_none_or(|(_, named)| named.eq_ignore_ascii_case(username)),
        _ => false,
    }
}
