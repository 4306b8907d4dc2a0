//! What bots do to topics.
//!
//! **Invariant:** in groups a bot needs the right for it; in private chats with topics it does not.

use serde_json::{Value, json};

use super::super::call::Call;
use super::super::errors::{Answer, ApiError};
use super::super::ids::{Chat, ThreadId};
use super::super::text;
use super::super::topics::{DEFAULT_COLOUR, NewTopic, NoChange};
use super::super::wishes::{Kind, TopicEvent};
use super::chats::pinnable;

/// In UTF-16 units.
const LONGEST_NAME: usize = 128;
/// The colours that a topic may have.
const COLOURS: &[i64] = &[
    DEFAULT_COLOUR,
    16_766_590,
    13_338_331,
    9_367_192,
    16_749_490,
    16_478_047,
];

pub(super) fn create(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name").unwrap_or_default().to_owned();
    check_name(&name)?;
    let colour = call.params.integer("icon_color")?.unwrap_or(DEFAULT_COLOUR);
    if !COLOURS.contains(&colour) {
        return Err(ApiError::misuse("invalid icon color specified"));
    }
    let chat = chat_with_topics(call)?;
    if chat.bot.is_none() && !call.may(chat, "can_manage_topics")? {
        return Err(ApiError::bad("not enough rights to create a topic"));
    }
    let icon = call.params.text("icon_custom_emoji_id").map(str::to_owned);
    let mut shown = json!({"name": name, "icon_color": colour});
    if let Some(icon) = &icon {
        shown["icon_custom_emoji_id"] = json!(icon);
    }
    let topic = NewTopic {
        name,
        icon_color: colour,
        icon,
        implicit: false,
    };
    let bot = call.bot;
    let thread = call
        .world
        .create_topic(bot, chat, topic)
        .map_err(|_| ApiError::internal())?;
    shown["message_thread_id"] = json!(thread);
    Ok(shown)
}

pub(super) fn edit(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name").unwrap_or_default().to_owned();
    if text::units(&name) > LONGEST_NAME {
        return Err(ApiError::misuse("TOPIC_TITLE_TOO_LONG"));
    }
    change(call, &TopicEvent::Renamed(name))
}

pub(super) fn close(call: &mut Call<'_>) -> Answer {
    change(call, &TopicEvent::Closed)
}

pub(super) fn reopen(call: &mut Call<'_>) -> Answer {
    change(call, &TopicEvent::Reopened)
}

pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let chat = chat_with_topics(call)?;
    if chat.bot.is_none() && !call.may(chat, "can_delete_messages")? {
        return Err(ApiError::bad("not enough rights to delete the topic"));
    }
    let thread = thread(call)?;
    apply(call, chat, Some(thread), &TopicEvent::Deleted)
}

pub(super) fn unpin_all(call: &mut Call<'_>) -> Answer {
    let chat = pinnable(call)?;
    let thread = thread(call)?;
    unpin(call, chat, Some(thread))
}

pub(super) fn unpin_all_general(call: &mut Call<'_>) -> Answer {
    let chat = pinnable(call)?;
    unpin(call, chat, None)
}

fn unpin(call: &mut Call<'_>, chat: Chat, thread: Option<ThreadId>) -> Answer {
    let room = call.room_mut(chat)?;
    let elsewhere: Vec<_> = room
        .pinned
        .iter()
        .filter(|id| {
            room.message(**id)
                .is_some_and(|message| message.thread != thread)
        })
        .copied()
        .collect();
    room.pinned = elsewhere;
    Ok(json!(true))
}

pub(super) fn edit_general(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name").unwrap_or_default().to_owned();
    check_name(&name)?;
    change_general(call, &TopicEvent::Renamed(name))
}

pub(super) fn close_general(call: &mut Call<'_>) -> Answer {
    change_general(call, &TopicEvent::Closed)
}

pub(super) fn reopen_general(call: &mut Call<'_>) -> Answer {
    change_general(call, &TopicEvent::Reopened)
}

pub(super) fn hide_general(call: &mut Call<'_>) -> Answer {
    change_general(call, &TopicEvent::Hidden)
}

pub(super) fn unhide_general(call: &mut Call<'_>) -> Answer {
    change_general(call, &TopicEvent::Unhidden)
}

/// The creator of a topic may change it without further rights.
fn change(call: &mut Call<'_>, event: &TopicEvent) -> Answer {
    let chat = chat_with_topics(call)?;
    let thread = thread(call)?;
    let topic = call.room(chat)?.topics.get(&thread);
    let own = topic.is_some_and(|topic| topic.creator == call.bot);
    if chat.bot.is_none() && !own && !call.may(chat, "can_manage_topics")? {
        return Err(ApiError::bad("not enough rights to manage the topic"));
    }
    apply(call, chat, Some(thread), event)
}

fn change_general(call: &mut Call<'_>, event: &TopicEvent) -> Answer {
    let chat = chat_with_topics(call)?;
    if chat.bot.is_some() {
        return Err(ApiError::bad("the chat is not a forum"));
    }
    if !call.may(chat, "can_manage_topics")? {
        return Err(ApiError::bad("not enough rights to manage the topic"));
    }
    apply(call, chat, None, event)
}

fn apply(call: &mut Call<'_>, chat: Chat, thread: Option<ThreadId>, event: &TopicEvent) -> Answer {
    let icon = call.params.text("icon_custom_emoji_id");
    match call.world.change_topic(call.bot, chat, thread, event, icon) {
        Ok(()) => Ok(Value::Bool(true)),
        Err(NoChange::NoTopic) => Err(ApiError::bad("TOPIC_ID_INVALID")),
        Err(NoChange::Deleted) => Err(ApiError::bad("TOPIC_DELETED")),
        Err(NoChange::AsBefore) => Err(ApiError::bad("TOPIC_NOT_MODIFIED")),
    }
}

fn thread(call: &Call<'_>) -> Result<ThreadId, ApiError> {
    call.params
        .required_integer("message_thread_id")
        .map(ThreadId)
}

fn chat_with_topics(call: &Call<'_>) -> Result<Chat, ApiError> {
    let chat = call.chat()?;
    let has_topics = match chat.bot {
        Some(_) => call.me()?.topics,
        None => call.room(chat)?.is(Kind::Forum),
    };
    match has_topics {
        true => Ok(chat),
        false => Err(ApiError::bad("the chat is not a forum")),
    }
}

fn check_name(name: &str) -> Result<(), ApiError> {
    match text::units(name) {
        0 => Err(ApiError::misuse("TOPIC_TITLE_EMPTY")),
        length if length > LONGEST_NAME => Err(ApiError::misuse("TOPIC_TITLE_TOO_LONG")),
        _ => Ok(()),
    }
}
