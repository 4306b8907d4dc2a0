//! One JSON object of an answer: a piece of a stream, or the whole. Pure.
//!
//! Every server has its own idea of the details, so nothing is demanded that is not needed: a member of another type than expected counts as absent.
//! **Invariant:** what is no JSON object is an error; what is one is read as far as it makes sense.
//! **Absent on purpose:** a second choice. We ask for one.

use serde_json::{Map, Value};

use super::completion::{Finish, Usage};
use super::message::ReasoningField;

/// The texts of one piece, and what it says of the whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chunk {
    /// There was a choice, even if an empty one.
    pub has_choice: bool,
    /// The choice held a `message` and no `delta`: each call in it is whole.
    pub is_whole: bool,
    pub text: Option<String>,
    pub reasoning: Option<(ReasoningField, String)>,
    pub calls: Vec<CallDelta>,
    pub finish: Option<FinishWord>,
    pub usage: Option<Usage>,
    pub model: Option<String>,
    pub error: Option<ErrorBody>,
}

/// A piece of a call, or a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallDelta {
    pub index: Option<u64>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub arguments: String,
    pub extra: Map<String, Value>,
}

/// Why the answer ends, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishWord {
    Ended(Finish),
    /// The server gave up on the answer.
    Aborted(String),
}

/// What servers say of an error, in the answer to a refused request or in the middle of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ErrorBody {
    pub message: String,
    /// `code` where it is a word, in small letters.
    pub code: String,
    /// `type`, in small letters.
    pub kind: String,
    /// A status, where the code is one.
    pub status: Option<u16>,
    /// The context's size in tokens, where it is said.
    pub context: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum ChunkError {
    #[error("it is no JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("it is JSON, but no object")]
    NotAnObject,
}

impl Chunk {
    pub fn parse(json: &str) -> Result<Chunk, ChunkError> {
        match serde_json::from_str(json).map_err(ChunkError::NotJson)? {
            Value::Object(object) => Ok(Chunk::of(&object)),
            _ => Err(ChunkError::NotAnObject),
        }
    }

    fn of(object: &Map<String, Value>) -> Chunk {
        let mut chunk = Chunk {
            usage: object.get("usage").and_then(usage),
            model: string(object, "model"),
            error: ErrorBody::of(object),
            ..Chunk::default()
        };
        let choices = object.get("choices").and_then(Value::as_array);
        let first = |choice: &&Value| choice["index"].as_u64().unwrap_or(0) == 0;
        if let Some(Value::Object(choice)) = choices.and_then(|choices| choices.iter().find(first))
        {
            chunk.read_choice(choice);
        }
        chunk
    }

    fn read_choice(&mut self, choice: &Map<String, Value>) {
        self.has_choice = true;
        self.finish = string(choice, "finish_reason").and_then(|word| finish(&word));
        // OpenRouter puts it here too.
        if self.error.is_none() {
            self.error = ErrorBody::of(choice);
        }
        let delta = choice.get("delta").and_then(Value::as_object);
        let message = choice.get("message").and_then(Value::as_object);
        self.is_whole = delta.is_none() && message.is_some();
        let Some(delta) = delta.or(message) else {
            return;
        };
        self.text = text(delta.get("content"));
        // What a model says when it declines is its answer.
        self.text = std::mem::take(&mut self.text).or_else(|| string(delta, "refusal"));
        self.reasoning = [ReasoningField::ReasoningContent, ReasoningField::Reasoning]
            .into_iter()
            .find_map(|field| Some((field, string(delta, field.name())?)));
        match delta.get("tool_calls") {
            Some(Value::Array(calls)) => {
                let calls = calls.iter().filter_map(Value::as_object);
                self.calls = calls.map(call).collect();
            }
            // The way of 2023.
            _ => {
                let function = delta.get("function_call").and_then(Value::as_object);
                self.calls.extend(function.map(|function| CallDelta {
                    index: Some(0),
                    ..function_of(function)
                }));
            }
        }
    }
}

