//! What the simulated model says, as the bytes of a server. Pure.

use serde_json::{Value, json};

use super::answer::{Answer, Call, Content, Dialect, Said, SaidUsage, Step};

/// What of the request the answer depends on.
pub struct Asked<'a> {
    pub model: &'a str,
    pub stream: bool,
    pub include_usage: bool,
    pub prompt_tokens: u64,
    pub cached_tokens: u64,
}

/// The content type, unless the answer says another one, and what goes over the wire.
pub fn render(answer: &Answer, asked: &Asked<'_>) -> (&'static str, Vec<Step>) {
    let (content_type, mut steps) = match &answer.content {
        Content::Steps(steps) => ("text/event-stream", steps.clone()),
        Content::Said(said) if said.is_whole || !asked.stream => {
            ("application/json", vec![json_step(&whole(said, asked))])
        }
        Content::Said(said) => ("text/event-stream", stream(said, asked)),
    };
    if let Some((pieces, fault)) = &answer.fault {
        let bytes = |step: &Step| matches!(step, Step::Bytes(_));
        let places = steps.iter().enumerate().filter(|(_, step)| bytes(step));
        let end = places.map(|(at, _)| at).nth(*pieces);
        steps.truncate(end.unwrap_or(steps.len()));
        steps.push(fault.clone());
    }
    (content_type, steps)
}

fn json_step(value: &Value) -> Step {
    Step::Bytes(value.to_string().into_bytes())
}

fn finish(said: &Said) -> &str {
    match &said.finish {
        Some(word) => word,
        None if said.calls.is_empty() => "stop",
        None => "tool_calls",
    }
}

fn usage(said: &Said, asked: &Asked<'_>) -> Option<Value> {
    match &said.usage {
        SaidUsage::None => None,
        SaidUsage::Given(usage) => Some(usage.clone()),
        SaidUsage::Counted => {
            let calls = said
                .calls
                .iter()
                .map(|call| call.arguments.len() + call.name.len());
            let bytes = said.text.len() + said.reasoning.len() + calls.sum::<usize>();
            let completion = bytes.div_ceil(4) as u64;
            Some(json!({
                "prompt_tokens": asked.prompt_tokens,
                "completion_tokens": completion,
                "total_tokens": asked.prompt_tokens + completion,
                "prompt_tokens_details": {"cached_tokens": asked.cached_tokens},
            }))
        }
    }
}

fn whole(said: &Said, asked: &Asked<'_>) -> Value {
    let mut message = json!({"role": "assistant", "content": text_or_null(&said.text)});
    if !said.reasoning.is_empty() {
        message["reasoning_content"] = said.reasoning.clone().into();
    }
    if !said.calls.is_empty() {
        let calls = said.calls.iter();
        message["tool_calls"] = calls.map(|call| whole_call(call, said.dialect)).collect();
    }
    let mut choice = json!({"index": 0, "message": message, "finish_reason": finish(said)});
    if said.without_finish {
        choice["finish_reason"] = Value::Null;
    }
    let mut body = json!({
        "id": "chatcmpl-simulated", "object": "chat.completion", "created": 1, "model": asked.model, "choices": [choice],
    });
    if let Some(usage) = usage(said, asked) {
        body["usage"] = usage;
    }
    body
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        text.into()
    }
}

fn stream(said: &Said, asked: &Asked<'_>) -> Vec<Step> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    let reasoning = pieces(&said.reasoning, said.piece);
    deltas.extend(reasoning.map(|piece| json!({ "reasoning_content": piece })));
    let text = pieces(&said.text, said.piece);
    deltas.extend(text.map(|piece| json!({ "content": piece })));
    for (index, call) in said.calls.iter().enumerate() {
        deltas.extend(call_deltas(index, call, said));
    }
    let chunk = |choices: Value| json!({"id": "chatcmpl-simulated", "object": "chat.completion.chunk", "created": 1, "model": asked.model, "choices": choices});
    let choice = |delta: Value, finish: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]))
    };
    let mut events: Vec<String> = deltas
        .into_iter()
        .map(|delta| choice(delta, Value::Null).to_string())
        .collect();
    if !said.without_finish {
        events.push(choice(json!({}), finish(said).into()).to_string());
    }
    if let Some(usage) = usage(said, asked).filter(|_| asked.include_usage) {
        let mut last = chunk(json!([]));
        last["usage"] = usage;
        events.push(last.to_string());
    }
    if !said.without_done {
        events.push("[DONE]".into());
    }
    let mut steps = Vec::new();
    for event in events {
        if !said.pause.is_zero() && !steps.is_empty() {
            steps.push(Step::Wait(said.pause));
        }
        steps.push(Step::Bytes(format!("data: {event}\n\n").into_bytes()));
    }
    steps
}

fn call_deltas(index: usize, call: &Call, said: &Said) -> Vec<Value> {
    if said.dialect != Dialect::Pieces {
        return vec![json!({"tool_calls": [whole_call(call, said.dialect)]})];
    }
    let begin = json!({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}]});
    let rest = pieces(&call.arguments, said.piece)
        .map(|piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
    std::iter::once(begin).chain(rest).collect()
}

fn whole_call(call: &Call, dialect: Dialect) -> Value {
    let mut function = json!({"name": call.name, "arguments": call.arguments});
    match dialect {
        Dialect::Pieces | Dialect::Unnumbered => {
            json!({"id": call.id, "type": "function", "function": function})
        }
        Dialect::AllAtZero => {
            json!({"index": 0, "id": call.id, "type": "function", "function": function})
        }
        Dialect::Bare => {
            if let Ok(arguments) = serde_json::from_str::<Value>(&call.arguments) {
                function["arguments"] = arguments;
            }
            json!({ "function": function })
        }
    }
}

fn pieces(text: &str, characters: usize) -> impl Iterator<Item = String> {
    let all: Vec<char> = text.chars().collect();
    let size = if characters == 0 {
        all.len().max(1)
    } else {
        characters
    };
    let pieces: Vec<String> = all
        .chunks(size)
        .map(|piece| piece.iter().collect())
        .collect();
    pieces.into_iter()
}
