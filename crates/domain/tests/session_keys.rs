//! The shared cases of session keys, and what must hold for every key (OWN-1…4).
#![allow(clippy::unwrap_used, reason = "tests")]

use homing_domain::key::{ChatType, KeySettings, SessionKey, Slot};
use homing_domain::origin::Origin;
use proptest::prelude::*;
use serde_json::Value;

fn cases(kind: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("session_keys.json")).unwrap();
    let cases = all[kind].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

fn text_of(fields: &Value, name: &str) -> Option<String> {
    fields.get(name).map(|text| text.as_str().unwrap().into())
}

fn key_of(fields: &Value) -> SessionKey {
    let known = [
        "profile",
        "platform",
        "account",
        "chat_type",
        "chat",
        "thread",
        "user",
    ];
    assert!(
        fields
            .as_object()
            .unwrap()
            .keys()
            .all(|field| known.contains(&field.as_str())),
        "{fields}"
    );
    SessionKey {
        profile: text_of(fields, "profile").unwrap(),
        platform: text_of(fields, "platform").unwrap(),
        account: text_of(fields, "account"),
        chat_type: ChatType::parse(fields["chat_type"].as_str().unwrap()).unwrap(),
        chat: text_of(fields, "chat").unwrap(),
        thread: text_of(fields, "thread"),
        user: text_of(fields, "user"),
    }
}

// OWN-1, OWN-3
#[test]
fn every_text_parses_as_the_cases_say() {
    for case in cases("parse") {
        let text = case["text"].as_str().unwrap();
        match (
            text.parse::<SessionKey>(),
            case.get("is"),
            case.get("error"),
        ) {
            (Ok(key), Some(fields), None) => {
                assert_eq!(key, key_of(fields), "{text:?}");
                assert_eq!(key.to_string(), text);
            }
            (Err(error), None, Some(slot)) => assert_eq!(
                error.slot.name(),
                slot.as_str().unwrap(),
                "{text:?}: {error}"
            ),
            (seen, ..) => panic!("{case}: {seen:?}"),
        }
    }
}

// OWN-4
#[test]
fn every_origin_builds_the_key_the_cases_say() {
    for case in cases("build") {
        let origin: Origin = serde_json::from_value(case["origin"].clone()).unwrap();
        let settings: KeySettings = serde_json::from_value(case.clone()).unwrap();
        assert_eq!(
            origin.key(settings).to_string(),
            case["key"].as_str().unwrap(),
            "{case}"
        );
    }
}

// OWN-2
#[test]
fn every_key_of_the_cases_round_trips() {
    for case in cases("roundtrip") {
        let key = key_of(&case);
        assert_eq!(
            key.to_string().parse::<SessionKey>().unwrap(),
            key,
            "{case}"
        );
    }
}

// OWN-3
#[test]
fn a_refusal_says_what_is_wrong_and_what_would_be_right() {
    for (text, slot, mention) in [
        ("agent:main:telegram:group:-100:", Slot::Thread, "empty"),
        ("agent:main:telegram:group:-100:1:", Slot::User, "empty"),
        ("agent:main:telegram:group:-100::", Slot::User, "empty"),
        (
            "agent:main:telegram:meeting:1",
            Slot::ChatType,
            "one of dm, group, channel, thread",
        ),
        ("agent:main:telegram:dm:%C3", Slot::Chat, "not UTF-8"),
        ("agent:main:telegram:dm:1%", Slot::Chat, "%25"),
        ("agent:main:telegram:dm:1%+1", Slot::Chat, "hexadecimal"),
        ("agent:main:telegram:dm:1\n", Slot::Chat, "%0A"),
        (
            "agent:main:tele gram:dm:1",
            Slot::Platform,
            "`tele gram` is not a name",
        ),
        ("agent:.hidden:telegram:dm:1", Slot::Profile, "dot"),
        ("agent:a/b:telegram:dm:1", Slot::Profile, "not a name"),
        ("agent:a%2Fb:telegram:dm:1", Slot::Profile, "not a name"),
        ("AGENT:main:telegram:dm:1", Slot::Prefix, "agent:"),
        ("agent", Slot::Profile, "missing"),
    ] {
        let error = text.parse::<SessionKey>().unwrap_err();
        assert_eq!(error.slot, slot, "{text:?}: {error}");
        assert!(error.to_string().contains(mention), "{text:?}: {error}");
        assert!(!error.to_string().contains(char::is_control), "{text:?}");
    }
}