/// A string that is not empty.
fn string(object: &Map<String, Value>, name: &str) -> Option<String> {
    let text = object.get(name)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// A string, or parts of which those with text count.
fn text(content: Option<&Value>) -> Option<String> {
    let text = match content? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn part(part: &Value) -> Option<&str> {
    match part {
        Value::String(text) => Some(text),
        part if matches!(part["type"].as_str(), Some("thinking" | "reasoning")) => None,
        part => part["text"].as_str(),
    }
}

fn call(call: &Map<String, Value>) -> CallDelta {
    let function = call.get("function").and_then(Value::as_object);
    let known = |name: &str| matches!(name, "index" | "id" | "type" | "function");
    CallDelta {
        index: call.get("index").and_then(Value::as_u64),
        id: string(call, "id").or_else(|| Some(call.get("id")?.as_u64()?.to_string())),
        extra: call
            .iter()
            .filter(|(name, value)| !known(name) && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        // Without a function around it, in one server's dialect.
        ..function_of(function.unwrap_or(call))
    }
}

fn function_of(function: &Map<String, Value>) -> CallDelta {
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        // An object instead of its text.
        Some(value) => value.to_string(),
    };
    CallDelta {
        name: string(function, "name"),
        arguments,
        ..CallDelta::default()
    }
}

fn finish(word: &str) -> Option<FinishWord> {
    let finish = match word {
        "stop" | "end_turn" | "eos" | "stop_sequence" => Finish::Stop,
        // The third is Mistral's, at the end of the window.
        "length" | "max_tokens" | "model_length" => Finish::Length,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "content_filter" | "safety" => Finish::ContentFilter,
        // vLLM, OpenRouter and DeepSeek, when they could not go on.
        "abort" | "error" | "insufficient_system_resource" => {
            return Some(FinishWord::Aborted(word.to_owned()));
        }
        other => Finish::Other(other.to_owned()),
    };
    Some(FinishWord::Ended(finish))
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    Some(Usage {
        prompt: count("/prompt_tokens")?,
        completion: count("/completion_tokens").unwrap_or(0),
        // The second is DeepSeek's.
        cached: count("/prompt_tokens_details/cached_tokens")
            .or_else(|| count("/prompt_cache_hit_tokens")),
        reasoning: count("/completion_tokens_details/reasoning_tokens"),
    })
}

impl ErrorBody {
    /// What an object says that is, or holds, an error.
    pub fn of(object: &Map<String, Value>) -> Option<ErrorBody> {
        match object.get("error") {
            Some(Value::Object(error)) => Some(ErrorBody::read(error)),
            Some(Value::String(message)) => Some(ErrorBody {
                message: message.clone(),
                ..ErrorBody::default()
            }),
            // vLLM before 0.10, and what only looks like an error.
            _ if object.get("object").and_then(Value::as_str) == Some("error") => {
                Some(ErrorBody::read(object))
            }
            // FastAPI, in front of some.
            _ => string(object, "detail").map(|message| ErrorBody {
                message,
                ..ErrorBody::default()
            }),
        }
    }

    fn read(error: &Map<String, Value>) -> ErrorBody {
        let code = error.get("code");
        let status = code.and_then(|code| match code {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        });
        let message =
            string(error, "message").unwrap_or_else(|| Value::from(error.clone()).to_string());
        ErrorBody {
            // OpenRouter passes on what the model's own server said.
            message: match error
                .get("metadata")
                .and_then(|metadata| metadata["raw"].as_str())
            {
                Some(raw) => format!("{message}: {raw}"),
                None => message,
            },
            code: code
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_lowercase(),
            kind: string(error, "type").unwrap_or_default().to_lowercase(),
            status: status
                .and_then(|status| u16::try_from(status).ok())
                .filter(|status| (400..600).contains(status)),
            context: error.get("n_ctx").and_then(Value::as_u64),
        }
    }
}

#[cfg(test)]
mod tests;
