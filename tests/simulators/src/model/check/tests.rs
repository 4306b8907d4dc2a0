#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use serde_json::json;

use super::*;

fn good() -> Value {
    json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 10, "temperature": 0.5, "tool_choice": "auto",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "run", "arguments": "{\"x\":1}"}}]},
            {"role": "tool", "tool_call_id": "b", "content": ""},
            {"role": "tool", "tool_call_id": "a", "content": "x"},
            {"role": "assistant", "content": "done"},
        ],
        "tools": [{"type": "function", "function": {"name": "run", "description": "d", "parameters": {"type": "object", "properties": {"x": {}}, "required": ["x"]}}}],
    })
}

#[test]
fn a_good_request_passes() {
    assert_eq!(check(&good()), Ok(()));
}

#[test]
fn what_some_server_would_refuse_is_refused() {
    let tool = "/tools/0/function";
    let call = "/messages/2/tool_calls/0";
    for (at, value, problem) in [
        ("/model", json!(""), "model"),
        ("/n", json!(2), "n: "),
        (
            "/sesion",
            json!(1),
            "Unrecognized member in the request: sesion",
        ),
        ("/stream", json!(false), "'stream_options'"),
        (
            "/stream_options",
            json!({"usage": true}),
            "Unrecognized member in stream_options",
        ),
        ("/max_tokens", json!(0), "max_tokens"),
        ("/max_completion_tokens", json!(1), "exclude each other"),
        ("/temperature", json!("hot"), "temperature"),
        ("/tools", json!([]), "[] is too short - 'tools'"),
        ("/tool_choice", json!("always"), "tool_choice"),
        (
            &*format!("{tool}/name"),
            json!("r n"),
            "no name for a function",
        ),
        (&*format!("{tool}/description"), json!(""), "no description"),
        (
            &*format!("{tool}/parameters"),
            json!({"type": "string"}),
            "schema of type object",
        ),
        (
            &*format!("{tool}/parameters/required"),
            json!(["y"]),
            "none of its properties",
        ),
        ("/messages", json!([]), "[] is too short - 'messages'"),
        ("/messages/0/role", json!("boss"), "no role"),
        (
            "/messages/1/role",
            json!("tool"),
            "must be a response to a preceding message",
        ),
        ("/messages/1/content", json!(""), "the content is empty"),
        (
            "/messages/5",
            json!({"role": "system", "content": "late"}),
            "at the beginning",
        ),
        (
            "/messages/5",
            json!({"role": "user", "content": "u"}),
            "Unexpected role 'user' after role 'tool'",
        ),
        (
            "/messages/5/content",
            json!(""),
            "needs content or tool_calls",
        ),
        (
            "/messages/5/thoughts",
            json!(""),
            "Unrecognized member in an assistant message",
        ),
        (
            "/messages/4",
            json!({"role": "user", "content": "u"}),
            "did not have response messages: a",
        ),
        (
            "/messages/4/tool_call_id",
            json!("b"),
            "must be a response to a preceding message",
        ),
        (&*format!("{call}/id"), json!("b"), "an id of its own"),
        (
            &*format!("{call}/type"),
            json!("tool"),
            "has to be function",
        ),
        (
            &*format!("{call}/function/arguments"),
            json!("{\"x\":"),
            "no JSON object",
        ),
        (
            &*format!("{call}/function/arguments"),
            json!({}),
            "no JSON object",
        ),
    ] {
        let mut body = good();
        let (parent, name) = at.rsplit_once('/').unwrap();
        match body.pointer_mut(parent).unwrap() {
            Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
            parent => parent[name] = value,
        }
        let refused = check(&body).unwrap_err();
        assert!(refused.contains(problem), "{at}: {refused}");
    }
    let mut unanswered = good();
    unanswered["messages"].as_array_mut().unwrap().truncate(4);
    assert!(
        check(&unanswered)
            .unwrap_err()
            .contains("response messages: a")
    );
    let mut toolless = good();
    toolless.as_object_mut().unwrap().remove("tools");
    assert!(check(&toolless).unwrap_err().contains("'tool_choice'"));
    assert!(check(&json!([])).is_err());
}
