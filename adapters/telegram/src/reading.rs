//! What an update says.
//!
//! Every part is read by itself, with teloxide's types where they fit: an unknown entity, file or reply costs itself, never the message.
//!
//! **Invariant:** reading never fails as a whole. What has the name of something that matters and cannot be read is [`News::Unreadable`], what has no
//! known name is too; both are kept.
//! **Absent on purpose:** who may speak, and to whom. That is [`access`](crate::access) and [`asked`](crate::asked).

use serde::Deserialize;
use serde_json::Value;
use teloxide_core::types::{Chat, ChatMemberStatus, ChatMemberUpdated, MessageEntity, User};

use crate::place::Place;

/// The kinds of updates that are asked for.
pub(crate) const KINDS: [&str; 7] = [
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "callback_query",
    "my_chat_member",
    "stopped_message_generation",
];

/// Kinds that are known and say nothing to us. They come only if somebody has asked for them with this token.
const OF_NO_USE: [&str; 20] = [
    "business_connection",
    "business_message",
    "edited_business_message",
    "deleted_business_messages",
    "guest_message",
    "message_reaction",
    "message_reaction_count",
    "inline_query",
    "chosen_inline_result",
    "shipping_query",
    "pre_checkout_query",
    "purchased_paid_media",
    "poll",
    "poll_answer",
    "chat_member",
    "chat_join_request",
    "chat_boost",
    "removed_chat_boost",
    "managed_bot",
    "subscription",
];

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum News {
    Written(Box<Message>),
    Edited(Box<Message>),
    Pressed(Box<Press>),
    /// A topic, or the general one, takes messages again.
    Reopened(Place),
    Moved {
        from: i64,
        to: i64,
    },
    /// What the bot itself is in a chat has changed.
    Standing(Box<Standing>),
    /// A person has pressed "stop" under a draft.
    Stopped(Place),
    Nothing(&'static str),
    Unreadable(String),
}

/// A message with the parts that matter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    pub id: i64,
    pub place: Place,
    /// In seconds since 1970.
    pub date: i64,
    pub edited: Option<i64>,
    pub speaker: Option<Speaker>,
    /// Text or caption, with its entities.
    pub text: String,
    pub entities: Vec<MessageEntity>,
    pub reply: Option<Reply>,
    /// The part of the answered message that the person marked.
    pub quote: Option<String>,
    pub album: Option<String>,
    /// As it came.
    pub raw: Value,
}

/// Who has said something: a person, or a chat in whose name somebody speaks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Speaker {
    pub id: i64,
    pub name: String,
    /// A program, not speaking for a chat.
    pub is_bot: bool,
}

/// The message that a message answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub speaker: Option<Speaker>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Press {
    pub query: String,
    pub speaker: Speaker,
    pub data: Option<String>,
    /// The message that has the button.
    pub message: i64,
    pub place: Option<Place>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standing {
    pub place: Place,
    pub title: String,
    pub by: String,
    pub was_inside: bool,
    pub is_inside: bool,
    pub now: ChatMemberStatus,
}

pub(crate) fn read(update: &Value) -> News {
    let Some(update) = update.as_object() else {
        return News::Unreadable("it is no JSON object".into());
    };
    let known = KINDS
        .into_iter()
        .find_map(|kind| Some((kind, update.get(kind)?)));
    match known {
        Some(("message", message)) => written(message),
        Some(("channel_post", message)) => written(message),
        Some(("edited_message" | "edited_channel_post", message)) => edited(message),
        Some(("callback_query", query)) => pressed(query),
        Some(("my_chat_member", change)) => standing(change),
        Some(("stopped_message_generation", stop)) => stopped(stop),
        Some(_) | None => {
            let kind = OF_NO_USE
                .into_iter()
                .find(|kind| update.contains_key(*kind));
            kind.map_or_else(
                || News::Unreadable("its kind is not known here".into()),
                News::Nothing,
            )
        }
    }
}

