//! Messages with files, albums, and files on their way down.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::call::Call;
use super::super::errors::{Answer, ApiError};
use super::super::files::FileParts;
use super::super::keyboard;
use super::super::room::Message;
use super::super::text::{self, Formatted, LONGEST_CAPTION};
use super::super::world::World;
use super::sending::{deliver, destination, put, words};

/// In bytes, of an uploaded photo.
const LARGEST_PHOTO: usize = 10 * 1024 * 1024;

pub(super) fn send_photo(call: &mut Call<'_>) -> Answer {
    send(call, "photo")
}

pub(super) fn send_document(call: &mut Call<'_>) -> Answer {
    send(call, "document")
}

pub(super) fn send_audio(call: &mut Call<'_>) -> Answer {
    send(call, "audio")
}

pub(super) fn send_video(call: &mut Call<'_>) -> Answer {
    send(call, "video")
}

pub(super) fn send_voice(call: &mut Call<'_>) -> Answer {
    send(call, "voice")
}

pub(super) fn send_animation(call: &mut Call<'_>) -> Answer {
    send(call, "animation")
}

fn send(call: &mut Call<'_>, kind: &str) -> Answer {
    let caption = words(call, "caption", "caption_entities")?;
    check_caption(&caption)?;
    keyboard::checked(call.params.get("reply_markup"))?;
    let destination = destination(call)?;
    let content = file(call, call.params.text(kind), kind)?;
    let mut message = Message::new(call.bot, World::now(), content);
    message.set_words(caption, true);
    deliver(call, &destination, message)
}

/// One item of an album.
#[derive(Debug, Deserialize)]
struct Item {
    r#type: String,
    media: String,
    #[serde(default)]
    caption: String,
    caption_entities: Option<Vec<Value>>,
    parse_mode: Option<String>,
}

pub(super) fn send_media_group(call: &mut Call<'_>) -> Answer {
    let items: Vec<Item> = call.params.nested("media")?.unwrap_or_default();
    if !(2..=10).contains(&items.len()) {
        return Err(ApiError::misuse(
            "wrong number of messages in the album: from 2 to 10 are allowed",
        ));
    }
    let kinds: Vec<&str> = items.iter().map(|item| item.r#type.as_str()).collect();
    if ["document", "audio"]
        .iter()
        .any(|kind| kinds.contains(kind) && kinds.iter().any(|other| other != kind))
    {
        return Err(ApiError::misuse(
            "documents and audio files can't be mixed with other media types",
        ));
    }
    let captions = items
        .iter()
        .map(|item| {
            let entities = item.caption_entities.as_deref();
            let caption = text::formatted(&item.caption, entities, item.parse_mode.as_deref())?;
            check_caption(&caption).map(|()| caption)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let destination = destination(call)?;
    let contents = items
        .iter()
        .map(|item| file(call, Some(&item.media), &item.r#type))
        .collect::<Result<Vec<_>, _>>()?;
    let album = call.world.next_album();
    let mut shown = Vec::new();
    for (content, caption) in contents.into_iter().zip(captions) {
        let mut message = Message::new(call.bot, World::now(), content);
        message.set_words(caption, true);
        message.album = Some(album.clone());
        let (chat, id) = put(call, &destination, message)?;
        shown.push(call.shown(chat, id)?);
    }
    Ok(Value::Array(shown))
}

pub(super) fn check_caption(caption: &Formatted) -> Result<(), ApiError> {
    match text::units(&caption.text) > LONGEST_CAPTION {
        true => Err(ApiError::misuse("message caption is too long")),
        false => Ok(()),
    }
}

/// The fields of a message with this file: uploaded, or known by its `file_id`.
fn file(
    call: &mut Call<'_>,
    value: Option<&str>,
    kind: &str,
) -> Result<Map<String, Value>, ApiError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Err(ApiError::misuse(format!(
            "there is no {kind} in the request"
        )));
    };
    let id = if let Some(part) = value.strip_prefix("attach://") {
        upload(call, part, kind)?
    } else if value.starts_with("http://") || value.starts_with("https://") {
        // Nothing is fetched from anywhere.
        return Err(ApiError::bad("failed to get HTTP URL content"));
    } else if call.world.files.get(value).is_some() {
        value.to_owned()
    } else {
        return Err(ApiError::bad("wrong file identifier/HTTP URL specified"));
    };
    let (field, shown) = call
        .world
        .files
        .content(&id, kind)
        .ok_or_else(ApiError::internal)?;
    let mut content = Map::from_iter([(field, shown.clone())]);
    if kind == "animation" {
        // For clients that do not know animations.
        content.insert("document".into(), shown);
    }
    Ok(content)
}

fn upload(call: &mut Call<'_>, part: &str, kind: &str) -> Result<String, ApiError> {
    let Some(upload) = call.params.files.get(part) else {
        return Err(ApiError::misuse(format!(
            "there is no {kind} in the request"
        )));
    };
    if upload.bytes.is_empty() {
        return Err(ApiError::misuse("file must be non-empty"));
    }
    if kind == "photo" && upload.bytes.len() > LARGEST_PHOTO {
        return Err(ApiError::misuse("file is too big"));
    }
    Ok(call.world.files.add(FileParts {
        kind: kind.to_owned(),
        name: Some(upload.name.clone()).filter(|name| !name.is_empty()),
        mime_type: upload.mime_type.clone(),
        bytes: upload.bytes.clone(),
        size: None,
    }))
}

pub(super) fn get_file(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("file_id").unwrap_or_default();
    let Some(file) = call.world.files.get(id) else {
        return Err(ApiError::bad(
            "wrong file_id or the file is temporarily unavailable",
        ));
    };
    if file.size > call.world.download_limit {
        return Err(ApiError::bad("file is too big"));
    }
    call.world.files.shown(id).ok_or_else(ApiError::internal)
}
