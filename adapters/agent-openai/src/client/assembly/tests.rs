#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

fn assembled(deltas: &[Value]) -> Answer {
    let choices = deltas.iter().map(|delta| json!({"delta": delta}));
    answer(choices.collect())
}

fn answer(choices: Vec<Value>) -> Answer {
    let mut assembly = Assembly::default();
    for choice in choices {
        let chunk = json!({ "choices": [choice] }).to_string();
        assembly.add(Chunk::parse(&chunk).unwrap());
    }
    assembly.answer(&mut |number| format!("fresh{number}"))
}

fn calls(deltas: &[Value]) -> Vec<(String, String, String)> {
    let calls = assembled(deltas).tool_calls.into_iter();
    calls
        .map(|call| (call.id, call.name, call.raw_arguments))
        .collect()
}

fn wanted(calls: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    let calls = calls.iter();
    calls
        .map(|(id, name, arguments)| ((*id).into(), (*name).into(), (*arguments).into()))
        .collect()
}

/// One piece of a call; `null` counts as absent.
fn piece(
    index: impl Into<Value>,
    id: impl Into<Value>,
    name: impl Into<Value>,
    arguments: &str,
) -> Value {
    json!({"index": index.into(), "id": id.into(), "function": {"name": name.into(), "arguments": arguments}})
}

fn delta(pieces: &[Value]) -> Value {
    json!({ "tool_calls": pieces })
}

const NONE: Value = Value::Null;

