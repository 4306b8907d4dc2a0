//! What came of a request, as the outbox must know it.
//!
//! | what happened | outcome |
//! |---|---|
//! | no connection, no address | `Away` |
//! | sent, and then silence, a reset, half an answer, a success that is no JSON | `Uncertain` |
//! | any 5xx | `Uncertain`: Telegram says 500 for a server that restarts, which may have taken the message before, and proxies lose answers |
//! | 429 | `RateLimited` |
//! | `group chat was upgraded` | `Moved` |
//! | `TOPIC_CLOSED` | `Closed` |
//! | 401, or a token that no bot has | `Away`: once there is a token again, nothing is lost |
//! | a refusal in words that are not Telegram's | `Temporary` |
//! | everything else that is refused | `Refused`, with what to do |
//!
//! **Invariant:** "nothing was sent" is only said where Telegram said so or was never reached. An edit is the exception: made twice, it is as good as
//! once, and so what is unknown about it is `Temporary`.

use std::time::Duration;

use homing_ports::platform::{Landed, Receipt, SendError};
use serde_json::Value;
use teloxide_core::ApiError;

use crate::api::{Failure, Said};
use crate::place;

/// A refusal after which something else can be tried at once: nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// The formatting was refused: send it plain.
    Plain,
    /// The message to be answered is gone: send it without.
    WithoutReply,
    /// The message to be edited says this already.
    IsSo,
    /// The message to be edited is gone, or cannot be edited.
    SendAnew,
    /// It cannot be a picture: send it as a file.
    AsDocument,
}

pub(crate) fn remedy(failure: &Failure) -> Option<Remedy> {
    let said = failure.said().filter(|said| said.status == 400)?;
    let text = said.description.as_str();
    let has = |part: &str| text.contains(part);
    match &said.error {
        ApiError::MessageNotModified => Some(Remedy::IsSo),
        ApiError::MessageToEditNotFound
        | ApiError::MessageCantBeEdited
        | ApiError::MessageIdInvalid => Some(Remedy::SendAnew),
        ApiError::MessageToReplyNotFound => Some(Remedy::WithoutReply),
        ApiError::CantParseEntities(_) => Some(Remedy::Plain),
        ApiError::ImageProcessFailed => Some(Remedy::AsDocument),
        _ if has("message is not modified") => Some(Remedy::IsSo),
        _ if has("there is no text in the message to edit") => Some(Remedy::SendAnew),
        _ if has("can't parse entities") || has("ENTITY_") || has("ENTITIES_") => {
            Some(Remedy::Plain)
        }
        _ if has("replied message not found") || has("REPLY_MESSAGE_ID_INVALID") => {
            Some(Remedy::WithoutReply)
        }
        _ if has("PHOTO_") || has("IMAGE_PROCESS") => Some(Remedy::AsDocument),
        _ => None,
    }
}

/// Of a request that sends something new.
pub(crate) fn of_send(failure: Failure) -> SendError {
    match failure {
        Failure::NotReached(_) => SendError::Away(failure.to_string()),
        Failure::Unanswered(_) | Failure::Unreadable(_) => {
            SendError::Uncertain(failure.to_string())
        }
        Failure::Foreign(500..) => SendError::Uncertain(failure.to_string()),
        Failure::Foreign(_) => SendError::Temporary(failure.to_string()),
        Failure::Said(said) => of_refusal(&said),
    }
}

/// Of a request that is as good if it is made twice: an edit, a deletion.
pub(crate) fn of_edit(failure: Failure) -> SendError {
    match of_send(failure) {
        SendError::Uncertain(why) => SendError::Temporary(why),
        other => other,
    }
}

/// Where Telegram names no time to come back.
const SLOW_DEFAULT: Duration = Duration::from_secs(1);

fn of_refusal(said: &Said) -> SendError {
    if let Some(to) = said.moved_to {
        return SendError::Moved(to.to_string());
    }
    let text = format!("{} {}", said.status, said.description);
    match said.status {
        429 => SendError::RateLimited(said.retry_after.unwrap_or(SLOW_DEFAULT)),
        401 => SendError::Away(format!(
            "{text}; the bot's token is not valid any more, set the one BotFather shows"
        )),
        404 if said.error == ApiError::InvalidToken => SendError::Away(format!(
            "{text}; no bot has this token, set the one BotFather shows"
        )),
        409 => SendError::Temporary(text),
        500.. => SendError::Uncertain(text),
        _ if said.description.contains("TOPIC_CLOSED") => SendError::Closed(format!(
            "{text}; reopen the topic, or let the bot manage topics"
        )),
        _ => SendError::Refused(match what_to_do(&said.description) {
            Some(advice) => format!("{text}; {advice}"),
            None => text,
        }),
    }
}

