//! Asking a model: chat completions over HTTP, streamed, with tools. What the agent is built on.
//!
//! A call goes through these, one file each: settings → [`body`] → [`attempt`] ( [`sse`] → [`chunk`] → [`assembly`], joined by [`reader`] ) →
//! [`refusal`] and [`error`] → [`retry`]. All but `attempt` and this file are pure.
//!
//! **Invariant:** a [`Completion`] is whole. An answer that broke off is an error, and tool calls come out of here only with a whole answer or, marked
//! as such, with what broke off. When the token fires, the call ends at once and its connection is closed.
//! **Absent on purpose:** memory, tools, and every decision of an agent.

mod assembly;
mod attempt;
mod body;
mod chunk;
mod completion;
mod error;
mod message;
mod reader;
mod refusal;
mod retry;
mod secret;
mod settings;
mod sse;
mod tokens;

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use assembly::{Answer, Partial};
pub use chunk::{CallDelta, Chunk, ChunkError, ErrorBody, FinishWord};
pub use completion::{Completion, Event, Finish, Timings, Usage};
pub use error::ChatError;
pub use message::{
    ArgumentsError, AssistantMessage, ChatMessage, ChatRequest, Reasoning, ReasoningField,
    ToolCall, ToolChoice, ToolSpec,
};
pub use reader::{ReadError, Reader};
pub use refusal::{Refusal, RefusalKind};
pub use secret::Secret;
pub use settings::{OutputLimitName, ReasoningBack, Settings, SettingsError};
pub use sse::{SseDecoder, SseError, SseEvent};
pub use tokens::{Calibration, estimate_message, estimate_request, estimate_tokens};

use attempt::{Answered, Attempt};
use retry::Next;
use settings::Checked;

/// Nobody waits longer for an answer, whatever the settings say.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// A model server. Calls may run at the same time.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    settings: Settings,
    checked: Checked,
    random: fn() -> u64,
}

impl Client {
    pub fn new(settings: Settings) -> Result<Client, SettingsError> {
        let checked = settings.check()?;
        let mut http = reqwest::Client::builder()
            .connect_timeout(settings.connect_limit)
            .tcp_keepalive(Duration::from_secs(30))
            // The key goes where the settings say, and nowhere else.
            .redirect(reqwest::redirect::Policy::none());
        if checked.loopback {
            http = http.no_proxy();
        }
        Ok(Client {
            http: http.build().map_err(SettingsError::Http)?,
            settings,
            checked,
            // Without the system's randomness waits are only less spread.
            random: || getrandom::u64().unwrap_or(0),
        })
    }

    /// The same with another source of chance, for tests that want the same waits and ids each time.
    #[must_use]
    pub fn with_random(self, random: fn() -> u64) -> Client {
        Client { random, ..self }
    }

    /// The same server and connections for a model that was chosen; the others stand in for it.
    #[must_use]
    pub fn for_model(&self, model: &str) -> Client {
        let mut settings = self.settings.clone();
        let all = std::iter::once(settings.model).chain(settings.fallback_models);
        settings.fallback_models = all.filter(|other| other != model).collect();
        settings.model = model.to_owned();
        Client {
            http: self.http.clone(),
            settings,
            checked: self.checked.clone(),
            random: self.random,
        }
    }

    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Asks until there is an answer, the rules of asking again are through, or `cancel` fires. `on_event` must not wait.
    pub async fn chat(
        &self,
        request: &ChatRequest,
        mut on_event: impl FnMut(Event) + Send,
        cancel: &CancellationToken,
    ) -> Result<Completion, ChatError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ChatError::Cancelled),
            result = self.ask(request, &mut on_event) => result,
        }
    }

    async fn ask(
        &self,
        request: &ChatRequest,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Completion, ChatError> {
        if request.messages.is_empty() {
            return Err(ChatError::NoMessages);
        }
        let deadline = Instant::now() + self.settings.total_limit.min(LONGEST);
        let mut others = self.settings.fallback_models.iter();
        let mut model = &self.settings.model;
        let (mut attempts, mut of_this_model) = (0, 0);
        let mut furthest: Option<Box<Partial>> = None;
        loop {
            attempts += 1;
            of_this_model += 1;
            let begun = Instant::now();
            let mut heard = false;
            let mut listen = |event| {
                heard = true;
                on_event(event);
            };
            let error = match self.attempt(request, model, deadline, &mut listen).await {
                Ok(answered) => return Ok(completion(answered, model, begun, attempts)),
                Err(error) => error,
            };
            if let ChatError::BrokenOff { partial, .. } = &error {
                on_event(Event::BrokenOff {
                    usage: partial.usage,
                });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let next = retry::next(&self.settings, &error, of_this_model, left, self.chance());
            let wait = match next {
                Next::Again { wait } => wait,
                Next::OtherModel => match others.next() {
                    Some(other) => {
                        model = other;
                        of_this_model = 0;
                        Duration::ZERO
                    }
                    None => return Err(error.after(furthest)),
                },
                Next::GiveUp => return Err(error.after(furthest)),
            };
            tracing::warn!(
                error = attempt::chain(&error),
                model,
                attempts,
                ?wait,
                "a model is asked again"
            );
            if heard {
                on_event(Event::Restarted);
            }
            on_event(Event::Retrying {
                why: error.plain(),
                wait,
                model: model.clone(),
            });
            if let ChatError::BrokenOff { partial, .. } = error {
                let length = furthest.as_ref().map_or(0, |furthest| furthest.text.len());
                if partial.text.len() > length {
                    furthest = Some(partial);
                }
            }
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(
        &self,
        request: &ChatRequest,
        model: &str,
        deadline: Instant,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Answered, ChatError> {
        let body = body::body(&self.settings, model, request);
        let mut http = self.http.post(self.checked.url.clone()).json(&body);
        if let Some(authorization) = &self.checked.authorization {
            http = http.header(reqwest::header::AUTHORIZATION, authorization);
        }
        let attempt = Attempt {
            settings: &self.settings,
            model,
            deadline,
            begun: Instant::now(),
            fresh_id: &mut |number| format!("call_{:016x}_{number}", (self.random)()),
            on_event,
        };
        // Boxed: a request's future is large, and the caller's would hold it.
        Box::pin(attempt.run(http)).await
    }

    /// From 0 to 1.
    fn chance(&self) -> f64 {
        f64::from(u32::try_from((self.random)() >> 32).unwrap_or(0)) / f64::from(u32::MAX)
    }
}

fn completion(answered: Answered, asked: &str, begun: Instant, attempts: u32) -> Completion {
    let Answered {
        answer,
        first_token,
    } = answered;
    Completion {
        text: answer.text,
        reasoning: answer.reasoning,
        tool_calls: answer.tool_calls,
        finish: answer.finish,
        usage: answer.usage,
        model: answer.model.unwrap_or_else(|| asked.to_owned()),
        timings: Timings {
            first_token,
            total: begun.elapsed(),
            attempts,
        },
    }
}
