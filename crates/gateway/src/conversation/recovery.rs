//! What a conversation finds of its last task: a turn that ran, a notification that was claimed, a send whose outcome is unknown (OWN-94).
//!
//! **Absent on purpose:** processes. The watcher has taken those over before any conversation is woken.

use std::collections::BTreeSet;

use homing_domain::ids::LineageId;
use homing_domain::notification::State;
use homing_domain::outbox;
use homing_domain::session::Boundary;
use homing_ports::crash;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{
    Change, Committed, Decision, InboundRow, StoreError, TurnEnd, TurnKind, TurnRow,
};

use super::background::waits_for_person;
use super::messages::replacing;
use super::sending::LOOKAHEAD;
use super::{AnswerTo, Conversation};

/// A message whose turn was interrupted this often is not tried once more: it may be what ends the gateway (public bug 49201).
const TRIES: u32 = 2;
const NOT_AGAIN: &str = "I was restarted while I worked on your last message, and it had begun to run something, so I did not start it again. \
                         See /ps for what runs; send the message once more if it is still wanted.";
const GAVE_UP: &str = "I was restarted every time I began to work on your last message, so I left it alone. \
                       Send it once more if it is still wanted.";

impl Conversation {
    /// Settles what is left over. Idempotent; after an ordinary let-go there is nothing.
    pub(super) async fn recover(&mut self) -> Result<(), StoreError> {
        self.recover_sends().await?;
        crash::point("recovery-committed");
        let turns = self.inside.store.running_turns(self.id).await?;
        for turn in turns {
            self.recover_turn(turn).await?;
        }
        self.release_stale_claims().await
    }

    /// A send that was under way may have arrived: uncertain, until the platform's promise settles it.
    async fn recover_sends(&mut self) -> Result<(), StoreError> {
        self.read_outbox().await?;
        self.cancel_what_a_boundary_missed().await
    }

    /// The outbox as the store has it. What is marked as being sent, and is not, may have arrived.
    pub(super) async fn read_outbox(&mut self) -> Result<(), StoreError> {
        let now = self.inside.now();
        let mut waiting = self.inside.store.outbox_waiting(self.id, LOOKAHEAD).await?;
        for item in &mut waiting {
            let found = outbox::at_restart(item.state);
            if found == item.state {
                continue;
            }
            if self.sending == Some(item.id) {
                // What it was before this attempt is only remembered; it decides what a failure makes of it.
                item.state = self
                    .outbox
                    .front()
                    .filter(|front| front.id == item.id)
                    .map_or(found, |front| front.state);
                continue;
            }
            let reason = "the gateway ended while it was sent".to_owned();
            let change = Change::SendUncertain {
                outbox: item.id,
                attempt: item.attempt,
                not_before: now,
                reason,
            };
            crash::point("recovery-sends");
            if let Committed::Unmet { what, .. } = self.commit(vec![change]).await? {
                tracing::error!(outbox.id = %item.id, what, "a send that nobody makes was settled by someone");
            }
            item.state = found;
            item.not_before = now;
        }
        self.more_waits = waiting.len() >= LOOKAHEAD as usize;
        self.outbox = waiting.into();
        Ok(())
    }

    /// What was on its way when its lineage was closed, and then nobody knew: it is not sent again (OWN-64).
    async fn cancel_what_a_boundary_missed(&mut self) -> Result<(), StoreError> {
        let would_be_cancelled = self
            .outbox
            .iter()
            .filter(|item| outbox::at_boundary(item.state) != item.state);
        let lineages: BTreeSet<LineageId> =
            would_be_cancelled.filter_map(|item| item.lineage).collect();
        for lineage in lineages {
            let closed = self
                .inside
                .store
                .lineage(lineage)
                .await?
                .and_then(|row| row.closed);
            // An idle or daily end cancels nothing while the gateway runs, and so not here.
            if let Some((boundary @ (Boundary::Reset | Boundary::Deleted), _)) = closed {
                let reason = format!(
                    "session_{}, while nobody knew whether it had arrived",
                    boundary.name()
                );
                self.commit_own(vec![Change::CancelQueued { lineage, reason }])
                    .await?;
                self.read_again().await?;
            }
        }
        Ok(())
    }

    /// A turn that had begun no tool is run again; another one is told as interrupted. Tool calls are never repeated silently.
    async fn recover_turn(&mut self, turn: TurnRow) -> Result<(), StoreError> {
        tracing::warn!(conversation.id = %self.id, turn.id = %turn.id, tools = turn.tools, "a turn was interrupted");
        crash::point("recovery-turns");
        let mut changes = vec![Change::EndTurn {
            turn: turn.id,
            end: TurnEnd::Interrupted,
            error: None,
        }];
        let mut said = Vec::new();
        let mut again = None;
        changes.extend(self.readable_after(&turn).await?);
        match turn.kind {
            // What it was to tell is released below and judged again.
            TurnKind::Background => {}
            TurnKind::Foreground => {
                let waiting = self
                    .inside
                    .store
                    .inbound_waiting(self.id, LOOKAHEAD)
                    .await?;
                // Several where they were one message.
                let taken: Vec<InboundRow> = waiting
                    .into_iter()
                    .filter(|inbound| inbound.turn == Some(turn.id))
                    .collect();
                let untried = taken.iter().all(|inbound| inbound.attempts < TRIES);
                if turn.tools == 0 && untried {
                    let requeued = taken.iter().map(|inbound| inbound.id);
                    changes.extend(requeued.map(|inbound| Change::RequeueInbound { inbound }));
                    again = taken.first().map(|inbound| inbound.id);
                    changes.extend(self.undo_of(turn.id, turn.session, turn.lineage).await?);
                } else if let Some(first) = taken.into_iter().next() {
                    changes.push(Change::FinishInboundOf { turn: turn.id });
                    let text = match turn.tools {
                        0 => GAVE_UP,
                        _ => NOT_AGAIN,
                    };
                    let to = AnswerTo {
                        origin: first.origin,
                        window: first.window,
                    };
                    let notice = self.outgoing(
                        Some(turn.lineage),
                        Some(turn.id),
                        OutgoingKind::Answer,
                        &to,
                        text,
                    );
                    said = replacing(turn.preview.clone(), notice);
                }
            }
        }
        self.commit_and_send(changes, said).await?;
        // The next turn on it goes on where this one was shown.
        if let (Some(inbound), Some(preview)) = (again, turn.preview) {
            self.shown_before.insert(inbound, preview);
        }
        Ok(())
    }

    /// Claimed by a turn that does not run: pending again, and judged again. What a person stopped goes on waiting for them.
    async fn release_stale_claims(&mut self) -> Result<(), StoreError> {
        let open = self.inside.store.open_notifications(self.id).await?;
        self.background_waits_for_person = open.iter().any(waits_for_person);
        let stale = open
            .iter()
            .filter(|open| open.notification.state == State::Claimed);
        let changes: Vec<Change> = stale
            .map(|open| {
                Change::Decide(Decision {
                    notification: open.notification.id,
                    from: State::Claimed,
                    to: State::Pending,
                    reason: Some("turn_interrupted".into()),
                    facts: "the turn that was to tell it was interrupted".into(),
                    turn: None,
                    failed_attempt: false,
                })
            })
            .collect();
        if changes.is_empty() {
            return Ok(());
        }
        crash::point("recovery-claims");
        self.commit_own(changes).await.map(drop)
    }
}
