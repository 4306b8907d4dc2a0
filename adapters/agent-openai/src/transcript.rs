//! A history as messages for a model. Pure.
//!
//! **Invariant:** every call is followed by its one result, in the order of the calls, whatever rows are missing, doubled or strewn between; a result without
//! its call is told as a note. Messages of people never follow each other, nor do answers, nor does a person's message follow
//! a result: the templates of some models refuse that. The first is a user's.
//! The same rows make the same messages, and more rows at the end change nothing before the last of them.

use std::collections::{HashMap, HashSet};

use homing_domain::ids::{MessageId, TurnId};
use homing_ports::store::{Context, MessageRow, Role};

use super::client::{AssistantMessage, ChatMessage, ToolCall};
use super::kept::{Asked, Kept};
use super::prompt;

/// The result of a call that has none.
pub const INTERRUPTED: &str = "[interrupted]";

/// Said by the agent between a result and what somebody says next, where it said nothing: templates of Mistral refuse a person there. Always the same, so
/// that a server still knows the beginning of the conversation.
pub const NOTED: &str = "Noted.";

/// How a history is told.
#[derive(Debug, Clone, Copy)]
pub struct Telling<'a> {
    /// Each message of a person begins with who wrote it.
    pub names: bool,
    /// What came with the message that is being answered.
    pub asked: Option<(MessageId, &'a Asked)>,
}

pub fn messages(context: &Context, telling: Telling<'_>) -> Vec<ChatMessage> {
    let rows = in_order(&context.messages);
    let kept: Vec<Kept> = rows
        .iter()
        .map(|row| Kept::read(row.data.as_deref()))
        .collect();
    let results = results(&rows, &kept);
    let paired: HashSet<usize> = results.values().flatten().flatten().copied().collect();
    let mut asked: HashMap<TurnId, &Asked> = HashMap::new();
    for (row, kept) in rows.iter().zip(&kept) {
        if let (Some(turn), Some(with)) = (row.turn, &kept.asked) {
            asked.insert(turn, with);
        }
    }

    let mut told = Messages::default();
    if let Some(summary) = &context.summary {
        told.user(prompt::earlier(summary));
    }
    for (index, row) in rows.iter().enumerate() {
        let kept = &kept[index];
        match row.role {
            Role::Person => {
                // Only the first message of a turn came with it; others were taken up later.
                let earlier = row.turn.and_then(|turn| asked.remove(&turn));
                let now = telling.asked.filter(|(message, _)| *message == row.id);
                let with = now.map(|(_, with)| with).or(earlier);
                let author = row.author.as_deref().filter(|_| telling.names);
                told.user(prompt::person(author, &row.text, with));
            }
            Role::Notification => told.user(prompt::notification(&row.text)),
            Role::System => told.user(prompt::note(&format!("told the people here: {}", row.text))),
            Role::Agent => match results.get(&index) {
                Some(results) => {
                    told.assistant(spoken(row, kept));
                    for (call, result) in kept.calls.iter().zip(results) {
                        let text = result.map_or(INTERRUPTED, |result| &rows[result].text);
                        told.result(call.id.clone(), text.to_owned());
                    }
                }
                None => told.assistant(spoken(row, kept)),
            },
            Role::Tool if paired.contains(&index) => {}
            Role::Tool => told.user(prompt::note(&format!("a tool had answered: {}", row.text))),
        }
    }
    told.0
}

fn spoken(row: &MessageRow, kept: &Kept) -> AssistantMessage {
    let text = kept.own.as_ref().unwrap_or(&row.text);
    AssistantMessage {
        text: (!text.trim().is_empty()).then(|| text.clone()),
        tool_calls: kept.calls.iter().cloned().map(ToolCall::from).collect(),
        reasoning: kept.reasoning.clone().map(Into::into),
    }
}

/// A notification's row is committed with the answer to it, after what the turn did (OWN-65); it was there before all of that.
fn in_order(rows: &[MessageRow]) -> Vec<&MessageRow> {
    let mut ordered: Vec<&MessageRow> = Vec::with_capacity(rows.len());
    for row in rows {
        let at = match (row.role, row.turn) {
            (Role::Notification, Some(turn)) => {
                let other = ordered.iter().rposition(|before| before.turn != Some(turn));
                other.map_or(0, |other| other + 1)
            }
            _ => ordered.len(),
        };
        ordered.insert(at, row);
    }
    ordered
}

/// For each row with calls, where each call's result is: between it and the next entry of the agent.
fn results(rows: &[&MessageRow], kept: &[Kept]) -> HashMap<usize, Vec<Option<usize>>> {
    let mut results = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        let calls = &kept[index].calls;
        if row.role != Role::Agent || calls.is_empty() {
            continue;
        }
        let rest = &rows[index + 1..];
        let next = rest.iter().position(|row| row.role == Role::Agent);
        let end = next.map_or(rows.len(), |next| index + 1 + next);
        let result_of = |id: &str| {
            (index + 1..end)
                .find(|at| rows[*at].role == Role::Tool && kept[*at].answers.as_deref() == Some(id))
        };
        let found = calls.iter().map(|call| result_of(&call.id)).collect();
        results.insert(index, found);
    }
    results
}

/// Where a history can be cut so that no call is parted from its result: before row `n`, if `[n]` is true.
pub fn safe_cuts(rows: &[MessageRow]) -> Vec<bool> {
    let all: Vec<&MessageRow> = rows.iter().collect();
    let kept: Vec<Kept> = rows
        .iter()
        .map(|row| Kept::read(row.data.as_deref()))
        .collect();
    let mut safe = vec![true; rows.len()];
    for (index, results) in results(&all, &kept) {
        let last = results.into_iter().flatten().max().unwrap_or(index);
        safe[index + 1..=last].fill(false);
    }
    safe
}

/// Messages under the rules of the strictest template.
#[derive(Debug, Default)]
struct Messages(Vec<ChatMessage>);

impl Messages {
    fn user(&mut self, text: String) {
        match self.0.last_mut() {
            Some(ChatMessage::User(before)) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            Some(ChatMessage::ToolResult { .. }) => {
                self.0.push(ChatMessage::Assistant(AssistantMessage {
                    text: Some(NOTED.to_owned()),
                    ..AssistantMessage::default()
                }));
                self.0.push(ChatMessage::User(text));
            }
            _ => self.0.push(ChatMessage::User(text)),
        }
    }

    fn assistant(&mut self, message: AssistantMessage) {
        if message.text.is_none() && message.tool_calls.is_empty() {
            return;
        }
        match self.0.last_mut() {
            None => self.user(prompt::note("what was before this is not shown")),
            Some(ChatMessage::Assistant(before)) if before.tool_calls.is_empty() => {
                let texts = [before.text.take(), message.text];
                let texts: Vec<String> = texts.into_iter().flatten().collect();
                *before = AssistantMessage {
                    text: (!texts.is_empty()).then(|| texts.join("\n\n")),
                    ..message
                };
                return;
            }
            Some(_) => {}
        }
        self.0.push(ChatMessage::Assistant(message));
    }

    fn result(&mut self, call: String, text: String) {
        self.0.push(ChatMessage::ToolResult { call, text });
    }
}

/// The same for what is said within a turn.
pub fn add_user(messages: &mut Vec<ChatMessage>, text: String) {
    let mut told = Messages(std::mem::take(messages));
    told.user(text);
    *messages = told.0;
}

#[cfg(test)]
mod tests;
