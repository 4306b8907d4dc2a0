//! What a server's refusal means. Pure.
//!
//! Status codes are shared by different refusals, so the code and words of the body are read first: a context that is too long comes as 400, 413, 422
//! or 500, a missing model as 400, 403 or 404, an empty account as 402 or 429.

use std::fmt;
use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::chunk::ErrorBody;
use super::secret::{Secret, without_keys};

/// How much of a server's words is kept, in bytes.
const KEPT: usize = 2 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The conversation does not fit. `limit` in tokens, where it is said.
    ContextTooLong {
        limit: Option<u64>,
    },
    ModelMissing,
    KeyRefused,
    OutOfCredit,
    RateLimited,
    /// The server has a problem that may pass.
    Unavailable,
    /// The request is wrong, or went to the wrong address.
    Request,
}

/// A refusal, for the operator. No key is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    /// `None`: it came in the middle of a stream.
    pub status: Option<u16>,
    /// The server's words, bounded.
    pub message: String,
    pub request_id: Option<String>,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(formatter, "status {status}")?,
            None => write!(formatter, "an error in the stream")?,
        }
        if let Some(id) = &self.request_id {
            write!(formatter, ", request {id}")?;
        }
        match self.message.as_str() {
            "" => write!(formatter, ", without a word"),
            message => write!(formatter, ": {message}"),
        }
    }
}

impl Refusal {
    /// `body` need not be whole.
    pub(super) fn of_response(
        status: u16,
        headers: &HeaderMap,
        body: &str,
        key: Option<&Secret>,
    ) -> Refusal {
        let error = match serde_json::from_str(body) {
            // Google wraps it into a list.
            Ok(Value::Array(mut list)) if !list.is_empty() => list.swap_remove(0),
            Ok(value) => value,
            Err(_) => Value::Null,
        };
        let error = error.as_object().and_then(ErrorBody::of);
        let error = error.unwrap_or_else(|| ErrorBody {
            message: body.to_owned(),
            ..ErrorBody::default()
        });
        Refusal {
            status: Some(status),
            request_id: ["x-request-id", "request-id", "x-generation-id"]
                .iter()
                .find_map(|name| Some(shown(headers.get(*name)?.to_str().ok()?, key))),
            retry_after: retry_after(headers, SystemTime::now()),
            ..Refusal::of_stream(Some(status), &error, key)
        }
    }

    /// `status` is what the error itself says, if anything does.
    pub(super) fn of_stream(
        status: Option<u16>,
        error: &ErrorBody,
        key: Option<&Secret>,
    ) -> Refusal {
        Refusal {
            kind: kind(status, error),
            status: None,
            message: shown(&error.message, key),
            request_id: None,
            retry_after: None,
        }
    }
}

/// Redacted, then cut.
fn shown(text: &str, key: Option<&Secret>) -> String {
    let text = without_keys(text.trim(), key);
    if text.len() <= KEPT {
        return text;
    }
    format!("{} […]", &text[..text.floor_char_boundary(KEPT)])
}

fn kind(status: Option<u16>, error: &ErrorBody) -> RefusalKind {
    let words = error.message.to_lowercase();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    let code = |codes: &[&str]| codes.contains(&&*error.code) || codes.contains(&&*error.kind);
    let is_one_of = |statuses: &[u16]| status.is_none_or(|status| statuses.contains(&status));

    let too_long = code(&CONTEXT_CODES) || has(&CONTEXT_PHRASES);
    if status == Some(413) || is_one_of(&[400, 422, 500]) && too_long {
        let limit = error.context.or_else(|| context_limit(&words));
        return RefusalKind::ContextTooLong { limit };
    }
    let no_model = words.contains("model") && has(&MODEL_PHRASES) || has(&["no endpoints found"]);
    if code(&["model_not_found"]) || is_one_of(&[400, 403, 404]) && no_model {
        return RefusalKind::ModelMissing;
    }
    if status == Some(402) || code(&["insufficient_quota", "billing_hard_limit_reached"]) {
        return RefusalKind::OutOfCredit;
    }
    if code(&["invalid_api_key"]) {
        return RefusalKind::KeyRefused;
    }
    match status {
        Some(401 | 403) => RefusalKind::KeyRefused,
        Some(429) => RefusalKind::RateLimited,
        Some(408 | 409 | 425 | 500..) => RefusalKind::Unavailable,
        None if code(&["rate_limit_exceeded"]) => RefusalKind::RateLimited,
        None if !code(&["invalid_request_error"]) => RefusalKind::Unavailable,
        _ => RefusalKind::Request,
    }
}

/// OpenAI and many others; llama.cpp.
const CONTEXT_CODES: [&str; 2] = ["context_length_exceeded", "exceed_context_size_error"];

const CONTEXT_PHRASES: [&str; 9] = [
    // OpenAI, vLLM, OpenRouter.
    "maximum context length",
    // vLLM.
    "longer than the maximum model length",
    // llama.cpp before and after it had a type for it.
    "exceeds the available context size",
    // Ollama.
    "exceeds the context length",
    "exceeds the context window",
    "exceeds the model's context",
    "context length exceeded",
    // Anthropic and Google, through something compatible.
    "prompt is too long",
    "exceeds the maximum number of tokens",
];

const MODEL_PHRASES: [&str; 4] = [
    "not found",
    "does not exist",
    "not a valid model",
    "no such model",
];

/// The number that follows the words which name the limit.
fn context_limit(words: &str) -> Option<u64> {
    [
        "context length is",
        "context length of",
        "context size",
        "model length of",
    ]
    .iter()
    .find_map(|phrase| {
        let (_, after) = words.split_once(phrase)?;
        let number = after.trim_start_matches([' ', '(', ':']);
        let end = number.find(|next: char| !next.is_ascii_digit() && next != ',');
        let digits = &number[..end.unwrap_or(number.len())];
        digits.replace(',', "").parse().ok()
    })
}

/// Milliseconds where the server is that exact, else seconds or a date. A date counts from the server's own clock.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let number =
        |text: &str, unit: f64| Duration::try_from_secs_f64(text.parse::<f64>().ok()? * unit).ok();
    let exact = text("retry-after-ms").and_then(|text| number(text, 0.001));
    exact.or_else(|| {
        let text = text(RETRY_AFTER.as_str())?;
        number(text, 1.0).or_else(|| {
            let then = httpdate::parse_http_date(text).ok()?;
            let date = headers.get(DATE).and_then(|date| date.to_str().ok());
            let theirs = date.and_then(|date| httpdate::parse_http_date(date).ok());
            // Past already: at once.
            Some(
                then.duration_since(theirs.unwrap_or(now))
                    .unwrap_or_default(),
            )
        })
    })
}

#[cfg(test)]
mod tests;
