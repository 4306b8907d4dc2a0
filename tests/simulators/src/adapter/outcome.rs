//! From what HTTP says to what the outbox must know.
//!
//! **Invariant:** "nothing was sent" is only said where the server said so or was never reached. Every other silence is `Uncertain`.

use std::time::Duration;

use homing_ports::platform::{Landed, Receipt, SendError};
use reqwest::StatusCode;

use crate::wire::{Problem, SendAnswer};

/// Where the server names no time to come back.
const SLOW_DEFAULT: Duration = Duration::from_secs(1);

/// The whole answer, or why there is none.
pub(super) async fn answered(
    response: reqwest::Result<reqwest::Response>,
) -> Result<(StatusCode, Vec<u8>), SendError> {
    let response = response.map_err(|error| unanswered(&error))?;
    let status = response.status();
    match response.bytes().await {
        Ok(body) => Ok((status, body.into())),
        Err(error) => Err(SendError::Uncertain(chain(&error))),
    }
}

fn unanswered(error: &reqwest::Error) -> SendError {
    if error.is_connect() {
        SendError::Away(chain(error))
    } else if error.is_builder() {
        SendError::Refused(chain(error))
    } else {
        SendError::Uncertain(chain(error))
    }
}

pub(super) fn receipt(status: StatusCode, body: &[u8]) -> Result<Receipt, SendError> {
    if status.is_success() {
        let answer: SendAnswer = serde_json::from_slice(body)
            .map_err(|error| SendError::Uncertain(format!("unreadable answer: {error}")))?;
        let landed = Landed {
            chat: answer.landed.chat,
            thread: answer.landed.thread,
        };
        return Ok(Receipt {
            message: Some(answer.message),
            landed: Some(landed),
        });
    }
    let problem: Problem = serde_json::from_slice(body).unwrap_or_default();
    let said = format!("{status}: {}", problem.error);
    Err(match status.as_u16() {
        429 => SendError::RateLimited(
            problem
                .retry_after_ms
                .map_or(SLOW_DEFAULT, Duration::from_millis),
        ),
        503 => SendError::Away(said),
        400..=499 => SendError::Refused(said),
        // A gateway in between lost the answer, not necessarily the message.
        502 | 504 => SendError::Uncertain(said),
        _ => SendError::Temporary(said),
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;

    fn said(status: u16, body: &str) -> SendError {
        receipt(StatusCode::from_u16(status).unwrap(), body.as_bytes()).unwrap_err()
    }

    #[test]
    fn every_status_has_one_meaning() {
        assert!(matches!(said(503, ""), SendError::Away(_)));
        assert!(matches!(said(403, "{}"), SendError::Refused(_)));
        assert!(
            matches!(said(404, r#"{"error":"message thread not found"}"#), SendError::Refused(text) if text.contains("thread not found"))
        );
        assert!(matches!(said(500, "<html>"), SendError::Temporary(_)));
        assert!(matches!(said(502, ""), SendError::Uncertain(_)));
        assert_eq!(
            said(429, r#"{"error":"slow","retry_after_ms":70}"#),
            SendError::RateLimited(Duration::from_millis(70))
        );
        assert_eq!(said(429, ""), SendError::RateLimited(SLOW_DEFAULT));
    }

    #[test]
    fn a_success_that_cannot_be_read_is_not_a_success() {
        assert!(matches!(said(200, "<html>"), SendError::Uncertain(_)));
    }
}
