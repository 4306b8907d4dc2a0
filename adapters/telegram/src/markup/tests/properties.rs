//! What holds for every text.

use super::*;
use crate::markup::document::{Document, clean};
use homing_domain::split::Unit;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser};
use unicode_segmentation::UnicodeSegmentation;

/// Answers as agents write them, and worse.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zé日😀. ]{1,20}",
        4 => proptest::sample::select(vec![
            "**", "*", "_", "~~", "`", "``", "||", "\n", "\n\n", "> ", ">       ", "- ", "1. ", "- [ ] ", "# ", "```\n", "```rust\n", "    ", "[", "](https://e.org)", "](x)", "![",
            "|", "\n|-|-|\n", "|a|b|\n", "<b>", "</b>", "<div>\n", "\\", "&amp;", "[^1]", "\n[^1]: ", "\n[a]: https://e.org\n", "[a]", "---\n", "  \n", "\u{301}", "👨\u{200d}👩", "\u{200b}",
            "\t", "\r\n", "\0", "~", "<https://e.org>", "<a@e.org>",
        ]).prop_map(String::from),
        1 => "(?s).{0,6}",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn any_parts() -> impl Strategy<Value = (Document, usize, Vec<Part>)> {
    (
        markdown(),
        prop_oneof![Just(2usize), 3..40usize, Just(4_096usize)],
    )
        .prop_map(|(markdown, limit)| {
            let document = reader::read(&markdown);
            let parts = cut::cut(&document, limit, limit);
            (document, limit, parts)
        })
}

fn without_whitespace(text: &str) -> String {
    text.split_whitespace().collect()
}

fn seen(text: &str) -> String {
    text.chars()
        .filter(|character| !document::is_unseen(*character))
        .collect()
}

