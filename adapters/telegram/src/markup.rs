//! What an agent writes, as Telegram shows it: text with entities, cut into messages.
//!
//! **Invariant:** every part keeps Telegram's limits, has something to see, and survives Telegram's trimming: no whitespace at its ends but the
//! indentation of a code block that it begins with (Telegram trims up to the first entity). Entities lie within the text, count UTF-16 units, begin
//! and end between characters, nest and never cross; code holds no other entity and stands in nothing but quotes. Of the text, only whitespace at cuts
//! and invisible characters that would be a part of their own are lost. The work is linear.
//! **Absent on purpose:** interpreting HTML; titles of links and images, what follows the language of a fence, and the address of an image that is
//! itself a link. No `parse_mode`: a text with entities needs no escaping, and can be cut without a second parser.
//! A link that Telegram would refuse stays text, with its address behind it: one bad entity would take the whole message down.

mod cut;
mod document;
mod link;
mod reader;
mod settle;
mod table;
mod writer;

use document::Document;
use serde::Serialize;

/// The longest text of a message, in UTF-16 units.
pub const TEXT_UNITS: usize = 4_096;
/// The longest caption of a file, in UTF-16 units.
pub const CAPTION_UNITS: usize = 1_024;
/// Telegram ignores further entities without a word.
pub const ENTITIES: usize = 100;

/// What one message can hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    pub text: String,
    /// By their beginnings, the outer before the inner.
    pub entities: Vec<Entity>,
}

/// Serialised like `MessageEntity` of the Bot API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entity {
    /// In UTF-16 units.
    pub offset: usize,
    /// In UTF-16 units.
    pub length: usize,
    #[serde(flatten)]
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Kind {
    Bold,
    Italic,
    Strikethrough,
    Spoiler,
    Code,
    Pre {
        #[serde(skip_serializing_if = "Option::is_none")]
        language: Option<String>,
    },
    TextLink {
        url: String,
    },
    Blockquote,
    ExpandableBlockquote,
}

/// The messages that show this Markdown; none if there is nothing to see. Words that are nothing but marks, such as those that open a block of code
/// in which nothing is, are shown as they are written: an answer that leaves as no message would be lost without a word.
pub fn render(markdown: &str) -> Vec<Part> {
    let parts = cut::cut(&reader::read(markdown), TEXT_UNITS, TEXT_UNITS);
    match parts.is_empty() && markdown.contains(char::is_alphanumeric) {
        true => render_plain(markdown),
        false => parts,
    }
}

/// The first part fits into a caption; the others are messages of their own.
pub fn render_caption(markdown: &str) -> Vec<Part> {
    cut::cut(&reader::read(markdown), CAPTION_UNITS, TEXT_UNITS)
}

/// The same cuts for a text that is shown as it is.
pub fn render_plain(text: &str) -> Vec<Part> {
    cut::cut(&Document::plain(text), TEXT_UNITS, TEXT_UNITS)
}

#[cfg(test)]
mod tests;
