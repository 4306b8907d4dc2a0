//! What becomes of an item after an attempt: the domain's rule, with its time and its reason.

use std::time::Duration;

use homing_domain::ids::OutboxId;
use homing_domain::outbox::{self, Attempt, Lineage};
use homing_domain::time::Timestamp;
use homing_ports::platform::{Receipt, SendError};
use homing_ports::store::{Change, OutboxRow, OutboxState};

use crate::Settings;

/// Attempts of which a moved place makes another one without a pause.
const MOVES_AT_ONCE: u32 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::conversation) enum After {
    Sent {
        message: Option<String>,
    },
    Again {
        not_before: Timestamp,
        reason: String,
    },
    Uncertain {
        not_before: Timestamp,
        reason: String,
    },
    Cancelled {
        reason: String,
    },
    Dead {
        reason: String,
    },
}

impl After {
    pub fn decide(
        item: &OutboxRow,
        attempt: u32,
        outcome: &Result<Receipt, SendError>,
        lineage: Lineage,
        now: Timestamp,
        settings: &Settings,
    ) -> After {
        let (what, wait) = match outcome {
            Ok(_) => (Attempt::Accepted, None),
            Err(SendError::RateLimited(wait)) => (Attempt::NotSent, Some(*wait)),
            // At once, unless the platform sends us in circles.
            Err(SendError::Moved(_)) => (
                Attempt::NotSent,
                (attempt <= MOVES_AT_ONCE).then_some(Duration::ZERO),
            ),
            Err(SendError::Away(_) | SendError::Temporary(_)) => (Attempt::NotSent, None),
            Err(SendError::Uncertain(_)) => (Attempt::Unknown, None),
            Err(SendError::Refused(_) | SendError::Closed(_)) => (Attempt::Refused, None),
        };
        let wait =
            wait.unwrap_or_else(|| backoff(attempt, settings.retry_first, settings.retry_longest));
        let reason = || {
            outcome
                .as_ref()
                .err()
                .map_or_else(String::new, ToString::to_string)
        };
        let not_before = now.plus(wait);
        match outbox::after_attempt(item.state, what, lineage) {
            OutboxState::Sent => After::Sent {
                message: outcome
                    .as_ref()
                    .ok()
                    .and_then(|receipt| receipt.message.clone()),
            },
            OutboxState::Dead => After::Dead { reason: reason() },
            OutboxState::Cancelled => After::Cancelled {
                reason: format!("its session was ended; {}", reason()),
            },
            OutboxState::Uncertain => After::Uncertain {
                not_before,
                reason: reason(),
            },
            OutboxState::Queued | OutboxState::Sending => After::Again {
                not_before,
                reason: reason(),
            },
        }
    }

    /// Where the item stands then.
    pub fn state(&self) -> OutboxState {
        match self {
            After::Sent { .. } => OutboxState::Sent,
            After::Again { .. } => OutboxState::Queued,
            After::Uncertain { .. } => OutboxState::Uncertain,
            After::Cancelled { .. } => OutboxState::Cancelled,
            After::Dead { .. } => OutboxState::Dead,
        }
    }

    pub fn change(&self, outbox: OutboxId, attempt: u32) -> Change {
        match self.clone() {
            After::Sent { message } => Change::Sent {
                outbox,
                attempt,
                platform_message: message,
            },
            After::Again { not_before, reason } => Change::SendAgain {
                outbox,
                attempt,
                not_before,
                reason,
            },
            After::Uncertain { not_before, reason } => Change::SendUncertain {
                outbox,
                attempt,
                not_before,
                reason,
            },
            After::Cancelled { reason } => Change::SendCancelled {
                outbox,
                attempt,
                reason,
            },
            After::Dead { reason } => Change::SendDead {
                outbox,
                attempt,
                reason,
            },
        }
    }

