//! What the model server answers: the script, played by what a request says.

use std::sync::Arc;

use homing_simulators::model::{Answer, Call, Recorded};
use serde_json::json;

use super::heard::Heard;
use super::stage::{Next, Order, Role, Spoken, Stage, Turn};
use crate::host::agent::MODELS;
use crate::host::script::{Script, cut};
use crate::host::words::Words;

/// Notifications that a block shows.
const SHOWN: usize = 10;
/// What this server's models hold, as it says when something is too long.
const WINDOW: u64 = 16_384;

#[derive(Debug)]
pub struct Player {
    script: Arc<Script>,
    stage: Arc<Stage>,
}

/// What a request is answered, or why it is refused.
type Played = Result<Answer, String>;

impl Player {
    pub const fn new(script: Arc<Script>, stage: Arc<Stage>) -> Player {
        Player { script, stage }
    }

    pub async fn answer(&self, asked: &Recorded) -> Answer {
        let heard = Heard::of(asked);
        if heard.is_for_summary() {
            return summary(heard);
        }
        let played = match self.stage.that_asks(heard) {
            Some(turn) => self.play(&turn, heard).await,
            None => Err("no turn that runs says this".into()),
        };
        played.unwrap_or_else(|problem| refusal(&problem))
    }

    async fn play(&self, turn: &Turn, heard: Heard<'_>) -> Played {
        match turn.next() {
            Next::First => self.begin(turn, heard).await,
            Next::Result { id, to, spoken } => {
                let result = heard
                    .result(&id)
                    .ok_or("the result of the call is missing")?;
                // The runner may have given up.
                let _gone = to.send(result.to_owned());
                self.obey_orders(turn, spoken, heard).await
            }
            Next::Last(spoken) => self.last_word(turn, spoken, heard),
        }
    }

    async fn begin(&self, turn: &Turn, heard: Heard<'_>) -> Played {
        match &turn.role {
            Role::Background(items) => self.tell(turn, items, heard),
            Role::SubAgent { task, .. } => self.work(turn, task, heard).await,
            Role::Person => {
                let text = heard
                    .said()
                    .ok_or("nobody has said anything that is not answered")?;
                let spoken = Spoken::of(&text, heard);
                if self.script.is_to_be_held(&turn.at, &text) {
                    turn.stays(self.script.lingers(Some(&turn.at)), true);
                    return self.obey_orders(turn, spoken, heard).await;
                }
                if self.script.slow_turns {
                    return Ok(self.never(turn));
                }
                if text == "until nothing lingers" {
                    self.script.until_nothing_lingers().await;
                }
                self.speak(turn, spoken, heard)
            }
        }
    }

    async fn work(&self, turn: &Turn, task: &str, heard: Heard<'_>) -> Played {
        let spoken = Spoken::of(task, heard);
        match Words::of(task) {
            Words::Ordinary => {
                turn.stays(self.script.lingers(None), true);
                self.obey_orders(turn, spoken, heard).await
            }
            _ => self.speak(turn, spoken, heard),
        }
    }

    fn tell(&self, turn: &Turn, items: &[String], heard: Heard<'_>) -> Played {
        let told = heard.notification().ok_or("this is no notification")?;
        if told.about != items[..items.len().min(SHOWN)] {
            return Err(format!(
                "the notification is about {:?}, and the turn about {items:?}",
                told.about
            ));
        }
        if self.script.slow_background_turns {
            return Ok(self.never(turn));
        }
        if let Some(call) = &self.script.background_call
            && let Some(answer) = self.word(turn, &Spoken::of(call, heard), heard)
        {
            return Ok(answer);
        }
        let names: Vec<String> = told.about.iter().map(|id| self.script.named(id)).collect();
        let text = format!("About {}:\n{}", names.join(", "), cut(&told.text));
        Ok(said(&text))
    }

    /// An answer that does not come: the client leaves in the end.
    fn never(&self, turn: &Turn) -> Answer {
        turn.stays(self.script.lingers(Some(&turn.at)), false);
        Answer::silence()
    }

    async fn obey_orders(&self, turn: &Turn, spoken: Spoken, heard: Heard<'_>) -> Played {
        match turn.ordered().await {
            Some(Order::Call {
                name,
                arguments,
                to,
            }) => {
                let id = turn.call_id();
                let call = Call::new(&id, name, &arguments);
                turn.expect(Next::Result { id, to, spoken });
                Ok(Answer::calls([call]))
            }
            Some(Order::Release) => self.speak(turn, spoken, heard),
            Some(Order::Finish(Ok(summary))) => Ok(said(&summary)),
            Some(Order::Finish(Err(error))) => Ok(refusal(&error)),
            None => Err("the turn is over".into()),
        }
    }

