//! Messages: where they go, and those that are text.
//!
//! **Invariant:** a message lands in the topic it was sent to, or is refused. Only a fault of the test puts it elsewhere.

use std::time::Instant;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::call::Call;
use super::super::errors::{Answer, ApiError};
use super::super::ids::{Chat, GENERAL, MessageId, ThreadId};
use super::super::keyboard;
use super::super::log::{Action, Draft};
use super::super::room::{Message, Reply, Room, RoomKind};
use super::super::settings::RichMessages;
use super::super::text::{self, Formatted, LONGEST_TEXT};
use super::super::wishes::Kind;
use super::super::world::World;

/// In characters, of a rich message.
const LONGEST_RICH_TEXT: usize = 32_768;
/// In UTF-16 units, of a quote.
const LONGEST_QUOTE: usize = 1024;

const ACTIONS: &[&str] = &[
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

/// Where a message will be.
#[derive(Debug, Clone)]
pub(super) struct Destination {
    pub chat: Chat,
    asked: Option<ThreadId>,
    thread: Option<ThreadId>,
    chain: Option<MessageId>,
    reply: Option<Reply>,
}

#[derive(Debug, Deserialize)]
struct ReplyParameters {
    message_id: Option<i64>,
    chat_id: Option<Value>,
    #[serde(default)]
    allow_sending_without_reply: bool,
    quote: Option<String>,
}

pub(super) fn send_message(call: &mut Call<'_>) -> Answer {
    let words = words(call, "text", "entities")?;
    if words.text.is_empty() {
        return Err(ApiError::misuse("message text is empty"));
    }
    if text::units(&words.text) > LONGEST_TEXT {
        return Err(ApiError::misuse("message is too long"));
    }
    let destination = destination(call)?;
    let mut message = Message::new(call.bot, World::now(), Map::new());
    message.set_words(words, false);
    deliver(call, &destination, message)
}

pub(super) fn send_rich_message(call: &mut Call<'_>) -> Answer {
    let words = rich_words(call)?;
    let destination = destination(call)?;
    let mut message = Message::new(call.bot, World::now(), Map::new());
    message.set_words(words, false);
    deliver(call, &destination, message)
}

/// What a rich message says, as it was sent. Clients that do not know rich messages see a text in their place; so does the test.
pub(super) fn rich_words(call: &Call<'_>) -> Result<Formatted, ApiError> {
    match &call.world.rich_messages {
        RichMessages::Unknown => return Err(ApiError::no_method()),
        RichMessages::Refused(text) => return Err(ApiError::bad(text)),
        RichMessages::Taken => {}
    }
    let rich = call.params.get("rich_message");
    let given: Vec<&Value> = ["html", "markdown", "blocks"]
        .iter()
        .filter_map(|field| rich?.get(*field))
        .collect();
    let [only] = given.as_slice() else {
        return Err(ApiError::misuse(
            "exactly one of html, markdown and blocks must be specified in rich_message",
        ));
    };
    let text = match only {
        Value::String(text) => text.clone(),
        blocks => blocks.to_string(),
    };
    if text.is_empty() {
        return Err(ApiError::misuse("message text is empty"));
    }
    if text.chars().count() > LONGEST_RICH_TEXT {
        return Err(ApiError::misuse("message is too long"));
    }
    Ok(Formatted {
        text,
        ..Formatted::default()
    })
}

pub(super) fn send_draft(call: &mut Call<'_>) -> Answer {
    let draft = call.params.required_integer("draft_id")?;
    if draft == 0 {
        return Err(ApiError::misuse("draft_id must be non-zero"));
    }
    let words = words(call, "text", "entities")?;
    if text::units(&words.text) > LONGEST_TEXT {
        return Err(ApiError::misuse("message is too long"));
    }
    let chat = call.writable_chat()?;
    let room = call.room(chat)?;
    if !matches!(room.kind, RoomKind::Private(_)) {
        return Err(ApiError::misuse(
            "message drafts can be sent only to private chats",
        ));
    }
    let thread = asked_thread(call)?;
    check_thread(call, room, thread)?;
    call.world.log.drafts.push(Draft {
        bot: call.bot,
        chat: chat.id,
        thread,
        draft,
        text: words.text,
        can_stop: call.params.flag("can_stop"),
        at: Instant::now(),
    });
    Ok(json!(true))
}

/// The general topic may be named here, and must be, for typing to be seen in it.
pub(super) fn send_chat_action(call: &mut Call<'_>) -> Answer {
    let action = call.params.text("action").unwrap_or_default().to_owned();
    if !ACTIONS.contains(&action.as_str()) {
        return Err(ApiError::misuse("wrong parameter action in request"));
    }
    let chat = call.writable_chat()?;
    let thread = asked_thread(call)?;
    let room = call.room(chat)?;
    if room.is(Kind::DirectMessages) || room.is(Kind::Channel) {
        return Err(ApiError::misuse("chat actions can't be sent to the chat"));
    }
    let general = room.is(Kind::Forum) && thread == Some(GENERAL);
    if !general {
        check_thread(call, room, thread)?;
    }
    call.world.log.actions.push(Action {
        bot: call.bot,
        chat: chat.id,
        thread,
        action,
        at: Instant::now(),
    });
    Ok(json!(true))
}

/// A text parameter with its entities or parse mode.
pub(super) fn words(call: &Call<'_>, field: &str, entities: &str) -> Result<Formatted, ApiError> {
    let entities: Option<Vec<Value>> = call.params.nested(entities)?;
    text::formatted(
        call.params.text(field).unwrap_or_default(),
        entities.as_deref(),
        call.params.text("parse_mode"),
    )
}

fn asked_thread(call: &Call<'_>) -> Result<Option<ThreadId>, ApiError> {
    let asked = call.params.integer("message_thread_id")?;
    Ok(asked.filter(|thread| *thread != 0).map(ThreadId))
}

/// A topic that is there. The number of General is none, and neither is that of a reply.
fn check_thread(call: &Call<'_>, room: &Room, thread: Option<ThreadId>) -> Result<(), ApiError> {
    let Some(thread) = thread else {
        return Ok(());
    };
    let has_topics = match room.key.bot {
        Some(_) => call.me()?.topics,
        None => room.is(Kind::Forum),
    };
    match has_topics && thread != GENERAL && room.topic(thread).is_some() {
        true => Ok(()),
        false => Err(ApiError::thread_not_found()),
    }
}

pub(super) fn destination(call: &Call<'_>) -> Result<Destination, ApiError> {
    let chat = call.writable_chat()?;
    let room = call.room(chat)?;
    let asked = asked_thread(call)?;
    check_thread(call, room, asked)?;
    let mut destination = Destination {
        chat,
        asked,
        thread: asked,
        chain: None,
        reply: None,
    };
    if room.is(Kind::DirectMessages) {
        destination.thread = Some(direct_topic(call, room)?);
    }
    answer_to(call, room, &mut destination)?;
    let closed = match destination.thread {
        None => room.is(Kind::Forum) && room.general.closed,
        Some(thread) => room.topic(thread).is_some_and(|topic| topic.closed),
    };
    if closed && !room.standing(call.bot).has("can_manage_topics") && chat.bot.is_none() {
        return Err(ApiError::bad("TOPIC_CLOSED"));
    }
    Ok(destination)
}

fn direct_topic(call: &Call<'_>, room: &Room) -> Result<ThreadId, ApiError> {
    let topic = call.params.integer("direct_messages_topic_id")?;
    let Some(topic) = topic.map(ThreadId) else {
        return Err(ApiError::misuse(
            "direct_messages_topic_id must be specified",
        ));
    };
    match room.topic(topic) {
        Some(_) => Ok(topic),
        None => Err(ApiError::bad("direct messages topic not found")),
    }
}

/// What the message answers. A reply brings its topic along, unless it may be left out.
fn answer_to(call: &Call<'_>, room: &Room, destination: &mut Destination) -> Result<(), ApiError> {
    let Some(wanted) = reply_parameters(call)? else {
        return Ok(());
    };
    let Some(id) = wanted.message_id.map(MessageId) else {
        return Err(ApiError::misuse(
            "message_id must be specified in reply_parameters",
        ));
    };
    let elsewhere = match &wanted.chat_id {
        Some(chat) => Some(call.chat_named(Some(chat))?).filter(|chat| *chat != room.key),
        None => None,
    };
    let home = match elsewhere {
        Some(chat) => call.room(chat)?,
        None => room,
    };
    let Some(replied) = home.message(id) else {
        return match wanted.allow_sending_without_reply && elsewhere.is_none() {
            true => Ok(()),
            false => Err(ApiError::bad("message to be replied not found")),
        };
    };
    if let Some(quote) = &wanted.quote {
        if text::units(quote) > LONGEST_QUOTE {
            return Err(ApiError::misuse("QUOTE_TEXT_INVALID"));
        }
        if !replied.words().contains(quote) {
            return Err(ApiError::bad("QUOTE_TEXT_INVALID"));
        }
    }
    if destination.thread.is_none() && elsewhere.is_none() && !wanted.allow_sending_without_reply {
        destination.thread = replied.thread;
    }
    destination.reply = Some(match elsewhere {
        None if destination.thread == replied.thread => {
            destination.chain = room.chain_of(replied);
            Reply::To {
                message: id,
                quote: wanted.quote,
            }
        }
        _ => Reply::Elsewhere {
            chat: home.key,
            message: id,
        },
    });
    Ok(())
}

fn reply_parameters(call: &Call<'_>) -> Result<Option<ReplyParameters>, ApiError> {
    let old = call.params.integer("reply_to_message_id")?;
    Ok(match call.params.nested("reply_parameters")? {
        Some(parameters) => Some(parameters),
        None => old.map(|message| ReplyParameters {
            message_id: Some(message),
            chat_id: None,
            allow_sending_without_reply: call.params.flag("allow_sending_without_reply"),
            quote: None,
        }),
    })
}

/// Puts the message where it belongs. Its JSON is the answer.
pub(super) fn deliver(call: &mut Call<'_>, destination: &Destination, message: Message) -> Answer {
    let (chat, id) = put(call, destination, message)?;
    call.shown(chat, id)
}

pub(super) fn put(
    call: &mut Call<'_>,
    destination: &Destination,
    mut message: Message,
) -> Result<(Chat, MessageId), ApiError> {
    let chat = destination.chat;
    if message.album.is_none() {
        message.markup = keyboard::checked(call.params.get("reply_markup"))?;
    }
    message.thread = destination.thread;
    message.chain = destination.chain;
    message.reply = destination.reply.clone();
    if let Some(thread) = call.misplaced {
        message.thread = thread;
        message.reply = None;
    }
    let id = call.room_mut(chat)?.add(message);
    call.world
        .log_sent(call.bot, call.method, destination.asked, chat, id);
    call.world.announce(chat, id);
    Ok((chat, id))
}
