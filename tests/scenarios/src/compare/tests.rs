#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;

const HERE: &str = "agent:main:telegram:group:-100:42";
const THERE: &str = "agent:main:telegram:group:-100:43";

fn session_id(number: u64) -> SessionId {
    SessionId::from_number(number)
}

fn sessions() -> Sessions {
    [
        ("s1".to_owned(), session_id(1)),
        ("s2".to_owned(), session_id(2)),
    ]
    .into()
}

fn expected<T: serde::de::DeserializeOwned>(json: serde_json::Value) -> Vec<T> {
    serde_json::from_value(json).unwrap()
}

fn turn(at: &str, session: u64, about: &[&str]) -> SeenTurn {
    SeenTurn {
        at: at.parse().unwrap(),
        session: session_id(session),
        about: about.iter().map(|one| (*one).to_owned()).collect(),
    }
}

fn post(at: &str, kind: PostKind, window: Option<&str>, text: &str) -> SeenPost {
    SeenPost {
        at: at.parse().unwrap(),
        kind,
        window: window.map(str::to_owned),
        text: text.into(),
    }
}

#[test]
fn turns_are_exact_in_any_order() {
    let wanted = expected(
        serde_json::json!([{"at": HERE, "about": ["p1", "p2"], "session": "s1"}, {"at": THERE, "about": ["p3"]}]),
    );
    let seen = [turn(THERE, 9, &["p3"]), turn(HERE, 1, &["p2", "p1"])];
    assert_eq!(turns(&wanted, &seen, &sessions()), None);
}

#[test]
fn a_turn_too_many_or_too_few_is_a_difference() {
    let wanted = expected(serde_json::json!([{"at": HERE, "about": ["p1"]}]));
    let twice = [turn(HERE, 1, &["p1"]), turn(HERE, 1, &["p1"])];
    assert!(
        turns(&wanted, &twice, &sessions())
            .unwrap()
            .contains("seen [about p1 at")
    );
    assert_eq!(
        turns(&wanted, &[], &sessions()).unwrap(),
        format!("expected turns [about p1 at {HERE}], seen []")
    );
    assert!(turns(&[], &twice[..1], &sessions()).is_some());
}

#[test]
fn a_turn_elsewhere_about_something_else_or_in_another_session_is_a_difference() {
    let wanted: Vec<ExpectedTurn> =
        expected(serde_json::json!([{"at": HERE, "about": ["p1"], "session": "s1"}]));
    for seen in [
        turn(THERE, 1, &["p1"]),
        turn(HERE, 1, &["p2"]),
        turn(HERE, 1, &["p1", "p2"]),
        turn(HERE, 2, &["p1"]),
    ] {
        assert!(
            turns(&wanted, std::slice::from_ref(&seen), &sessions()).is_some(),
            "{seen:?}"
        );
    }
    let difference = turns(&wanted, &[turn(HERE, 2, &["p1"])], &sessions()).unwrap();
    assert!(difference.ends_with("in s2]"), "{difference}");
}

#[test]
fn a_loose_expectation_leaves_the_strict_one_its_partner() {
    let wanted =
        expected(serde_json::json!([{"at": HERE}, {"at": HERE, "kind": "notice", "has": ["p1"]}]));
    let seen = [
        post(HERE, PostKind::Notice, None, "p1 ended"),
        post(HERE, PostKind::Answer, None, "fine"),
    ];
    assert_eq!(posts(&wanted, &seen), None);
    let seen = [
        post(HERE, PostKind::Answer, None, "p1 ended"),
        post(HERE, PostKind::Answer, None, "fine"),
    ];
    assert!(posts(&wanted, &seen).is_some());
}

