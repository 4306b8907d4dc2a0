//! The outbox: the only door out of a conversation.
//!
//! **Invariant:** items leave in the order they were committed, one at a time, each marked `sending` before it is sent (OWN-66).
//! **Absent on purpose:** nothing here knows what a session is. Staleness is judged before an item is enqueued, and a boundary cancels what
//! has not left in the same transaction that closes the lineage (OWN-64).

use homing_domain::ids::{LineageId, OutboxId};
use homing_domain::origin::{AccountName, Origin};
use homing_domain::outbox::{self, How, Lineage};
use homing_domain::time::Timestamp;
use homing_ports::crash;
use homing_ports::platform::{Outgoing, OutgoingKind, Platform, Receipt, Repeats, SendError};
use homing_ports::store::{Change, Committed, NewOutgoing, OutboxRow, OutboxState, StoreError};

mod after;

pub(super) use after::After;
pub(super) use after::backoff;

use super::{Conversation, Wake};

/// How the reason of a message that landed elsewhere begins (OWN-71).
pub(super) const MISPLACED: &str = "misplaced: ";
/// Items read ahead.
pub(super) const LOOKAHEAD: u32 = 200;

impl Conversation {
    /// Commits a step together with what it says. If nothing waits before it, its first message is marked `sending` in the same transaction.
    /// `false` if something was not as remembered: then everything is read again. An error means that nothing was committed, so that the step can be
    /// tried again as a whole.
    pub(super) async fn commit_and_send(
        &mut self,
        mut changes: Vec<Change>,
        said: Vec<NewOutgoing>,
    ) -> Result<bool, StoreError> {
        let now = self.inside.now();
        let rows: Vec<OutboxRow> = said.iter().map(|new| queued(new, self.id, now)).collect();
        changes.extend(said.into_iter().map(Change::Enqueue));
        let waiting = self.outbox.len();
        let next = outbox::next(self.states().chain(rows.iter().map(|row| row.state)));
        // What is not read yet goes before it.
        let next = next.filter(|next| *next >= waiting && !self.more_waits);
        let first = next.and_then(|next| rows.get(next - waiting)).cloned();
        if let Some(first) = &first {
            changes.push(Change::Sending {
                outbox: first.id,
                attempt: 1,
            });
        }
        if !self.commit_own(changes).await? {
            return Ok(false);
        }
        // Behind what is not read yet they would overtake it; they are read in their turn.
        if !self.more_waits {
            self.outbox.extend(rows);
        }
        match first {
            Some(first) => self.start_send(first, 1),
            None => self.send_soon().await,
        }
        Ok(true)
    }

    /// After a step that is committed: what cannot be marked now is sent when its time comes, and the step is not tried again for it.
    pub(super) async fn send_soon(&mut self) {
        if let Err(error) = self.send_next().await {
            tracing::warn!(conversation.id = %self.id, %error, "a message waits for the store; it is sent when that answers");
        }
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
        self.next()
            .filter(|item| item.not_before <= self.inside.now())
            .cloned()
    }

    pub(super) fn next_send_at(&self) -> Option<Timestamp> {
        self.next().map(|item| item.not_before)
    }

    fn next(&self) -> Option<&OutboxRow> {
        outbox::next(self.states()).and_then(|next| self.outbox.get(next))
    }