    pub fn log(&self, item: &OutboxRow) {
        match self {
            After::Sent { .. } => tracing::debug!(outbox.id = %item.id, "sent"),
            After::Again { reason, .. } => {
                tracing::info!(outbox.id = %item.id, reason, "not sent yet")
            }
            After::Uncertain { reason, .. } => {
                tracing::warn!(outbox.id = %item.id, reason, "nobody knows whether it arrived");
            }
            After::Cancelled { reason } => {
                tracing::info!(outbox.id = %item.id, reason, "not sent, and no longer wanted")
            }
            After::Dead { reason } => {
                tracing::error!(outbox.id = %item.id, reason, "a dead letter: it will not be sent, its text is kept");
            }
        }
    }
}

/// Doubles with each attempt.
pub(in crate::conversation) fn backoff(
    attempt: u32,
    first: Duration,
    longest: Duration,
) -> Duration {
    first
        .saturating_mul(1 << attempt.saturating_sub(1).min(20))
        .min(longest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use homing_domain::ids::ConversationId;
    use homing_domain::key::SessionKey;
    use homing_domain::origin::Origin;
    use homing_ports::platform::{Extras, OutgoingKind};

    fn after(state: OutboxState, lineage: Lineage, outcome: Result<Receipt, SendError>) -> After {
        let key: SessionKey = "agent:main:telegram:group:-100:42".parse().unwrap();
        let item = OutboxRow {
            id: OutboxId::from_number(1),
            conversation: ConversationId::from_number(1),
            lineage: None,
            turn: None,
            kind: OutgoingKind::Background,
            origin: Origin::from_key(&key),
            window: None,
            text: "done".into(),
            extras: Extras::default(),
            state,
            attempt: 1,
            not_before: Timestamp(0),
            reason: None,
            platform_message: None,
            created_at: Timestamp(0),
            settled_at: None,
        };
        After::decide(
            &item,
            2,
            &outcome,
            lineage,
            Timestamp(1_000),
            &Settings::default(),
        )
    }

    // OWN-66, 69
    #[test]
    fn every_outcome_has_its_own_end() {
        use OutboxState::Queued;
        let open = |outcome| after(Queued, Lineage::Open, outcome);
        let why = || "why".to_owned();
        assert_eq!(
            open(Err(SendError::RateLimited(Duration::from_secs(3)))),
            After::Again {
                not_before: Timestamp(4_000),
                reason: "rate limited for 3000 ms".into()
            }
        );
        assert!(matches!(
            open(Err(SendError::Away(why()))),
            After::Again {
                not_before: Timestamp(1_500),
                ..
            }
        ));
        assert!(matches!(
            open(Err(SendError::Uncertain(why()))),
            After::Uncertain { .. }
        ));
        for for_good in [SendError::Refused(why()), SendError::Closed(why())] {
            assert!(matches!(open(Err(for_good)), After::Dead { .. }));
        }
        // OWN-72
        assert!(matches!(
            open(Err(SendError::Moved("-200".into()))),
            After::Again {
                not_before: Timestamp(1_000),
                ..
            }
        ));
    }

    // A look-up that finds the platform away, or rate limited, says nothing about the first attempt.
    #[test]
    fn uncertain_stays_uncertain_while_the_platform_is_away() {
        for error in [
            SendError::Away("gone".into()),
            SendError::RateLimited(Duration::from_secs(1)),
        ] {
            assert!(matches!(
                after(OutboxState::Uncertain, Lineage::Open, Err(error)),
                After::Uncertain { .. }
            ));
        }
    }

    // OWN-64: its session was reset while it was on its way, and it did not arrive.
    #[test]
    fn what_did_not_arrive_of_a_closed_lineage_is_not_sent_again() {
        for error in [
            SendError::Away("gone".into()),
            SendError::Uncertain("broken".into()),
        ] {
            assert!(matches!(
                after(OutboxState::Queued, Lineage::Closed, Err(error)),
                After::Cancelled { .. }
            ));
        }
    }

    #[test]
    fn backoff_doubles_to_its_end() {
        let wait = |attempt| {
            backoff(attempt, Duration::from_millis(250), Duration::from_secs(60)).as_millis()
        };
        assert_eq!(
            [wait(1), wait(2), wait(3), wait(9), wait(60)],
            [250, 500, 1_000, 60_000, 60_000]
        );
    }
}