#[test]
fn escapes_are_read_in_either_case_and_written_in_one() {
    let key: SessionKey = "agent:main:matrix:group:!r%3ax%41".parse().unwrap();
    assert_eq!(key.chat, "!r:xA");
    assert_eq!(key.to_string(), "agent:main:matrix:group:!r%3AxA");
}

// OWN-4: a thread that is a chat of its own is shared like any thread; an empty slot is no slot.
#[test]
fn thread_chats_and_empty_slots() {
    let thread = Origin {
        profile: "main".into(),
        platform: "discord".into(),
        account: Some(String::new()),
        chat_type: ChatType::Thread,
        chat: "7".into(),
        thread: Some(String::new()),
        user: Some("9".into()),
        anchor: None,
    };
    let text = |settings| SessionKey::build(&thread, settings).to_string();
    assert_eq!(text(KeySettings::default()), "agent:main:discord:thread:7");
    assert_eq!(
        text(KeySettings {
            per_user_in_groups: true,
            per_user_in_threads: true
        }),
        "agent:main:discord:thread:7::9"
    );
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![
        "[:%@a-f0-9]{1,8}",
        any::<Vec<char>>().prop_map(|characters| characters.into_iter().collect())
    ]
    .prop_filter("an id is not empty", |id: &String| !id.is_empty())
}

prop_compose! {
    fn any_key()(
        profile in "[A-Za-z0-9_-][A-Za-z0-9._-]{0,12}",
        platform in "[a-z][a-z0-9._-]{0,12}",
        chat_type in proptest::sample::select(ChatType::ALL.to_vec()),
        account in proptest::option::of(any_id()),
        chat in any_id(),
        thread in proptest::option::of(any_id()),
        user in proptest::option::of(any_id()),
    ) -> SessionKey {
        SessionKey { profile, platform, account, chat_type, chat, thread, user }
    }
}

proptest! {
    // OWN-2
    #[test]
    fn a_key_round_trips_whatever_its_ids_contain(key in any_key()) {
        let text = key.to_string();
        prop_assert!(!text.contains(char::is_control));
        prop_assert_eq!(text.parse::<SessionKey>().unwrap(), key.clone());
        let json = serde_json::to_string(&key).unwrap();
        prop_assert_eq!(serde_json::from_str::<SessionKey>(&json).unwrap(), key);
    }

    // OWN-2: so two places never share a text.
    #[test]
    fn different_keys_have_different_texts(a in any_key(), b in any_key()) {
        prop_assert_eq!(a == b, a.to_string() == b.to_string());
    }

    #[test]
    fn what_is_accepted_means_one_key(text in "agent:[a-z.]{1,3}:[a-z@%]{1,4}:(dm|group|x):[a-z0-9:%]{0,10}|.{0,40}") {
        if let Ok(key) = text.parse::<SessionKey>() {
            prop_assert_eq!(key.to_string().parse::<SessionKey>().unwrap(), key);
        }
    }

    // OWN-4
    #[test]
    fn a_built_key_is_of_its_origins_place(key in any_key(), groups: bool, threads: bool) {
        let settings = KeySettings { per_user_in_groups: groups, per_user_in_threads: threads };
        let origin = Origin::from_key(&key);
        let built = origin.key(settings);
        prop_assert_eq!(origin.account_name(), Origin::from_key(&built).account_name());
        prop_assert_eq!((&built.chat, &built.thread), (&key.chat, &key.thread));
        prop_assert!(built.user.is_none() || built.user == key.user);
        prop_assert_eq!(Origin::from_key(&built).key(settings), built.clone());
        prop_assert_eq!(built.to_string().parse::<SessionKey>().unwrap(), built);
    }
}
