//! The one way to Telegram's servers: a method, its parameters as JSON, what came of it.
//!
//! **Invariant:** every request is tried once, by a deadline. No error holds the token. `NotReached` is said only where nothing was sent.
//! **Absent on purpose:** meaning. What a failure means for a message is decided in [`outcome`](crate::outcome).

use std::path::Path;
use std::time::Duration;

use reqwest::multipart::Form;
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde::Serialize;
use serde_json::Value;
use teloxide_core::ApiError;
use teloxide_core::requests::Payload;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use crate::token::Token;

#[derive(Debug)]
pub(crate) struct Api {
    client: Client,
    base: Url,
    token: Token,
    /// How long an answer is waited for.
    answer: Duration,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// Nobody was reached: nothing was sent.
    NotReached(String),
    /// The request went out, and no whole answer came back.
    Unanswered(String),
    /// A success that cannot be read.
    Unreadable(String),
    /// Telegram's own words.
    Said(Said),
    /// Refused by somebody in between, who does not speak as Telegram does.
    Foreign(u16),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub status: u16,
    pub description: String,
    /// The same as teloxide knows it.
    pub error: ApiError,
    pub retry_after: Option<Duration>,
    pub moved_to: Option<i64>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::NotReached(why) => write!(formatter, "Telegram cannot be reached: {why}"),
            Failure::Unanswered(why) => write!(formatter, "Telegram did not answer: {why}"),
            Failure::Unreadable(why) => write!(formatter, "Telegram's answer is unreadable: {why}"),
            Failure::Said(said) => write!(formatter, "{} {}", said.status, said.description),
            Failure::Foreign(status) => write!(
                formatter,
                "HTTP {status} from something that is not Telegram, perhaps a proxy"
            ),
        }
    }
}

impl Failure {
    pub fn said(&self) -> Option<&Said> {
        match self {
            Failure::Said(said) => Some(said),
            _ => None,
        }
    }

    /// The token is revoked or wrong.
    pub fn is_unauthorized(&self) -> bool {
        self.said()
            .is_some_and(|said| said.status == 401 || said.error == ApiError::InvalidToken)
    }
}

/// Why a download failed.
#[derive(Debug)]
pub(crate) enum DownloadFailure {
    Call(Failure),
    TooBig,
    Write(std::io::Error),
}

