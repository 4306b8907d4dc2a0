//! Text and its entities, measured as Telegram measures: in UTF-16 units.
//!
//! **Invariant:** what leaves here is as Telegram would store it: control characters are blanks, blank edges are gone, every entity lies within
//! the text and splits no character.
//! **Absent on purpose:** which entities may be nested in which. Telegram drops some of them silently.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::errors::ApiError;
use super::markup;

/// In UTF-16 units, of a message.
pub(super) const LONGEST_TEXT: usize = 4096;
/// In UTF-16 units, of a file.
pub(super) const LONGEST_CAPTION: usize = 1024;
/// What comes after them is ignored.
const MOST_ENTITIES: usize = 100;

const TYPES: &[&str] = &[
    "mention",
    "hashtag",
    "cashtag",
    "bot_command",
    "url",
    "email",
    "phone_number",
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "expandable_blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
    "custom_emoji",
    "date_time",
];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Formatted {
    pub text: String,
    /// As the sender asked for, trimmed with the text.
    pub asked: Vec<Value>,
    /// Those, and what Telegram finds in the text by itself.
    pub entities: Vec<Value>,
}

pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// A text as a bot sent it, with its entities or its parse mode.
pub(super) fn formatted(
    text: &str,
    entities: Option<&[Value]>,
    parse_mode: Option<&str>,
) -> Result<Formatted, ApiError> {
    let (text, entities) = match parse_mode.filter(|mode| !mode.is_empty()) {
        Some(mode) => markup::parse(text, mode)?,
        None => (text.to_owned(), entities.unwrap_or_default().to_vec()),
    };
    let mut spans = spans(&text, &entities)?;
    let text = clean(&text, &mut spans);
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let asked: Vec<Value> = spans.iter().map(Span::to_json).collect();
    let entities = with_found(&text, asked.clone());
    Ok(Formatted {
        text,
        asked,
        entities,
    })
}

/// An entity whose ends move with the text.
#[derive(Debug)]
struct Span {
    start: usize,
    end: usize,
    entity: Value,
}

impl Span {
    fn to_json(&self) -> Value {
        let mut entity = self.entity.clone();
        entity["offset"] = json!(self.start);
        entity["length"] = json!(self.end - self.start);
        entity
    }
}

fn spans(text: &str, entities: &[Value]) -> Result<Vec<Span>, ApiError> {
    let length = units(text);
    let borders = borders(text);
    let mut spans = Vec::new();
    for entity in entities.iter().take(MOST_ENTITIES) {
        check_fields(entity)?;
        let number = |name: &str| {
            entity[name]
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
                .ok_or_else(|| ApiError::misuse(format!("receive an entity with incorrect {name}")))
        };
        let (start, end) = (number("offset")?, number("offset")? + number("length")?);
        if end > length {
            return Err(ApiError::misuse(format!(
                "entity beginning at UTF-16 offset {start} ends after the end of the text at UTF-16 offset {length}"
            )));
        }
        if !borders[start] {
            return Err(ApiError::misuse(format!(
                "entity begins in a middle of a UTF-16 symbol at UTF-16 offset {start}"
            )));
        }
        if !borders[end] {
            return Err(ApiError::misuse(format!(
                "entity beginning at UTF-16 offset {start} ends in a middle of a UTF-16 symbol at UTF-16 offset {end}"
            )));
        }
        spans.push(Span {
            start,
            end,
            entity: entity.clone(),
        });
    }
    Ok(spans)
}

/// For every UTF-16 offset, whether a character begins there. The end of the text counts.
fn borders(text: &str) -> Vec<bool> {
    let mut borders: Vec<bool> = text
        .chars()
        .flat_map(|character| (0..character.len_utf16()).map(|unit| unit == 0))
        .collect();
    borders.push(true);
    borders
}

fn check_fields(entity: &Value) -> Result<(), ApiError> {
    let kind = entity["type"].as_str().unwrap_or_default();
    let missing = |field: &str| entity.get(field).is_none();
    let problem = match kind {
        kind if !TYPES.contains(&kind) => "unsupported type specified".to_owned(),
        "text_link" if missing("url") => "field \"url\" must be of type String".to_owned(),
        "text_mention" if missing("user") => "field \"user\" must be of type Object".to_owned(),
        "custom_emoji" if missing("custom_emoji_id") => {
            "field \"custom_emoji_id\" must be of type String".to_owned()
        }
        _ => return Ok(()),
    };
    Err(ApiError::misuse(format!(
        "can't parse MessageEntity: {problem}"
    )))
}

/// Carriage returns go, other control characters become blanks, blank lines at the beginning and blanks at the end go.
fn clean(text: &str, spans: &mut Vec<Span>) -> String {
    let mut cleaned: Vec<(char, usize)> = Vec::new();
    let mut at = 0;
    for character in text.chars() {
        let kept = match character {
            '\r' => None,
            '\n' => Some('\n'),
            control if control < ' ' => Some(' '),
            other => Some(other),
        };
        cleaned.extend(kept.map(|kept| (kept, at)));
        at += character.len_utf16();
    }
    while cleaned.last().is_some_and(|(last, _)| last.is_whitespace()) {
        cleaned.pop();
    }
    let first_entity = spans.iter().map(|span| span.start).min().unwrap_or(at);
    let blank = cleaned
        .iter()
        .take_while(|(character, was)| character.is_whitespace() && *was < first_entity)
        .count();
    // The first line that says something keeps its indentation.
    let cut = cleaned[..blank]
        .iter()
        .rposition(|(character, _)| *character == '\n')
        .map_or(0, |newline| newline + 1);
    cleaned.drain(..cut);
    // Where each unit of the old text is now.
    let now = |was: usize| -> usize {
        cleaned
            .iter()
            .take_while(|(_, old)| *old < was)
            .map(|(character, _)| character.len_utf16())
            .sum()
    };
    for span in spans.iter_mut() {
        (span.start, span.end) = (now(span.start), now(span.end));
    }
    spans.retain(|span| span.start < span.end);
    cleaned.iter().map(|(character, _)| character).collect()
}

