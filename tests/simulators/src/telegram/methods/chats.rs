//! Chats and who is in them, pins, reactions and the presses of buttons.

use serde_json::{Value, json};

use super::super::call::Call;
use super::super::errors::{Answer, ApiError};
use super::super::ids::{Chat, MessageId, UserId};
use super::super::log::CallbackAnswer;
use super::super::room::{Message, RoomKind};
use super::super::text;
use super::super::wishes::{Kind, Standing};
use super::super::world::World;

/// In UTF-16 units, of the answer to a press.
const LONGEST_ANSWER: usize = 200;

pub(super) fn get_chat(call: &mut Call<'_>) -> Answer {
    let chat = call.chat()?;
    Ok(call.world.show_full_chat(call.room(chat)?))
}

pub(super) fn get_member(call: &mut Call<'_>) -> Answer {
    let chat = call.chat()?;
    let who = UserId(call.params.required_integer("user_id")?);
    let known = call.world.users.contains_key(&who) || call.world.bots.contains_key(&who);
    if !known {
        return Err(ApiError::bad("invalid user_id specified"));
    }
    let standing = call.room(chat)?.standing(who);
    Ok(call.world.show_member(who, &standing))
}

pub(super) fn get_administrators(call: &mut Call<'_>) -> Answer {
    let chat = call.chat()?;
    let room = call.room(chat)?;
    if matches!(room.kind, RoomKind::Private(_)) {
        return Err(ApiError::bad(
            "there are no administrators in the private chat",
        ));
    }
    // Other bots are not told.
    let administrators = room.members.iter().filter(|(who, standing)| {
        standing.is_administrator() && (**who == call.bot || !call.world.bots.contains_key(who))
    });
    Ok(administrators
        .map(|(who, standing)| call.world.show_member(*who, standing))
        .collect())
}

pub(super) fn get_member_count(call: &mut Call<'_>) -> Answer {
    let chat = call.chat()?;
    let members = call.room(chat)?.members.values();
    Ok(json!(
        members.filter(|standing| standing.is_inside()).count()
    ))
}

pub(super) fn leave(call: &mut Call<'_>) -> Answer {
    let chat = call.chat()?;
    if chat.bot.is_some() {
        return Err(ApiError::bad(
            "chat member status can't be changed in private chats",
        ));
    }
    let bot = call.bot;
    call.world
        .set_standing(bot, chat, bot, Standing::Left)
        .map_err(|_| ApiError::internal())?;
    Ok(json!(true))
}

pub(super) fn pin(call: &mut Call<'_>) -> Answer {
    let chat = pinnable(call)?;
    let id = call.message(chat, "message to pin not found")?.id;
    let room = call.room(chat)?;
    let (thread, pinned) = match room.message(id) {
        Some(message) => (message.thread, call.world.show_bare(room, message)),
        None => return Err(ApiError::internal()),
    };
    let bot = call.bot;
    let room = call.room_mut(chat)?;
    room.pinned.retain(|pinned| *pinned != id);
    room.pinned.push(id);
    let mut message = Message::service(bot, World::now(), "pinned_message", pinned);
    message.thread = thread;
    let id = room.add(message);
    call.world.announce(chat, id);
    Ok(json!(true))
}

/// Without a number, the last one.
pub(super) fn unpin(call: &mut Call<'_>) -> Answer {
    let chat = pinnable(call)?;
    let named = call.params.integer("message_id")?.map(MessageId);
    let room = call.room_mut(chat)?;
    let Some(id) = named.or_else(|| room.pinned.last().copied()) else {
        return Err(ApiError::bad("message to unpin not found"));
    };
    if !room.pinned.contains(&id) {
        return Err(ApiError::bad("message to unpin not found"));
    }
    room.pinned.retain(|pinned| *pinned != id);
    Ok(json!(true))
}

pub(super) fn unpin_all(call: &mut Call<'_>) -> Answer {
    let chat = pinnable(call)?;
    call.room_mut(chat)?.pinned.clear();
    Ok(json!(true))
}

pub(super) fn pinnable(call: &Call<'_>) -> Result<Chat, ApiError> {
    let chat = call.chat()?;
    let free = chat.bot.is_some() || call.room(chat)?.is(Kind::Channel);
    match free || call.may(chat, "can_pin_messages")? {
        true => Ok(chat),
        false => Err(ApiError::bad(
            "not enough rights to manage pinned messages in the chat",
        )),
    }
}

pub(super) fn set_reaction(call: &mut Call<'_>) -> Answer {
    let reactions: Vec<Value> = call.params.nested("reaction")?.unwrap_or_default();
    if reactions.len() > 1 {
        // Only paying people may have several.
        return Err(ApiError::misuse("REACTIONS_TOO_MANY"));
    }
    if reactions.iter().any(|reaction| reaction["type"] == "paid") {
        return Err(ApiError::misuse("REACTION_INVALID"));
    }
    let chat = call.chat()?;
    let message = call.message(chat, "message to react not found")?;
    if message.service {
        return Err(ApiError::bad("MESSAGE_NOT_FOUND"));
    }
    let (id, bot) = (message.id, call.bot);
    if let Some(message) = call.room_mut(chat)?.message_mut(id) {
        message.reactions.insert(bot, reactions);
    }
    Ok(json!(true))
}

pub(super) fn answer_callback_query(call: &mut Call<'_>) -> Answer {
    let query = call
        .params
        .text("callback_query_id")
        .unwrap_or_default()
        .to_owned();
    let said = call.params.text("text").map(str::to_owned);
    if said.as_deref().map_or(0, text::units) > LONGEST_ANSWER {
        return Err(ApiError::misuse("MESSAGE_TOO_LONG"));
    }
    let bot = call.bot;
    let callback = call
        .world
        .callbacks
        .get_mut(&query)
        .filter(|callback| callback.bot == bot && !callback.over);
    let Some(callback) = callback else {
        return Err(ApiError::bad(
            "query is too old and response timeout expired or query ID is invalid",
        ));
    };
    callback.over = true;
    call.world.log.callback_answers.push(CallbackAnswer {
        query,
        text: said,
        show_alert: call.params.flag("show_alert"),
    });
    Ok(json!(true))
}
