//! What servers refuse in a request. Pure.
//!
//! No server checks all of it. Each rule is one that OpenAI, or the chat template of a common model, would refuse a conversation for.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Members of a request that some server knows.
const KNOWN: [&str; 28] = [
    "chat_template_kwargs",
    "frequency_penalty",
    "logit_bias",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "min_p",
    "model",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "prompt_cache_key",
    "provider",
    "reasoning",
    "reasoning_effort",
    "response_format",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

type Checked = Result<(), String>;

macro_rules! ensure {
    ($holds:expr, $($problem:tt)+) => {
        if !$holds {
            return Err(format!($($problem)+));
        }
    };
}

pub fn check(body: &Value) -> Checked {
    let Value::Object(body) = body else {
        return Err("the body is no JSON object".into());
    };
    only(body, &KNOWN, "the request")?;
    ensure!(filled(body.get("model")), "model: a name is required");
    ensure!(
        body.get("n").is_none_or(|n| n == 1),
        "n: only 1 is supported"
    );
    check_stream(body)?;
    check_numbers(body)?;
    let tools = check_tools(body)?;
    check_choice(body, &tools)?;
    check_messages(body)
}

fn only(object: &Map<String, Value>, known: &[&str], place: &str) -> Checked {
    let unknown = object.keys().find(|name| !known.contains(&name.as_str()));
    ensure!(
        unknown.is_none(),
        "Unrecognized member in {place}: {}",
        unknown.map_or("", String::as_str)
    );
    Ok(())
}

fn filled(value: Option<&Value>) -> bool {
    value
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty())
}

