//! A text and what is marked in it, before it is cut.

use super::Kind;
use std::borrow::Cow;

/// **Invariant:** no control characters but line breaks and tabs, no whitespace at the end; spans are sorted, the outer before the inner, nest, are not
/// blank, and each begins and ends with something to see (a code block and a quote may begin with indentation).
#[derive(Debug, Default)]
pub(super) struct Document {
    pub text: String,
    pub spans: Vec<Span>,
}

/// A marked range, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

impl Document {
    pub fn plain(text: &str) -> Document {
        Document {
            text: clean(text).trim().to_owned(),
            spans: Vec::new(),
        }
    }
}

impl Span {
    /// Without the whitespace at its ends; none if there is nothing else.
    pub fn trimmed(mut self, text: &str) -> Option<Span> {
        let inside = text.get(self.start..self.end)?;
        let blank = inside.len() - inside.trim_start().len();
        self.start += match self.kind {
            // Indentation is a part of code, and a quote may begin with code.
            Kind::Pre { .. } | Kind::Blockquote | Kind::ExpandableBlockquote => {
                inside[..blank].rfind('\n').map_or(0, |newline| newline + 1)
            }
            _ => blank,
        };
        self.end = self.end - inside.len() + inside.trim_end().len();
        (self.start < self.end).then_some(self)
    }

    /// By beginning, then the outer before the inner.
    pub fn order(&self) -> (usize, std::cmp::Reverse<usize>, u8) {
        (self.start, std::cmp::Reverse(self.end), self.kind.depth())
    }
}

impl Kind {
    /// Which is the outer one of two with the same range.
    fn depth(&self) -> u8 {
        match self {
            Kind::Blockquote | Kind::ExpandableBlockquote => 0,
            Kind::Spoiler => 1,
            Kind::TextLink { .. } => 2,
            Kind::Bold | Kind::Italic | Kind::Strikethrough => 3,
            Kind::Code | Kind::Pre { .. } => 4,
        }
    }

    /// Telegram lets these be around anything but code.
    pub(super) fn is_style(&self) -> bool {
        matches!(
            self,
            Kind::Bold | Kind::Italic | Kind::Strikethrough | Kind::Spoiler
        )
    }
}

/// Every line break as a line feed, and no other control characters but tabs.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unwanted) {
        return Cow::Borrowed(text);
    }
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(lines.replace(is_unwanted, ""))
}

fn is_unwanted(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

/// Whether Telegram would call a text of nothing but such characters empty.
pub(super) fn is_unseen(character: char) -> bool {
    character.is_whitespace()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}
