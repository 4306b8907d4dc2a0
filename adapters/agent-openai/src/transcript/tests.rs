//! Histories as they should not be, and what a model sees of them.

#![allow(clippy::unwrap_used, reason = "tests")]

use homing_domain::ids::{MessageId, SessionId};
use homing_domain::time::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::kept::KeptCall;

fn row(id: u64, turn: Option<u64>, role: Role, text: &str) -> MessageRow {
    MessageRow {
        id: MessageId::from_number(id),
        session: SessionId::from_number(1),
        turn: turn.map(TurnId::from_number),
        role,
        author: None,
        text: text.into(),
        data: None,
        at: Timestamp(0),
    }
}

fn calls(id: u64, turn: Option<u64>, text: &str, calls: &[&str]) -> MessageRow {
    let call = |id: &&str| {
        KeptCall::from(&ToolCall {
            id: (*id).into(),
            name: "terminal".into(),
            raw_arguments: "{}".into(),
            ..ToolCall::default()
        })
    };
    MessageRow {
        data: Kept {
            calls: calls.iter().map(call).collect(),
            ..Kept::default()
        }
        .write(),
        ..row(id, turn, Role::Agent, text)
    }
}

fn result(id: u64, turn: Option<u64>, call: &str) -> MessageRow {
    MessageRow {
        data: Kept {
            answers: Some(call.into()),
            ..Kept::default()
        }
        .write(),
        ..row(id, turn, Role::Tool, &format!("result of {call}"))
    }
}

/// A message in a word or two.
fn shape(messages: &[ChatMessage]) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    messages
        .iter()
        .map(|message| match message {
            ChatMessage::User(said) => format!("user: {said}"),
            ChatMessage::Assistant(said) => {
                let calls = said.tool_calls.iter().map(|call| format!("<{}>", call.id));
                format!("agent: {}{}", text(&said.text), calls.collect::<String>())
            }
            ChatMessage::ToolResult { call, text } => format!("{call}: {text}"),
            other => format!("{other:?}"),
        })
        .collect()
}

fn told(rows: Vec<MessageRow>) -> Vec<String> {
    let context = Context {
        summary: None,
        messages: rows,
    };
    let telling = Telling {
        names: false,
        asked: None,
    };
    shape(&messages(&context, telling))
}

#[test]
fn a_call_that_dangles_is_closed_as_interrupted() {
    let rows = vec![
        row(1, Some(1), Role::Person, "build"),
        calls(2, Some(1), "", &["a", "b"]),
        result(3, Some(1), "a"),
        row(4, Some(2), Role::Person, "and?"),
    ];
    assert_eq!(
        told(rows),
        [
            "user: build",
            "agent: <a><b>",
            "a: result of a",
            "b: [interrupted]",
            "agent: Noted.",
            "user: and?"
        ]
    );
}

#[test]
fn what_came_between_a_call_and_its_result_follows_them() {
    let rows = vec![
        row(1, Some(1), Role::Person, "build"),
        calls(2, Some(1), "I build.", &["a"]),
        row(3, Some(1), Role::System, "a file is missing"),
        result(4, Some(1), "a"),
        result(5, Some(1), "a"),
        result(6, Some(1), "z"),
    ];
    assert_eq!(
        told(rows),
        [
            "user: build",
            "agent: I build.<a>",
            "a: result of a",
            "agent: Noted.",
            "user: [Homing: told the people here: a file is missing]\n\n[Homing: a tool had answered: result of a]\n\n[Homing: a tool had answered: result of z]"
        ]
    );
}

#[test]
fn a_notification_stands_before_what_was_done_about_it() {
    // OWN-65: its row comes with the answer.
    let rows = vec![
        row(1, Some(1), Role::Person, "build"),
        row(2, Some(1), Role::Agent, "started"),
        calls(3, Some(2), "", &["a"]),
        result(4, Some(2), "a"),
        row(5, Some(2), Role::Notification, "it ended"),
        row(6, Some(2), Role::Agent, "done"),
    ];
    let told = told(rows);
    assert!(told[2].ends_with("it ended"), "{told:?}");
    assert_eq!(told[3..], ["agent: <a>", "a: result of a", "agent: done"]);
}

#[test]
fn neither_people_nor_answers_follow_each_other() {
    let rows = vec![
        row(1, Some(1), Role::Agent, "left over"),
        row(2, Some(2), Role::Person, "one"),
        row(3, Some(3), Role::Person, "two"),
        row(4, Some(3), Role::Agent, "first"),
        row(5, Some(3), Role::Agent, " "),
        calls(6, Some(4), "second", &["a"]),
        result(7, Some(4), "a"),
    ];
    assert_eq!(
        told(rows),
        [
            "user: [Homing: what was before this is not shown]",
            "agent: left over",
            "user: one\n\ntwo",
            "agent: first\n\nsecond<a>",
            "a: result of a"
        ]
    );
}