fn written(message: &Value) -> News {
    let Some(place) = Place::of_message(message) else {
        return News::Unreadable("the message names no chat".into());
    };
    let chat_number = |field: &str| message[field].as_i64();
    if let Some(to) = chat_number("migrate_to_chat_id") {
        return News::Moved {
            from: place.chat,
            to,
        };
    }
    if let Some(from) = chat_number("migrate_from_chat_id") {
        return News::Moved {
            from,
            to: place.chat,
        };
    }
    if message.get("forum_topic_reopened").is_some() {
        return News::Reopened(place);
    }
    match (self::message(message, place), spoken(message)) {
        (None, _) => News::Unreadable("the message has no number".into()),
        (Some(_), false) => match unknown_content(message) {
            Some(name) => News::Unreadable(format!("a message with `{name}`")),
            None => News::Nothing("a message of the service"),
        },
        (Some(message), true) => News::Written(Box::new(message)),
    }
}

fn edited(message: &Value) -> News {
    let read = Place::of_message(message).and_then(|place| self::message(message, place));
    match read {
        None => News::Unreadable("the edited message names no chat, or has no number".into()),
        Some(message) if message.text.is_empty() => News::Nothing("an edit without words"),
        Some(message) => News::Edited(Box::new(message)),
    }
}

fn message(raw: &Value, place: Place) -> Option<Message> {
    let (text, entities) = match raw["text"].as_str() {
        Some(text) => (text, &raw["entities"]),
        None => (
            raw["caption"].as_str().unwrap_or_default(),
            &raw["caption_entities"],
        ),
    };
    Some(Message {
        id: raw["message_id"].as_i64()?,
        place,
        date: raw["date"].as_i64().unwrap_or_default(),
        edited: raw["edit_date"].as_i64(),
        speaker: speaker(raw),
        text: text.to_owned(),
        entities: self::entities(entities),
        reply: reply(raw),
        quote: raw["quote"]["text"].as_str().map(str::to_owned),
        album: raw["media_group_id"].as_str().map(str::to_owned),
        raw: raw.clone(),
    })
}

/// Those of a kind that is known.
fn entities(list: &Value) -> Vec<MessageEntity> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .filter_map(|entity| MessageEntity::deserialize(entity).ok())
        .collect()
}

/// What a person can put into a message.
const SPOKEN: [&str; 21] = [
    "text",
    "caption",
    "animation",
    "audio",
    "document",
    "photo",
    "sticker",
    "video",
    "video_note",
    "voice",
    "live_photo",
    "paid_media",
    "story",
    "checklist",
    "contact",
    "dice",
    "game",
    "poll",
    "venue",
    "location",
    "rich_message",
];

/// What messages have around what they say.
const ENVELOPE: [&str; 50] = [
    "message_id",
    "date",
    "chat",
    "message_thread_id",
    "direct_messages_topic",
    "from",
    "sender_chat",
    "sender_boost_count",
    "sender_business_bot",
    "sender_tag",
    "guest_query_id",
    "guest_bot_caller_user",
    "guest_bot_caller_chat",
    "business_connection_id",
    "forward_origin",
    "forward_date",
    "forward_from",
    "forward_from_chat",
    "forward_from_message_id",
    "forward_sender_name",
    "forward_signature",
    "is_topic_message",
    "is_automatic_forward",
    "reply_to_message",
    "external_reply",
    "quote",
    "reply_to_story",
    "reply_to_checklist_task_id",
    "reply_to_poll_option_id",
    "via_bot",
    "edit_date",
    "has_protected_content",
    "is_from_offline",
    "is_paid_post",
    "media_group_id",
    "author_signature",
    "paid_star_count",
    "entities",
    "caption_entities",
    "link_preview_options",
    "suggested_post_info",
    "effect_id",
    "show_caption_above_media",
    "has_media_spoiler",
    "reply_markup",
    "receiver_user",
    "ephemeral_message_id",
    "message_auto_delete_timer_changed",
    "connected_website",
    "passport_data",
];

/// What the service says, by the beginnings of its fields.
const SERVICE: [&str; 32] = [
    "boost_added",
    "channel_chat_",
    "chat_background_",
    "chat_owner_",
    "chat_shared",
    "checklist_tasks_",
    "community_chat_",
    "delete_chat_",
    "direct_message_price_",
    "forum_topic_",
    "general_forum_topic_",
    "gift",
    "giveaway",
    "group_chat_",
    "invoice",
    "left_chat_",
    "managed_bot_",
    "new_chat_",
    "paid_message_price_",
    "pinned_message",
    "poll_option_",
    "proximity_alert_",
    "refunded_payment",
    "successful_payment",
    "suggested_post_",
    "supergroup_chat_",
    "unique_gift",
    "user_shared",
    "users_shared",
    "video_chat_",
    "web_app_data",
    "write_access_",
];

