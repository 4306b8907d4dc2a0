//! Parse modes: HTML, MarkdownV2 and Markdown, in the part that clients use, with Telegram's complaints.
//!
//! **Absent on purpose:** custom emoji in Markdown, and block quotes in it. They are taken as text.

use serde_json::{Value, json};

use super::errors::ApiError;
use super::text::units;

/// The text without its marks, and what they meant.
pub(super) fn parse(text: &str, mode: &str) -> Result<(String, Vec<Value>), ApiError> {
    match mode.to_lowercase().as_str() {
        "html" => html(text),
        "markdownv2" => Markdown::V2.parse(text),
        "markdown" => Markdown::V1.parse(text),
        _ => Err(ApiError::misuse("unsupported parse_mode")),
    }
}

/// A mark that was opened.
struct Open {
    /// As it was written: `b`, `**`.
    mark: String,
    byte: usize,
    start: usize,
    entity: Value,
}

impl Open {
    fn close(self, end: usize) -> Option<Value> {
        let mut entity = self.entity;
        entity["offset"] = json!(self.start);
        entity["length"] = json!(end - self.start);
        (end > self.start && entity.get("type").is_some()).then_some(entity)
    }
}

fn html(text: &str) -> Result<(String, Vec<Value>), ApiError> {
    let (mut out, mut entities) = (String::new(), Vec::new());
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        match character {
            '<' => {
                let Some(length) = text[at..].find('>') else {
                    return Err(ApiError::cannot_parse_entities(format!(
                        "Unclosed start tag at byte offset {at}"
                    )));
                };
                let tag = &text[at + 1..at + length];
                if let Some(name) = tag.strip_prefix('/') {
                    let last = close_tag(&mut open, name.trim(), at)?;
                    entities.extend(last.close(units(&out)));
                } else {
                    open.push(open_tag(tag, at, units(&out))?);
                }
                at += length + 1;
            }
            '&' => {
                let (decoded, length) = reference(&text[at..]);
                out.push(decoded);
                at += length;
            }
            other => {
                out.push(other);
                at += other.len_utf8();
            }
        }
    }
    match open.pop() {
        Some(left) => Err(ApiError::cannot_parse_entities(format!(
            "Can't find end tag corresponding to start tag \"{}\"",
            left.mark
        ))),
        None => Ok((out, entities)),
    }
}

fn open_tag(tag: &str, byte: usize, start: usize) -> Result<Open, ApiError> {
    let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let name = name.to_lowercase();
    let attribute = |wanted: &str| {
        let (_, rest) = attributes.split_once(&format!("{wanted}="))?;
        let quote = rest.chars().next().filter(|first| "\"'".contains(*first));
        Some(match quote {
            Some(quote) => rest[1..].split(quote).next().unwrap_or_default(),
            None => rest.split_whitespace().next().unwrap_or_default(),
        })
    };
    let entity = match name.as_str() {
        "b" | "strong" => json!({"type": "bold"}),
        "i" | "em" => json!({"type": "italic"}),
        "u" | "ins" => json!({"type": "underline"}),
        "s" | "strike" | "del" => json!({"type": "strikethrough"}),
        "tg-spoiler" => json!({"type": "spoiler"}),
        "span" if attribute("class") == Some("tg-spoiler") => json!({"type": "spoiler"}),
        "code" => json!({"type": "code"}),
        "pre" => json!({"type": "pre"}),
        "blockquote" if attributes.contains("expandable") => {
            json!({"type": "expandable_blockquote"})
        }
        "blockquote" => json!({"type": "blockquote"}),
        "tg-emoji" => {
            json!({"type": "custom_emoji", "custom_emoji_id": attribute("emoji-id").unwrap_or_default()})
        }
        // A link that leads nowhere is text.
        "a" => match attribute("href") {
            Some(url) if !url.is_empty() => json!({"type": "text_link", "url": url}),
            _ => json!({}),
        },
        _ => {
            return Err(ApiError::cannot_parse_entities(format!(
                "Unsupported start tag \"{name}\" at byte offset {byte}"
            )));
        }
    };
    Ok(Open {
        mark: name,
        byte,
        start,
        entity,
    })
}

fn close_tag(open: &mut Vec<Open>, name: &str, byte: usize) -> Result<Open, ApiError> {
    let Some(last) = open.pop() else {
        return Err(ApiError::cannot_parse_entities(format!(
            "Unexpected end tag at byte offset {byte}"
        )));
    };
    if !name.is_empty() && name.to_lowercase() != last.mark {
        return Err(ApiError::cannot_parse_entities(format!(
            "Unmatched end tag at byte offset {byte}, expected \"</{}>\", found \"</{name}>\"",
            last.mark
        )));
    }
    Ok(last)
}

/// A character reference, and its length; an ampersand that begins none is itself.
fn reference(text: &str) -> (char, usize) {
    let Some(end) = text.find(';') else {
        return ('&', 1);
    };
    let name = &text[1..end];
    let number = name
        .strip_prefix('#')
        .and_then(|digits| match digits.strip_prefix('x') {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok(),
            None => digits.parse().ok(),
        });
    let decoded = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        _ => number.and_then(char::from_u32),
    };
    decoded.map_or(('&', 1), |decoded| (decoded, end + 1))
}

#[derive(Clone, Copy, PartialEq)]
enum Markdown {
    V1,
    V2,
}

