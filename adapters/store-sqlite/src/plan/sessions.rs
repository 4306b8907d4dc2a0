//! Lineages, sessions, the conversation's pointer, and what is in a history (OWN-10…14).

use homing_domain::ids::*;
use homing_domain::session::{Boundary, Current};
use homing_ports::store::NewMessage;

use super::{Expect, Plan};
use crate::values::values;

impl Plan {
    pub(super) fn start_lineage(
        &mut self,
        lineage: LineageId,
        session: SessionId,
        parent: Option<SessionId>,
        title: Option<&String>,
    ) {
        self.one(
            "INSERT INTO lineages (id, conversation, tip) VALUES (?, ?, ?)",
            values![lineage, self.conversation, session],
        );
        self.one(
            "INSERT INTO sessions (id, conversation, lineage, parent, title, started_at) VALUES (?, ?, ?, ?, ?, ?)",
            values![session, self.conversation, lineage, parent, title, self.at],
        );
    }

    /// The title goes along: to people it is the same history.
    pub(super) fn continue_lineage(
        &mut self,
        lineage: LineageId,
        from: SessionId,
        session: SessionId,
        summary: &str,
        kept_from: Option<MessageId>,
    ) {
        self.one(
            "UPDATE lineages SET tip = ? WHERE id = ? AND conversation = ? AND tip = ? AND closed_at IS NULL",
            values![session, lineage, self.conversation, from],
        );
        self.one(
            "UPDATE sessions SET ended_by = 'compressed', ended_at = ? WHERE id = ? AND lineage = ? AND ended_at IS NULL",
            values![self.at, from, lineage],
        );
        // VALUES, not SELECT: an insert of many rows into a table that others refer to makes SQLite look through all of those.
        self.one(
            "INSERT INTO sessions (id, conversation, lineage, continues, title, summary, kept_from, started_at) \
             VALUES (?, ?, ?, ?, (SELECT title FROM sessions WHERE id = ?), ?, ?, ?)",
            values![session, self.conversation, lineage, from, from, summary, kept_from, self.at],
        );
    }

    pub(super) fn close_lineage(&mut self, lineage: LineageId, boundary: Boundary) {
        self.one(
            "UPDATE lineages SET closed_by = ?, closed_at = ? WHERE id = ? AND conversation = ? AND closed_at IS NULL",
            values![boundary.name(), self.at, lineage, self.conversation],
        );
        self.one(
            "UPDATE sessions SET ended_by = ?, ended_at = ? WHERE lineage = ? AND ended_at IS NULL",
            values![boundary.name(), self.at, lineage],
        );
    }

    /// To the tip of an open lineage of this conversation, or to nothing: a boundary is never undone (OWN-13).
    pub(super) fn point(&mut self, current: Option<Current>) {
        match current {
            None => self.one(
                "UPDATE conversations SET session = NULL, lineage = NULL, generation = generation + 1 WHERE id = ?",
                values![self.conversation],
            ),
            Some(Current { session, lineage }) => self.one(
                "UPDATE conversations SET session = ?, lineage = ?, generation = generation + 1 WHERE id = ? \
                 AND EXISTS (SELECT 1 FROM lineages WHERE id = ? AND conversation = ? AND tip = ? AND closed_at IS NULL)",
                values![session, lineage, self.conversation, lineage, self.conversation, session],
            ),
        }
    }

    pub(super) fn title(&mut self, session: SessionId, title: &str) {
        self.one(
            "UPDATE sessions SET title = ? WHERE id = ? AND conversation = ?",
            values![title, session, self.conversation],
        );
    }

    pub(super) fn append(&mut self, message: &NewMessage) {
        let NewMessage {
            id,
            session,
            turn,
            role,
            author,
            text,
            data,
        } = message;
        self.one(
            "INSERT INTO messages (id, conversation, session, turn, role, author, text, data, at) \
             SELECT ?, conversation, id, ?, ?, ?, ?, ?, ? FROM sessions WHERE id = ? AND conversation = ?",
            values![*id, *turn, role.name(), author.clone(), text, data.clone(), self.at, *session, self.conversation],
        );
    }

    /// In every session of the lineage: what a compression kept word for word is in an older one. What a background turn told stays: it is a
    /// fact, and nobody's question.
    pub(super) fn undo(&mut self, lineage: LineageId, from: MessageId) {
        self.step(
            Expect::Some,
            "UPDATE messages SET undone = 1 WHERE session IN (SELECT id FROM sessions WHERE lineage = ? AND conversation = ?) AND id >= ? AND undone = 0 \
             AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = messages.turn AND turns.kind = 'background')",
            values![lineage, self.conversation, from],
        );
    }

    pub(super) fn set_model(&mut self, model: Option<&String>) {
        self.one(
            "UPDATE conversations SET model = ? WHERE id = ?",
            values![model, self.conversation],
        );
    }

    /// Only what is not settled enters: a dropped notification has no place in a history any more.
    pub(super) fn enter_history(
        &mut self,
        lineage: LineageId,
        session: SessionId,
        notification: NotificationId,
    ) {
        self.one(
            "INSERT INTO history_entries (lineage, notification, session, at) \
             SELECT lineage, ?, id, ? FROM sessions WHERE id = ? AND lineage = ? AND conversation = ? ON CONFLICT DO NOTHING",
            values![notification, self.at, session, lineage, self.conversation],
        );
        self.one(
            "UPDATE notifications SET session = ? WHERE id = ? AND conversation = ? AND settled_at IS NULL",
            values![session, notification, self.conversation],
        );
    }

    pub(super) fn open_window(&mut self, window: WindowId) {
        self.one(
            "INSERT INTO windows (id, conversation, opened_at, active_at) VALUES (?, ?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET active_at = max(active_at, excluded.active_at) \
             WHERE conversation = excluded.conversation AND closed_at IS NULL",
            values![window, self.conversation, self.at, self.at],
        );
    }

    pub(super) fn touch_window(&mut self, window: WindowId) {
        self.one(
            "UPDATE windows SET active_at = max(active_at, ?) WHERE id = ? AND conversation = ? AND closed_at IS NULL",
            values![self.at, window, self.conversation],
        );
    }

    pub(super) fn close_window(&mut self, window: WindowId) {
        self.one(
            "UPDATE windows SET closed_at = ? WHERE id = ? AND conversation = ? AND closed_at IS NULL",
            values![self.at, window, self.conversation],
        );
    }
}
