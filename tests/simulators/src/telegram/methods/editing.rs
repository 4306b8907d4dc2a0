//! Messages that change or go.
//!
//! **Invariant:** an edit that changes nothing is refused, so that a client which repeats one after a lost answer learns that it was done.

use serde_json::{Value, json};

use super::super::call::Call;
use super::super::errors::{Answer, ApiError};
use super::super::ids::{Chat, MessageId};
use super::super::keyboard;
use super::super::log::Earlier;
use super::super::room::{Message, RoomKind};
use super::super::text::{self, Formatted, LONGEST_TEXT};
use super::super::world::World;
use super::media::check_caption;
use super::sending::{rich_words, words};

const NOT_MODIFIED: &str = "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message";

pub(super) fn edit_text(call: &mut Call<'_>) -> Answer {
    let words = match call.params.get("rich_message") {
        Some(_) => rich_words(call)?,
        None => words(call, "text", "entities")?,
    };
    if words.text.is_empty() {
        return Err(ApiError::misuse("message text is empty"));
    }
    let is_rich = call.params.get("rich_message").is_some();
    if !is_rich && text::units(&words.text) > LONGEST_TEXT {
        return Err(ApiError::misuse("message is too long"));
    }
    let (chat, id) = own_message(call)?;
    let message = call.message(chat, "message to edit not found")?;
    if message.media_kind().is_some() {
        return Err(ApiError::bad("there is no text in the message to edit"));
    }
    edit(call, chat, id, Some((words, false)))
}

pub(super) fn edit_caption(call: &mut Call<'_>) -> Answer {
    let words = words(call, "caption", "caption_entities")?;
    check_caption(&words)?;
    let (chat, id) = own_message(call)?;
    let message = call.message(chat, "message to edit not found")?;
    if message.media_kind().is_none() {
        return Err(ApiError::bad("there is no caption in the message to edit"));
    }
    edit(call, chat, id, Some((words, true)))
}

pub(super) fn edit_markup(call: &mut Call<'_>) -> Answer {
    let (chat, id) = own_message(call)?;
    edit(call, chat, id, None)
}

fn own_message(call: &Call<'_>) -> Result<(Chat, MessageId), ApiError> {
    if call.params.get("inline_message_id").is_some() {
        return Err(ApiError::not_simulated("an inline message"));
    }
    let chat = call.chat()?;
    let message = call.message(chat, "message to edit not found")?;
    match message.author == call.bot && !message.service {
        true => Ok((chat, message.id)),
        false => Err(ApiError::bad("message can't be edited")),
    }
}

/// A text edit without `reply_markup` takes the buttons away.
fn edit(
    call: &mut Call<'_>,
    chat: Chat,
    id: MessageId,
    words: Option<(Formatted, bool)>,
) -> Answer {
    let markup = keyboard::checked(call.params.get("reply_markup"))?;
    let room = call.room_mut(chat)?;
    let message = room.message_mut(id).ok_or_else(ApiError::internal)?;
    let before: Earlier = message.as_it_is();
    let state = |message: &Message| {
        (
            message.words().to_owned(),
            message.word_entities().to_vec(),
            message.markup.clone(),
        )
    };
    let mut changed = message.clone();
    changed.markup = markup;
    if let Some((words, captioned)) = words {
        changed.set_words(words, captioned);
        changed.edited = Some(World::now());
    }
    if state(message) == state(&changed) {
        return Err(ApiError::bad(NOT_MODIFIED));
    }
    changed.history.push(before);
    *message = changed;
    call.world.announce(chat, id);
    call.shown(chat, id)
}

pub(super) fn delete_message(call: &mut Call<'_>) -> Answer {
    let chat = call.chat()?;
    let id = call.message(chat, "message to delete not found")?.id;
    if !may_delete(call, chat, id)? {
        return Err(ApiError::bad("message can't be deleted"));
    }
    remove(call, chat, id)?;
    Ok(json!(true))
}

/// Those that cannot be found are passed over.
pub(super) fn delete_messages(call: &mut Call<'_>) -> Answer {
    let ids: Vec<MessageId> = call.params.nested("message_ids")?.unwrap_or_default();
    if !(1..=100).contains(&ids.len()) {
        return Err(ApiError::misuse(
            "from 1 to 100 message identifiers must be specified",
        ));
    }
    let chat = call.chat()?;
    let room = call.room(chat)?;
    let there: Vec<MessageId> = ids
        .into_iter()
        .filter(|id| room.message(*id).is_some())
        .collect();
    for id in &there {
        if !may_delete(call, chat, *id)? {
            return Err(ApiError::bad("message can't be deleted"));
        }
    }
    for id in there {
        remove(call, chat, id)?;
    }
    Ok(json!(true))
}

/// In a private chat a bot may delete both sides' messages; in others its own, or any with the right.
fn may_delete(call: &Call<'_>, chat: Chat, id: MessageId) -> Result<bool, ApiError> {
    let room = call.room(chat)?;
    let message = room.message(id).ok_or_else(ApiError::internal)?;
    let own = message.author == call.bot || matches!(room.kind, RoomKind::Private(_));
    let root = room.topics.contains_key(&id.into());
    Ok(!root && (own || call.may(chat, "can_delete_messages")?))
}

fn remove(call: &mut Call<'_>, chat: Chat, id: MessageId) -> Result<Value, ApiError> {
    let room = call.room_mut(chat)?;
    let message = room.message_mut(id).ok_or_else(ApiError::internal)?;
    message.deleted = true;
    room.pinned.retain(|pinned| *pinned != id);
    Ok(json!(true))
}
