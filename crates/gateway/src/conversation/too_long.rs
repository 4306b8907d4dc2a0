//! A history that does not fit the model any more: it is compressed, and the turn begins again.
//!
//! **Invariant:** the message is never lost. It is back in the queue, in one transaction with the turn's end, before anything is compressed; if that
//! comes to nothing, its person is told.

use homing_domain::ids::{InboundId, LineageId, MessageId, SessionId, TurnId};
use homing_ports::store::{Change, InboundRow, NewMessage, Role, StoreError, TurnEnd, TurnRow};

use super::background::CANCELLED;
use super::compression::Asker;
use super::live::Live;
use super::sending::LOOKAHEAD;
use super::{AnswerTo, Conversation, RunningTurn};

/// Times that a turn begins again after a compression.
const TRIES: u32 = 2;
/// Messages among which a turn's own are looked for.
pub(super) const RECENT: u32 = 1_000;

impl Conversation {
    /// `false` if it is to fail like any other turn: it had begun a tool, or compressing has not helped.
    pub(super) async fn begins_again_shorter(
        &mut self,
        running: &RunningTurn,
        answer: &AnswerTo,
    ) -> Result<bool, StoreError> {
        let turns = self.inside.store.running_turns(self.id).await?;
        let untouched = turns
            .iter()
            .any(|row| row.id == running.turn && row.tools == 0);
        let taken = self.taken_by(running.turn).await?;
        let untried = taken.iter().all(|inbound| inbound.attempts < TRIES);
        let Some(first) = taken.first().filter(|_| untouched && untried) else {
            return Ok(false);
        };
        let mut changes = vec![
            Change::RequireGeneration(self.row.generation),
            Change::EndTurn {
                turn: running.turn,
                end: TurnEnd::Interrupted,
                error: Some("the conversation was too long for the model".into()),
            },
        ];
        changes.extend(
            self.undo_of(running.turn, running.session, running.lineage)
                .await?,
        );
        changes.extend(taken.iter().map(|inbound| Change::RequeueInbound {
            inbound: inbound.id,
        }));
        if !self.commit_own(changes).await? {
            return Ok(true);
        }
        tracing::info!(conversation.id = %self.id, turn.id = %running.turn, "too long for the model; compressing");
        if let Some(message) = running.live.as_ref().and_then(Live::shown) {
            self.shown_before.insert(first.id, message);
        }
        let asker = Asker::Turn {
            messages: taken.iter().map(|inbound| inbound.id).collect(),
            to: Box::new(answer.clone()),
        };
        // Begun when the turn is over: the step that ends it looks for what waits.
        self.compress_next.push(asker);
        Ok(true)
    }

    /// Compressing has helped so far, or was not tried.
    pub(super) fn is_told_again_shorter(&self) -> bool {
        self.too_long_in_background < TRIES
    }

    /// What it was to tell is judged again after the compression.
    pub(super) async fn tell_again_shorter(
        &mut self,
        running: &RunningTurn,
    ) -> Result<(), StoreError> {
        let mut changes = vec![Change::EndTurn {
            turn: running.turn,
            end: TurnEnd::Interrupted,
            error: Some("the conversation was too long for the model".into()),
        }];
        changes.extend(super::background::released(running, CANCELLED));
        if self.commit_own(changes).await? {
            self.too_long_in_background += 1;
            self.compress_next.push(Asker::Nobody);
        }
        Ok(())
    }

    /// What a turn has taken of what people wrote.
    async fn taken_by(&self, turn: TurnId) -> Result<Vec<InboundRow>, StoreError> {
        let waiting = self
            .inside
            .store
            .inbound_waiting(self.id, LOOKAHEAD)
            .await?;
        Ok(waiting
            .into_iter()
            .filter(|inbound| inbound.turn == Some(turn))
            .collect())
    }

    /// Takes what a turn put into the history out of what the agent sees: it is going to say the same again.
    pub(super) async fn undo_of(
        &self,
        turn: TurnId,
        session: SessionId,
        lineage: LineageId,
    ) -> Result<Option<Change>, StoreError> {
        let recent = self.inside.store.history(session, RECENT).await?;
        let first = recent.iter().find(|message| message.turn == Some(turn));
        Ok(first.map(|message| Change::Undo {
            lineage,
            from: message.id,
        }))
    }

    /// A line in the history, so that a tool call without an answer can be understood.
    pub(super) fn broke_off(&self, turn: &TurnRow, text: &str) -> Change {
        Change::Append(NewMessage {
            id: self.inside.ids.next::<MessageId>(),
            session: turn.session,
            turn: Some(turn.id),
            role: Role::Tool,
            author: None,
            text: text.to_owned(),
            data: None,
        })
    }

    /// What an interrupted turn had put into the history ends with a line that says so. Nothing if it had put nothing there.
    pub(super) async fn readable_after(
        &self,
        turn: &TurnRow,
    ) -> Result<Option<Change>, StoreError> {
        let recent = self.inside.store.history(turn.session, RECENT).await?;
        let has_begun = recent.iter().any(|message| {
            message.turn == Some(turn.id) && matches!(message.role, Role::Agent | Role::Tool)
        });
        Ok(has_begun.then(|| self.broke_off(turn, "[interrupted by a restart]")))
    }

    /// The summary that a turn waited for has failed: its message cannot be answered, and that is said.
    pub(super) async fn could_not_be_shortened(
        &mut self,
        messages: &[InboundId],
        to: &AnswerTo,
        why: &str,
    ) -> Result<(), StoreError> {
        let text = format!(
            "That did not work: the conversation is too long for the model, and it could not be compressed ({why}). \
             Send your message again later, or begin anew with /new."
        );
        let said = self.outgoing(
            None,
            None,
            homing_ports::platform::OutgoingKind::Answer,
            to,
            &text,
        );
        let first = messages.first();
        let shown = first.and_then(|first| self.shown_before.get(first).cloned());
        let handled = messages.iter();
        let handled = handled.map(|inbound| Change::FinishInbound { inbound: *inbound });
        self.commit_and_send(handled.collect(), super::messages::replacing(shown, said))
            .await?;
        if let Some(first) = first {
            self.shown_before.remove(first);
        }
        Ok(())
    }
}
