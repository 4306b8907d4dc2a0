#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use super::*;
use homing_domain::key::ChatType;
use proptest::prelude::*;
use serde_json::json;

/// A file of samples. `None`, said aloud, where the contracts are not at hand.
pub(crate) fn samples(file: &str) -> Option<Value> {
    let folder = std::env::var_os("HOMING_CONTRACTS").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/contracts"),
        Into::into,
    );
    match std::fs::read(folder.join("samples").join(file)) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap()),
        Err(_) => {
            use std::io::Write;
            let said = format!("skipped: {file} is not in {}\n", folder.display());
            std::io::stderr().write_all(said.as_bytes()).unwrap();
            None
        }
    }
}

fn written(update: &Value) -> Message {
    match read(update) {
        News::Written(message) => *message,
        other => panic!("{other:?} of {update}"),
    }
}

fn place(chat_type: ChatType, chat: i64, thread: Option<i64>, is_forum: bool) -> Place {
    Place {
        chat_type,
        chat,
        thread,
        is_forum,
    }
}

#[test]
fn every_constructed_sample_is_where_it_says() {
    let Some(samples) = samples("telegram_updates_constructed.json") else {
        return;
    };
    const FORUM: i64 = -1_001_000_000_001;
    let forum = |thread| place(ChatType::Group, FORUM, thread, true);
    let alice = |thread| place(ChatType::Dm, 700_000_011, thread, false);
    for (name, expected) in [
        ("forum_user_message", forum(Some(42))),
        ("forum_general_message", forum(None)),
        ("forum_general_reply_pseudo_thread", forum(None)),
        ("private_topic_message", alice(Some(510))),
        ("private_no_topic", alice(None)),
        (
            "channel_direct_messages",
            place(
                ChatType::Channel,
                -1_001_000_000_077,
                Some(4_503_599_627_370_496),
                false,
            ),
        ),
        ("photo_album_item", forum(Some(42))),
    ] {
        assert_eq!(written(&samples[name]).place, expected, "{name}");
    }
    assert!(written(&samples["photo_album_item"]).album.is_some());
    assert!(
        matches!(read(&samples["edited_in_topic"]), News::Edited(message) if message.id == 501)
    );
    let News::Pressed(press) = read(&samples["callback_query_in_topic"]) else {
        panic!("a button was pressed");
    };
    assert_eq!(
        (press.data.as_deref(), press.place),
        (Some("approve:1"), Some(forum(Some(42))))
    );
    let moved = News::Moved {
        from: -4_000_001,
        to: -1_001_000_000_099,
    };
    assert_eq!(read(&samples["group_migrated_old"]), moved);
    assert_eq!(read(&samples["group_migrated_new"]), moved);
    assert!(
        matches!(read(&samples["my_chat_member_blocked"]), News::Standing(standing) if standing.was_inside && !standing.is_inside)
    );
    for name in [
        "message_reaction",
        "topic_closed",
        "private_topic_created_by_user",
    ] {
        assert!(matches!(read(&samples[name]), News::Nothing(_)), "{name}");
    }
    assert!(matches!(
        read(&samples["unknown_future_kind"]),
        News::Unreadable(_)
    ));
}

