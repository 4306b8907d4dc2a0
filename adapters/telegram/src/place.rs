//! Where a message is, and how the same place is named when something is sent there.
//!
//! | where | chat type | thread |
//! |---|---|---|
//! | private chat | `dm` | none |
//! | topic of a private chat | `dm` | its `message_thread_id` |
//! | group, or the general topic of a forum | `group` | none |
//! | topic of a forum | `group` | its `message_thread_id` |
//! | channel | `channel` | none |
//! | what one person writes to a channel (`is_direct_messages`) | `channel` | the `topic_id` of `direct_messages_topic` |
//!
//! **Invariant:** a thread is one only where Telegram says `is_topic_message`; replies carry a `message_thread_id` that is none (public bugs 3206,
//! oc#75975), and nothing is sent to it. [`Target`] of an origin made from a [`Place`] is that place again.
//! **Absent on purpose:** guessing. A thread that is unknown is never the general one (public bugs 30538, 31086).

use homing_domain::key::ChatType;
use homing_domain::origin::{AccountName, Origin};
use serde_json::Value;

/// What typing in the general topic needs, and what no message may be sent to (tdlib/telegram-bot-api#798).
pub(crate) const GENERAL: i64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub chat_type: ChatType,
    pub chat: i64,
    pub thread: Option<i64>,
    /// The chat has topics.
    pub is_forum: bool,
}

impl Place {
    /// Where this message is. `None` if it names no chat of a known type.
    pub fn of_message(message: &Value) -> Option<Place> {
        let chat = &message["chat"];
        let is_direct_messages = chat["is_direct_messages"].as_bool() == Some(true);
        let thread = match is_direct_messages {
            true => message["direct_messages_topic"]["topic_id"].as_i64(),
            false => topic(message),
        };
        Some(Place {
            thread,
            ..Place::of_chat(chat)?
        })
    }

    /// The chat as a whole.
    pub fn of_chat(chat: &Value) -> Option<Place> {
        let chat_type = match chat["type"].as_str()? {
            "private" => ChatType::Dm,
            "supergroup" if chat["is_direct_messages"].as_bool() == Some(true) => ChatType::Channel,
            "group" | "supergroup" => ChatType::Group,
            "channel" => ChatType::Channel,
            _ => return None,
        };
        Some(Place {
            chat_type,
            chat: chat["id"].as_i64()?,
            thread: None,
            is_forum: chat["is_forum"].as_bool() == Some(true),
        })
    }

    /// Nobody else reads along: what is written here is written to the bot.
    pub fn is_private(&self) -> bool {
        matches!(
            (self.chat_type, self.thread),
            (ChatType::Dm, _) | (ChatType::Channel, Some(_))
        )
    }

    pub fn origin(&self, account: &AccountName, user: Option<i64>, anchor: Option<i64>) -> Origin {
        Origin {
            profile: account.profile.clone(),
            platform: account.platform.clone(),
            account: account.account.clone(),
            chat_type: self.chat_type,
            chat: self.chat.to_string(),
            thread: self.thread.map(|thread| thread.to_string()),
            user: user.map(|user| user.to_string()),
            anchor: anchor.map(|anchor| anchor.to_string()),
        }
    }
}

fn topic(message: &Value) -> Option<i64> {
    message["message_thread_id"]
        .as_i64()
        .filter(|_| message["is_topic_message"].as_bool() == Some(true))
}

/// A place as requests name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub chat: i64,
    pub thread: Option<Thread>,
    pub chat_type: ChatType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Thread {
    Topic(i64),
    /// Of a channel's direct messages.
    Person(i64),
}

impl Target {
    /// Refused, in words, if the origin cannot be one of Telegram's.
    pub fn of(origin: &Origin) -> Result<Target, String> {
        let number = |name: &str, text: &str| {
            text.parse::<i64>()
                .map_err(|_| format!("`{text}` is no {name} of Telegram's"))
        };
        let chat = number("chat", &origin.chat)?;
        let thread = origin
            .thread
            .as_deref()
            .map(|thread| number("topic", thread))
            .transpose()?;
        let thread = match (origin.chat_type, thread) {
            (_, None) => None,
            (ChatType::Channel, Some(person)) => Some(Thread::Person(person)),
            // An origin that was written by hand may name the general topic as links do.
            (ChatType::Group | ChatType::Thread, Some(GENERAL)) => None,
            (_, Some(topic)) => Some(Thread::Topic(topic)),
        };
        Ok(Target {
            chat,
            thread,
            chat_type: origin.chat_type,
        })
    }

