//! A request as JSON. Pure.
//!
//! **Invariant:** the same request makes the same bytes, and a longer conversation the same messages at the beginning: servers reuse what they read
//! before. No history that a model wrote makes a body that a server cannot read.

use serde_json::{Map, Value, json};

use super::message::{AssistantMessage, ChatMessage, ChatRequest, ToolCall, ToolChoice, ToolSpec};
use super::settings::{OutputLimitName, ReasoningBack, Settings};

/// Characters of a function's name.
const NAME_LIMIT: usize = 64;

pub(super) fn body(settings: &Settings, model: &str, request: &ChatRequest) -> Value {
    let mut body = settings.extra.clone();
    let mut set = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    set("model", model.into());
    let messages = request.messages.iter();
    set(
        "messages",
        messages
            .map(|message| wire(message, settings.reasoning_back))
            .collect(),
    );
    // An empty list is refused by some.
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
        match request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::None => set("tool_choice", "none".into()),
            ToolChoice::Required => set("tool_choice", "required".into()),
        }
    }
    set("stream", true.into());
    if settings.include_usage {
        set("stream_options", json!({ "include_usage": true }));
    }
    if let Some(limit) = request.max_output_tokens.or(settings.max_output_tokens) {
        let name = match settings.output_limit_name {
            OutputLimitName::MaxTokens => "max_tokens",
            OutputLimitName::MaxCompletionTokens => "max_completion_tokens",
        };
        set(name, limit.into());
    }
    if let Some(temperature) = settings.temperature {
        set("temperature", temperature.into());
    }
    Value::Object(body)
}

fn wire(message: &ChatMessage, reasoning_back: ReasoningBack) -> Value {
    match message {
        ChatMessage::System(text) => json!({ "role": "system", "content": text }),
        ChatMessage::Developer(text) => json!({ "role": "developer", "content": text }),
        ChatMessage::User(text) => json!({ "role": "user", "content": text }),
        ChatMessage::Assistant(message) => assistant(message, reasoning_back),
        ChatMessage::ToolResult { call, text } => {
            json!({ "role": "tool", "tool_call_id": call, "content": text })
        }
    }
}

fn assistant(message: &AssistantMessage, reasoning_back: ReasoningBack) -> Value {
    let mut wire = Map::new();
    wire.insert("role".into(), "assistant".into());
    wire.insert("content".into(), message.text.clone().into());
    if message.tool_calls.is_empty() {
        return Value::Object(wire);
    }
    let calls = message.tool_calls.iter().map(call).collect();
    wire.insert("tool_calls".into(), calls);
    if let (Some(reasoning), ReasoningBack::WithToolCalls) = (&message.reasoning, reasoning_back) {
        let text = reasoning.text.clone().into();
        wire.insert(reasoning.field.name().into(), text);
    }
    Value::Object(wire)
}

fn call(call: &ToolCall) -> Value {
    let mut wire = call.extra.clone();
    wire.insert("id".into(), call.id.clone().into());
    wire.insert("type".into(), "function".into());
    wire.insert(
        "function".into(),
        json!({ "name": function_name(&call.name), "arguments": readable(call) }),
    );
    Value::Object(wire)
}

/// Models make up names that no server takes back. The call was answered that there is no such tool; what it was called hardly matters.
fn function_name(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let letters = name.chars().take(NAME_LIMIT);
    letters
        .map(|letter| if fits(letter) { letter } else { '_' })
        .collect()
}

/// llama.cpp and others parse the arguments of earlier calls, and one that the model garbled would fail every later request of the conversation.
fn readable(call: &ToolCall) -> String {
    match call.arguments() {
        Ok(_) => call.raw_arguments.clone(),
        Err(_) => json!({ "not_readable": call.raw_arguments }).to_string(),
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::client::message::{Reasoning, ReasoningField};

    fn settings() -> Settings {
        Settings::new("http://h/v1", "m")
    }

    fn called(raw_arguments: &str) -> ChatMessage {
        ChatMessage::Assistant(AssistantMessage {
            text: None,
            tool_calls: vec![ToolCall {
                id: "c1".into(),
                name: "run".into(),
                raw_arguments: raw_arguments.into(),
                extra: Map::from_iter([("extra_content".to_owned(), json!({"sign": "x"}))]),
            }],
            reasoning: Some(Reasoning {
                text: "hm".into(),
                field: ReasoningField::ReasoningContent,
            }),
        })
    }

    fn request(messages: Vec<ChatMessage>) -> ChatRequest {
        ChatRequest {
            messages,
            ..ChatRequest::default()
        }
    }

    #[test]
    fn a_conversation_with_a_call_is_written_as_the_api_wants_it() {
        let result = ChatMessage::ToolResult {
            call: "c1".into(),
            text: "3".into(),
        };
        let messages = vec![
            ChatMessage::System("s".into()),
            ChatMessage::User("u".into()),
            called(r#"{"command":"wc"}"#),
            result,
        ];
        let mut request = request(messages);
        request.tools = vec![ToolSpec {
            name: "run".into(),
            description: "Runs.".into(),
            parameters: json!({"type": "object", "properties": {}}),
        }];
        let mut settings = settings();
        settings.max_output_tokens = Some(9);
        settings.temperature = Some(0.5);
        settings
            .extra
            .insert("reasoning".into(), json!({"effort": "low"}));
        assert_eq!(
            body(&settings, "other", &request),
            json!({
                "model": "other", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 9, "temperature": 0.5, "reasoning": {"effort": "low"},
                "messages": [
                    {"role": "system", "content": "s"},
                    {"role": "user", "content": "u"},
                    {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                        {"id": "c1", "type": "function", "extra_content": {"sign": "x"}, "function": {"name": "run", "arguments": "{\"command\":\"wc\"}"}}]},
                    {"role": "tool", "tool_call_id": "c1", "content": "3"},
                ],
                "tools": [{"type": "function", "function": {"name": "run", "description": "Runs.", "parameters": {"type": "object", "properties": {}}}}],
            })
        );
    }

    #[test]
    fn what_is_not_asked_for_is_not_there() {
        let mut settings = settings();
        settings.include_usage = false;
        settings.reasoning_back = ReasoningBack::Never;
        let mut request = request(vec![called("{}")]);
        request.tool_choice = ToolChoice::None;
        let body = body(&settings, "m", &request);
        let names: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(names, ["messages", "model", "stream"]);
        assert!(body["messages"][0].get("reasoning_content").is_none());
    }

    #[test]
    fn garbled_arguments_do_not_garble_the_conversation() {
        for garbled in ["", "{\"a\":", "[1]", "null", "\u{0}"] {
            let body = body(&settings(), "m", &request(vec![called(garbled)]));
            let sent = body["messages"][0]["tool_calls"][0]["function"]["arguments"]
                .as_str()
                .unwrap();
            let read: Map<String, Value> = serde_json::from_str(sent).unwrap();
            assert_eq!(read["not_readable"], garbled);
        }
    }

    #[test]
    fn a_longer_conversation_begins_with_the_same_bytes() {
        let mut messages = vec![ChatMessage::User("u".into()), called("{}")];
        let bytes = |messages: &[ChatMessage]| {
            body(&settings(), "m", &request(messages.to_vec()))["messages"].to_string()
        };
        let before = bytes(&messages);
        messages.push(ChatMessage::User("more".into()));
        assert!(bytes(&messages).starts_with(before.trim_end_matches(']')));
    }
}
