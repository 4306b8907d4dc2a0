//! The parameters of one request, whatever form they came in.
//!
//! **Invariant:** after reading, a parameter has the same JSON type in every form of body, so that one schema checks them all. As on Telegram,
//! nested values may be JSON in a string, numbers and flags may be text.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::errors::ApiError;

/// Text by nature: never read as JSON, though it may look like it.
const TEXTS: &[&str] = &[
    "action",
    "callback_query_id",
    "caption",
    "certificate",
    "custom_description",
    "custom_emoji_id",
    "description",
    "file_id",
    "file_name",
    "first_name",
    "icon_custom_emoji_id",
    "ip_address",
    "language_code",
    "last_name",
    "message_effect_id",
    "name",
    "parse_mode",
    "performer",
    "phone_number",
    "secret_token",
    "short_description",
    "text",
    "title",
    "url",
    "business_connection_id",
    "photo",
    "document",
    "audio",
    "video",
    "voice",
    "animation",
    "video_note",
    "sticker",
    "thumbnail",
    "cover",
    "inline_message_id",
    "emoji",
];

/// True or false by nature: `1`, `yes` and `True` are true.
const FLAGS: &[&str] = &[
    "allow_paid_broadcast",
    "allow_sending_without_reply",
    "can_stop",
    "disable_content_type_detection",
    "disable_notification",
    "drop_pending_updates",
    "has_spoiler",
    "is_big",
    "only_if_banned",
    "protect_content",
    "remove_caption",
    "revoke_messages",
    "show_alert",
    "show_caption_above_media",
    "supports_streaming",
];

/// A part with a file name under one of these is the parameter itself; others are referred to as `attach://NAME`.
const FILES: &[&str] = &[
    "animation",
    "audio",
    "certificate",
    "cover",
    "document",
    "photo",
    "sticker",
    "thumbnail",
    "video",
    "video_note",
    "voice",
];

#[derive(Debug, Clone, Default)]
pub(super) struct Params {
    pub fields: Map<String, Value>,
    pub files: BTreeMap<String, Upload>,
}

/// A part of a multipart body that has a file name.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub name: String,
    pub mime_type: Option<String>,
    pub bytes: Vec<u8>,
}

impl Params {
    /// One field of a query, form or JSON object.
    pub fn put(&mut self, name: String, value: Value) {
        if !value.is_null() {
            let value = natural(&name, value);
            self.fields.insert(name, value);
        }
    }

    /// A part with a file name.
    pub fn attach(&mut self, name: String, upload: Upload) {
        if FILES.contains(&name.as_str()) {
            self.fields
                .entry(name.clone())
                .or_insert_with(|| Value::String(format!("attach://{name}")));
        }
        self.files.insert(name, upload);
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn integer(&self, name: &str) -> Result<Option<i64>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value
                .as_i64()
                .map(Some)
                .ok_or_else(|| ApiError::misuse(format!("{name} must be an integer"))),
        }
    }

    pub fn required_integer(&self, name: &str) -> Result<i64, ApiError> {
        self.integer(name)?
            .ok_or_else(|| ApiError::misuse(format!("{name} is not specified")))
    }

    pub fn nested<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ApiError> {
        self.get(name)
            .map(|value| {
                T::deserialize(value)
                    .map_err(|error| ApiError::misuse(format!("can't parse {name}: {error}")))
            })
            .transpose()
    }
}

fn natural(name: &str, value: Value) -> Value {
    let Value::String(text) = value else {
        return value;
    };
    if TEXTS.contains(&name) {
        return Value::String(text);
    }
    if FLAGS.contains(&name) {
        let truth = ["true", "yes", "1"].contains(&text.to_lowercase().as_str());
        return Value::Bool(truth);
    }
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(name: &str, value: Value) -> Value {
        let mut params = Params::default();
        params.put(name.into(), value);
        params.fields.remove(name).expect("it is there")
    }

    #[test]
    fn text_that_looks_like_a_number_stays_text() {
        assert_eq!(read("text", json!("12")), json!("12"));
        assert_eq!(read("caption", json!("{}")), json!("{}"));
    }

    #[test]
    fn numbers_flags_and_nested_values_may_come_as_text() {
        assert_eq!(read("chat_id", json!("-5")), json!(-5));
        assert_eq!(read("chat_id", json!("@news")), json!("@news"));
        assert_eq!(read("protect_content", json!("True")), json!(true));
        assert_eq!(
            read("reply_parameters", json!("{\"message_id\":7}")),
            json!({"message_id": 7})
        );
    }
}