#[test]
fn the_life_of_a_forum_as_telegram_told_it() {
    let Some(samples) = samples("telegram_getUpdates_forum_lifecycle_real.json") else {
        return;
    };
    let mut reopened = Vec::new();
    for update in samples["result"].as_array().unwrap() {
        match read(update) {
            News::Reopened(place) => reopened.push(place.thread),
            News::Nothing(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(reopened, [None, None, Some(2391)]);
}

#[test]
fn every_real_message_is_understood_or_kept() {
    let Some(samples) = samples("telegram_messages_teloxide_tests.json") else {
        return;
    };
    let mut understood = 0;
    for (name, sample) in samples["samples"].as_object().unwrap() {
        let update = match sample.get("update_id") {
            Some(_) => sample.clone(),
            None => json!({"update_id": 1, "message": sample}),
        };
        match read(&update) {
            News::Written(message) => {
                understood += 1;
                assert_eq!(message.raw, update["message"], "{name}");
                let has_words = message
                    .raw
                    .get("text")
                    .or(message.raw.get("caption"))
                    .is_some();
                assert_eq!(!message.text.is_empty(), has_words, "{name}");
            }
            News::Unreadable(_) => {
                assert!(
                    [
                        "new_update_kind_error",
                        "deserialize",
                        "deserialize_user",
                        "deserialize_chat"
                    ]
                    .contains(&name.as_str()),
                    "{name} is understood"
                );
            }
            _ => {}
        }
    }
    assert!(understood >= 15, "{understood}");
}

fn message(more: Value) -> Value {
    let mut message = json!({
        "message_id": 9, "date": 1_790_000_000, "text": "hello",
        "from": {"id": 7, "is_bot": false, "first_name": "Alice", "last_name": "A.", "username": "alice"},
        "chat": {"id": -100, "type": "supergroup", "title": "Group", "is_forum": true},
    });
    let object = message.as_object_mut().unwrap();
    object.extend(more.as_object().unwrap().clone());
    json!({"update_id": 1, "message": message})
}

#[test]
fn a_message_of_a_kind_that_is_not_known_is_kept() {
    let mut update = message(json!({"hologram": {"x": 1}}));
    assert!(
        matches!(read(&update), News::Written(_)),
        "its text is known"
    );
    update["message"].as_object_mut().unwrap().remove("text");
    assert_eq!(
        read(&update),
        News::Unreadable("a message with `hologram`".into())
    );
    let pinned = json!({"message_id": 4, "date": 1, "chat": {"id": 1, "type": "private"}});
    update["message"]
        .as_object_mut()
        .unwrap()
        .remove("hologram");
    update["message"]["pinned_message"] = pinned;
    assert!(matches!(read(&update), News::Nothing(_)));
}

// With teloxide's own reading, such a message has no text at all.
#[test]
fn an_entity_that_is_not_known_costs_itself_only() {
    let update = message(json!({"entities": [
        {"type": "hologram", "offset": 0, "length": 2},
        {"type": "bold", "offset": 0, "length": 5},
        {"offset": "x"},
    ]}));
    let message = written(&update);
    assert_eq!(
        (message.text.as_str(), message.entities.len()),
        ("hello", 1)
    );
}

// Public bug 3206: what every message of a topic answers is no reply.
#[test]
fn the_beginning_of_a_topic_is_not_answered() {
    let topic = json!({"message_thread_id": 42, "is_topic_message": true});
    for (replied, is_reply) in [
        (
            json!({"message_id": 42, "forum_topic_created": {"name": "x", "icon_color": 1}}),
            false,
        ),
        (json!({"message_id": 42}), false),
        (
            json!({"message_id": 50, "text": "well", "from": {"id": 8, "is_bot": true, "first_name": "Bot"}}),
            true,
        ),
    ] {
        let mut more = topic.clone();
        more["reply_to_message"] = replied.clone();
        assert_eq!(
            written(&message(more)).reply.is_some(),
            is_reply,
            "{replied}"
        );
    }
}

#[test]
fn who_speaks_for_a_chat_speaks_as_the_chat() {
    let anonymous = message(json!({
        "from": {"id": 1_087_968_824, "is_bot": true, "first_name": "Group", "username": "GroupAnonymousBot"},
        "sender_chat": {"id": -100, "type": "supergroup", "title": "Group"},
        "author_signature": "chief",
    }));
    assert_eq!(
        written(&anonymous).speaker,
        Some(Speaker {
            id: -100,
            name: "chief (Group)".into(),
            is_bot: false
        })
    );
    let person = written(&message(json!({}))).speaker.unwrap();
    assert_eq!((person.id, person.name.as_str()), (7, "Alice A. (@alice)"));
    let forwarded = message(json!({"is_automatic_forward": true}));
    assert!(matches!(read(&forwarded), News::Nothing(_)));
}

#[test]
fn an_old_button_of_a_forum_is_nowhere() {
    let press = |chat: Value, date: i64| {
        let update = json!({"update_id": 1, "callback_query": {
            "id": "q", "data": "yes", "from": {"id": 7, "is_bot": false, "first_name": "A"},
            "message": {"message_id": 3, "date": date, "chat": chat},
        }});
        match read(&update) {
            News::Pressed(press) => press.place,
            other => panic!("{other:?}"),
        }
    };
    let forum = json!({"id": -100, "type": "supergroup", "is_forum": true});
    let group = json!({"id": -100, "type": "supergroup"});
    assert_eq!(press(forum.clone(), 0), None);
    assert!(press(forum, 5).is_some());
    assert!(press(group, 0).is_some());
}

#[test]
fn a_stopped_draft_is_in_its_topic() {
    let update = json!({"update_id": 1, "stopped_message_generation": {
        "chat": {"id": 7, "type": "private", "first_name": "A"}, "draft_id": 5, "message_thread_id": 42,
    }});
    assert_eq!(
        read(&update),
        News::Stopped(place(ChatType::Dm, 7, Some(42), false))
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("private")),
        Just(json!("supergroup")),
    ];
    let name = prop_oneof![
        prop::sample::select(KINDS.to_vec()).prop_map(str::to_owned),
        prop::sample::select(vec![
            "update_id",
            "message_id",
            "chat",
            "id",
            "type",
            "from",
            "text",
            "caption",
            "entities",
            "offset",
            "length",
            "message",
            "date",
            "reply_to_message",
            "quote",
            "photo",
            "document",
            "file_id",
            "data",
            "is_forum",
            "message_thread_id",
            "is_topic_message",
            "sender_chat",
            "title",
            "first_name",
            "is_bot",
            "new_chat_member",
            "old_chat_member",
            "status",
            "user",
            "direct_messages_topic",
            "topic_id",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map(name.clone(), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_stops_the_reading(kind in prop::sample::select(KINDS.to_vec()), inside in any_json(), whole in any_json()) {
        let me = crate::asked::Me { id: 1, username: "us_bot".into() };
        for update in [whole, json!({"update_id": 1, kind: inside})] {
            if let News::Written(message) | News::Edited(message) = read(&update) {
                let asked = crate::asked::asked(&message, &me, true);
                let is_ours = asked != crate::asked::Asked::No;
                prop_assert!(is_ours || !message.place.is_private() || message.text.contains('@'));
                let account = homing_domain::origin::AccountName {
                    profile: "main".into(), platform: "telegram".into(), account: None,
                };
                crate::inbound::of_message(&account, &message, message.text.clone(), None);
                crate::albums::Albums::default().together(&message);
            }
        }
    }
}
