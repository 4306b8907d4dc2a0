//! One request, from its first byte to its last.
//!
//! **Invariant:** dropping the future ends the request: its connection is closed, and the server can stop. An answer is returned only if its server
//! said that it was over.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::assembly::{Answer, Partial};
use super::completion::Event;
use super::error::ChatError;
use super::reader::{ReadError, Reader};
use super::refusal::Refusal;
use super::secret::without_keys;
use super::settings::Settings;

/// How much of a refusal is read, in bytes.
const REFUSAL_READ: usize = 64 * 1024;
/// For the usage, and for the end, after the answer is over; no longer than the idle limit.
const AFTERWARDS: Duration = Duration::from_secs(3);

pub(super) struct Attempt<'a> {
    pub settings: &'a Settings,
    pub model: &'a str,
    pub deadline: Instant,
    pub begun: Instant,
    pub fresh_id: &'a mut (dyn FnMut(usize) -> String + Send),
    pub on_event: &'a mut (dyn FnMut(Event) + Send),
}

/// An answer, and when its first piece came.
pub(super) struct Answered {
    pub answer: Answer,
    pub first_token: Option<Duration>,
}

impl Attempt<'_> {
    pub async fn run(mut self, request: reqwest::RequestBuilder) -> Result<Answered, ChatError> {
        let first_limit = self.until(self.begun, self.settings.first_token_limit);
        let response = timeout_at(first_limit, request.send())
            .await
            .map_err(|_| self.late())?
            .map_err(unreachable)?;
        if !response.status().is_success() {
            let refusal = refusal(response, first_limit, self.settings).await;
            return Err(ChatError::refused(refusal, self.model));
        }
        self.read(response, first_limit).await
    }

    async fn read(
        &mut self,
        mut response: Response,
        first_limit: Instant,
    ) -> Result<Answered, ChatError> {
        let mut reader = Reader::new(self.settings.key.clone());
        let mut first_token = None;
        let broken = loop {
            let limit = match first_token {
                _ if reader.is_finished() => {
                    self.until(Instant::now(), AFTERWARDS.min(self.settings.idle_limit))
                }
                None => first_limit,
                Some(_) => self.until(Instant::now(), self.settings.idle_limit),
            };
            let (news, is_over) = match timeout_at(limit, response.chunk()).await {
                Ok(Ok(Some(bytes))) => (reader.push(&bytes), false),
                Ok(Ok(None)) => (reader.end(), true),
                // What is over cannot break any more.
                Ok(Err(_)) | Err(_) if reader.is_finished() => (Ok(Vec::new()), true),
                Ok(Err(error)) => break chain(&error.without_url()),
                Err(_) if first_token.is_none() => return Err(self.late()),
                Err(_) => break self.why_silent(),
            };
            let news = match news {
                Ok(news) => news,
                Err(error) => {
                    let partial = reader.partial(self.fresh_id).into();
                    return Err(self.failed(error, partial, first_token.is_some()));
                }
            };
            if !news.is_empty() {
                first_token.get_or_insert_with(|| self.begun.elapsed());
            }
            news.into_iter().for_each(&mut *self.on_event);
            if is_over || reader.is_done() {
                return match reader.answer(self.fresh_id) {
                    Ok(answer) => Ok(Answered {
                        answer,
                        first_token,
                    }),
                    Err((error, partial)) => {
                        Err(self.failed(error, partial, first_token.is_some()))
                    }
                };
            }
        };
        Err(broken_off(reader.partial(self.fresh_id).into(), broken))
    }

    fn until(&self, from: Instant, limit: Duration) -> Instant {
        let limit = from.checked_add(limit);
        limit.map_or(self.deadline, |limit| limit.min(self.deadline))
    }

    fn late(&self) -> ChatError {
        ChatError::Late(if Instant::now() >= self.deadline {
            self.settings.total_limit
        } else {
            self.settings.first_token_limit
        })
    }

    fn why_silent(&self) -> String {
        if Instant::now() >= self.deadline {
            return "the time for the whole call was over".into();
        }
        let limit = self.settings.idle_limit.as_secs_f64();
        format!("nothing more came within {limit} s")
    }

    /// `heard`: somebody was told of the answer.
    fn failed(&self, error: ReadError, partial: Box<Partial>, heard: bool) -> ChatError {
        let key = self.settings.key.as_ref();
        // In the same bytes as the error, it was not told.
        let heard = heard || !partial.text.is_empty() || !partial.tool_calls.is_empty();
        match error {
            ReadError::Server(error) => {
                let refusal = Refusal::of_stream(error.status, &error, key);
                match ChatError::refused(refusal, self.model) {
                    error @ (ChatError::Unavailable(_) | ChatError::RateLimited(_)) if heard => {
                        broken_off(partial, error.to_string())
                    }
                    error => error,
                }
            }
            ReadError::CutOff | ReadError::Aborted(_) => broken_off(partial, error.to_string()),
            error => ChatError::Unreadable(without_keys(&error.to_string(), key)),
        }
    }
}

async fn refusal(mut response: Response, limit: Instant, settings: &Settings) -> Refusal {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    // What cannot be read of it is missed by nobody: the status says the most.
    while let Ok(Ok(Some(bytes))) = timeout_at(limit, response.chunk()).await {
        body.extend_from_slice(&bytes);
        if body.len() >= REFUSAL_READ {
            break;
        }
    }
    let body = String::from_utf8_lossy(&body);
    Refusal::of_response(status, &headers, &body, settings.key.as_ref())
}

fn broken_off(partial: Box<Partial>, why: String) -> ChatError {
    ChatError::BrokenOff { partial, why }
}

/// The address is in the settings, and a proxy's may hold a password.
fn unreachable(error: reqwest::Error) -> ChatError {
    ChatError::Unreachable(error.without_url())
}

/// An error and its sources in a line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
