//! The outbox's rows: each send is an attempt with a number, and only that attempt's outcome settles it (OWN-66, 94).

use homing_domain::ids::*;
use homing_domain::time::Timestamp;
use homing_ports::store::NewOutgoing;

use super::{Expect, Plan, json};
use crate::values::{Value, values};

impl Plan {
    pub(super) fn enqueue(&mut self, outgoing: &NewOutgoing) {
        let NewOutgoing {
            id,
            lineage,
            turn,
            kind,
            origin,
            window,
            text,
            extras,
        } = outgoing;
        let mut values = values![*id, self.conversation, *lineage, *turn, kind.name()];
        values.push(json(origin));
        values.extend(values![*window, text]);
        values.push(match extras.is_empty() {
            true => Value::Null,
            false => json(extras),
        });
        values.extend(values![self.at, self.at]);
        self.one(
            "INSERT INTO outbox (id, conversation, lineage, turn, kind, origin, window, text, extras, not_before, created_at) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        );
    }

    /// What is being sent this moment cannot be called back; it is settled by its own attempt.
    pub(super) fn cancel_queued(&mut self, lineage: LineageId, reason: &str) {
        self.step(
            Expect::Any,
            "UPDATE outbox INDEXED BY outbox_waiting SET state = 'cancelled', reason = ?, settled_at = ? \
             WHERE conversation = ? AND settled_at IS NULL AND lineage = ? AND state IN ('queued', 'uncertain')",
            values![reason, self.at, self.conversation, lineage],
        );
    }

    pub(super) fn sending(&mut self, outbox: OutboxId, attempt: u32) {
        self.one(
            "UPDATE outbox SET state = 'sending', attempt = ? \
             WHERE id = ? AND conversation = ? AND state IN ('queued', 'uncertain') AND attempt = ?",
            values![attempt, outbox, self.conversation, i64::from(attempt) - 1],
        );
    }

    /// From uncertain, too: it was looked up and found.
    pub(super) fn sent(
        &mut self,
        outbox: OutboxId,
        attempt: u32,
        platform_message: Option<&String>,
    ) {
        self.one(
            "UPDATE outbox SET state = 'sent', platform_message = ?, settled_at = ? \
             WHERE id = ? AND conversation = ? AND state IN ('sending', 'uncertain') AND attempt = ?",
            values![platform_message, self.at, outbox, self.conversation, attempt],
        );
    }

    pub(super) fn send_again(
        &mut self,
        outbox: OutboxId,
        attempt: u32,
        not_before: Timestamp,
        reason: &str,
    ) {
        self.one(
            "UPDATE outbox SET state = 'queued', not_before = ?, reason = ? \
             WHERE id = ? AND conversation = ? AND state IN ('sending', 'uncertain') AND attempt = ?",
            values![not_before, reason, outbox, self.conversation, attempt],
        );
    }

    pub(super) fn send_uncertain(
        &mut self,
        outbox: OutboxId,
        attempt: u32,
        not_before: Timestamp,
        reason: &str,
    ) {
        self.one(
            "UPDATE outbox SET state = 'uncertain', not_before = ?, reason = ? \
             WHERE id = ? AND conversation = ? AND state IN ('sending', 'uncertain') AND attempt = ?",
            values![not_before, reason, outbox, self.conversation, attempt],
        );
    }

    /// Only what was on its way: what waited was cancelled with its lineage.
    pub(super) fn send_cancelled(&mut self, outbox: OutboxId, attempt: u32, reason: &str) {
        self.one(
            "UPDATE outbox SET state = 'cancelled', reason = ?, settled_at = ? \
             WHERE id = ? AND conversation = ? AND state IN ('sending', 'uncertain') AND attempt = ?",
            values![reason, self.at, outbox, self.conversation, attempt],
        );
    }

    /// OWN-73: a dead letter stays what it is, and names what told it again.
    pub(super) fn told_again(&mut self, outbox: OutboxId, by: OutboxId) {
        self.one(
            "UPDATE outbox SET told_again_by = ? WHERE id = ? AND conversation = ? AND state = 'dead' AND told_again_by IS NULL",
            values![by, outbox, self.conversation],
        );
    }

    /// From queued, too: an account may be taken out of the configuration while something waits for it.
    pub(super) fn send_dead(&mut self, outbox: OutboxId, attempt: u32, reason: &str) {
        self.one(
            "UPDATE outbox SET state = 'dead', reason = ?, settled_at = ? \
             WHERE id = ? AND conversation = ? AND settled_at IS NULL AND attempt = ?",
            values![reason, self.at, outbox, self.conversation, attempt],
        );
    }
}