/// By parts of Telegram's words; the first that is found.
const ADVICE: [(&str, &str); 20] = [
    (
        "message thread not found",
        "the topic is deleted: go on in another one",
    ),
    (
        "TOPIC_DELETED",
        "the topic is deleted: go on in another one",
    ),
    (
        "TOPIC_ID_INVALID",
        "the topic is deleted: go on in another one",
    ),
    (
        "bot was blocked",
        "the person has blocked the bot: unblock it and write to it",
    ),
    (
        "user is deactivated",
        "the person's account does not exist any more",
    ),
    (
        "bot was kicked",
        "the bot was removed from the chat: add it again",
    ),
    ("not a member", "the bot is not in the chat: add it"),
    ("chat was deleted", "the chat does not exist any more"),
    ("group is deactivated", "the chat does not exist any more"),
    (
        "can't initiate conversation",
        "the person has to write to the bot first",
    ),
    (
        "chat not found",
        "the bot does not know this chat: check its number, or write to the bot first",
    ),
    (
        "PEER_ID_INVALID",
        "the bot does not know this chat: check its number, or write to the bot first",
    ),
    (
        "not enough rights",
        "let the bot send messages in this chat",
    ),
    ("have no rights", "let the bot send messages in this chat"),
    (
        "need administrator rights",
        "make the bot an administrator of this chat",
    ),
    (
        "CHAT_WRITE_FORBIDDEN",
        "let the bot send messages in this chat",
    ),
    (
        "CHAT_ADMIN_REQUIRED",
        "make the bot an administrator of this chat",
    ),
    ("CHAT_RESTRICTED", "let the bot send messages in this chat"),
    (
        "CHAT_SEND_",
        "let the bot send messages and files of this kind in this chat",
    ),
    ("Too Large", "the file is too big: a bot may send 50 MB"),
];

fn what_to_do(description: &str) -> Option<&'static str> {
    ADVICE
        .into_iter()
        .find(|(words, _)| description.contains(words))
        .map(|(_, advice)| advice)
}

/// Of the message that Telegram answers with.
pub(crate) fn receipt(message: &Value) -> Result<Receipt, SendError> {
    let number = message["message_id"].as_i64();
    let landed = place::landed(message);
    match (number, landed) {
        (Some(number), Some((chat, thread))) => Ok(Receipt {
            message: Some(number.to_string()),
            landed: Some(Landed {
                chat: chat.to_string(),
                thread: thread.map(|thread| thread.to_string()),
            }),
        }),
        _ => Err(SendError::Uncertain(
            "Telegram took it, and its answer does not say where it is".into(),
        )),
    }
}

/// What a 409 means for who polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflict {
    AnotherPoller,
    WebhookIsSet,
    WebhookWasSet,
}

pub(crate) fn conflict(failure: &Failure) -> Option<Conflict> {
    let said = failure.said().filter(|said| said.status == 409)?;
    Some(match &said.description {
        text if text.contains("setWebhook") => Conflict::WebhookWasSet,
        text if text.contains("webhook is active") => Conflict::WebhookIsSet,
        _ => Conflict::AnotherPoller,
    })
}

impl Conflict {
    pub const fn advice(self) -> &'static str {
        match self {
            Conflict::AnotherPoller => {
                "another program asks Telegram for this bot's messages, and gets some of them instead of us. Stop it, or give one of the two a bot of its own"
            }
            Conflict::WebhookIsSet => {
                "another program has set a webhook for this bot, and gets its messages. Stop it and restart this gateway, which removes the webhook, or configure the mode webhook here"
            }
            Conflict::WebhookWasSet => {
                "another program has just set a webhook for this bot, and gets its messages from now on. Stop it and restart this gateway, which removes the webhook, or configure the mode webhook here"
            }
        }
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
