//! What is said to a model, and what it may call.
//!
//! **Absent on purpose:** pictures and sound, and any memory of a conversation: a request holds all of it.

use serde_json::{Map, Value};

/// One call of [`Client::chat`](super::Client::chat). The same beginning in the next request lets a server reuse what it has read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatRequest {
    pub messages: Vec<ChatMessage>,
    pub tools: Vec<ToolSpec>,
    pub tool_choice: ToolChoice,
    /// Instead of the setting of the same name.
    pub max_output_tokens: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ChatMessage {
    System(String),
    /// The same for models that know this role; others refuse it.
    Developer(String),
    User(String),
    Assistant(AssistantMessage),
    ToolResult {
        /// The id of the call that it answers, in the assistant message before it.
        call: String,
        text: String,
    },
}

/// A server refuses one with neither text nor calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssistantMessage {
    pub text: Option<String>,
    pub tool_calls: Vec<ToolCall>,
    pub reasoning: Option<Reasoning>,
}

/// A call as the model made it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolCall {
    /// Never empty, and unlike the ids of the other calls of its message.
    pub id: String,
    /// Never empty. Whether there is such a tool is not known here.
    pub name: String,
    /// As the model wrote it; [`ToolCall::arguments`] reads it.
    pub raw_arguments: String,
    /// What else the server put into the call. It wants it back (Gemini signs its calls).
    pub extra: Map<String, Value>,
}

impl ToolCall {
    /// The arguments, if the model wrote a JSON object. What was cut off in the middle never is one.
    pub fn arguments(&self) -> Result<Map<String, Value>, ArgumentsError> {
        serde_json::from_str(&self.raw_arguments).map_err(|source| ArgumentsError {
            name: self.name.clone(),
            source,
        })
    }
}

/// For the model to read: it may then try again.
#[derive(Debug, thiserror::Error)]
#[error("the arguments of {name} are no JSON object: {source}")]
pub struct ArgumentsError {
    name: String,
    source: serde_json::Error,
}

/// What the model thought before it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reasoning {
    pub text: String,
    pub field: ReasoningField,
}

/// What the server calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningField {
    /// `reasoning_content`: llama.cpp, DeepSeek, older vLLM.
    ReasoningContent,
    /// `reasoning`: OpenRouter, Ollama, newer vLLM.
    Reasoning,
}

impl ReasoningField {
    pub(super) const fn name(self) -> &'static str {
        match self {
            ReasoningField::ReasoningContent => "reasoning_content",
            ReasoningField::Reasoning => "reasoning",
        }
    }
}

/// A tool for the model to call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: String,
    pub description: String,
    /// A JSON Schema of type `object`.
    pub parameters: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    #[default]
    Auto,
    /// The model has to answer with text; the tools are still shown, which keeps the request's beginning as it was.
    None,
    Required,
}
