//! Messages that are forwarded or copied.

use serde_json::{Value, json};

use super::super::call::Call;
use super::super::errors::{Answer, ApiError};
use super::super::ids::{Chat, MessageId};
use super::super::room::Message;
use super::super::world::World;
use super::media::check_caption;
use super::sending::{destination, put, words};

#[derive(Clone, Copy, PartialEq)]
enum How {
    Forward,
    Copy,
}

impl How {
    fn verb(self) -> &'static str {
        match self {
            How::Forward => "forward",
            How::Copy => "copy",
        }
    }

    fn participle(self) -> &'static str {
        match self {
            How::Forward => "forwarded",
            How::Copy => "copied",
        }
    }
}

pub(super) fn forward_message(call: &mut Call<'_>) -> Answer {
    let (chat, id) = one(call, How::Forward)?;
    call.shown(chat, id)
}

pub(super) fn copy_message(call: &mut Call<'_>) -> Answer {
    let (_, id) = one(call, How::Copy)?;
    Ok(json!({"message_id": id}))
}

pub(super) fn forward_messages(call: &mut Call<'_>) -> Answer {
    several(call, How::Forward)
}

pub(super) fn copy_messages(call: &mut Call<'_>) -> Answer {
    several(call, How::Copy)
}

fn one(call: &mut Call<'_>, how: How) -> Result<(Chat, MessageId), ApiError> {
    let id = MessageId(call.params.required_integer("message_id")?);
    let mut message = taken_from(call, id, how)?;
    if how == How::Copy && call.params.get("caption").is_some() {
        let caption = words(call, "caption", "caption_entities")?;
        check_caption(&caption)?;
        message.set_words(caption, true);
    }
    let destination = destination(call)?;
    put(call, &destination, message)
}

/// Those that cannot be found, or not be taken, are passed over.
fn several(call: &mut Call<'_>, how: How) -> Answer {
    let ids: Vec<MessageId> = call.params.nested("message_ids")?.unwrap_or_default();
    if !(1..=100).contains(&ids.len()) || !ids.is_sorted_by(|a, b| a < b) {
        return Err(ApiError::misuse(
            "from 1 to 100 message identifiers must be specified in a strictly increasing order",
        ));
    }
    let destination = destination(call)?;
    source(call)?;
    let mut put_down: Vec<Value> = Vec::new();
    for id in ids {
        if let Ok(message) = taken_from(call, id, how) {
            let (_, id) = put(call, &destination, message)?;
            put_down.push(json!({"message_id": id}));
        }
    }
    Ok(Value::Array(put_down))
}

fn source(call: &Call<'_>) -> Result<Chat, ApiError> {
    call.chat_named(call.params.get("from_chat_id"))
}

fn taken_from(call: &Call<'_>, id: MessageId, how: How) -> Result<Message, ApiError> {
    let from = source(call)?;
    let room = call.room(from)?;
    let Some(original) = room.message(id) else {
        return Err(ApiError::bad(format!(
            "message to {} not found",
            how.verb()
        )));
    };
    if original.service {
        return Err(ApiError::bad(format!(
            "message can't be {}",
            how.participle()
        )));
    }
    let mut message = Message::new(call.bot, World::now(), original.content.clone());
    message.asked_entities = original.asked_entities.clone();
    if how == How::Forward {
        let origin = original
            .content
            .get("forward_origin")
            .cloned()
            .unwrap_or_else(|| call.world.show_origin(room, original));
        message.content.insert("forward_origin".into(), origin);
    } else {
        message.content.remove("forward_origin");
    }
    Ok(message)
}
