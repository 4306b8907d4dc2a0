//! Dead letters: kept with their content and reason, told again when that can help (OWN-73).

use homing_domain::ids::OutboxId;
use homing_ports::store::{Change, NewOutgoing, OutboxRow, StoreError};

use super::Conversation;

/// Looked at in one step.
const LETTERS: u32 = 1_000;
/// How the reason of a closed place begins: `SendError::Closed` in words.
const CLOSED: &str = "closed: ";

impl Conversation {
    /// What died because its place was closed, in its order: the place is open again.
    pub(super) async fn tell_closed_again(&mut self) -> Result<(), StoreError> {
        let letters = self.inside.store.dead_letters(self.id, LETTERS).await?;
        let closed: Vec<OutboxRow> = letters
            .into_iter()
            .filter(|letter| {
                letter
                    .reason
                    .as_deref()
                    .is_some_and(|reason| reason.starts_with(CLOSED))
            })
            .collect();
        if closed.is_empty() {
            return Ok(());
        }
        let mut again = Vec::with_capacity(closed.len());
        let mut changes = Vec::with_capacity(closed.len());
        for letter in closed {
            let id = self.inside.ids.next::<OutboxId>();
            changes.push(Change::ToldAgain {
                outbox: letter.id,
                by: id,
            });
            again.push(told_again(letter, id));
        }
        self.commit_again(changes, again).await
    }

    /// The new item first: the dead letter names it.
    async fn commit_again(
        &mut self,
        marks: Vec<Change>,
        again: Vec<NewOutgoing>,
    ) -> Result<(), StoreError> {
        let mut changes: Vec<Change> = again.into_iter().map(Change::Enqueue).collect();
        changes.extend(marks);
        if self.commit_own(changes).await? {
            self.read_again().await?;
            self.send_next().await?;
        }
        Ok(())
    }
}

/// The same message as a new item.
fn told_again(letter: OutboxRow, id: OutboxId) -> NewOutgoing {
    NewOutgoing {
        id,
        lineage: letter.lineage,
        turn: letter.turn,
        kind: letter.kind,
        origin: letter.origin,
        window: letter.window,
        text: letter.text,
        extras: letter.extras,
    }
}
