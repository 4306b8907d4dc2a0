//! Whether a model is asked again, and when. Pure.
//!
//! | what happened | then |
//! |---|---|
//! | slow down (429), a problem that may pass (408, 409, 425, 5xx), late, not understood, broken off | again; then the next model |
//! | no connection | again; the next model lives at the same address |
//! | no such model, no credit | the next model, which may exist, or cost nothing |
//! | key refused, request refused, context too long, a call was whole when the answer broke off | the caller is told |
//!
//! A wait that the server asks for is kept if there is time for it. If there is not, waiting less would only be one more refused request.

use std::time::Duration;

use super::LONGEST;
use super::error::ChatError;
use super::settings::Settings;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Again { wait: Duration },
    OtherModel,
    GiveUp,
}

/// After the `attempt`th attempt of a model, from 1. `left` of the time for everything; `random` from 0 to 1.
pub fn next(
    settings: &Settings,
    error: &ChatError,
    attempt: u32,
    left: Duration,
    random: f64,
) -> Next {
    let (may_again, may_other) = match error {
        ChatError::RateLimited(_)
        | ChatError::Unavailable(_)
        | ChatError::Late(_)
        | ChatError::Unreadable(_) => (true, true),
        // Whole calls are worth more than another try: the caller has them.
        ChatError::BrokenOff { partial, .. } if !partial.tool_calls.is_empty() => (false, false),
        ChatError::BrokenOff { .. } => (true, true),
        ChatError::Unreachable(_) => (true, false),
        ChatError::ModelMissing { .. } | ChatError::OutOfCredit(_) => (false, true),
        ChatError::KeyRefused(_)
        | ChatError::Refused(_)
        | ChatError::ContextTooLong { .. }
        | ChatError::NoMessages
        | ChatError::Cancelled => (false, false),
    };
    let wait = wait(settings, error.retry_after(), attempt, random);
    if left.is_zero() {
        Next::GiveUp
    } else if may_again && attempt < settings.attempts && wait < left {
        Next::Again { wait }
    } else if may_other {
        Next::OtherModel
    } else {
        Next::GiveUp
    }
}

/// Half of the backoff is fixed, half is chance. What the server asked for is kept and stretched a little, so that not everybody comes back at once.
fn wait(settings: &Settings, asked: Option<Duration>, attempt: u32, random: f64) -> Duration {
    let random = random.clamp(0.0, 1.0);
    match asked {
        // There is never time for twice the longest call; a longer wait could not even be stretched.
        Some(asked) if !asked.is_zero() => asked.min(LONGEST * 2).mul_f64(1.0 + 0.1 * random),
        _ => {
            let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
            let backoff = settings.backoff_first.saturating_mul(doubled);
            backoff
                .min(settings.backoff_longest)
                .mul_f64(0.5 + 0.5 * random)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::assembly::Partial;
    use crate::client::message::ToolCall;
    use crate::client::refusal::{Refusal, RefusalKind};

    const LONG: Duration = Duration::from_secs(600);

    fn settings() -> Settings {
        Settings::new("http://h/v1", "m")
    }

    fn refused(kind: RefusalKind, retry_after: Option<u64>) -> ChatError {
        let refusal = Refusal {
            kind,
            status: Some(400),
            message: String::new(),
            request_id: None,
            retry_after: retry_after.map(Duration::from_secs),
        };
        ChatError::refused(refusal, "m")
    }

    fn broken(tool_calls: Vec<ToolCall>) -> ChatError {
        let partial = Partial {
            text: "so f".into(),
            tool_calls,
            usage: None,
        };
        ChatError::BrokenOff {
            partial: Box::new(partial),
            why: String::new(),
        }
    }

    #[test]
    fn the_backoff_doubles_to_its_longest_and_chance_takes_up_to_half() {
        let waits = |random| {
            let settings = settings();
            (1..=8)
                .map(|attempt| wait(&settings, None, attempt, random).as_millis())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            waits(1.0),
            [1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]
        );
        assert_eq!(
            waits(0.0),
            [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]
        );
        assert_eq!(
            wait(&settings(), None, u32::MAX, 7.0),
            Duration::from_secs(30)
        );
    }

    #[test]
    fn what_may_pass_is_tried_again_and_then_another_model() {
        for error in [
            refused(RefusalKind::RateLimited, None),
            refused(RefusalKind::Unavailable, None),
            ChatError::Late(LONG),
            ChatError::Unreadable(String::new()),
            broken(Vec::new()),
        ] {
            let next = |attempt| next(&settings(), &error, attempt, LONG, 1.0);
            let wait = Duration::from_secs(4);
            assert_eq!(next(3), Next::Again { wait }, "{error}");
            assert_eq!(next(4), Next::OtherModel, "{error}");
        }
    }

    #[test]
    fn what_does_not_pass_is_not_tried_again() {
        for (kind, wanted) in [
            (RefusalKind::ModelMissing, Next::OtherModel),
            (RefusalKind::OutOfCredit, Next::OtherModel),
            (RefusalKind::KeyRefused, Next::GiveUp),
            (RefusalKind::Request, Next::GiveUp),
            (RefusalKind::ContextTooLong { limit: None }, Next::GiveUp),
        ] {
            let next = next(&settings(), &refused(kind, Some(1)), 1, LONG, 1.0);
            assert_eq!(next, wanted, "{kind:?}");
        }
        let whole = broken(vec![ToolCall::default()]);
        assert_eq!(next(&settings(), &whole, 1, LONG, 1.0), Next::GiveUp);
    }

    #[test]
    fn what_a_server_asks_for_is_kept_or_not_waited_for_at_all() {
        let next = |asked, left, random| {
            let error = refused(RefusalKind::RateLimited, Some(asked));
            next(&settings(), &error, 1, left, random)
        };
        let again = |millis| Next::Again {
            wait: Duration::from_millis(millis),
        };
        assert_eq!(next(100, LONG, 0.0), again(100_000));
        assert_eq!(next(100, LONG, 1.0), again(110_000));
        // "At once" is not meant so.
        assert_eq!(next(0, LONG, 1.0), again(1000));
        assert_eq!(next(3600, LONG, 0.0), Next::OtherModel);
        assert_eq!(next(1, Duration::ZERO, 0.0), Next::GiveUp);
    }
}
