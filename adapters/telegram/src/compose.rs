//! Messages as requests.
//!
//! **Invariant:** entities stay where their words are, whatever is put before or between them. The thread is always named where there is one: a reply
//! that may be left out does not bring its topic along.

use homing_ports::platform::{Button, Outgoing, OutgoingKind};
use serde_json::{Value, json};
use teloxide_core::payloads::{EditMessageText, SendMessage};
use teloxide_core::types::{
    ChatId, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageId,
    ReplyParameters,
};

use crate::api::parameters;
use crate::markup::CAPTION_UNITS;
use crate::place::Target;
use crate::utf16;

/// What stands before a message that may be there already (OWN-94).
const MAY_REPEAT: &str = "↻ may be a repeat:\n";
/// What callback data may have, in bytes.
const BUTTON_BYTES: usize = 64;

/// A text and how it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words {
    pub text: String,
    /// As the Bot API has them.
    pub entities: Vec<Value>,
}

impl Words {
    pub fn unformatted(text: impl Into<String>) -> Words {
        Words {
            text: text.into(),
            entities: Vec::new(),
        }
    }

    pub fn of(outgoing: &Outgoing) -> Words {
        Words::rendered(&outgoing.text, outgoing.extras.markup.as_deref())
    }

    pub fn rendered(text: &str, markup: Option<&str>) -> Words {
        Words {
            text: text.to_owned(),
            entities: markup
                .and_then(|markup| serde_json::from_str(markup).ok())
                .unwrap_or_default(),
        }
    }

    /// Marked as perhaps a repeat. `None` if there is no room for the mark.
    pub fn marked(&self, most: usize) -> Option<Words> {
        let marked = self.after(MAY_REPEAT);
        (utf16::units(&marked.text) <= most).then_some(marked)
    }

    fn after(&self, before: &str) -> Words {
        let shift = utf16::units(before);
        let mut entities = self.entities.clone();
        for entity in &mut entities {
            let offset = entity["offset"].as_u64().unwrap_or_default();
            entity["offset"] = json!(offset + shift as u64);
        }
        Words {
            text: format!("{before}{}", self.text),
            entities,
        }
    }

    /// Without formatting. Addresses that were behind words stand after them, as far as there is room.
    pub fn plain(&self, most: usize) -> Words {
        let mut text = self.text.clone();
        let mut links: Vec<_> = self
            .entities
            .iter()
            .filter_map(|entity| self.link(entity))
            .collect();
        links.sort_by_key(|(end, _)| std::cmp::Reverse(*end));
        for (end, url) in links {
            let longer = format!("{} ({url}){}", &text[..end], &text[end..]);
            if utf16::units(&longer) <= most {
                text = longer;
            }
        }
        Words::unformatted(text)
    }

    /// Where a link ends, in bytes, and where it leads.
    fn link(&self, entity: &Value) -> Option<(usize, String)> {
        let number = |field: &str| usize::try_from(entity[field].as_u64()?).ok();
        let url = entity["url"].as_str()?;
        let range = utf16::bytes(&self.text, number("offset")?, number("length")?)?;
        (self.text[range.clone()] != *url).then(|| (range.end, url.to_owned()))
    }

    pub fn fit_caption(&self) -> bool {
        utf16::units(&self.text) <= CAPTION_UNITS
    }
}

/// `sendMessage`.
pub(crate) fn message(target: &Target, words: &Words, shows_links: bool) -> Value {
    let mut payload = SendMessage::new(ChatId(target.chat), words.text.clone());
    if !shows_links {
        payload.link_preview_options = Some(no_links());
    }
    let mut request = parameters(&payload);
    name_thread(&mut request, target);
    put_entities(&mut request, "entities", words);
    request
}

/// `editMessageText`.
pub(crate) fn edit(target: &Target, message: MessageId, words: &Words, shows_links: bool) -> Value {
    let mut payload = EditMessageText::new(ChatId(target.chat), message, words.text.clone());
    if !shows_links {
        payload.link_preview_options = Some(no_links());
    }
    let mut request = parameters(&payload);
    put_entities(&mut request, "entities", words);
    request
}