impl Markdown {
    /// Marks, the longer of two that begin alike first, with what they mean and its name in complaints.
    fn marks(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Markdown::V1 => &[
                ("```", "pre", "Pre"),
                ("`", "code", "Code"),
                ("*", "bold", "Bold"),
                ("_", "italic", "Italic"),
            ],
            Markdown::V2 => &[
                ("```", "pre", "Pre"),
                ("`", "code", "Code"),
                ("||", "spoiler", "Spoiler"),
                ("__", "underline", "Underline"),
                ("*", "bold", "Bold"),
                ("_", "italic", "Italic"),
                ("~", "strikethrough", "Strikethrough"),
            ],
        }
    }

    fn parse(self, text: &str) -> Result<(String, Vec<Value>), ApiError> {
        let (mut out, mut entities) = (String::new(), Vec::new());
        let mut open: Vec<Open> = Vec::new();
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            let rest = &text[at..];
            let verbatim = open.last().is_some_and(|last| last.mark.starts_with('`'));
            let closes = open.last().is_some_and(|last| rest.starts_with(&last.mark));
            let mark = self
                .marks()
                .iter()
                .find(|(mark, ..)| rest.starts_with(mark))
                .filter(|_| !verbatim);
            if let Some(escaped) = self.escaped(rest) {
                out.push(escaped);
                at += 1 + escaped.len_utf8();
            } else if closes && let Some(last) = open.pop() {
                at += last.mark.len();
                entities.extend(last.close(units(&out)));
            } else if let Some((mark, kind, _)) = mark {
                open.push(Open {
                    mark: (*mark).to_owned(),
                    byte: at,
                    start: units(&out),
                    entity: json!({"type": kind}),
                });
                at += mark.len();
            } else if character == '[' && !verbatim {
                open.push(Open {
                    mark: "](".into(),
                    byte: at,
                    start: units(&out),
                    entity: json!({"type": "text_link"}),
                });
                at += 1;
            } else if self == Markdown::V2 && !verbatim && "[]()~>#+-=|{}.!".contains(character) {
                return Err(ApiError::cannot_parse_entities(format!(
                    "Character '{character}' is reserved and must be escaped with the preceding '\\'"
                )));
            } else {
                out.push(character);
                at += character.len_utf8();
            }
            // A link that was just closed is followed by its address.
            if closes && rest.starts_with("](") {
                at = finish_link(text, at, &mut entities)?;
            }
        }
        match open.pop() {
            Some(left) => Err(self.unfinished(&left)),
            None => Ok((out, entities)),
        }
    }

    fn escaped(self, rest: &str) -> Option<char> {
        let next = rest.strip_prefix('\\')?.chars().next()?;
        let escapable = match self {
            Markdown::V1 => "_*`[".contains(next),
            Markdown::V2 => next.is_ascii() && !next.is_ascii_control(),
        };
        escapable.then_some(next)
    }

    fn unfinished(self, left: &Open) -> ApiError {
        let name = self.marks().iter().find(|(mark, ..)| *mark == left.mark);
        ApiError::cannot_parse_entities(match (self, name) {
            (Markdown::V1, _) => format!(
                "Can't find end of the entity starting at byte offset {}",
                left.byte
            ),
            (_, Some((_, _, name))) => {
                format!(
                    "Can't find end of {name} entity at byte offset {}",
                    left.byte
                )
            }
            (_, None) => format!("Can't find end of a URL at byte offset {}", left.byte),
        })
    }
}

fn finish_link(text: &str, at: usize, entities: &mut [Value]) -> Result<usize, ApiError> {
    let Some(length) = text[at..].find(')') else {
        return Err(ApiError::cannot_parse_entities(format!(
            "Can't find end of a URL at byte offset {at}"
        )));
    };
    if let Some(link) = entities.last_mut()
        && link["type"] == "text_link"
    {
        link["url"] = json!(text[at..at + length].replace('\\', ""));
    }
    Ok(at + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_becomes_text_and_entities() {
        let (text, entities) =
            parse("<b>a &lt; b</b> <a href=\"http://x/\">y</a>", "HTML").expect("it is HTML");
        assert_eq!(text, "a < b y");
        assert_eq!(
            entities,
            [
                json!({"type": "bold", "offset": 0, "length": 5}),
                json!({"type": "text_link", "url": "http://x/", "offset": 6, "length": 1}),
            ]
        );
    }

    #[test]
    fn markdown_becomes_text_and_entities() {
        let (text, entities) =
            parse("*a* __b__ `c.` [d](http://x/) e\\.", "MarkdownV2").expect("it is Markdown");
        assert_eq!(text, "a b c. d e.");
        let kinds: Vec<_> = entities.iter().map(|entity| &entity["type"]).collect();
        assert_eq!(kinds, ["bold", "underline", "code", "text_link"]);
        assert_eq!(entities[3]["url"], "http://x/");
    }

    #[test]
    fn complaints_are_telegrams() {
        for (text, mode, complaint) in [
            (
                "some *text",
                "Markdown",
                "Can't find end of the entity starting at byte offset 5",
            ),
            ("a.", "MarkdownV2", "Character '.' is reserved"),
            (
                "*a",
                "MarkdownV2",
                "Can't find end of Bold entity at byte offset 0",
            ),
            (
                "<p>",
                "HTML",
                "Unsupported start tag \"p\" at byte offset 0",
            ),
            (
                "<b>a",
                "HTML",
                "Can't find end tag corresponding to start tag \"b\"",
            ),
            ("a</b>", "HTML", "Unexpected end tag at byte offset 1"),
        ] {
            let refused = parse(text, mode).expect_err("it is refused");
            assert!(
                refused.description.contains(complaint),
                "{text}: {refused:?}"
            );
        }
    }
}
