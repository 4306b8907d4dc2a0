//! How the world looks in Telegram's JSON.

use serde_json::{Map, Value, json};

use super::ids::{Chat, UserId};
use super::room::{Message, Reply, Room, RoomKind};
use super::wishes::{Kind, Standing};
use super::world::World;

impl World {
    /// A person or bot, as in messages.
    pub fn show_user(&self, id: UserId) -> Value {
        if let Some(bot) = self.bots.get(&id) {
            return json!({"id": id, "is_bot": true, "first_name": bot.name, "username": bot.username});
        }
        let Some(user) = self.users.get(&id) else {
            return json!({"id": id, "is_bot": false, "first_name": "Somebody"});
        };
        let mut shown = json!({"id": id, "is_bot": false, "first_name": user.first_name});
        for (field, value) in [
            ("last_name", &user.last_name),
            ("username", &user.username),
            ("language_code", &user.language),
        ] {
            if let Some(value) = value {
                shown[field] = json!(value);
            }
        }
        shown
    }

    /// A bot, as `getMe` tells.
    pub fn show_me(&self, id: UserId) -> Value {
        let mut shown = self.show_user(id);
        if let Some(bot) = self.bots.get(&id) {
            for (field, value) in [
                ("can_join_groups", true),
                ("can_read_all_group_messages", bot.reads_all),
                ("supports_inline_queries", false),
                ("can_connect_to_business", false),
                ("has_main_web_app", false),
                ("has_topics_enabled", bot.topics),
                (
                    "allows_users_to_create_topics",
                    bot.topics && bot.people_create_topics,
                ),
            ] {
                shown[field] = json!(value);
            }
        }
        shown
    }

    /// A chat, as in messages.
    pub fn show_chat(&self, room: &Room) -> Value {
        let id = room.key.id;
        match room.kind {
            RoomKind::Private(person) => {
                let mut shown = json!({"id": id, "type": "private"});
                if let Some(user) = self.users.get(&person) {
                    shown["first_name"] = json!(user.first_name);
                    if let Some(name) = &user.last_name {
                        shown["last_name"] = json!(name);
                    }
                    if let Some(name) = &user.username {
                        shown["username"] = json!(name);
                    }
                }
                shown
            }
            RoomKind::Shared(kind) => {
                let mut shown = json!({"id": id, "type": room.noun(), "title": room.title});
                match kind {
                    Kind::Forum => shown["is_forum"] = json!(true),
                    Kind::DirectMessages => shown["is_direct_messages"] = json!(true),
                    _ => {}
                }
                shown
            }
        }
    }

    /// A chat, as `getChat` tells.
    pub fn show_full_chat(&self, room: &Room) -> Value {
        let mut shown = self.show_chat(room);
        shown["accent_color_id"] = json!(1);
        shown["max_reaction_count"] = json!(11);
        shown["accepted_gift_types"] = json!({
            "unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false, "premium_subscription": false, "gifts_from_channels": false,
        });
        if let Some(pinned) = room.pinned.last().and_then(|id| room.message(*id)) {
            shown["pinned_message"] = self.show_bare(room, pinned);
        }
        shown
    }

    /// A message with what it answers.
    pub fn show_message(&self, room: &Room, message: &Message) -> Value {
        let mut shown = self.show_bare(room, message);
        match &message.reply {
            Some(Reply::To { message: to, quote }) => {
                if let Some(replied) = room.message(*to) {
                    shown["reply_to_message"] = self.show_bare(room, replied);
                }
                if let Some(quote) = quote {
                    shown["quote"] = json!({"text": quote, "position": 0, "is_manual": true});
                }
            }
            Some(Reply::Elsewhere { chat, message: to }) => {
                if let Some(reply) = self.show_external(*chat, *to) {
                    shown["external_reply"] = reply;
                }
            }
            // What is in a forum's topic answers its beginning, if nothing else.
            None if room.is(Kind::Forum) => {
                let root = message.thread.map(Into::into);
                let root = root.filter(|root| *root != message.id);
                if let Some(root) = root.and_then(|root| room.message(root)) {
                    shown["reply_to_message"] = self.show_bare(room, root);
                }
            }
            None => {}
        }
        shown
    }