/// What a file goes out with.
pub(crate) fn caption(target: &Target, words: &Words) -> Value {
    let mut request = json!({"chat_id": target.chat});
    name_thread(&mut request, target);
    if !words.text.is_empty() {
        request["caption"] = json!(words.text);
        put_entities(&mut request, "caption_entities", words);
    }
    request
}

pub(crate) fn name_thread(request: &mut Value, target: &Target) {
    if let Some((name, thread)) = target.thread_parameter() {
        request[name] = json!(thread);
    }
}

pub(crate) fn put_entities(request: &mut Value, field: &str, words: &Words) {
    if !words.entities.is_empty() {
        request[field] = json!(words.entities);
    }
}

pub(crate) fn put_reply(request: &mut Value, reply: Option<i32>) {
    if let Some(reply) = reply {
        let reply = ReplyParameters::new(MessageId(reply)).allow_sending_without_reply();
        request["reply_parameters"] = json!(reply);
    }
}

/// Buttons that say too much are left out: their message matters more.
pub(crate) fn put_buttons(request: &mut Value, rows: &[Vec<Button>]) {
    let rows: Vec<Vec<_>> = rows.iter().map(|row| buttons(row)).collect();
    let rows: Vec<_> = rows.into_iter().filter(|row| !row.is_empty()).collect();
    if !rows.is_empty() {
        request["reply_markup"] = json!(InlineKeyboardMarkup::new(rows));
    }
}

fn buttons(row: &[Button]) -> Vec<InlineKeyboardButton> {
    let fits = |button: &&Button| {
        let fits = (1..=BUTTON_BYTES).contains(&button.says.len()) && !button.label.is_empty();
        if !fits {
            tracing::error!(
                label = button.label,
                says = button.says,
                "a button was left out: it says 1 to {BUTTON_BYTES} bytes"
            );
        }
        fits
    };
    row.iter()
        .filter(fits)
        .map(|button| InlineKeyboardButton::callback(&button.label, &button.says))
        .collect()
}

/// The message that this is shown to answer: in a group it helps, in private it is noise, and what comes from the background answers nobody's last
/// word (public bug 52694).
pub(crate) fn anchor(outgoing: &Outgoing, target: &Target) -> Option<i32> {
    let answers = matches!(outgoing.kind, OutgoingKind::Answer | OutgoingKind::Reply);
    let anchor = outgoing.origin.anchor.as_deref()?;
    (answers && target.is_group()).then(|| anchor.parse().ok())?
}

/// A link of a message that nobody asked for just now is not blown up.
pub(crate) fn shows_links(kind: OutgoingKind) -> bool {
    matches!(kind, OutgoingKind::Answer | OutgoingKind::Reply)
}

fn no_links() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;

    fn words() -> Words {
        Words::rendered(
            "😀 see docs",
            Some(
                r#"[{"type":"bold","offset":0,"length":2},{"type":"text_link","offset":7,"length":4,"url":"https://x.y/"}]"#,
            ),
        )
    }

    // OWN-94
    #[test]
    fn a_mark_moves_what_is_set() {
        let marked = words().marked(100).unwrap();
        assert!(marked.text.starts_with("↻ may be a repeat:\n😀"));
        let offset = marked.entities[1]["offset"].as_u64().unwrap() as usize;
        let range = utf16::bytes(&marked.text, offset, 4).unwrap();
        assert_eq!(&marked.text[range], "docs");
        assert_eq!(words().marked(20), None, "no room");
    }

    #[test]
    fn a_plain_text_keeps_its_addresses() {
        assert_eq!(words().plain(100).text, "😀 see docs (https://x.y/)");
        assert_eq!(words().plain(12).text, "😀 see docs", "no room");
        let markup =
            serde_json::to_string(&crate::markup::render("**a** [b](https://x.y/) c")[0].entities)
                .unwrap();
        assert_eq!(
            Words::rendered("a b c", Some(&markup)).plain(100).text,
            "a b (https://x.y/) c"
        );
    }

    #[test]
    fn markup_that_is_none_is_no_reason_to_fail() {
        assert_eq!(Words::rendered("a", Some("{")), Words::unformatted("a"));
    }
}