    pub fn is_group(&self) -> bool {
        matches!(self.chat_type, ChatType::Group | ChatType::Thread)
    }

    /// The parameter that names the thread.
    pub fn thread_parameter(&self) -> Option<(&'static str, i64)> {
        self.thread.map(|thread| match thread {
            Thread::Topic(topic) => ("message_thread_id", topic),
            Thread::Person(person) => ("direct_messages_topic_id", person),
        })
    }
}

/// The chat and thread that an answer says a message is in.
pub(crate) fn landed(message: &Value) -> Option<(i64, Option<i64>)> {
    let place = Place::of_message(message)?;
    Some((place.chat, place.thread))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;
    use serde_json::json;

    fn account() -> AccountName {
        AccountName {
            profile: "main".into(),
            platform: "telegram".into(),
            account: None,
        }
    }

    fn forum(more: Value) -> Value {
        let mut message =
            json!({"message_id": 9, "chat": {"id": -100, "type": "supergroup", "is_forum": true}});
        let object = message.as_object_mut().unwrap();
        object.extend(more.as_object().unwrap().clone());
        message
    }

    #[test]
    fn every_place_of_the_table_and_back() {
        let private = |more: Value| {
            let mut message = json!({"message_id": 9, "chat": {"id": 7, "type": "private"}});
            let object = message.as_object_mut().unwrap();
            object.extend(more.as_object().unwrap().clone());
            message
        };
        let direct = json!({
            "chat": {"id": -100, "type": "supergroup", "is_direct_messages": true},
            "direct_messages_topic": {"topic_id": 4_503_599_627_370_496_i64},
        });
        let topic = json!({"message_thread_id": 42, "is_topic_message": true});
        let pseudo = json!({"message_thread_id": 42});
        for (message, chat_type, thread, parameter) in [
            (private(json!({})), ChatType::Dm, None, None),
            (private(pseudo.clone()), ChatType::Dm, None, None),
            (
                private(topic.clone()),
                ChatType::Dm,
                Some(42),
                Some("message_thread_id"),
            ),
            (forum(json!({})), ChatType::Group, None, None),
            (forum(pseudo), ChatType::Group, None, None),
            (
                forum(topic),
                ChatType::Group,
                Some(42),
                Some("message_thread_id"),
            ),
            (
                json!({"chat": {"id": -5, "type": "group"}}),
                ChatType::Group,
                None,
                None,
            ),
            (
                json!({"chat": {"id": -100, "type": "channel"}}),
                ChatType::Channel,
                None,
                None,
            ),
            (
                direct,
                ChatType::Channel,
                Some(4_503_599_627_370_496),
                Some("direct_messages_topic_id"),
            ),
        ] {
            let place = Place::of_message(&message).unwrap();
            assert_eq!(
                (place.chat_type, place.thread),
                (chat_type, thread),
                "{message}"
            );
            let target = Target::of(&place.origin(&account(), Some(1), Some(9))).unwrap();
            assert_eq!(target.chat, place.chat);
            assert_eq!(
                target.thread_parameter(),
                parameter.map(|name| (name, thread.unwrap())),
                "{message}"
            );
            assert_eq!(landed(&message), Some((place.chat, thread)));
        }
    }

    // tdlib/telegram-bot-api#798
    #[test]
    fn the_general_topic_is_never_sent_to_by_its_number() {
        let mut origin =
            Place::of_message(&forum(json!({})))
                .unwrap()
                .origin(&account(), None, None);
        origin.thread = Some("1".into());
        assert_eq!(Target::of(&origin).unwrap().thread, None);
    }

    #[test]
    fn what_cannot_be_telegrams_is_refused_in_words() {
        let mut origin =
            Place::of_message(&forum(json!({})))
                .unwrap()
                .origin(&account(), None, None);
        origin.chat = "C012".into();
        assert_eq!(
            Target::of(&origin).unwrap_err(),
            "`C012` is no chat of Telegram's"
        );
        assert_eq!(
            Place::of_message(&json!({"chat": {"id": 1, "type": "planet"}})),
            None
        );
    }
}
