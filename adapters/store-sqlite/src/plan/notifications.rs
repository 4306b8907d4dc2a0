//! Notifications: made once, moved one decision at a time (OWN-43, 60).
//!
//! **`held_since`** is set when a notification is first held, kept through every release that settled nothing, and cleared when it settles.
//! So a hold's age (OWN-41) is not renewed by looking.

use homing_domain::ids::NotificationId;
use homing_domain::notification::{Kind, State};
use homing_ports::store::{Decision, Source};

use super::{Expect, Plan};
use crate::values::{Value, values};

impl Plan {
    pub(super) fn add_notification(
        &mut self,
        id: NotificationId,
        source: Source,
        kind: Kind,
        sequence: u32,
        content: &str,
        more: u32,
    ) {
        let (process, delegation) = match source {
            Source::Process(process) => (Some(process), None),
            Source::Delegation(delegation) => (None, Some(delegation)),
        };
        self.one(
            "INSERT INTO notifications (id, conversation, process, delegation, kind, sequence, content, more, created_at) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            values![id, self.conversation, process, delegation, kind.name(), sequence, content, more, self.at],
        );
    }

    /// What was told never moves, and a settled one moves only back to where it is open (OWN-42): the schema's triggers refuse the rest.
    pub(super) fn decide(&mut self, decision: &Decision) {
        let Decision {
            notification,
            from,
            to,
            reason,
            facts,
            turn,
            failed_attempt,
        } = decision;
        let settled_at = to.is_final().then_some(self.at);
        let held_since = (*to == State::Held).then_some(self.at);
        // A turn is named by a claim and by what a claim led to; a notification that waits belongs to none.
        let keeps_turn = to.is_final() || *to == State::Claimed;
        self.one(
            "UPDATE notifications SET state = ?, reason = ?, settled_at = ?, \
             held_since = CASE WHEN ? THEN NULL ELSE coalesce(held_since, ?) END, \
             turn = CASE WHEN ? THEN coalesce(?, turn) END, attempts = attempts + ? WHERE id = ? AND conversation = ? AND state = ?",
            values![
                to.name(),
                reason.clone(),
                settled_at,
                to.is_final(),
                held_since,
                keeps_turn,
                *turn,
                *failed_attempt,
                *notification,
                self.conversation,
                from.name(),
            ],
        );
        // OWN-68: what the turn that was to tell it has read is known to nobody.
        if (*from, *to) == (State::Claimed, State::Pending) {
            self.step(
                Expect::Any,
                "UPDATE processes SET consumed = NULL WHERE id = (SELECT process FROM notifications WHERE id = ?) \
                 AND consumed IN ('waited', 'read_to_end')",
                values![*notification],
            );
        }
        self.one(
            "INSERT INTO decisions (notification, at, from_state, to_state, reason, facts) VALUES (?, ?, ?, ?, ?, ?)",
            vec![
                (*notification).into(),
                self.at.into(),
                from.name().into(),
                to.name().into(),
                Value::from(reason.clone()),
                facts.into(),
            ],
        );
    }
}