/// A field that says something of a kind that is not known here.
fn unknown_content(message: &Value) -> Option<&str> {
    let mut names = message.as_object()?.keys().map(String::as_str);
    names.find(|name| {
        let is_service = SERVICE.iter().any(|beginning| name.starts_with(beginning));
        !(is_service || ENVELOPE.contains(name) || SPOKEN.contains(name))
    })
}

fn spoken(message: &Value) -> bool {
    SPOKEN.iter().any(|field| message.get(field).is_some())
        && message["is_automatic_forward"].as_bool() != Some(true)
}

/// In whose name it is said: an anonymous administrator speaks as the group, somebody else perhaps as a channel.
fn speaker(message: &Value) -> Option<Speaker> {
    if let Ok(chat) = Chat::deserialize(&message["sender_chat"]) {
        let title = chat.title().or(chat.username()).unwrap_or("a chat");
        let name = match message["author_signature"].as_str() {
            Some(signature) => format!("{signature} ({title})"),
            None => title.to_owned(),
        };
        return Some(Speaker {
            id: chat.id.0,
            name,
            is_bot: false,
        });
    }
    User::deserialize(&message["from"]).ok().map(person)
}

fn person(user: User) -> Speaker {
    let name = match &user.username {
        Some(username) => format!("{} (@{username})", user.full_name()),
        None => user.full_name(),
    };
    Speaker {
        id: i64::try_from(user.id.0).unwrap_or_default(),
        name,
        is_bot: user.is_bot,
    }
}

/// `None` also for what every message of a topic seems to answer: the beginning of the topic.
fn reply(message: &Value) -> Option<Reply> {
    let replied = message.get("reply_to_message")?;
    let begins_topic = message["is_topic_message"].as_bool() == Some(true)
        && replied["message_id"] == message["message_thread_id"];
    if replied.get("forum_topic_created").is_some() || begins_topic {
        return None;
    }
    let text = replied["text"].as_str().or(replied["caption"].as_str());
    Some(Reply {
        speaker: speaker(replied),
        text: text.unwrap_or_default().to_owned(),
    })
}

fn pressed(query: &Value) -> News {
    let speaker = User::deserialize(&query["from"]).ok().map(person);
    let (Some(id), Some(speaker)) = (query["id"].as_str(), speaker) else {
        return News::Unreadable(
            "the pressed button names no query, or nobody who pressed it".into(),
        );
    };
    let message = &query["message"];
    let Some(number) = message["message_id"].as_i64() else {
        return News::Nothing("a button under no message of ours");
    };
    // Of a message that is too old, Telegram tells the chat and nothing else. In a forum, its topic is not known then.
    let is_old = message["date"].as_i64().unwrap_or_default() == 0;
    let place = Place::of_message(message).filter(|place| {
        let may_have_topics =
            place.is_forum || place.chat_type != homing_domain::key::ChatType::Group;
        !(is_old && may_have_topics)
    });
    News::Pressed(Box::new(Press {
        query: id.to_owned(),
        speaker,
        data: query["data"].as_str().map(str::to_owned),
        message: number,
        place,
    }))
}

fn standing(change: &Value) -> News {
    let place = Place::of_chat(&change["chat"]);
    let (Some(place), Ok(change)) = (place, ChatMemberUpdated::deserialize(change)) else {
        return News::Unreadable("the change of the bot's standing cannot be read".into());
    };
    News::Standing(Box::new(Standing {
        place,
        title: change
            .chat
            .title()
            .or(change.chat.first_name())
            .unwrap_or("a chat")
            .to_owned(),
        by: change.from.full_name(),
        was_inside: change.old_chat_member.is_present(),
        is_inside: change.new_chat_member.is_present(),
        now: change.new_chat_member.status(),
    }))
}

fn stopped(stop: &Value) -> News {
    match Place::of_chat(&stop["chat"]) {
        Some(place) => News::Stopped(Place {
            thread: stop["message_thread_id"].as_i64(),
            ..place
        }),
        None => News::Unreadable("the stopped draft names no chat".into()),
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
pub(crate) mod tests;