static FOUND: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    [
        ("url", r"(https?://[^\s<>]*[^\s<>.,;:!?)\]}'])"),
        ("email", r"(?:^|[\s(])([\w.+-]+@[\w-]+\.[\w.]*\w)"),
        (
            "bot_command",
            r"(?:^|[^\w/<>.@])(/[A-Za-z0-9_]{1,64}(?:@[A-Za-z]\w{2,31})?)(?:$|[^\w/])",
        ),
        ("mention", r"(?:^|[^\w/@.])(@[A-Za-z]\w{2,31})\b"),
        ("hashtag", r"(?:^|[^\w/#])(#\w*[^\W\d]\w*)"),
        ("cashtag", r"(?:^|\s)(\$[A-Z]{3,8})\b"),
    ]
    .into_iter()
    .filter_map(|(kind, pattern)| Some((kind, Regex::new(pattern).ok()?)))
    .collect()
});

/// What Telegram finds in a text by itself, besides these. Nothing is looked for where they are exclusive.
pub(super) fn with_found(text: &str, mut entities: Vec<Value>) -> Vec<Value> {
    let span = |entity: &Value| {
        let start = entity["offset"].as_u64().unwrap_or_default();
        (start, start + entity["length"].as_u64().unwrap_or_default())
    };
    let exclusive = |entity: &Value| {
        ![
            "bold",
            "italic",
            "underline",
            "strikethrough",
            "spoiler",
            "blockquote",
            "expandable_blockquote",
        ]
        .contains(&entity["type"].as_str().unwrap_or_default())
    };
    for (kind, pattern) in FOUND.iter() {
        for found in pattern.captures_iter(text).filter_map(|all| all.get(1)) {
            let entity = json!({
                "type": kind,
                "offset": units(&text[..found.start()]),
                "length": units(found.as_str()),
            });
            let (start, end) = span(&entity);
            let overlaps = |other: &Value| start < span(other).1 && span(other).0 < end;
            if !entities
                .iter()
                .any(|other| exclusive(other) && overlaps(other))
            {
                entities.push(entity);
            }
        }
    }
    entities.sort_by_key(|entity| (span(entity).0, std::cmp::Reverse(span(entity).1)));
    entities
}

/// The part of a text that an entity covers.
pub(super) fn covered(text: &str, entity: &Value) -> String {
    let number = |name: &str| {
        entity[name]
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .unwrap_or_default()
    };
    let all: Vec<u16> = text
        .encode_utf16()
        .skip(number("offset"))
        .take(number("length"))
        .collect();
    String::from_utf16_lossy(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bold(offset: usize, length: usize) -> Value {
        json!({"type": "bold", "offset": offset, "length": length})
    }

    fn sent(text: &str, entities: &[Value]) -> Formatted {
        formatted(text, Some(entities), None).expect("it is taken")
    }

    #[test]
    fn blank_edges_go_and_entities_move_along() {
        let sent = sent("\n\n  hi there \n", &[bold(4, 2)]);
        assert_eq!(sent.text, "  hi there");
        assert_eq!(sent.asked, [bold(2, 2)]);
    }

    #[test]
    fn control_characters_become_blanks_and_carriage_returns_go() {
        let sent = sent("a\r\nb\tc", &[bold(3, 3)]);
        assert_eq!(sent.text, "a\nb c");
        assert_eq!(sent.asked, [bold(2, 3)]);
    }

    #[test]
    fn an_entity_may_neither_split_a_character_nor_leave_the_text() {
        for (entity, problem) in [
            (bold(1, 1), "begins in a middle"),
            (bold(0, 1), "ends in a middle"),
            (bold(2, 5), "ends after the end of the text"),
        ] {
            let refused = formatted("😂a", Some(&[entity]), None).expect_err("it is refused");
            assert!(refused.description.contains(problem), "{refused:?}");
            assert!(refused.misuse);
        }
    }

    #[test]
    fn the_hundred_and_first_entity_is_ignored() {
        let entities: Vec<Value> = (0..150).map(|at| bold(at, 1)).collect();
        assert_eq!(sent(&"a".repeat(150), &entities).asked.len(), 100);
    }

    #[test]
    fn commands_mentions_and_links_are_found() {
        let text = "😂 /ask@my_bot see https://example.org/a. @alice #tag /b/c a@b";
        let found: Vec<(String, String)> = with_found(text, Vec::new())
            .iter()
            .map(|entity| {
                (
                    entity["type"].as_str().expect("a type").to_owned(),
                    covered(text, entity),
                )
            })
            .collect();
        let expected = [
            ("bot_command", "/ask@my_bot"),
            ("url", "https://example.org/a"),
            ("mention", "@alice"),
            ("hashtag", "#tag"),
        ];
        let expected = expected.map(|(kind, text)| (kind.to_owned(), text.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_is_found_in_code() {
        let code = json!({"type": "code", "offset": 0, "length": 6});
        assert_eq!(with_found("/start", vec![code.clone()]), [code]);
    }
}
