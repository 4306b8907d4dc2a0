//! What models used: counted with the step that ends a turn, however it ends.
//!
//! **Invariant:** every commit of a conversation goes through here, so no end of a turn can forget it. What is used until then is counted with what the
//! turn records, so a crash loses one request's count at most.

use homing_ports::store::{Change, Committed, StoreError};
use homing_tools::{Counting, Due};

use super::Conversation;

impl Conversation {
    pub(super) async fn commit(&self, mut changes: Vec<Change>) -> Result<Committed, StoreError> {
        let ended = |counting: &&Counting| {
            changes.iter().any(
                |change| matches!(change, Change::EndTurn { turn, .. } if *turn == counting.turn()),
            )
        };
        let due = self.counting.as_ref().filter(ended).map(Counting::due);
        changes.extend(due.as_ref().and_then(Due::change));
        let committed = self.inside.commit(self.id, changes).await?;
        if let Some(due) = due {
            due.settle(&committed);
        }
        Ok(committed)
    }

    /// What came after the end: of a turn that was cancelled, and of a summary.
    pub(super) async fn count_late(&self, counting: &Counting) -> Result<(), StoreError> {
        let due = counting.due();
        let Some(change) = due.change() else {
            return Ok(());
        };
        let committed = self.inside.commit(self.id, vec![change]).await?;
        due.settle(&committed);
        Ok(())
    }
}