#[test]
fn the_model_does_not_read_twice_what_it_said_before_a_call() {
    let mut answer = row(4, Some(1), Role::Agent, "I look.\n\nTwo files.");
    answer.data = Kept {
        own: Some("Two files.".into()),
        ..Kept::default()
    }
    .write();
    let rows = vec![
        row(1, Some(1), Role::Person, "look"),
        calls(2, Some(1), "I look.", &["a"]),
        result(3, Some(1), "a"),
        answer,
    ];
    assert_eq!(
        told(rows),
        [
            "user: look",
            "agent: I look.<a>",
            "a: result of a",
            "agent: Two files."
        ]
    );
}

#[test]
fn what_came_with_a_message_is_told_the_same_in_its_turn_and_later() {
    let asked = Asked {
        quoted: Some("the log".into()),
        ..Asked::default()
    };
    let mut rows = vec![
        row(1, Some(1), Role::Person, "why?"),
        row(2, Some(1), Role::Person, "taken up"),
    ];
    let context = |messages| Context {
        summary: Some("before".into()),
        messages,
    };
    let during = Telling {
        names: false,
        asked: Some((MessageId::from_number(1), &asked)),
    };
    let first = messages(&context(rows.clone()), during);
    let mut answer = row(3, Some(1), Role::Agent, "because");
    answer.data = Kept {
        asked: Some(asked.clone()),
        ..Kept::default()
    }
    .write();
    rows.push(answer);
    let later = Telling {
        asked: None,
        ..during
    };
    let second = messages(&context(rows), later);
    assert_eq!(first[..], second[..first.len()]);
    assert_eq!(shape(&first)[0].matches("this answers to").count(), 1);
}

fn any_rows() -> impl Strategy<Value = Vec<MessageRow>> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c")];
    let ids = proptest::sample::subsequence(vec!["a", "b", "c"], 0..=3);
    let one = (0_u64..4, 0..7, id, ids);
    proptest::collection::vec(one, 0..30).prop_map(|rows| {
        let mut id = 0;
        rows.into_iter()
            .map(|(turn, kind, one, several)| {
                id += 1;
                let turn = (turn > 0).then_some(turn);
                match kind {
                    0 => row(id, turn, Role::Person, "person"),
                    1 => row(id, turn, Role::Notification, "notification"),
                    2 => row(id, turn, Role::System, "system"),
                    3 => row(id, turn, Role::Agent, "agent"),
                    4 => calls(id, turn, "", &several),
                    _ => result(id, turn, one),
                }
            })
            .collect()
    })
}

/// What the strictest server would say.
fn check(messages: &[ChatMessage]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut before: Option<&ChatMessage> = None;
    for message in messages {
        match message {
            ChatMessage::ToolResult { call, .. } => {
                let first = (!open.is_empty()).then(|| open.remove(0));
                if first != Some(call.as_str()) {
                    return Err(format!("{call} answers nothing"));
                }
            }
            other if !open.is_empty() => return Err(format!("{other:?} before results")),
            ChatMessage::User(_) => {
                if matches!(before, Some(ChatMessage::User(_))) {
                    return Err("two of people".into());
                }
                if matches!(before, Some(ChatMessage::ToolResult { .. })) {
                    return Err("a person after a result".into());
                }
            }
            ChatMessage::Assistant(said) => {
                if matches!(before, None | Some(ChatMessage::Assistant(_))) {
                    return Err("an answer to nothing".into());
                }
                open = said
                    .tool_calls
                    .iter()
                    .map(|call| call.id.as_str())
                    .collect();
            }
            other => return Err(format!("{other:?}")),
        }
        before = Some(message);
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err("open at the end".into())
    }
}

proptest! {
    #[test]
    fn calls_and_results_stay_paired_in_any_history_and_after_any_cut(rows in any_rows(), cut in any::<proptest::sample::Index>()) {
        let cut = cut.index(rows.len() + 1);
        let telling = Telling { names: false, asked: None };
        for messages in [rows.clone(), rows[..cut].to_vec(), rows[cut..].to_vec()] {
            let told = super::messages(&Context { summary: None, messages }, telling);
            prop_assert_eq!(check(&told), Ok(()), "{:?}", shape(&told));
        }
    }

    #[test]
    fn a_safe_cut_parts_no_call_from_its_result(rows in any_rows()) {
        let notes = |rows: &[MessageRow]| {
            let context = Context { summary: None, messages: rows.to_vec() };
            let told = shape(&super::messages(&context, Telling { names: false, asked: None }));
            let text = told.join("\n");
            (text.matches("a tool had answered").count(), text.matches(INTERRUPTED).count())
        };
        // Notifications move to the front of their turn, which a cut may part; pairs are what matters here.
        let rows: Vec<MessageRow> = rows.into_iter().filter(|row| row.role != Role::Notification).collect();
        let whole = notes(&rows);
        for (cut, safe) in safe_cuts(&rows).into_iter().enumerate() {
            if safe {
                let (before, after) = (notes(&rows[..cut]), notes(&rows[cut..]));
                prop_assert_eq!((before.0 + after.0, before.1 + after.1), whole, "cut before {}", cut);
            }
        }
    }
}