fn check_stream(body: &Map<String, Value>) -> Checked {
    let stream = body.get("stream").map(Value::as_bool);
    ensure!(stream != Some(None), "stream: neither true nor false");
    let Some(options) = body.get("stream_options") else {
        return Ok(());
    };
    ensure!(
        stream == Some(Some(true)),
        "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    );
    let Value::Object(options) = options else {
        return Err("stream_options: no object".into());
    };
    only(options, &["include_usage"], "stream_options")?;
    ensure!(
        options.get("include_usage").is_none_or(Value::is_boolean),
        "stream_options.include_usage: neither true nor false"
    );
    Ok(())
}

fn check_numbers(body: &Map<String, Value>) -> Checked {
    let limits = ["max_tokens", "max_completion_tokens"].map(|name| body.get(name));
    ensure!(
        limits
            .iter()
            .flatten()
            .all(|limit| limit.as_u64().is_some_and(|limit| limit > 0)),
        "max_tokens: a whole number above 0 is required"
    );
    ensure!(
        limits.iter().flatten().count() < 2,
        "max_tokens and max_completion_tokens exclude each other"
    );
    let temperature = body
        .get("temperature")
        .map(|value| value.as_f64().unwrap_or(-1.0));
    ensure!(
        temperature.is_none_or(|value| (0.0..=2.0).contains(&value)),
        "temperature: a number from 0 to 2 is required"
    );
    Ok(())
}

fn check_tools(body: &Map<String, Value>) -> Result<HashSet<&str>, String> {
    let mut names = HashSet::new();
    let Some(tools) = body.get("tools") else {
        return Ok(names);
    };
    let tools = tools.as_array().filter(|tools| !tools.is_empty());
    ensure!(tools.is_some(), "[] is too short - 'tools'");
    for tool in tools.into_iter().flatten() {
        ensure!(
            tool["type"] == "function",
            "tools: the type has to be function"
        );
        let Value::Object(function) = &tool["function"] else {
            return Err("tools: a function is required".into());
        };
        only(
            function,
            &["name", "description", "parameters", "strict"],
            "a tool",
        )?;
        let name = function
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        ensure!(
            is_name(name),
            "tools: {name:?} is no name for a function (letters, digits, _ and -, at most 64)"
        );
        ensure!(names.insert(name), "tools: two are called {name}");
        ensure!(
            filled(function.get("description")),
            "tools: {name} has no description"
        );
        check_schema(name, function.get("parameters").unwrap_or(&Value::Null))?;
    }
    Ok(names)
}

fn check_schema(name: &str, schema: &Value) -> Checked {
    ensure!(
        schema["type"] == "object",
        "tools: the parameters of {name} have to be a schema of type object"
    );
    let Value::Object(properties) = &schema["properties"] else {
        return Err(format!(
            "tools: the parameters of {name} have no properties"
        ));
    };
    for required in schema["required"].as_array().into_iter().flatten() {
        let known = required
            .as_str()
            .is_some_and(|required| properties.contains_key(required));
        ensure!(
            known,
            "tools: {name} requires {required}, which is none of its properties"
        );
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn check_choice(body: &Map<String, Value>, tools: &HashSet<&str>) -> Checked {
    let Some(choice) = body.get("tool_choice") else {
        return Ok(());
    };
    ensure!(
        !tools.is_empty(),
        "'tool_choice' is only allowed when 'tools' are specified."
    );
    let known = match choice {
        Value::String(word) => matches!(word.as_str(), "auto" | "none" | "required"),
        choice => choice["function"]["name"]
            .as_str()
            .is_some_and(|name| tools.contains(name)),
    };
    ensure!(known, "tool_choice: {choice} is unknown");
    Ok(())
}

fn check_messages(body: &Map<String, Value>) -> Checked {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.filter(|messages| !messages.is_empty());
    ensure!(messages.is_some(), "[] is too short - 'messages'");
    let mut open: Vec<&str> = Vec::new();
    let mut said = false;
    let mut before = "";
    for (index, message) in messages.into_iter().flatten().enumerate() {
        let Value::Object(message) = message else {
            return Err(format!("messages[{index}] is no object"));
        };
        let role = message
            .get("role")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if role != "tool" {
            ensure!(
                open.is_empty(),
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                open.join(", ")
            );
        }
        match role {
            "system" | "developer" => {
                only(message, &["role", "content", "name"], "a system message")?;
                ensure!(
                    !said,
                    "messages[{index}]: System message must be at the beginning."
                );
                ensure!(
                    filled(message.get("content")),
                    "messages[{index}]: the content is empty"
                );
            }
            "user" => {
                only(message, &["role", "content", "name"], "a user message")?;
                // Mistral's templates.
                ensure!(
                    before != "tool",
                    "messages[{index}]: Unexpected role 'user' after role 'tool'"
                );
                ensure!(
                    filled(message.get("content")),
                    "messages[{index}]: the content is empty"
                );
            }
            "assistant" => open = check_assistant(index, message)?,
            "tool" => {
                only(
                    message,
                    &["role", "content", "tool_call_id"],
                    "a tool message",
                )?;
                let id = message
                    .get("tool_call_id")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let at = open.iter().position(|open| *open == id);
                let Some(at) = at else {
                    return Err(format!(
                        "messages[{index}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (tool_call_id {id:?})"
                    ));
                };
                open.remove(at);
                ensure!(
                    message.get("content").is_some_and(Value::is_string),
                    "messages[{index}]: the content is no text"
                );
            }
            role => return Err(format!("messages[{index}]: {role:?} is no role")),
        }
        said |= !matches!(role, "system" | "developer");
        before = role;
    }
    ensure!(
        open.is_empty(),
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    Ok(())
}

/// The calls that now wait for their results.
fn check_assistant(index: usize, message: &Map<String, Value>) -> Result<Vec<&str>, String> {
    only(
        message,
        &[
            "role",
            "content",
            "name",
            "tool_calls",
            "reasoning_content",
            "reasoning",
        ],
        "an assistant message",
    )?;
    let content = message.get("content").unwrap_or(&Value::Null);
    ensure!(
        content.is_null() || content.is_string(),
        "messages[{index}]: the content is no text"
    );
    let Some(calls) = message.get("tool_calls") else {
        ensure!(
            filled(Some(content)),
            "messages[{index}]: an assistant message needs content or tool_calls"
        );
        return Ok(Vec::new());
    };
    let calls = calls.as_array().filter(|calls| !calls.is_empty());
    ensure!(
        calls.is_some(),
        "[] is too short - 'messages.{index}.tool_calls'"
    );
    let mut ids = Vec::new();
    for call in calls.into_iter().flatten() {
        let id = call["id"].as_str().unwrap_or_default();
        ensure!(
            !id.is_empty() && !ids.contains(&id),
            "messages[{index}]: a call needs an id of its own, not {id:?}"
        );
        ids.push(id);
        ensure!(
            call["type"] == "function",
            "messages[{index}]: the type of a call has to be function"
        );
        let function = &call["function"];
        ensure!(
            is_name(function["name"].as_str().unwrap_or_default()),
            "messages[{index}]: a call needs a name"
        );
        // llama.cpp answers 500 to arguments that it cannot parse.
        let arguments = function["arguments"].as_str().unwrap_or_default();
        let is_object = serde_json::from_str::<Map<String, Value>>(arguments).is_ok();
        ensure!(
            is_object,
            "messages[{index}]: the arguments of a call are no JSON object: {arguments}"
        );
    }
    Ok(ids)
}

#[cfg(test)]
mod tests;
