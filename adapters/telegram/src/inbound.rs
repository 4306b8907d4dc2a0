//! A message as the gateway takes it.

use homing_domain::origin::AccountName;
use homing_ports::inbox::{Inbound, Together};
use homing_ports::platform::Attachment;
use serde::Deserialize;
use serde_json::Value;
use teloxide_core::types::User;

use crate::reading::{Message, Press};
use crate::utf16;

/// What an answer quotes is for orientation.
const QUOTED: usize = 1_000;

/// The same message in two updates is one.
pub(crate) fn message_id(message: &Message) -> String {
    format!("m:{}:{}", message.place.chat, message.id)
}

pub(crate) fn update_id(update: &Value) -> String {
    format!("u:{}", update["update_id"])
}

pub(crate) fn of_message(
    account: &AccountName,
    message: &Message,
    text: String,
    together: Option<Together>,
) -> Inbound {
    let speaker = message.speaker.as_ref();
    let user = speaker.map(|speaker| speaker.id);
    let origin = message.place.origin(account, user, Some(message.id));
    let text = match text.is_empty() {
        true => in_words(&message.raw).unwrap_or_default(),
        false => text,
    };
    let text = match forwarded_from(&message.raw) {
        Some(name) => format!("[forwarded from {name}]\n{text}"),
        None => text,
    };
    Inbound {
        author: speaker.map(|speaker| speaker.name.clone()),
        raw: serde_json::to_string(&message.raw).ok(),
        quoted: quoted(message),
        attachments: attachments(&message.raw),
        together,
        ..Inbound::new(origin, message_id(message), text)
    }
}

/// A pressed button is what it says, said by who pressed it.
pub(crate) fn of_press(account: &AccountName, press: &Press, update: &Value) -> Option<Inbound> {
    let origin = press
        .place?
        .origin(account, Some(press.speaker.id), Some(press.message));
    Some(Inbound {
        author: Some(press.speaker.name.clone()),
        raw: serde_json::to_string(update).ok(),
        ..Inbound::new(origin, update_id(update), press.data.clone()?)
    })
}

/// Whose words a forwarded message has. They are somebody else's: said to the agent, and so never a command, even if they look like one.
fn forwarded_from(message: &Value) -> Option<String> {
    let origin = message.get("forward_origin")?;
    let user = User::deserialize(&origin["sender_user"]).ok();
    let name = user
        .map(|user| user.full_name())
        .or_else(|| {
            let said = [
                &origin["sender_user_name"],
                &origin["sender_chat"]["title"],
                &origin["chat"]["title"],
            ];
            said.into_iter()
                .find_map(|name| name.as_str().map(str::to_owned))
        })
        .unwrap_or_else(|| "somebody".to_owned());
    // One line: a name may hold anything.
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn quoted(message: &Message) -> Option<String> {
    let said = message.reply.as_ref().map(|reply| reply.text.as_str());
    let text = message.quote.as_deref().or(said)?.trim();
    if text.is_empty() {
        return None;
    }
    let text = utf16::shortened(text, QUOTED);
    let speaker = message
        .reply
        .as_ref()
        .and_then(|reply| reply.speaker.as_ref());
    Some(match speaker {
        Some(speaker) => format!("{}: {text}", speaker.name),
        None => text,
    })
}

fn attachments(message: &Value) -> Vec<Attachment> {
    // An animation comes as a document as well.
    let document = match message.get("animation") {
        Some(_) => None,
        None => message.get("document"),
    };
    let sizes = message["photo"].as_array();
    let photo = sizes.and_then(|sizes| {
        let pixels = |size: &&Value| {
            let side = |name: &str| size[name].as_u64().unwrap_or_default();
            side("width").saturating_mul(side("height"))
        };
        sizes.iter().max_by_key(pixels)
    });
    let sticker = message.get("sticker");
    let sticker_type = sticker.map(|sticker| {
        let is = |flag: &str| sticker[flag].as_bool() == Some(true);
        match (is("is_video"), is("is_animated")) {
            (true, _) => "video/webm",
            (_, true) => "application/x-tgsticker",
            _ => "image/webp",
        }
    });
    [
        (document, None),
        (photo, Some("image/jpeg")),
        (message.get("audio"), None),
        (message.get("video"), None),
        (message.get("voice"), Some("audio/ogg")),
        (message.get("animation"), None),
        (message.get("video_note"), Some("video/mp4")),
        (sticker, sticker_type),
    ]
    .into_iter()
    .filter_map(|(file, usual_type)| attachment(file?, usual_type))
    .collect()
}

fn attachment(file: &Value, usual_type: Option<&str>) -> Option<Attachment> {
    Some(Attachment {
        name: file["file_name"].as_str().map(str::to_owned),
        media_type: file["mime_type"].as_str().or(usual_type).map(str::to_owned),
        bytes: file["file_size"].as_u64(),
        reference: file["file_id"].as_str()?.to_owned(),
        first_came_with: None,
    })
}

/// What has neither text nor file, for an agent that reads.
fn in_words(message: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(sticker) = message.get("sticker") {
        return Some(format!("[sticker {}]", text(&sticker["emoji"])));
    }
    if let Some(venue) = message.get("venue") {
        let at = &venue["location"];
        return Some(format!(
            "[venue {}, {}, at {}, {}]",
            text(&venue["title"]),
            text(&venue["address"]),
            at["latitude"],
            at["longitude"]
        ));
    }
    if let Some(at) = message.get("location") {
        return Some(format!(
            "[location {}, {}]",
            at["latitude"], at["longitude"]
        ));
    }
    if let Some(contact) = message.get("contact") {
        return Some(format!(
            "[contact {} {} {}]",
            text(&contact["first_name"]),
            text(&contact["last_name"]),
            text(&contact["phone_number"])
        ));
    }
    if let Some(poll) = message.get("poll") {
        return Some(format!("[poll: {}]", text(&poll["question"])));
    }
    if let Some(dice) = message.get("dice") {
        return Some(format!("[dice {} {}]", text(&dice["emoji"]), dice["value"]));
    }
    let other = [
        "story",
        "checklist",
        "game",
        "paid_media",
        "live_photo",
        "rich_message",
    ];
    other
        .into_iter()
        .find(|kind| message.get(kind).is_some())
        .map(|kind| format!("[{}, which cannot be read here]", kind.replace('_', " ")))
}

#[cfg(test)]
#[path = "inbound_tests.rs"]
mod tests;
