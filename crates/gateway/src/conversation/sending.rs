//! The outbox: the only door out of a conversation.
//!
//! **Invariant:** items leave in the order they were committed, one at a time, each marked `sending` before it is sent (OWN-66).
//! **Absent on purpose:** nothing here knows what a session is. Staleness is judged before an item is enqueued, and a boundary cancels what
//! has not left in the same transaction that closes the lineage (OWN-64).

use std::time::Duration;

use homing_domain::ids::OutboxId;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::platform::{Outgoing, Platform, Receipt, Repeats, SendError};
use homing_ports::store::{Change, Committed, NewOutgoing, OutboxRow, OutboxState, StoreError};

use super::{Conversation, Wake};

/// Items read ahead.
pub(super) const LOOKAHEAD: u32 = 200;

impl Conversation {
    /// Commits a step together with what it says. If nothing waits before it, its first message is marked `sending` in the same transaction.
    pub(super) async fn commit_and_send(
        &mut self,
        mut changes: Vec<Change>,
        said: Vec<NewOutgoing>,
    ) -> Result<(), StoreError> {
        let now = self.inside.now();
        let rows: Vec<OutboxRow> = said.iter().map(|new| queued(new, self.id, now)).collect();
        changes.extend(said.into_iter().map(Change::Enqueue));
        let first = rows
            .first()
            .filter(|_| self.sending.is_none() && self.outbox.is_empty())
            .cloned();
        if let Some(first) = &first {
            changes.push(Change::Sending {
                outbox: first.id,
                attempt: 1,
            });
        }
        if !self.commit_own(changes).await? {
            return Ok(());
        }
        self.outbox.extend(rows);
        match first {
            Some(first) => self.start_send(first, 1),
            None => self.send_next().await?,
        }
        Ok(())
    }

    /// Sends the oldest item, if its time has come and none is under way.
    pub(super) async fn send_next(&mut self) -> Result<(), StoreError> {
        let Some(item) = self.due() else {
            return Ok(());
        };
        let attempt = item.attempt + 1;
        if self
            .commit_own(vec![Change::Sending {
                outbox: item.id,
                attempt,
            }])
            .await?
        {
            self.start_send(item, attempt);
        }
        Ok(())
    }

    fn due(&self) -> Option<OutboxRow> {
        let free = self.sending.is_none();
        self.outbox
            .front()
            .filter(|item| free && item.not_before <= self.inside.now())
            .cloned()
    }

    pub(super) fn next_send_at(&self) -> Option<Timestamp> {
        self.outbox
            .front()
            .filter(|_| self.sending.is_none())
            .map(|item| item.not_before)
    }

    fn start_send(&mut self, item: OutboxRow, attempt: u32) {
        let platform = self.inside.directory.platform(&item.origin.account_name());
        let may_repeat = item.state == OutboxState::Uncertain
            && platform
                .as_ref()
                .is_some_and(|platform| platform.capabilities().repeats == Repeats::Unprotected);
        let was_uncertain = item.state == OutboxState::Uncertain;
        let outgoing = Outgoing {
            id: item.id,
            attempt,
            origin: item.origin,
            window: item.window,
            kind: item.kind,
            text: item.text,
            may_repeat,
        };
        self.sending = Some(item.id);
        // Its state stays what it was before: whether an earlier attempt may have arrived matters when this one is settled.
        if let Some(front) = self.outbox.front_mut() {
            front.attempt = attempt;
        }
        let (inside, conversation) = (self.inside.clone(), self.id);
        inside.counters.add(&inside.counters.sends);
        tokio::spawn(async move {
            let outbox = outgoing.id;
            let outcome = match platform {
                Some(platform) => send(platform, outgoing, was_uncertain).await,
                None => Err(SendError::Away(format!(
                    "no account {} is configured",
                    outgoing.origin.account_name()
                ))),
            };
            inside.mailboxes.wake(
                &inside,
                conversation,
                Wake::SendEnded {
                    outbox,
                    attempt,
                    outcome,
                },
            );
            inside.counters.done(&inside.counters.sends);
        });
    }