/// Telegram's rules, read independently of how they are kept.
fn keeps_the_rules(part: &Part) {
    tagged(part);
    let units: Vec<u16> = part.text.encode_utf16().collect();
    for (index, entity) in part.entities.iter().enumerate() {
        let end = entity.offset + entity.length;
        let inside = String::from_utf16(&units[entity.offset..end]).unwrap();
        assert_eq!(inside.trim_end(), inside, "{part:?}");
        if !matches!(
            entity.kind,
            Kind::Pre { .. } | Kind::Blockquote | Kind::ExpandableBlockquote
        ) {
            assert_eq!(inside.trim_start(), inside, "{part:?}");
        }
        for inner in &part.entities[index + 1..] {
            if inner.offset >= end {
                continue;
            }
            assert!(inner.offset + inner.length <= end, "{part:?}");
            let allowed = match (&entity.kind, &inner.kind) {
                (Kind::Code | Kind::Pre { .. }, _) => false,
                (outer, Kind::Code | Kind::Pre { .. }) => {
                    matches!(outer, Kind::Blockquote | Kind::ExpandableBlockquote)
                }
                (_, Kind::Blockquote | Kind::ExpandableBlockquote) => false,
                (outer, inner) => std::mem::discriminant(outer) != std::mem::discriminant(inner),
            };
            assert!(allowed, "{:?} in {:?}: {part:?}", inner.kind, entity.kind);
        }
    }
    let begins_with_code = part
        .entities
        .iter()
        .any(|entity| entity.offset == 0 && matches!(entity.kind, Kind::Pre { .. }));
    assert_eq!(part.text.trim_end(), part.text);
    assert!(
        begins_with_code || part.text.trim_start() == part.text,
        "{part:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn parts_keep_every_limit_and_rule((_, limit, parts) in any_parts()) {
        for part in &parts {
            prop_assert!(Unit::Utf16.measure(&part.text) <= limit);
            prop_assert!(part.entities.len() <= ENTITIES);
            prop_assert!(!seen(&part.text).is_empty());
            keeps_the_rules(part);
        }
    }

    #[test]
    fn cuts_lose_whitespace_only((document, _, parts) in any_parts()) {
        let text: String = parts.iter().map(|part| part.text.as_str()).collect();
        prop_assert_eq!(seen(&text), seen(&document.text));
        let mut rest = document.text.as_str();
        for part in &parts {
            let at = rest.find(part.text.as_str()).unwrap();
            prop_assert!(rest[..at].chars().all(document::is_unseen));
            rest = &rest[at + part.text.len()..];
        }
    }

    /// What is marked stays marked: each character has the same kinds in its part as in the document.
    #[test]
    fn cuts_keep_what_is_marked((document, _, parts) in any_parts()) {
        let marks = |text: &str, entities: &[Entity]| {
            let mut at = 0;
            let mut found = Vec::new();
            for character in text.chars() {
                let kinds: Vec<Kind> = entities.iter().filter(|e| e.offset <= at && at < e.offset + e.length).map(|e| e.kind.clone()).collect();
                if !document::is_unseen(character) {
                    found.push((character, kinds));
                }
                at += character.len_utf16();
            }
            found
        };
        let whole: Vec<Entity> = document.spans.iter().map(|span| Entity {
            offset: Unit::Utf16.measure(&document.text[..span.start]),
            length: Unit::Utf16.measure(&document.text[span.start..span.end]),
            kind: span.kind.clone(),
        }).collect();
        let cut: Vec<(char, Vec<Kind>)> = parts.iter().flat_map(|part| marks(&part.text, &part.entities)).collect();
        prop_assert_eq!(cut, marks(&document.text, &whole));
    }

    #[test]
    fn graphemes_stay_whole((document, limit, parts) in any_parts()) {
        let text = &document.text;
        let longest = text.graphemes(true).map(|grapheme| Unit::Utf16.measure(grapheme)).max().unwrap_or(0);
        prop_assume!(longest <= limit && document.spans.len() <= 60);
        let borders: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
        let mut from = 0;
        for part in parts {
            let at = from + text[from..].find(part.text.as_str()).unwrap();
            from = at + part.text.len();
            let whole = |place: usize| borders.contains(&place) || text[..place].ends_with(char::is_whitespace) || text[place..].starts_with(char::is_whitespace);
            prop_assert!(whole(at) && whole(from), "{:?}", part);
        }
    }

    /// Every word that the parser finds is shown, in order. Definitions and addresses come on top.
    #[test]
    fn what_is_written_is_shown(markdown in markdown()) {
        let text: String = render(&markdown).iter().map(|part| part.text.as_str()).collect();
        let markdown = clean(&markdown);
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES | Options::ENABLE_GFM;
        let mut shown = text.chars();
        for event in Parser::new_ext(&markdown, options) {
            if let Event::Text(words) | Event::Code(words) | Event::Html(words) | Event::InlineHtml(words) = event {
                for letter in words.chars().filter(|letter| letter.is_alphanumeric()) {
                    prop_assert!(shown.any(|found| found == letter), "{:?} of {:?} in {:?}", letter, words, text);
                }
            }
        }
    }

    #[test]
    fn words_without_marks_are_shown_as_they_are(words in "[a-z]{1,9}( [a-z]{1,9}){0,20}(\n[a-z]{1,9}){0,5}") {
        let parts = render(&words);
        prop_assert_eq!(parts.len(), 1);
        prop_assert_eq!(&parts[0].text, &words);
        prop_assert!(parts[0].entities.is_empty());
        prop_assert_eq!(&parts, &render_plain(&words));
        prop_assert_eq!(&render(&parts[0].text), &parts);
    }

    #[test]
    fn any_string_is_shown(text in "(?s).{0,300}") {
        for part in render(&text).iter().chain(&render_caption(&text)) {
            keeps_the_rules(part);
        }
        let plain: String = render_plain(&text).into_iter().map(|part| part.text).collect();
        prop_assert_eq!(seen(&without_whitespace(&plain)), seen(&without_whitespace(&clean(&text))));
    }
}