fn two() -> Vec<(String, String, String)> {
    wanted(&[("a", "add", r#"{"x":1}"#), ("b", "mul", r#"{"y":2}"#)])
}

#[test]
fn parallel_calls_in_pieces_are_told_apart_by_their_index() {
    let deltas = [
        delta(&[piece(0, "a", "add", "")]),
        delta(&[piece(0, NONE, NONE, r#"{"x""#)]),
        delta(&[piece(1, "b", "mul", ""), piece(0, NONE, NONE, ":1}")]),
        delta(&[piece(1, NONE, NONE, r#"{"y":2}"#)]),
    ];
    assert_eq!(calls(&deltas), two());
}

#[test]
fn whole_calls_that_all_have_index_0_are_told_apart_ollama_15457() {
    let each = [
        delta(&[piece(0, "a", "add", r#"{"x":1}"#)]),
        delta(&[piece(0, "b", "mul", r#"{"y":2}"#)]),
    ];
    assert_eq!(calls(&each), two());
    let listed = [delta(&[
        piece(0, "a", "add", r#"{"x":1}"#),
        piece(0, "b", "mul", r#"{"y":2}"#),
    ])];
    assert_eq!(calls(&listed), two());
    let pieces = [
        delta(&[piece(0, "a", "add", r#"{"x""#)]),
        delta(&[piece(0, NONE, NONE, ":1}")]),
        delta(&[piece(0, "b", "mul", r#"{"y""#)]),
        delta(&[piece(0, NONE, NONE, ":2}")]),
    ];
    assert_eq!(calls(&pieces), two());
}

#[test]
fn calls_without_an_index_are_told_apart_ollama_7881() {
    let each = [
        delta(&[piece(NONE, "a", "add", r#"{"x":1}"#)]),
        delta(&[piece(NONE, "b", "mul", r#"{"y""#)]),
        delta(&[piece(NONE, NONE, NONE, ":2}")]),
    ];
    assert_eq!(calls(&each), two());
    let by_id = [
        delta(&[piece(NONE, "a", "add", ""), piece(NONE, "b", "mul", "")]),
        delta(&[piece(NONE, "a", NONE, r#"{"x":1}"#)]),
        delta(&[piece(NONE, "b", NONE, r#"{"y":2}"#)]),
    ];
    assert_eq!(calls(&by_id), two());
}

#[test]
fn calls_without_index_and_id_get_ids_of_their_own() {
    let same_name = [delta(&[
        piece(NONE, NONE, "add", r#"{"x":1}"#),
        piece(NONE, NONE, "add", r#"{"x":1}"#),
    ])];
    let both = wanted(&[
        ("fresh0", "add", r#"{"x":1}"#),
        ("fresh1", "add", r#"{"x":1}"#),
    ]);
    assert_eq!(calls(&same_name), both);
    let each = [
        delta(&[piece(0, NONE, "add", r#"{"x":1}"#)]),
        delta(&[piece(0, "", "add", r#"{"x":1}"#)]),
    ];
    assert_eq!(calls(&each), both);
    let no_arguments = [delta(&[
        piece(NONE, NONE, "now", ""),
        piece(NONE, NONE, "now", ""),
    ])];
    assert_eq!(
        calls(&no_arguments),
        wanted(&[("fresh0", "now", "{}"), ("fresh1", "now", "{}")])
    );
}

#[test]
fn what_is_repeated_with_every_piece_makes_no_other_call() {
    let repeated = [
        delta(&[piece(0, "a", "add", r#"{"x""#)]),
        delta(&[piece(0, "a", "add", ":1}")]),
        delta(&[piece(0, "a", "add", "")]),
    ];
    let one = wanted(&[("a", "add", r#"{"x":1}"#)]);
    assert_eq!(calls(&repeated), one);
    let nameless_ids = [
        delta(&[piece(0, "a", "add", r#"{"x""#)]),
        delta(&[piece(0, "other", NONE, ":1}")]),
    ];
    assert_eq!(calls(&nameless_ids), one);
    let late_name = [
        delta(&[piece(0, NONE, "add", r#"{"x":1}"#)]),
        delta(&[piece(0, "a", "add", "")]),
    ];
    assert_eq!(calls(&late_name), one);
}

#[test]
fn a_name_in_pieces_is_one_name() {
    let pieces = [
        delta(&[piece(0, "a", "a", "")]),
        delta(&[piece(0, NONE, "dd", r#"{"x":1}"#)]),
    ];
    assert_eq!(calls(&pieces), wanted(&[("a", "add", r#"{"x":1}"#)]));
}

#[test]
fn the_same_id_for_two_calls_is_kept_once() {
    let twice = [delta(&[
        piece(0, "a", "add", "{}"),
        piece(1, "a", "mul", "{}"),
    ])];
    assert_eq!(
        calls(&twice),
        wanted(&[("a", "add", "{}"), ("fresh1", "mul", "{}")])
    );
}

#[test]
fn the_call_of_2023_and_arguments_as_an_object_are_calls() {
    let legacy = [
        json!({"function_call": {"name": "add", "arguments": ""}}),
        json!({"function_call": {"arguments": "{\"x\":1}"}}),
    ];
    assert_eq!(calls(&legacy), wanted(&[("fresh0", "add", r#"{"x":1}"#)]));
    let object =
        [json!({"tool_calls": [{"id": "a", "function": {"name": "add", "arguments": {"x": 1}}}]})];
    assert_eq!(calls(&object), wanted(&[("a", "add", r#"{"x":1}"#)]));
}

#[test]
fn every_call_of_a_whole_message_is_a_call() {
    let message = json!({"message": {"content": null, "tool_calls": [piece(0, NONE, "add", ""), piece(0, NONE, "add", "")]}, "finish_reason": "tool_calls"});
    assert_eq!(answer(vec![message]).tool_calls.len(), 2);
}

#[test]
fn the_end_says_whether_there_are_calls() {
    let called = json!({"delta": delta(&[piece(0, "a", "add", "")]), "finish_reason": "stop"});
    let answered = answer(vec![called]);
    assert_eq!(answered.finish, Finish::ToolCalls);
    assert_eq!(answered.tool_calls[0].raw_arguments, "{}");
    let none = json!({"delta": {"content": "a"}, "finish_reason": "tool_calls"});
    assert_eq!(answer(vec![none]).finish, Finish::Stop);
}

#[test]
fn a_call_that_the_limit_cut_off_cannot_be_read() {
    for arguments in ["", r#"{"command":"rm -rf /tmp/"#] {
        let cut =
            json!({"delta": delta(&[piece(0, "a", "run", arguments)]), "finish_reason": "length"});
        let answer = answer(vec![cut]);
        assert_eq!(answer.finish, Finish::Length);
        assert!(answer.tool_calls[0].arguments().is_err(), "{arguments}");
    }
}

#[test]
fn texts_usage_and_model_are_gathered() {
    let mut assembly = Assembly::default();
    let pieces = [
        json!({"model": "m", "choices": [{"delta": {"role": "assistant", "content": ""}}], "usage": {"prompt_tokens": 1, "completion_tokens": 0}}),
        json!({"choices": [{"delta": {"reasoning": "h"}}]}),
        json!({"choices": [{"delta": {"reasoning": "m", "content": "a"}}]}),
        json!({"choices": [{"delta": {"content": "b"}, "finish_reason": "length"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}),
    ];
    let events: Vec<Event> = pieces
        .iter()
        .flat_map(|piece| assembly.add(Chunk::parse(&piece.to_string()).unwrap()))
        .collect();
    assert_eq!(
        events,
        [
            Event::Reasoning("h".into()),
            Event::Reasoning("m".into()),
            Event::Text("a".into()),
            Event::Text("b".into())
        ]
    );
    let answer = assembly.answer(&mut |_| String::new());
    assert_eq!(
        (&*answer.text, answer.finish, answer.model.as_deref()),
        ("ab", Finish::Length, Some("m"))
    );
    assert_eq!(answer.usage.unwrap().prompt, 7);
    assert_eq!(
        answer.reasoning.unwrap(),
        Reasoning {
            text: "hm".into(),
            field: ReasoningField::Reasoning
        }
    );
}

#[test]
fn of_what_broke_off_only_whole_calls_are_kept() {
    let mut assembly = Assembly::default();
    let deltas = delta(&[
        piece(0, "a", "add", r#"{"x":1}"#),
        piece(1, "b", "mul", r#"{"y":"#),
        piece(2, "c", "now", ""),
    ]);
    let chunk = json!({"choices": [{"delta": deltas}]}).to_string();
    assembly.add(Chunk::parse(&chunk).unwrap());
    let partial = assembly.partial(&mut |_| String::new());
    let names: Vec<&str> = partial.tool_calls.iter().map(|call| &*call.name).collect();
    assert_eq!(names, ["add"]);
}