    pub(super) async fn settle_send(
        &mut self,
        outbox: OutboxId,
        attempt: u32,
        outcome: &Result<Receipt, SendError>,
    ) -> Result<(), StoreError> {
        let Some(item) = self
            .outbox
            .front()
            .filter(|item| item.id == outbox)
            .cloned()
        else {
            return Ok(());
        };
        let after = After::decide(
            &item,
            attempt,
            outcome,
            self.inside.now(),
            &self.inside.settings,
        );
        let mut changes = vec![after.change(outbox, attempt)];
        let next = match after {
            After::Sent { .. } | After::Dead { .. } => self
                .outbox
                .get(1)
                .filter(|next| next.not_before <= self.inside.now())
                .cloned(),
            After::Again { .. } | After::Uncertain { .. } => None,
        };
        if let Some(next) = &next {
            changes.push(Change::Sending {
                outbox: next.id,
                attempt: next.attempt + 1,
            });
        }
        if let Committed::Unmet { index, what } = self.commit(changes).await? {
            tracing::error!(conversation.id = %self.id, outbox.id = %outbox, index, what, "a send was settled by someone else");
            self.sending = None;
            return self.read_again().await;
        }
        self.sending = None;
        after.log(&item);
        match after {
            After::Sent { .. } | After::Dead { .. } => {
                self.outbox.pop_front();
                self.read_ahead().await?;
            }
            After::Again { not_before, .. } => self.change_front(OutboxState::Queued, not_before),
            After::Uncertain { not_before, .. } => {
                self.change_front(OutboxState::Uncertain, not_before)
            }
        }
        if let Some(next) = next {
            let attempt = next.attempt + 1;
            self.start_send(next, attempt);
        }
        Ok(())
    }

    fn change_front(&mut self, state: OutboxState, not_before: Timestamp) {
        if let Some(front) = self.outbox.front_mut() {
            front.state = state;
            front.not_before = not_before;
        }
    }

    /// When the read-ahead is used up there may be more in the store.
    async fn read_ahead(&mut self) -> Result<(), StoreError> {
        if self.outbox.is_empty() {
            self.outbox = self
                .inside
                .store
                .outbox_waiting(self.id, LOOKAHEAD)
                .await?
                .into();
        }
        Ok(())
    }

    /// What waited for this platform goes out now (OWN-69).
    pub(super) async fn platform_is_ready(
        &mut self,
        account: &AccountName,
    ) -> Result<(), StoreError> {
        let now = self.inside.now();
        if let Some(front) = self
            .outbox
            .front_mut()
            .filter(|front| front.origin.account_name() == *account)
        {
            front.not_before = front.not_before.min(now);
        }
        self.send_next().await
    }
}

/// Sends once. What may have arrived before is looked up first where the platform can.
async fn send(
    platform: std::sync::Arc<dyn Platform>,
    outgoing: Outgoing,
    was_uncertain: bool,
) -> Result<Receipt, SendError> {
    if was_uncertain
        && platform.capabilities().repeats == Repeats::LookUp
        && let Some(receipt) = platform.look_up(&outgoing).await?
    {
        return Ok(receipt);
    }
    let origin = outgoing.origin.clone();
    let receipt = platform.send(outgoing).await?;
    match misplaced(&origin, &receipt) {
        None => Ok(receipt),
        Some(where_it_landed) => {
            if let Err(error) = platform.take_back(&receipt).await {
                tracing::warn!(%error, "a misplaced message could not be taken back");
            }
            Err(SendError::Refused(format!(
                "misplaced: it landed in {where_it_landed}"
            )))
        }
    }
}

/// OWN-71: where it landed must be where it was sent.
fn misplaced(origin: &Origin, receipt: &Receipt) -> Option<String> {
    let landed = receipt.landed.as_ref()?;
    let right = landed.chat == origin.chat && landed.thread == origin.thread;
    (!right).then(|| {
        format!(
            "chat {} thread {}",
            landed.chat,
            landed.thread.as_deref().unwrap_or("(none)")
        )
    })
}

/// What becomes of an item after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum After {
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
    Dead {
        reason: String,
    },
}

impl After {
    fn decide(
        item: &OutboxRow,
        attempt: u32,
        outcome: &Result<Receipt, SendError>,
        now: Timestamp,
        settings: &crate::Settings,
    ) -> After {
        let backoff = || {
            now.plus(backoff(
                attempt,
                settings.retry_first,
                settings.retry_longest,
            ))
        };
        match outcome {
            Ok(receipt) => After::Sent {
                message: receipt.message.clone(),
            },
            Err(SendError::RateLimited(wait)) => After::Again {
                not_before: now.plus(*wait),
                reason: format!("rate limited for {} ms", wait.as_millis()),
            },
            Err(error @ (SendError::Away(_) | SendError::Temporary(_))) => match item.state {
                // It was looked up or repeated and the platform is away again: still nobody knows of the first attempt.
                OutboxState::Uncertain => After::Uncertain {
                    not_before: backoff(),
                    reason: error.to_string(),
                },
                OutboxState::Queued
                | OutboxState::Sending
                | OutboxState::Sent
                | OutboxState::Cancelled
                | OutboxState::Dead => After::Again {
                    not_before: backoff(),
                    reason: error.to_string(),
                },
            },
            Err(SendError::Uncertain(reason)) => After::Uncertain {
                not_before: backoff(),
                reason: reason.clone(),
            },
            Err(SendError::Refused(reason)) => After::Dead {
                reason: reason.clone(),
            },
        }
    }

