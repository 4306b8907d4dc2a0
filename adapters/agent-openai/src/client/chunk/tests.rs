#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

fn chunk(value: &Value) -> Chunk {
    Chunk::parse(&value.to_string()).unwrap()
}

fn delta(delta: &Value) -> Chunk {
    chunk(&json!({"choices": [{"index": 0, "delta": delta}]}))
}

#[test]
fn content_is_a_string_or_parts_or_nothing() {
    let text = |content: Value| delta(&json!({"content": content})).text;
    assert_eq!(text(json!("a")), Some("a".into()));
    assert_eq!(text(json!("")), None);
    assert_eq!(text(json!(null)), None);
    assert_eq!(text(json!(7)), None);
    let parts = json!([{"type": "text", "text": "a"}, {"type": "thinking", "text": "no"}, {"type": "image_url"}, "b"]);
    assert_eq!(text(parts), Some("ab".into()));
    assert_eq!(
        delta(&json!({"content": null, "refusal": "I will not."})).text,
        Some("I will not.".into())
    );
}

#[test]
fn reasoning_has_two_names_and_is_taken_once() {
    let both = delta(&json!({"reasoning": "r", "reasoning_content": "r"}));
    assert_eq!(
        both.reasoning,
        Some((ReasoningField::ReasoningContent, "r".into()))
    );
    let other = delta(&json!({"reasoning": "r", "reasoning_content": null}));
    assert_eq!(
        other.reasoning,
        Some((ReasoningField::Reasoning, "r".into()))
    );
}

#[test]
fn a_piece_without_a_choice_may_still_say_something() {
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 1}});
    for choices in [
        json!([]),
        json!(null),
        json!([{"index": 1, "delta": {"content": "another"}}]),
    ] {
        let chunk = chunk(&json!({"choices": choices, "usage": usage, "model": "m"}));
        assert!(!chunk.has_choice && chunk.text.is_none());
        let wanted = Usage {
            prompt: 9,
            completion: 2,
            cached: Some(5),
            reasoning: Some(1),
        };
        assert_eq!((chunk.usage, chunk.model), (Some(wanted), Some("m".into())));
    }
    let deep = json!({"choices": [], "usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}});
    assert_eq!(chunk(&deep).usage.unwrap().cached, Some(4));
    assert_eq!(chunk(&json!({"usage": {}})).usage, None);
}

#[test]
fn calls_are_read_in_every_dialect() {
    let calls = |calls: Value| delta(&json!({"tool_calls": calls})).calls;
    let usual = json!([{"index": 1, "id": "c", "type": "function", "function": {"name": "n", "arguments": "{"}}]);
    let wanted = CallDelta {
        index: Some(1),
        id: Some("c".into()),
        name: Some("n".into()),
        arguments: "{".into(),
        extra: Map::new(),
    };
    assert_eq!(calls(usual), [wanted]);
    let object = calls(json!([{"id": 7, "function": {"name": "n", "arguments": {"a": 1}}}]));
    assert_eq!(
        (
            object[0].id.as_deref(),
            object[0].index,
            &*object[0].arguments
        ),
        (Some("7"), None, r#"{"a":1}"#)
    );
    let nulls =
        calls(json!([{"index": 0, "id": null, "function": {"name": null, "arguments": null}}]));
    assert_eq!(
        nulls,
        [CallDelta {
            index: Some(0),
            ..CallDelta::default()
        }]
    );
    let signed = calls(
        json!([{"id": "c", "extra_content": {"google": {"thought_signature": "x"}}, "function": {"name": "n"}}]),
    );
    assert_eq!(
        signed[0].extra["extra_content"]["google"]["thought_signature"],
        "x"
    );
    let legacy = delta(&json!({"function_call": {"name": "n", "arguments": "{}"}})).calls;
    assert_eq!(
        (legacy[0].index, legacy[0].name.as_deref()),
        (Some(0), Some("n"))
    );
}

#[test]
fn a_message_instead_of_a_delta_is_whole() {
    let chunk =
        chunk(&json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}));
    assert!(chunk.is_whole);
    assert_eq!(chunk.finish, Some(FinishWord::Ended(Finish::Stop)));
    assert!(!delta(&json!({})).is_whole);
}

#[test]
fn words_for_the_end_are_translated_or_kept() {
    let finish =
        |word: Value| chunk(&json!({"choices": [{"delta": {}, "finish_reason": word}]})).finish;
    assert_eq!(finish(json!(null)), None);
    assert_eq!(finish(json!("")), None);
    // Mistral's, at the end of the window.
    assert_eq!(
        finish(json!("model_length")),
        Some(FinishWord::Ended(Finish::Length))
    );
    assert_eq!(
        finish(json!("function_call")),
        Some(FinishWord::Ended(Finish::ToolCalls))
    );
    assert_eq!(
        finish(json!("recitation")),
        Some(FinishWord::Ended(Finish::Other("recitation".into())))
    );
    assert_eq!(
        finish(json!("abort")),
        Some(FinishWord::Aborted("abort".into()))
    );
}

#[test]
fn errors_are_found_wherever_servers_put_them() {
    let error = |value: Value| chunk(&value).error.unwrap();
    let openrouter = error(
        json!({"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "slow down"}}, "choices": []}),
    );
    assert_eq!(
        (openrouter.status, &*openrouter.message),
        (Some(429), "Provider returned error: slow down")
    );
    let openai = error(
        json!({"error": {"code": "Context_Length_Exceeded", "type": "invalid_request_error", "message": "m"}}),
    );
    assert_eq!(
        (&*openai.code, &*openai.kind, openai.status),
        ("context_length_exceeded", "invalid_request_error", None)
    );
    assert_eq!(
        error(json!({"error": "model not found"})).message,
        "model not found"
    );
    assert_eq!(
        error(json!({"object": "error", "message": "m", "code": 400})).status,
        Some(400)
    );
    assert_eq!(error(json!({"detail": "Not Found"})).message, "Not Found");
    assert_eq!(error(json!({"error": {}})).message, "{}");
    let inside =
        json!({"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "m"}}]});
    assert_eq!(error(inside).message, "m");
    assert_eq!(chunk(&json!({"error": null, "choices": []})).error, None);
}

#[test]
fn what_is_no_object_is_an_error_and_strange_types_are_absent() {
    for text in ["", "{", "[1]", "null", "\"text\"", "{}x"] {
        assert!(Chunk::parse(text).is_err(), "{text}");
    }
    for value in [
        json!({"choices": {}}),
        json!({"choices": [7]}),
        json!({"choices": [{"delta": 7, "finish_reason": 7}]}),
        json!({"choices": [{"delta": {"tool_calls": 7, "function_call": 7, "content": {}}}], "usage": 7, "model": 7}),
    ] {
        let chunk = chunk(&value);
        let wanted = Chunk {
            has_choice: chunk.has_choice,
            ..Chunk::default()
        };
        assert_eq!(chunk, wanted, "{value}");
    }
}