    /// As the store has them: what is being sent is remembered as it was before.
    fn states(&self) -> impl Iterator<Item = OutboxState> + '_ {
        self.outbox.iter().map(|item| match self.sending {
            Some(sending) if sending == item.id => OutboxState::Sending,
            Some(_) | None => item.state,
        })
    }

    fn start_send(&mut self, item: OutboxRow, attempt: u32) {
        let platform = self.inside.directory.platform(&item.origin.account_name());
        let repeats = platform
            .as_ref()
            .map(|platform| platform.capabilities().repeats);
        let how = outbox::how_to_send(item.state, repeats.unwrap_or(Repeats::Unprotected));
        let outgoing = Outgoing {
            id: item.id,
            attempt,
            origin: item.origin,
            window: item.window,
            kind: item.kind,
            text: item.text,
            extras: item.extras,
            may_repeat: how == How::Marked,
        };
        self.sending = Some(item.id);
        // Its state stays what it was before: whether an earlier attempt may have arrived matters when this one is settled.
        if let Some(front) = self.outbox.front_mut() {
            front.attempt = attempt;
        }
        let (inside, conversation) = (self.inside.clone(), self.id);
        let left_alone = is_left_alone(&outgoing, inside.settings.repeat_answers_up_to);
        inside.counters.add(&inside.counters.sends);
        tokio::spawn(async move {
            crash::point("sending-committed");
            let outbox = outgoing.id;
            let outcome = match platform {
                Some(_) if left_alone => Err(SendError::Refused(
                    "it may have arrived, and an answer of this length is not sent twice".into(),
                )),
                Some(platform) => send(platform, outgoing, how).await,
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
        if let Err(SendError::Moved(to)) = outcome
            && *to != item.origin.chat
        {
            // OWN-72. Before it is settled: if this cannot be stored, the step is tried again as a whole.
            let account = item.origin.account_name();
            self.inside
                .move_chat(&account, &item.origin.chat, to)
                .await?;
        }
        let after = After::decide(
            &item,
            attempt,
            outcome,
            self.stale_send,
            self.inside.now(),
            &self.inside.settings,
        );
        let states = std::iter::once(after.state()).chain(self.states().skip(1));
        // The one that was sent is not sent again in the same step: it waits for its time.
        let next = outbox::next(states)
            .filter(|next| *next > 0)
            .and_then(|next| self.outbox.get(next))
            .filter(|next| next.not_before <= self.inside.now())
            .cloned();
        let mut changes = vec![after.change(outbox, attempt)];
        changes.extend(next.as_ref().map(|next| Change::Sending {
            outbox: next.id,
            attempt: next.attempt + 1,
        }));
        crash::point("sent-before-settle");
        if let Committed::Unmet { index, what } = self.commit(changes).await? {
            tracing::error!(conversation.id = %self.id, outbox.id = %outbox, index, what, "a send was settled by someone else");
            self.sending = None;
            self.stale_send = Lineage::Open;
            return self.read_again().await;
        }
        crash::point("settle-committed");
        self.sending = None;
        self.stale_send = Lineage::Open;
        after.log(&item);
        self.mind_dead_letters(&item, &after).await;
        match after {
            After::Sent { .. } => drop(self.outbox.pop_front()),
            After::Dead { .. } | After::Cancelled { .. } => {
                self.outbox.pop_front();
                self.question_is_unseen(outbox);
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
        if matches!(outcome, Err(SendError::Moved(_))) {
            self.stale = true;
            self.wake_me(Wake::Moved);
        }
        self.read_ahead().await
    }

    /// A boundary has closed this lineage: what of it is on its way is not sent once more if it does not arrive.
    pub(super) fn lineage_is_closed(&mut self, lineage: LineageId) {
        if self.sending.is_some()
            && self
                .outbox
                .front()
                .is_some_and(|item| item.lineage == Some(lineage))
        {
            self.stale_send = Lineage::Closed;
        }
    }

    fn change_front(&mut self, state: OutboxState, not_before: Timestamp) {
        if let Some(front) = self.outbox.front_mut() {
            front.state = state;
            front.not_before = not_before;
        }
    }

    /// When the read-ahead is used up there may be more in the store. What this task has enqueued since is remembered.
    async fn read_ahead(&mut self) -> Result<(), StoreError> {
        match self.outbox.is_empty() && self.more_waits {
            true => self.read_again().await,
            false => Ok(()),
        }
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

/// A long answer to a person that may have arrived, where nobody can tell: at most once. Results are told again, marked.
fn is_left_alone(outgoing: &Outgoing, repeat_answers_up_to: usize) -> bool {
    outgoing.may_repeat
        && outgoing.kind == OutgoingKind::Answer
        && outgoing.text.chars().count() > repeat_answers_up_to
}

/// Sends once. What may have arrived before is looked up first where the platform can.
async fn send(
    platform: std::sync::Arc<dyn Platform>,
    outgoing: Outgoing,
    how: How,
) -> Result<Receipt, SendError> {
    if how == How::LookUpFirst
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
                "{MISPLACED}it landed in {where_it_landed}"
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
        extras: new.extras.clone(),
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
    use homing_domain::key::SessionKey;
    use homing_ports::platform::Landed;

    // OWN-94: the promise for a platform that recognises no repeat.
    #[test]
    fn only_a_long_answer_that_may_have_arrived_is_not_sent_again() {
        let key: SessionKey = "agent:main:telegram:group:-100:42".parse().unwrap();
        let outgoing = |kind, text: &str, may_repeat| Outgoing {
            id: OutboxId::from_number(1),
            attempt: 2,
            origin: Origin::from_key(&key),
            window: None,
            kind,
            text: text.to_owned(),
            extras: Default::default(),
            may_repeat,
        };
        let long = "é".repeat(11);
        assert!(is_left_alone(
            &outgoing(OutgoingKind::Answer, &long, true),
            10
        ));
        assert!(!is_left_alone(
            &outgoing(OutgoingKind::Answer, &long, false),
            10
        ));
        assert!(!is_left_alone(
            &outgoing(OutgoingKind::Answer, &"é".repeat(10), true),
            10
        ));
        assert!(!is_left_alone(
            &outgoing(OutgoingKind::Background, &long, true),
            10
        ));
    }

    // OWN-71
    #[test]
    fn a_message_that_landed_elsewhere_is_misplaced() {
        let key: SessionKey = "agent:main:telegram:group:-100:42".parse().unwrap();
        let origin = Origin::from_key(&key);
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
}
