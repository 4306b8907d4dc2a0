//! The calls of one answer: recorded, carried out in order, answered.

use std::collections::HashMap;
use std::time::Duration;

use homing_ports::agent::{AgentError, EntryRole, ToolText};

use super::{Turn, tool_error};
use crate::client::{AssistantMessage, ChatMessage, Completion, Finish, ToolCall};
use crate::doing;
use crate::kept::{Kept, KeptCall};
use crate::text::{glance, shortened};

/// Calls of one answer; more are answered with that.
const AT_ONCE: usize = 32;
/// Times that the same call may fail in one turn.
const TRIES: u32 = 3;
/// Of a tool result, in bytes. Tools bound their results themselves, most of them far below.
const LONGEST_RESULT: usize = 64 * 1024;
/// What a tool has to end in once the turn is cancelled.
const TO_END: Duration = Duration::from_secs(10);
/// Of a failure that a person is told, in characters.
const FAILURE: usize = 300;

/// How often each call has failed in this turn.
#[derive(Debug, Default)]
pub(super) struct Failures(HashMap<(String, String), u32>);

impl Failures {
    /// `true`: it was once too often.
    fn add(&mut self, call: &ToolCall) -> bool {
        let same = (call.name.clone(), call.raw_arguments.clone());
        let times = self.0.entry(same).or_default();
        *times += 1;
        *times >= TRIES
    }
}

impl Turn<'_> {
    /// `Some`: the turn ends with these words.
    pub(super) async fn carry_out(
        &mut self,
        completion: Completion,
    ) -> Result<Option<String>, AgentError> {
        let kept = Kept {
            calls: completion.tool_calls.iter().map(KeptCall::from).collect(),
            reasoning: completion.reasoning.as_ref().map(Into::into),
            asked: self.asked.take(),
            ..Kept::default()
        };
        self.record(EntryRole::Agent, completion.text.clone(), kept)
            .await?;
        self.shown.keep(&completion.text);
        let was_cut = completion.finish == Finish::Length;
        let calls = completion.tool_calls.clone();
        let text = Some(completion.text).filter(|text| !text.trim().is_empty());
        self.request
            .messages
            .push(ChatMessage::Assistant(AssistantMessage {
                text,
                tool_calls: completion.tool_calls,
                reasoning: completion.reasoning,
            }));
        let mut last_word = None;
        for (number, call) in calls.iter().enumerate() {
            let answer = if last_word.is_some() {
                refused("this call was not carried out: the turn was ended before it")
            } else if number >= AT_ONCE {
                refused(&format!(
                    "this call was not carried out: {AT_ONCE} are the most at once; make it again"
                ))
            } else {
                if self.cancel.is_cancelled() {
                    return Err(AgentError::Cancelled);
                }
                self.call(call, was_cut).await?
            };
            if answer.failed && last_word.is_none() && self.failures.add(call) {
                last_word = Some(gave_up(call, &answer.text));
            }
            self.answered(call, answer).await?;
        }
        self.shown.doing(None);
        Ok(last_word)
    }

    async fn call(&self, call: &ToolCall, was_cut: bool) -> Result<ToolText, AgentError> {
        if let Err(problem) = call.arguments() {
            let why = match was_cut {
                true => format!(
                    "{problem}. Your answer was cut off at the limit of its length in the middle of this call; make it shorter, or in parts"
                ),
                false => format!("{problem}. Write one JSON object, as the tool's schema says"),
            };
            return Ok(refused(&why));
        }
        self.shown.doing(Some(doing::of(call)));
        let call = self.tools.call_named(&call.name, &call.raw_arguments);
        let overdue = async {
            self.cancel.cancelled().await;
            tokio::time::sleep(TO_END).await;
        };
        tokio::select! {
            biased;
            // It knows of the cancelling, too, and ends what it began: it is not dropped at once.
            called = call => called.map_err(tool_error),
            () = overdue => Err(AgentError::Cancelled),
        }
    }

    async fn answered(&mut self, call: &ToolCall, answer: ToolText) -> Result<(), AgentError> {
        let text = shortened(&answer.text, LONGEST_RESULT);
        let kept = Kept {
            answers: Some(call.id.clone()),
            ..Kept::default()
        };
        self.record(EntryRole::Tool, text.clone(), kept).await?;
        self.request.messages.push(ChatMessage::ToolResult {
            call: call.id.clone(),
            text,
        });
        Ok(())
    }
}

fn refused(why: &str) -> ToolText {
    ToolText {
        text: why.to_owned(),
        failed: true,
    }
}

fn gave_up(call: &ToolCall, failure: &str) -> String {
    format!(
        "I have stopped: I called `{}` {TRIES} times in the same way, and it failed each time ({}).",
        glance(&call.name, 60),
        glance(failure, FAILURE)
    )
}
