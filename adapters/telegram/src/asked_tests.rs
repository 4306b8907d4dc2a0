#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use super::*;
use crate::reading::{News, read};
use serde_json::{Value, json};

fn me() -> Me {
    Me {
        id: 99,
        username: "Us_Bot".into(),
    }
}

/// A message of a group; every `@word` is a mention, as Telegram marks them.
fn said(text: &str, more: Value) -> Message {
    let mut entities = Vec::new();
    for (at, _) in text.match_indices('@') {
        let word =
            text[at + 1..].find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let length = word.map_or(text.len() - at, |end| end + 1);
        let is_command = text[..at]
            .rfind(char::is_whitespace)
            .map_or(0, |space| space + 1);
        if !text[is_command..].starts_with('/') {
            let offset = utf16::units(&text[..at]);
            entities.push(json!({"type": "mention", "offset": offset, "length": length}));
        }
    }
    let mut message = json!({
        "message_id": 9, "date": 1, "text": text, "entities": entities,
        "from": {"id": 7, "is_bot": false, "first_name": "Alice"},
        "chat": {"id": -100, "type": "supergroup", "title": "Group"},
    });
    let object = message.as_object_mut().unwrap();
    object.extend(more.as_object().unwrap().clone());
    match read(&json!({"update_id": 1, "message": message})) {
        News::Written(message) => *message,
        other => panic!("{other:?}"),
    }
}

fn yes(text: &str, by_name: bool) -> Asked {
    Asked::Yes {
        text: text.into(),
        by_name,
    }
}

#[test]
fn what_a_group_says_where_the_bot_must_be_mentioned() {
    for (text, expected) in [
        ("hello", Asked::No),
        ("hello @other_bot", Asked::No),
        ("@us_bot hello", yes("hello", true)),
        ("@US_BOT: hello", yes("hello", true)),
        ("@us_bot, hello", yes("hello", true)),
        ("😀 hello @us_bot", yes("😀 hello", true)),
        ("@us_bot", yes("@us_bot", true)),
        ("@us_bot @us_bot go", yes("go", true)),
        (
            "what does @us_bot think?",
            yes("what does @us_bot think?", true),
        ),
        ("/status", yes("/status", false)),
        ("/status@us_bot now", yes("/status now", true)),
        ("/status@Us_Bot", yes("/status", true)),
        ("/status@other_bot", Asked::No),
        ("@us_bot /status now", yes("/status now", true)),
        ("@us_bot !make", yes("!make", true)),
        // Only a mention makes it ours.
        ("!make", Asked::No),
        ("/usr/bin/make all", Asked::No),
        // `us_bot` as a word, and a longer name, are nobody's address.
        ("us_bot hello", Asked::No),
        ("@us_bottom hello", Asked::No),
    ] {
        assert_eq!(
            asked(&said(text, json!({})), &me(), true),
            expected,
            "{text}"
        );
    }
}

#[test]
fn what_a_group_says_where_nothing_must_be_mentioned() {
    for (text, expected) in [
        ("hello", yes("hello", false)),
        ("!make", yes("!make", false)),
        ("@us_bot hello", yes("hello", true)),
        ("/status@other_bot", Asked::No),
    ] {
        assert_eq!(
            asked(&said(text, json!({})), &me(), false),
            expected,
            "{text}"
        );
    }
}

#[test]
fn an_answer_to_the_bot_is_for_the_bot() {
    let reply = |id: i64| json!({"reply_to_message": {"message_id": 5, "text": "x", "from": {"id": id, "is_bot": true, "first_name": "B"}}});
    assert_eq!(
        asked(&said("and?", reply(99)), &me(), true),
        yes("and?", true)
    );
    assert_eq!(asked(&said("and?", reply(98)), &me(), true), Asked::No);
    // The bot has made the topic: all that is written in it seems to answer the bot.
    let topic = json!({
        "message_thread_id": 5, "is_topic_message": true,
        "reply_to_message": {"message_id": 5, "forum_topic_created": {"name": "x", "icon_color": 1},
            "from": {"id": 99, "is_bot": true, "first_name": "B"}},
    });
    assert_eq!(asked(&said("and?", topic), &me(), true), Asked::No);
}

#[test]
fn a_mention_without_a_username_counts() {
    let more = json!({"entities": [{"type": "text_mention", "offset": 0, "length": 3,
        "user": {"id": 99, "is_bot": true, "first_name": "Bot"}}]});
    assert_eq!(asked(&said("Bot go", more), &me(), true), yes("go", true));
}

#[test]
fn entities_that_lie_are_none() {
    let more = json!({"entities": [
        {"type": "mention", "offset": 1, "length": 4},
        {"type": "mention", "offset": 90, "length": 4},
        {"type": "mention", "offset": 0, "length": 18_446_744_073_709_551_615_u64},
    ]});
    assert_eq!(asked(&said("😀 hello", more), &me(), true), Asked::No);
}

/// Whoever composes a message chooses its entities: they may touch, overlap, and come in any order.
fn named_at(text: &str, ranges: &[(usize, usize)]) -> Message {
    let us = json!({"id": 99, "is_bot": true, "first_name": "Us"});
    let entity = |(offset, length): &(usize, usize)| json!({"type": "text_mention", "offset": offset, "length": length, "user": us});
    let entities: Vec<Value> = ranges.iter().map(entity).collect();
    said(text, json!({"entities": entities}))
}

#[test]
fn names_that_touch_or_overlap_are_taken_off_as_far_as_they_go() {
    for (text, ranges, left) in [
        ("@us_bot, hello", vec![(0, 7), (7, 7)], "hello"),
        ("Us Us hello", vec![(0, 5), (3, 2)], "hello"),
        ("hello Us Us", vec![(6, 5), (6, 2)], "hello"),
        ("hello Us Us", vec![(6, 3), (8, 3)], "hello"),
    ] {
        let text = without_mentions(&named_at(text, &ranges), &me());
        assert!(text.contains(left), "{ranges:?}: {text:?}");
    }
}

proptest::proptest! {
    #[test]
    fn no_entities_end_the_reading(
        text in "[a,: 😀é]{0,12}",
        ranges in proptest::collection::vec((0_usize..14, 1_usize..14), 0..5),
    ) {
        let message = named_at(&text, &ranges);
        let left = without_mentions(&message, &me());
        proptest::prop_assert!(text.contains(&left));
    }
}
