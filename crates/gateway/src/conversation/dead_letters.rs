//! Dead letters: kept with their content and reason, told again when that can help (OWN-73).
//!
//! **Invariant:** what belongs to a lineage that a person closed is told again only if a person asks for it, by name.
//! **Absent on purpose:** another place. A letter is told again where it belongs, or where the person of its own conversation asks for it.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use homing_domain::ids::{ConversationId, LineageId, OutboxId};
use homing_domain::session::Boundary;
use homing_ports::store::{Change, NewOutgoing, OutboxRow, StoreError};

use super::Conversation;
use super::sending::{After, MISPLACED};

/// Looked at in one step.
pub(crate) const LETTERS: u32 = 1_000;
/// How the reason of a closed place begins: `SendError::Closed` in words.
const CLOSED: &str = "closed: ";
/// Words in front of the reason: `SendError::Refused`.
const REFUSED: &str = "refused: ";

/// What operators were told of a conversation's dead letters since something arrived there: one word on a place that is gone, not one for each
/// message.
#[derive(Debug, Default)]
pub(crate) struct DeadTold(Mutex<HashMap<ConversationId, String>>);

impl DeadTold {
    /// Whether this is news.
    fn tell(&self, conversation: ConversationId, reason: &str) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = told.insert(conversation, reason.to_owned());
        before.is_none_or(|before| before != reason)
    }

    fn forget(&self, conversation: ConversationId) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.remove(&conversation);
    }
}

impl Conversation {
    /// What died because its place was closed, in its order: the place is open again.
    pub(super) async fn tell_closed_again(&mut self) -> Result<(), StoreError> {
        let letters = self.inside.store.dead_letters(self.id, LETTERS).await?;
        let mut closed: Vec<OutboxRow> = letters
            .into_iter()
            .filter(|letter| {
                letter
                    .reason
                    .as_deref()
                    .is_some_and(|reason| reason.starts_with(CLOSED))
            })
            .collect();
        let unwanted = self.ended_lineages(&closed).await?;
        closed.retain(|letter| {
            letter
                .lineage
                .is_none_or(|lineage| !unwanted.contains(&lineage))
        });
        self.commit_again(closed).await
    }

    /// A person wants this one told again, where it belongs.
    pub(super) async fn tell_again(&mut self, outbox: OutboxId) -> Result<(), StoreError> {
        let letters = self.inside.store.dead_letters(self.id, LETTERS).await?;
        let Some(letter) = letters.into_iter().find(|letter| letter.id == outbox) else {
            tracing::info!(outbox.id = %outbox, "it was told again before");
            return Ok(());
        };
        let ended = self.ended_lineages(std::slice::from_ref(&letter)).await?;
        let wanted = OutboxRow {
            lineage: letter.lineage.filter(|lineage| !ended.contains(lineage)),
            ..letter
        };
        self.commit_again(vec![wanted]).await
    }

    /// Of the lineages of these letters, those that a person ended since.
    async fn ended_lineages(
        &self,
        letters: &[OutboxRow],
    ) -> Result<BTreeSet<LineageId>, StoreError> {
        let named: BTreeSet<LineageId> =
            letters.iter().filter_map(|letter| letter.lineage).collect();
        let mut ended = BTreeSet::new();
        for lineage in named {
            let row = self.inside.store.lineage(lineage).await?;
            let closed = row.and_then(|row| row.closed);
            if let Some((Boundary::Reset | Boundary::Deleted, _)) = closed {
                ended.insert(lineage);
            }
        }
        Ok(ended)
    }

    /// The new items first: the dead letters name them.
    async fn commit_again(&mut self, letters: Vec<OutboxRow>) -> Result<(), StoreError> {
        if letters.is_empty() {
            return Ok(());
        }
        let (mut changes, mut marks) = (Vec::new(), Vec::new());
        for letter in letters {
            let [enqueue, mark] = told_again(letter, self.inside.ids.next());
            changes.push(enqueue);
            marks.push(mark);
        }
        changes.extend(marks);
        if self.commit_own(changes).await? {
            self.read_again().await?;
            self.send_soon().await;
        }
        Ok(())
    }

    /// The operator hears of the first dead letter of a conversation, of another reason, and of every misplaced message (OWN-66, 71).
    pub(super) async fn mind_dead_letters(&self, item: &OutboxRow, after: &After) {
        let reason = match after {
            After::Sent { .. } => return self.inside.dead_told.forget(self.id),
            After::Dead { reason } => reason,
            After::Again { .. } | After::Uncertain { .. } | After::Cancelled { .. } => return,
        };
        let misplaced = reason.trim_start_matches(REFUSED).starts_with(MISPLACED);
        let news = self.inside.dead_told.tell(self.id, reason);
        // A letter to the operator that cannot be delivered is no reason for another one.
        if !(news || misplaced) || self.inside.settings.home.as_ref() == Some(&self.row.key) {
            return;
        }
        let text = format!(
            "A message to {} could not be delivered: {reason}. It is kept: /deadletters lists it there, and /deadletters {} tells it again.",
            self.row.key, item.id
        );
        self.inside.tell_operator(&text).await;
    }
}

/// The same message as a new item, and the mark on the dead one.
pub(crate) fn told_again(letter: OutboxRow, id: OutboxId) -> [Change; 2] {
    let mark = Change::ToldAgain {
        outbox: letter.id,
        by: id,
    };
    let again = Change::Enqueue(NewOutgoing {
        id,
        lineage: letter.lineage,
        turn: letter.turn,
        kind: letter.kind,
        origin: letter.origin,
        window: letter.window,
        text: letter.text,
        extras: letter.extras,
    });
    [again, mark]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_news_until_something_arrives_or_another_comes() {
        let told = DeadTold::default();
        let (here, there) = (
            ConversationId::from_number(1),
            ConversationId::from_number(2),
        );
        assert!(told.tell(here, "gone"));
        assert!(!told.tell(here, "gone"));
        assert!(told.tell(there, "gone"));
        assert!(told.tell(here, "closed"));
        told.forget(here);
        assert!(told.tell(here, "closed"));
    }
}