#[test]
fn posts_are_told_apart_by_kind_window_text_and_place() {
    let wanted: Vec<ExpectedPost> = expected(
        serde_json::json!([{"at": HERE, "kind": "answer", "window": "w1", "has": ["p1", "code 3"]}]),
    );
    let good = post(HERE, PostKind::Answer, Some("w1"), "p1: exit code 3");
    assert_eq!(posts(&wanted, std::slice::from_ref(&good)), None);
    let bad = [
        SeenPost {
            kind: PostKind::Notice,
            ..good.clone()
        },
        SeenPost {
            window: Some("w2".into()),
            ..good.clone()
        },
        SeenPost {
            window: None,
            ..good.clone()
        },
        SeenPost {
            text: "p1: exit code 0".into(),
            ..good.clone()
        },
        SeenPost {
            at: THERE.parse().unwrap(),
            ..good
        },
    ];
    for seen in bad {
        assert!(
            posts(&wanted, std::slice::from_ref(&seen)).is_some(),
            "{seen:?}"
        );
    }
}

#[test]
fn answers_are_exact_counts() {
    let wanted = expected(serde_json::json!([{"at": HERE, "count": 2}, {"at": THERE, "count": 0}]));
    assert_eq!(answers(&wanted, &[(HERE.to_owned(), 2)].into()), None);
    assert!(answers(&wanted, &[(HERE.to_owned(), 1)].into()).is_some());
    let elsewhere = answers(
        &wanted,
        &[(HERE.to_owned(), 2), (THERE.to_owned(), 1)].into(),
    )
    .unwrap();
    assert!(elsewhere.contains(&format!("1 at {THERE}")), "{elsewhere}");
}

#[test]
fn states_are_compared_with_their_reason_where_one_is_named() {
    let wanted = serde_json::from_value(
        serde_json::json!({"p1": "dropped:session_reset", "p2": "held", "p3": null}),
    )
    .unwrap();
    let state = |state, reason: &str| Some((state, Some(reason.to_owned())));
    let mut seen: BTreeMap<String, SeenState> = [
        ("p1".into(), state(State::Dropped, "session_reset")),
        ("p2".into(), state(State::Held, "away")),
        ("p3".into(), None),
    ]
    .into();
    assert_eq!(states(&wanted, &seen), None);
    seen.insert("p1".into(), state(State::Dropped, "expired"));
    assert_eq!(
        states(&wanted, &seen).unwrap(),
        "expected p1 dropped:session_reset, seen dropped:expired"
    );
    seen.insert("p2".into(), None);
    seen.insert("p3".into(), state(State::Delivered, "told"));
    let difference = states(&wanted, &seen).unwrap();
    assert!(
        difference.contains("p2 held, seen no notification")
            && difference.contains("p3 no notification, seen delivered:told"),
        "{difference}"
    );
}

#[test]
fn alive_is_a_set() {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(alive(&names(&["p1", "p2"]), &names(&["p2", "p1"])), None);
    assert_eq!(
        alive(&names(&[]), &names(&["p1"])).unwrap(),
        "expected alive [], seen [p1]"
    );
}

#[test]
fn a_session_is_or_is_not_a_label_or_none() {
    let wanted = |json: serde_json::Value| serde_json::from_value::<ExpectedSession>(json).unwrap();
    let is = wanted(serde_json::json!({"at": HERE, "is": "s1"}));
    assert_eq!(session(&is, Some(session_id(1)), &sessions()), None);
    assert_eq!(
        session(&is, Some(session_id(2)), &sessions()).unwrap(),
        format!("expected session s1 at {HERE}, seen s2")
    );
    assert!(session(&is, None, &sessions()).is_some());
    let is_not = wanted(serde_json::json!({"at": HERE, "is_not": "s1"}));
    assert_eq!(session(&is_not, Some(session_id(2)), &sessions()), None);
    assert!(session(&is_not, Some(session_id(1)), &sessions()).is_some());
    let none = wanted(serde_json::json!({"at": HERE, "is": null}));
    assert_eq!(session(&none, None, &sessions()), None);
    assert!(session(&none, Some(session_id(1)), &sessions()).is_some());
}

#[test]
fn a_reply_has_all_its_texts() {
    assert_eq!(
        reply(&["p1".into(), "still".into()], "p1 is still running"),
        None
    );
    assert_eq!(
        reply(&["p2".into()], "p1 is still running").unwrap(),
        "expected a reply with [\"p2\"], seen \"p1 is still running\""
    );
}
