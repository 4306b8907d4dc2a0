//! The pieces of an answer, put together. Pure.
//!
//! Which call a piece belongs to is the hard part. By the API its `index` says so, but servers leave it out (ollama#7881), give the same one to every
//! call (ollama#15457), repeat ids and names with each piece, or make up a new id for each. So: the index, or where there is none the id, or where
//! there is none the last call; unless the piece plainly begins another call.
//!
//! **Invariant:** nothing that came is lost, and two calls are never run together into one.

use serde_json::{Map, Value};

use super::chunk::{CallDelta, Chunk, FinishWord};
use super::completion::{Event, Finish, Usage};
use super::message::{Reasoning, ReasoningField, ToolCall};

#[derive(Debug, Default)]
pub struct Assembly {
    text: String,
    reasoning: Option<Reasoning>,
    calls: Vec<Draft>,
    finish: Option<FinishWord>,
    usage: Option<Usage>,
    model: Option<String>,
    has_choice: bool,
    /// Of the piece that is being added.
    number: u64,
}

/// An answer, and nothing of how it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    pub reasoning: Option<Reasoning>,
    pub tool_calls: Vec<ToolCall>,
    pub finish: Finish,
    pub usage: Option<Usage>,
    pub model: Option<String>,
}

/// What there was of an answer that broke off. None of it was carried out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Partial {
    pub text: String,
    /// The calls whose arguments had come whole.
    pub tool_calls: Vec<ToolCall>,
    /// As far as the server had counted.
    pub usage: Option<Usage>,
}

#[derive(Debug, Default)]
struct Draft {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    extra: Map<String, Value>,
    last_piece: u64,
}

impl Assembly {
    /// What is news for a listener.
    pub fn add(&mut self, chunk: Chunk) -> Vec<Event> {
        let mut events = Vec::new();
        self.number += 1;
        self.has_choice |= chunk.has_choice;
        self.model = chunk.model.or(self.model.take());
        // Some count along; the last count is the whole.
        self.usage = chunk.usage.or(self.usage);
        self.finish = chunk.finish.or(self.finish.take());
        if let Some((field, text)) = chunk.reasoning {
            self.add_reasoning(field, &text);
            events.push(Event::Reasoning(text));
        }
        if let Some(text) = chunk.text {
            self.text.push_str(&text);
            events.push(Event::Text(text));
        }
        for delta in chunk.calls {
            events.extend(self.add_call(delta, chunk.is_whole));
        }
        events
    }

    fn add_reasoning(&mut self, field: ReasoningField, text: &str) {
        let reasoning = self.reasoning.get_or_insert(Reasoning {
            text: String::new(),
            field,
        });
        reasoning.text.push_str(text);
    }

    fn add_call(&mut self, delta: CallDelta, is_whole: bool) -> Option<Event> {
        let known = if is_whole { None } else { self.call_of(&delta) };
        let at = known.unwrap_or_else(|| {
            self.calls.push(Draft {
                index: delta.index,
                ..Draft::default()
            });
            self.calls.len() - 1
        });
        let draft = &mut self.calls[at];
        let was_nameless = draft.name.is_empty();
        draft.last_piece = self.number;
        draft.add(delta);
        (was_nameless && !draft.name.is_empty()).then(|| Event::ToolCallStarted {
            name: draft.name.clone(),
        })
    }

    /// The call that a piece goes on with.
    fn call_of(&self, delta: &CallDelta) -> Option<usize> {
        let last = |fits: &dyn Fn(&Draft) -> bool| self.calls.iter().rposition(fits);
        let candidate = if delta.index.is_some() {
            last(&|draft| draft.index == delta.index)
        } else {
            let same_id = last(&|draft| delta.id.is_some() && draft.id == delta.id);
            same_id.or_else(|| last(&|_| true))
        }?;
        let draft = &self.calls[candidate];
        // Two elements of one list, without a number: two calls.
        let listed = delta.index.is_none() && draft.last_piece == self.number;
        (!listed && !draft.is_followed_by(delta)).then_some(candidate)
    }

    /// A reason to end was given.
    pub const fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    pub const fn has_choice(&self) -> bool {
        self.has_choice
    }

    /// The server gave up, in its word.
    pub fn aborted(&self) -> Option<&str> {
        match &self.finish {
            Some(FinishWord::Aborted(word)) => Some(word),
            _ => None,
        }
    }

    pub fn has_nameless_call(&self) -> bool {
        self.calls.iter().any(|draft| draft.name.is_empty())
    }

    /// `fresh_id` as for an answer: what broke off is gone on with, and recorded.
    pub fn partial(self, fresh_id: &mut dyn FnMut(usize) -> String) -> Partial {
        let mut tool_calls: Vec<ToolCall> = Vec::new();
        for draft in self.calls.into_iter().filter(Draft::is_whole) {
            let call = draft.into_call(fresh_id, &tool_calls);
            tool_calls.push(call);
        }
        Partial {
            text: self.text,
            tool_calls,
            usage: self.usage,
        }
    }

    /// `fresh_id` makes ids for calls whose server gave none, or the same twice.
    pub fn answer(self, fresh_id: &mut dyn FnMut(usize) -> String) -> Answer {
        let finish = match self.finish {
            Some(FinishWord::Ended(finish)) => finish,
            _ => Finish::Stop,
        };
        let finish = match (finish, self.calls.is_empty()) {
            (Finish::Stop, false) => Finish::ToolCalls,
            (Finish::ToolCalls, true) => Finish::Stop,
            (finish, _) => finish,
        };
        let mut tool_calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for mut draft in self.calls {
            // A call without arguments; but one that was cut off right there must stay unreadable.
            if draft.arguments.trim().is_empty() && finish == Finish::ToolCalls {
                "{}".clone_into(&mut draft.arguments);
            }
            let call = draft.into_call(fresh_id, &tool_calls);
            tool_calls.push(call);
        }
        Answer {
            text: self.text,
            reasoning: self.reasoning,
            tool_calls,
            finish,
            usage: self.usage,
            model: self.model,
        }
    }
}

impl Draft {
    /// Whether a piece with the place of this call is the beginning of another one.
    fn is_followed_by(&self, delta: &CallDelta) -> bool {
        let Some(name) = &delta.name else {
            return false;
        };
        match (&self.id, &delta.id) {
            (Some(mine), Some(other)) if mine == other => false,
            (Some(_), Some(_)) => true,
            // A name that is only repeated brings nothing along.
            _ => self.is_whole() && (!delta.arguments.is_empty() || *name != self.name),
        }
    }

    fn is_whole(&self) -> bool {
        !self.name.is_empty() && serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }

    fn add(&mut self, delta: CallDelta) {
        self.id = self.id.take().or(delta.id);
        if let Some(name) = delta.name {
            self.add_name(name);
        }
        self.arguments.push_str(&delta.arguments);
        self.extra.extend(delta.extra);
    }

    fn add_name(&mut self, name: String) {
        if name.starts_with(&self.name) {
            // The first one, the same again, or more of it.
            self.name = name;
        } else if self.arguments.is_empty() {
            self.name.push_str(&name);
        }
    }

    fn into_call(self, fresh_id: &mut dyn FnMut(usize) -> String, before: &[ToolCall]) -> ToolCall {
        let id = self
            .id
            .filter(|id| before.iter().all(|call| call.id != *id))
            .unwrap_or_else(|| fresh_id(before.len()));
        ToolCall {
            id,
            name: self.name,
            raw_arguments: self.arguments,
            extra: self.extra,
        }
    }
}

#[cfg(test)]
mod tests;