    fn change(&self, outbox: OutboxId, attempt: u32) -> Change {
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
            After::Dead { reason } => Change::SendDead {
                outbox,
                attempt,
                reason,
            },
        }
    }

    fn log(&self, item: &OutboxRow) {
        match self {
            After::Sent { .. } => tracing::debug!(outbox.id = %item.id, "sent"),
            After::Again { reason, .. } => {
                tracing::info!(outbox.id = %item.id, reason, "not sent yet")
            }
            After::Uncertain { reason, .. } => {
                tracing::warn!(outbox.id = %item.id, reason, "nobody knows whether it arrived")
            }
            After::Dead { reason } => {
                tracing::error!(outbox.id = %item.id, reason, "a dead letter: it will not be sent, its text is kept")
            }
        }
    }
}

/// Doubles with each attempt.
pub(super) fn backoff(attempt: u32, first: Duration, longest: Duration) -> Duration {
    first
        .saturating_mul(1 << attempt.saturating_sub(1).min(20))
        .min(longest)
}

fn queued(
    new: &NewOutgoing,
    conversation: homing_domain::ids::ConversationId,
    now: Timestamp,
) -> OutboxRow {
    OutboxRow {
        id: new.id,
        conversation,
        lineage: new.lineage,
        turn: new.turn,
        kind: new.kind,
        origin: new.origin.clone(),
        window: new.window,
        text: new.text.clone(),
        state: OutboxState::Queued,
        attempt: 0,
        not_before: now,
        reason: None,
        platform_message: None,
        created_at: now,
        settled_at: None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use homing_domain::ids::ConversationId;
    use homing_domain::key::SessionKey;
    use homing_ports::platform::{Landed, OutgoingKind};

    fn item(state: OutboxState) -> OutboxRow {
        let key: SessionKey = "agent:main:telegram:group:-100:42".parse().unwrap();
        let new = NewOutgoing {
            id: OutboxId::from_number(1),
            lineage: None,
            turn: None,
            kind: OutgoingKind::Background,
            origin: Origin::from_key(&key),
            window: None,
            text: "done".into(),
        };
        OutboxRow {
            state,
            ..queued(&new, ConversationId::from_number(1), Timestamp(0))
        }
    }

    fn after(state: OutboxState, outcome: Result<Receipt, SendError>) -> After {
        After::decide(
            &item(state),
            2,
            &outcome,
            Timestamp(1_000),
            &crate::Settings::default(),
        )
    }

    // OWN-66, 69
    #[test]
    fn every_outcome_has_its_own_end() {
        let reason = || "why".to_owned();
        assert_eq!(
            after(
                OutboxState::Queued,
                Err(SendError::RateLimited(Duration::from_secs(3)))
            ),
            After::Again {
                not_before: Timestamp(4_000),
                reason: "rate limited for 3000 ms".into()
            }
        );
        assert!(matches!(
            after(OutboxState::Queued, Err(SendError::Away(reason()))),
            After::Again {
                not_before: Timestamp(1_500),
                ..
            }
        ));
        assert!(matches!(
            after(OutboxState::Queued, Err(SendError::Uncertain(reason()))),
            After::Uncertain { .. }
        ));
        assert!(matches!(
            after(OutboxState::Queued, Err(SendError::Refused(reason()))),
            After::Dead { .. }
        ));
    }

    // A look-up that finds the platform away says nothing about the first attempt.
    #[test]
    fn uncertain_stays_uncertain_while_the_platform_is_away() {
        assert!(matches!(
            after(OutboxState::Uncertain, Err(SendError::Away("gone".into()))),
            After::Uncertain { .. }
        ));
    }

    // OWN-71
    #[test]
    fn a_message_that_landed_elsewhere_is_misplaced() {
        let origin = item(OutboxState::Queued).origin;
        let landed = |thread: Option<&str>| Receipt {
            message: None,
            landed: Some(Landed {
                chat: "-100".into(),
                thread: thread.map(str::to_owned),
            }),
        };
        assert_eq!(misplaced(&origin, &landed(Some("42"))), None);
        assert!(misplaced(&origin, &landed(None)).is_some());
        assert!(misplaced(&origin, &landed(Some("43"))).is_some());
        assert_eq!(
            misplaced(
                &origin,
                &Receipt {
                    message: None,
                    landed: None
                }
            ),
            None
        );
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