impl Api {
    pub fn new(base: Url, token: Token, answer: Duration) -> Result<Api, String> {
        let builder = Client::builder()
            // A redirect would carry the token, which is in the path, to somebody else.
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10))
            // Less than servers keep connections: a request on one that is just being closed has an unknown outcome.
            .pool_idle_timeout(Duration::from_secs(20));
        let builder = match is_loopback(&base) {
            true => builder.no_proxy(),
            false => builder,
        };
        let client = builder.build().map_err(|error| chain(&error))?;
        Ok(Api {
            client,
            base,
            token,
            answer,
        })
    }

    pub fn redact(&self, text: &str) -> String {
        self.token.redact(text)
    }

    /// A request that teloxide knows; its result as it came.
    pub async fn tell<P: Payload + Serialize + Sync>(&self, payload: &P) -> Result<Value, Failure> {
        self.call(P::NAME, &parameters(payload)).await
    }

    /// Any method.
    pub async fn call(&self, method: &str, parameters: &Value) -> Result<Value, Failure> {
        self.call_within(method, parameters, self.answer).await
    }

    pub async fn call_within(
        &self,
        method: &str,
        parameters: &Value,
        limit: Duration,
    ) -> Result<Value, Failure> {
        let request = self.client.post(self.method(method)).json(parameters);
        self.answered(request.timeout(limit).send().await).await
    }

    /// A method with files.
    pub async fn upload(
        &self,
        method: &str,
        form: Form,
        limit: Duration,
    ) -> Result<Value, Failure> {
        let request = self.client.post(self.method(method)).multipart(form);
        self.answered(request.timeout(limit).send().await).await
    }

    /// Writes a file of Telegram's into a new file.
    pub async fn download(
        &self,
        file_path: &str,
        into: &Path,
        most: u64,
        limit: Duration,
    ) -> Result<(), DownloadFailure> {
        let request = self.client.get(self.file(file_path)).timeout(limit);
        let response = request.send().await;
        let mut response =
            response.map_err(|error| DownloadFailure::Call(self.unanswered(error)))?;
        if !response.status().is_success() {
            let failure = self.refusal(response).await;
            return Err(DownloadFailure::Call(failure));
        }
        let mut file = File::create_new(into)
            .await
            .map_err(DownloadFailure::Write)?;
        let mut written = 0;
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|error| DownloadFailure::Call(self.unanswered(error)))?;
            let Some(chunk) = chunk else { break };
            written += chunk.len() as u64;
            if written > most {
                return Err(DownloadFailure::TooBig);
            }
            file.write_all(&chunk)
                .await
                .map_err(DownloadFailure::Write)?;
        }
        file.flush().await.map_err(DownloadFailure::Write)?;
        file.sync_all().await.map_err(DownloadFailure::Write)
    }

    async fn answered(&self, response: reqwest::Result<Response>) -> Result<Value, Failure> {
        let response = response.map_err(|error| self.unanswered(error))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let status = response.status();
        let body = response.bytes().await;
        let body =
            body.map_err(|error| Failure::Unanswered(self.redact(&chain(&error.without_url()))))?;
        read_answer(status, &body)
    }

    async fn refusal(&self, response: Response) -> Failure {
        let status = response.status();
        match response.bytes().await {
            Ok(body) => read_answer(status, &body)
                .err()
                .unwrap_or(Failure::Foreign(status.as_u16())),
            Err(_) => Failure::Foreign(status.as_u16()),
        }
    }

    fn unanswered(&self, error: reqwest::Error) -> Failure {
        let nothing_was_sent = error.is_connect() || error.is_builder();
        let text = self.redact(&chain(&error.without_url()));
        match nothing_was_sent {
            true => Failure::NotReached(text),
            false => Failure::Unanswered(text),
        }
    }

    fn method(&self, name: &str) -> Url {
        // teloxide calls them `SendMessage`; servers do not mind, people who read logs do.
        let mut name = name.to_owned();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        self.below(&[&format!("bot{}", self.token.reveal()), &name])
    }

    fn file(&self, path: &str) -> Url {
        let bot = format!("bot{}", self.token.reveal());
        let mut segments = vec!["file", &bot];
        segments.extend(path.split('/').filter(|segment| !segment.is_empty()));
        self.below(&segments)
    }

    fn below(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }
}

/// What a request of teloxide's says.
pub(crate) fn parameters<P: Serialize>(payload: &P) -> Value {
    serde_json::to_value(payload).unwrap_or_default()
}

/// Telegram's envelope around results and errors.
pub(crate) fn read_answer(status: StatusCode, body: &[u8]) -> Result<Value, Failure> {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    let ok = answer.as_ref().and_then(|answer| answer["ok"].as_bool());
    match (answer, ok) {
        (Some(mut answer), Some(true)) if status.is_success() => Ok(answer["result"].take()),
        (Some(answer), Some(false)) => Err(Failure::Said(said(status, &answer))),
        _ if status.is_success() => Err(Failure::Unreadable(format!(
            "{} bytes that are not Telegram's JSON",
            body.len()
        ))),
        _ => Err(Failure::Foreign(status.as_u16())),
    }
}

fn said(status: StatusCode, answer: &Value) -> Said {
    let description = answer["description"].as_str().unwrap_or("no reason given");
    let parameters = &answer["parameters"];
    Said {
        status: answer["error_code"]
            .as_u64()
            .and_then(|code| u16::try_from(code).ok())
            .unwrap_or(status.as_u16()),
        error: serde_json::from_value(Value::from(description))
            .unwrap_or_else(|_| ApiError::Unknown(description.to_owned())),
        description: description.to_owned(),
        retry_after: parameters["retry_after"].as_u64().map(Duration::from_secs),
        moved_to: parameters["migrate_to_chat_id"].as_i64(),
    }
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        host == "localhost"
            || host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

/// reqwest's own text leaves out the reason.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}
