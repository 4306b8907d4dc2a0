//! What comes in is taken by a turn; a turn begins, uses tools, ends.

use homing_domain::ids::*;
use homing_ports::platform::Attachment;
use homing_ports::store::{Asker, TurnEnd, TurnKind, Usage};

use super::{Expect, Plan, json};
use crate::values::values;

impl Plan {
    pub(super) fn take_inbound(&mut self, inbound: InboundId, turn: TurnId) {
        self.one(
            "UPDATE inbound SET state = 'taken', turn = ? WHERE id = ? AND conversation = ? AND state = 'queued'",
            values![turn, inbound, self.conversation],
        );
    }

    pub(super) fn finish_inbound(&mut self, inbound: InboundId) {
        self.one(
            "UPDATE inbound SET state = 'done', finished_at = ? WHERE id = ? AND conversation = ? AND finished_at IS NULL",
            values![self.at, inbound, self.conversation],
        );
    }

    pub(super) fn finish_inbound_of(&mut self, turn: TurnId) {
        self.step(
            Expect::Any,
            "UPDATE inbound SET state = 'done', finished_at = ? WHERE turn = ? AND conversation = ? AND state = 'taken'",
            values![self.at, turn, self.conversation],
        );
    }

    pub(super) fn previewed(&mut self, turn: TurnId, message: &str) {
        self.one(
            "UPDATE turns SET preview = ? WHERE id = ? AND conversation = ? AND ended_at IS NULL",
            values![message, turn, self.conversation],
        );
    }

    pub(super) fn used(&mut self, turn: TurnId, usage: Usage) {
        self.one(
            "UPDATE turns SET requests = requests + ?, prompt_tokens = prompt_tokens + ?, cached_tokens = cached_tokens + ?, \
             completion_tokens = completion_tokens + ? WHERE id = ? AND conversation = ?",
            values![
                usage.requests,
                usage.prompt_tokens,
                usage.cached_tokens,
                usage.completion_tokens,
                turn,
                self.conversation
            ],
        );
    }

    pub(super) fn requeue_inbound(&mut self, inbound: InboundId) {
        self.one(
            "UPDATE inbound SET state = 'queued', turn = NULL, attempts = attempts + 1 WHERE id = ? AND conversation = ? AND state = 'taken'",
            values![inbound, self.conversation],
        );
    }

    pub(super) fn rewrite_inbound(&mut self, inbound: InboundId, text: &str) {
        self.one(
            "UPDATE inbound SET text = ? WHERE id = ? AND conversation = ? AND state = 'queued'",
            values![text, inbound, self.conversation],
        );
    }

    pub(super) fn repeat_inbound(
        &mut self,
        inbound: InboundId,
        text: &str,
        quoted: Option<&String>,
        attachments: &[Attachment],
    ) {
        let attachments = (!attachments.is_empty()).then(|| json(&attachments));
        self.one(
            "UPDATE inbound SET text = ?, quoted = ?, attachments = ? WHERE id = ? AND conversation = ? AND state = 'queued'",
            values![text, quoted, attachments, inbound, self.conversation],
        );
    }

    /// A turn begins in a session that has not ended.
    pub(super) fn start_turn(
        &mut self,
        turn: TurnId,
        session: SessionId,
        lineage: LineageId,
        kind: TurnKind,
    ) {
        self.one(
            "INSERT INTO turns (id, conversation, session, lineage, kind, started_at) \
             SELECT ?, conversation, id, lineage, ?, ? FROM sessions WHERE id = ? AND lineage = ? AND conversation = ? AND ended_at IS NULL",
            values![turn, kind.name(), self.at, session, lineage, self.conversation],
        );
    }

    pub(super) fn require_turn(&mut self, turn: TurnId) {
        self.step(
            Expect::Found,
            "SELECT 1 FROM turns WHERE id = ? AND conversation = ? AND ended_at IS NULL",
            values![turn, self.conversation],
        );
    }

    pub(super) fn count_tool(&mut self, turn: TurnId) {
        self.one(
            "UPDATE turns SET tools = tools + 1 WHERE id = ? AND conversation = ? AND ended_at IS NULL",
            values![turn, self.conversation],
        );
    }

    pub(super) fn end_turn(&mut self, turn: TurnId, end: TurnEnd, error: Option<&String>) {
        self.one(
            "UPDATE turns SET ended_by = ?, error = ?, ended_at = ? WHERE id = ? AND conversation = ? AND ended_at IS NULL",
            values![end.name(), error, self.at, turn, self.conversation],
        );
        self.expire_approvals(Asker::Turn(turn));
    }
}
