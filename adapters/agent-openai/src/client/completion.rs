//! What a call of a model comes to.

use std::time::Duration;

use super::message::{AssistantMessage, ChatMessage, Reasoning, ToolCall};

/// What is heard of an answer while it comes. Nothing of it counts before [`Client::chat`](super::Client::chat) has returned it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Text(String),
    Reasoning(String),
    ToolCallStarted {
        name: String,
    },
    /// The model is asked again, or another one is, after the wait.
    Retrying {
        /// For a person.
        why: String,
        wait: Duration,
        model: String,
    },
    /// What was heard so far is void: the answer begins anew.
    Restarted,
    /// An answer broke off. It was paid for all the same, as far as the server said.
    BrokenOff {
        usage: Option<Usage>,
    },
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// May be empty.
    pub text: String,
    pub reasoning: Option<Reasoning>,
    /// In the model's order.
    pub tool_calls: Vec<ToolCall>,
    pub finish: Finish,
    /// Some servers do not say.
    pub usage: Option<Usage>,
    /// As the server calls it; else as it was asked for.
    pub model: String,
    pub timings: Timings,
}

impl Completion {
    /// The answer as a message of the next request; `None` if it said and called nothing, because a server would refuse that.
    pub fn message(&self) -> Option<ChatMessage> {
        let text = (!self.text.is_empty()).then(|| self.text.clone());
        if text.is_none() && self.tool_calls.is_empty() {
            return None;
        }
        Some(ChatMessage::Assistant(AssistantMessage {
            text,
            tool_calls: self.tool_calls.clone(),
            reasoning: self.reasoning.clone(),
        }))
    }
}

/// Why the model ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    Stop,
    /// It ran into a limit. Its last call may be cut off; its arguments are then no JSON.
    Length,
    /// There is a call, whatever word the server used.
    ToolCalls,
    ContentFilter,
    Other(String),
}

/// Tokens of one answer, as the server counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub prompt: u64,
    /// With the reasoning.
    pub completion: u64,
    /// Of the prompt, read before. `None`: not said.
    pub cached: Option<u64>,
    /// Of the completion. `None`: not said.
    pub reasoning: Option<u64>,
}

/// Of the attempt that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// From the request to the first text, reasoning or call. `None`: there was none.
    pub first_token: Option<Duration>,
    pub total: Duration,
    /// How often a model was asked, this time included.
    pub attempts: u32,
}