    /// A message without what it answers, as inside another one.
    pub fn show_bare(&self, room: &Room, message: &Message) -> Value {
        let mut shown = Map::new();
        let mut put = |field: &str, value: Value| shown.insert(field.to_owned(), value);
        put("message_id", json!(message.id));
        match (room.is(Kind::DirectMessages), message.thread) {
            (true, Some(topic)) => {
                let person = room.topics.get(&topic).map(|topic| topic.creator);
                let mut shown_topic = json!({"topic_id": topic});
                if let Some(person) = person {
                    shown_topic["user"] = self.show_user(person);
                }
                put("direct_messages_topic", shown_topic);
            }
            (false, Some(thread)) => {
                put("message_thread_id", json!(thread));
                put("is_topic_message", json!(true));
            }
            (_, None) => {
                if let Some(chain) = message.chain {
                    put("message_thread_id", json!(chain));
                }
            }
        }
        match room.is(Kind::Channel) {
            true => put("sender_chat", self.show_chat(room)),
            false => put("from", self.show_user(message.author)),
        };
        put("chat", self.show_chat(room));
        put("date", json!(message.date));
        if let Some(edited) = message.edited {
            put("edit_date", json!(edited));
        }
        if let Some(album) = &message.album {
            put("media_group_id", json!(album));
        }
        if let Some(markup) = message
            .markup
            .as_ref()
            .filter(|markup| markup.get("inline_keyboard").is_some())
        {
            put("reply_markup", markup.clone());
        }
        shown.extend(message.content.clone());
        Value::Object(shown)
    }

    fn show_external(&self, chat: Chat, id: super::ids::MessageId) -> Option<Value> {
        let room = self.rooms.get(&chat)?;
        let message = room.message(id)?;
        Some(json!({
            "origin": self.show_origin(room, message),
            "chat": self.show_chat(room),
            "message_id": id,
        }))
    }

    /// Where a forwarded message comes from.
    pub fn show_origin(&self, room: &Room, message: &Message) -> Value {
        match room.is(Kind::Channel) {
            true => {
                json!({"type": "channel", "date": message.date, "chat": self.show_chat(room), "message_id": message.id})
            }
            false => {
                json!({"type": "user", "date": message.date, "sender_user": self.show_user(message.author)})
            }
        }
    }

    /// Somebody's standing, as `getChatMember` tells.
    pub fn show_member(&self, who: UserId, standing: &Standing) -> Value {
        let mut shown = json!({"user": self.show_user(who), "status": standing.name()});
        let rights: &[&str] = match standing {
            Standing::Administrator(_) => &[
                "can_manage_chat",
                "can_delete_messages",
                "can_manage_video_chats",
                "can_restrict_members",
                "can_promote_members",
                "can_change_info",
                "can_invite_users",
                "can_post_stories",
                "can_edit_stories",
                "can_delete_stories",
                "can_send_welcome_messages",
                "can_pin_messages",
                "can_manage_topics",
                "can_post_messages",
                "can_edit_messages",
                "can_manage_direct_messages",
                "can_be_edited",
                "is_anonymous",
            ],
            Standing::Restricted => &[
                "is_member",
                "can_send_messages",
                "can_send_audios",
                "can_send_documents",
                "can_send_photos",
                "can_send_videos",
                "can_send_video_notes",
                "can_send_voice_notes",
                "can_send_polls",
                "can_send_other_messages",
                "can_add_web_page_previews",
                "can_react_to_messages",
                "can_edit_tag",
                "can_change_info",
                "can_invite_users",
                "can_pin_messages",
                "can_manage_topics",
            ],
            Standing::Creator => &["is_anonymous"],
            _ => &[],
        };
        for right in rights {
            // The first one comes with being an administrator, or restricted, at all.
            let granted = standing.has(right) && *right != "is_anonymous"
                || ["can_manage_chat", "is_member"].contains(right);
            shown[*right] = json!(granted);
        }
        if matches!(standing, Standing::Kicked | Standing::Restricted) {
            shown["until_date"] = json!(0);
        }
        shown
    }
}