    /// Does what a text asks for, or repeats it.
    fn speak(&self, turn: &Turn, spoken: Spoken, heard: Heard<'_>) -> Played {
        match self.word(turn, &spoken, heard) {
            Some(answer) => Ok(answer),
            None => self.last_word(turn, spoken, heard),
        }
    }

    /// `None` if it is an ordinary text.
    fn word(&self, turn: &Turn, spoken: &Spoken, heard: Heard<'_>) -> Option<Answer> {
        Some(match Words::of(&spoken.text) {
            Words::Ordinary => return None,
            Words::Calls(calls) => {
                let calls = calls
                    .into_iter()
                    .map(|(name, arguments)| Call {
                        id: turn.call_id(),
                        name,
                        arguments,
                    })
                    .collect::<Vec<_>>();
                let spoken = Spoken {
                    calls: calls.clone(),
                    ..spoken.clone()
                };
                turn.expect(Next::Last(spoken));
                counted(Answer::calls(calls))
            }
            Words::Say(words) => said(&format!("said {words}")),
            Words::Known => {
                let summary = if heard.has_summary() { "a" } else { "no" };
                said(&format!(
                    "I know {summary} summary | {}",
                    heard.known().join(" | ")
                ))
            }
            Words::TooLongUntilCompressed if heard.has_summary() => return None,
            Words::TooLongUntilCompressed | Words::AlwaysTooLong => too_long(),
        })
    }

    fn last_word(&self, turn: &Turn, spoken: Spoken, heard: Heard<'_>) -> Played {
        let mut text = match spoken.calls.as_slice() {
            [] => format!("You said: {}", cut(&spoken.text)),
            calls => {
                let results = calls.iter().map(|call| result_of(turn, call, heard));
                results.collect::<Result<Vec<_>, _>>()?.join("\n")
            }
        };
        let meanwhile = heard.said_since(spoken.begun);
        if !meanwhile.is_empty() {
            text.push_str(" and meanwhile: ");
            text.push_str(&meanwhile.join(" | "));
        }
        if heard.model() != MODELS[0] {
            text.push_str(&format!(" ({})", heard.model()));
        }
        let answer = match spoken.calls.is_empty() {
            true => said(&text),
            false => counted(said(&text)),
        };
        // It may be asked again, with what people said meanwhile.
        turn.expect(Next::Last(spoken));
        Ok(answer)
    }
}

impl Spoken {
    fn of(text: &str, heard: Heard<'_>) -> Spoken {
        Spoken {
            text: text.to_owned(),
            begun: heard.count(),
            calls: Vec::new(),
        }
    }
}

fn result_of(turn: &Turn, call: &Call, heard: Heard<'_>) -> Result<String, String> {
    let result = heard
        .result(&call.id)
        .ok_or_else(|| format!("the result of {} is missing", call.id))?;
    let how = match turn.tools.has_done(&call.name, &call.arguments) {
        true => "answered",
        false => "failed",
    };
    Ok(format!("{} {how}: {result}", call.name))
}

fn said(text: &str) -> Answer {
    Answer::text(text).pieces(200, std::time::Duration::ZERO)
}

/// Half of what a made-up model uses for a turn with calls.
fn counted(answer: Answer) -> Answer {
    answer.usage(json!({
        "prompt_tokens": 500,
        "completion_tokens": 50,
        "total_tokens": 550,
        "prompt_tokens_details": {"cached_tokens": 250},
    }))
}

/// It used nothing: some scenarios count, and no compression is part of that.
fn summary(heard: Heard<'_>) -> Answer {
    let all = heard.all();
    if all.contains("no summary of this") {
        return refusal("it cannot be summarized");
    }
    let nothing = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0});
    said(&format!("{} lines were said.", all.lines().count())).usage(nothing)
}

fn refusal(problem: &str) -> Answer {
    Answer::error(400, "invalid_request_error", problem)
}

fn too_long() -> Answer {
    let message = format!(
        "This model's maximum context length is {WINDOW} tokens. However, your messages resulted in {} tokens.",
        WINDOW + 1
    );
    Answer::error(400, "context_length_exceeded", &message)
}
