//! What a message does that comes while a person's turn runs: it waits, is offered to the turn, or ends it.
//!
//! **Invariant:** an offered message stays queued until the turn has taken it, in one transaction with its place in the history; what is not taken
//! is answered afterwards, once, in order. Background turns are neither steered nor interrupted (OWN-62), and no interruption ends a sub-agent
//! (public bug 30170).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::ids::{InboundId, TurnId};
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{Change, InboundRow, StoreError, TurnEnd};

use super::said::CutShort;
use super::together::Written;
use super::{About, Conversation};
use crate::inside::Inside;
use crate::settings::Busy;

const INTERRUPTED: &str = "I left that for your next message.";

/// What turns may take up, of all conversations.
#[derive(Debug, Default)]
pub(crate) struct Steering(Mutex<HashMap<TurnId, Vec<InboundRow>>>);

impl Steering {
    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, Vec<InboundRow>>> {
        // Whole after every operation.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each is given once.
    pub fn take(&self, turn: TurnId) -> Vec<InboundRow> {
        self.lock().remove(&turn).unwrap_or_default()
    }
}

/// What was offered to the turn that runs. Over with it.
pub(super) struct Offers {
    inside: Arc<Inside>,
    turn: TurnId,
    offered: BTreeSet<InboundId>,
}

impl Drop for Offers {
    fn drop(&mut self) {
        self.inside.steering.take(self.turn);
    }
}

/// What a person said about single messages that wait. In memory: after a restart no turn runs that it could matter to.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// `/queue`: neither offered nor an interruption.
    pub queue: BTreeSet<InboundId>,
    /// `/steer`: offered whatever the setting says.
    pub steer: BTreeSet<InboundId>,
}

impl Wishes {
    /// What does not wait any more is forgotten.
    fn keep(&mut self, waiting: &[Written]) {
        let waits: BTreeSet<InboundId> = waiting.iter().map(|written| written.row.id).collect();
        self.queue.retain(|id| waits.contains(id));
        self.steer.retain(|id| waits.contains(id));
    }
}

impl Conversation {
    /// Messages wait, and something runs. `true` if the turn was ended for them.
    pub(super) async fn while_busy(&mut self, waiting: &[Written]) -> Result<bool, StoreError> {
        let Some(first) = waiting.first() else {
            return Ok(false);
        };
        let turn = match &self.turn {
            Some(running) if matches!(running.about, About::Person { .. }) => running.turn,
            Some(_) => {
                self.remind(first).await?;
                return Ok(false);
            }
            None => return Ok(false),
        };
        self.wishes.keep(waiting);
        let busy = self.inside.settings.busy;
        if self.remind(first).await? {
            // What waited for an answer does not end the turn that has it.
            if busy == Busy::Interrupt {
                let waits = waiting.iter().map(|written| written.row.id);
                self.wishes.queue.extend(waits);
            }
            return Ok(false);
        }
        self.offer(turn, waiting, busy == Busy::Steer);
        match busy {
            Busy::Interrupt => self.interrupt(turn, waiting).await,
            Busy::Queue | Busy::Steer => Ok(false),
        }
    }

    fn offer(&mut self, turn: TurnId, waiting: &[Written], all: bool) {
        let wishes = &self.wishes;
        let offered = waiting.iter().filter(|written| {
            let id = written.row.id;
            // Files and quotes are for a turn of their own.
            let is_plain = written.others.is_empty()
                && written.row.attachments.is_empty()
                && written.row.quoted.is_none();
            is_plain && (wishes.steer.contains(&id) || (all && !wishes.queue.contains(&id)))
        });
        for written in offered {
            if self
                .offers
                .as_ref()
                .is_none_or(|offers| offers.turn != turn)
            {
                self.offers = Some(Offers {
                    inside: self.inside.clone(),
                    turn,
                    offered: BTreeSet::new(),
                });
            }
            let is_new = self
                .offers
                .as_mut()
                .is_some_and(|offers| offers.offered.insert(written.row.id));
            if is_new {
                let mut steering = self.inside.steering.lock();
                steering.entry(turn).or_default().push(written.row.clone());
            }
        }
    }

    /// The turn is over, and what was offered to it.
    pub(super) fn forget_offers(&mut self) {
        let running = self.turn.as_ref().map(|running| running.turn);
        if self.offers.as_ref().map(|offers| offers.turn) != running {
            self.offers = None;
        }
    }

    /// Ends the turn for a message that came after it had begun.
    async fn interrupt(&mut self, turn: TurnId, waiting: &[Written]) -> Result<bool, StoreError> {
        let running = self.inside.store.running_turns(self.id).await?;
        let Some(row) = running.into_iter().find(|row| row.id == turn) else {
            return Ok(false);
        };
        let came_later = waiting.iter().any(|written| {
            written.row.received_at > row.started_at
                && !self.wishes.queue.contains(&written.row.id)
                && !self.wishes.steer.contains(&written.row.id)
        });
        let Some(answer) = self.turn.as_ref().and_then(|running| match &running.about {
            About::Person { answer } => Some(answer.clone()),
            About::Background { .. } => None,
        }) else {
            return Ok(false);
        };
        if !came_later {
            return Ok(false);
        }
        let mut changes = vec![
            Change::EndTurn {
                turn,
                end: TurnEnd::Cancelled,
                error: None,
            },
            Change::FinishInboundOf { turn },
        ];
        match self.said_until_now(CutShort::Interrupted).await? {
            Some(said) => changes.push(said),
            None if row.tools > 0 => {
                changes.push(self.broke_off(&row, "[interrupted by the next message]"));
            }
            None => {}
        }
        let said = self.outgoing(
            Some(row.lineage),
            Some(turn),
            OutgoingKind::Answer,
            &answer,
            INTERRUPTED,
        );
        if !self.commit_and_send(changes, said).await? {
            return Ok(false);
        }
        if let Some(running) = self.turn.take() {
            self.forget_questions();
            self.forget_offers();
            running.call_off();
        }
        Ok(true)
    }
}
