//! What leaves, and the numbers of `/status`.

use std::collections::BTreeMap;

use homing_domain::ids::*;
use homing_domain::notification::State;
use homing_ports::store::*;

use super::Readers;
use crate::columns;
use crate::rows;
use crate::values::values;

const WAITING: &str = concat!(
    "SELECT ",
    columns::outbox!(""),
    " FROM outbox INDEXED BY outbox_waiting WHERE conversation = ? AND settled_at IS NULL ORDER BY id LIMIT ? + 0"
);
const OF_TURN: &str = concat!(
    "SELECT ",
    columns::outbox!(""),
    " FROM outbox WHERE turn = ? ORDER BY id"
);
const OUTBOX: &str = concat!(
    "SELECT ",
    columns::outbox!(""),
    " FROM outbox WHERE conversation = ? ORDER BY id DESC LIMIT ? + 0"
);
const ITEM: &str = concat!("SELECT ", columns::outbox!(""), " FROM outbox WHERE id = ?");
const DEAD: &str = concat!(
    "SELECT ",
    columns::outbox!(""),
    " FROM outbox INDEXED BY outbox_dead WHERE conversation = ? AND state = 'dead' AND told_again_by IS NULL ORDER BY id LIMIT ? + 0"
);
/// What is settled comes from the tallies, what is open from the partial indexes: nothing here grows with what is long done,
/// but the number of conversations itself (a millisecond per 100,000).
const TOTALS: &str = "SELECT name, count FROM tallies \
     UNION ALL SELECT 'notifications.' || state, count(*) FROM notifications WHERE settled_at IS NULL GROUP BY state \
     UNION ALL SELECT 'outbox.' || state, count(*) FROM outbox WHERE settled_at IS NULL GROUP BY state \
     UNION ALL SELECT 'conversations', count(*) FROM conversations \
     UNION ALL SELECT 'processes.live', count(*) FROM processes WHERE ended_at IS NULL";

#[cfg(test)]
pub(super) const HOT: &[&str] = &[WAITING, OF_TURN, OUTBOX, ITEM, DEAD];
#[cfg(test)]
pub(super) const GLOBAL: &[&str] = &[TOTALS];

impl Readers {
    pub(crate) async fn outbox_waiting(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<OutboxRow>> {
        self.all(WAITING, values![conversation, limit], rows::outbox)
            .await
    }

    pub(crate) async fn outbox_of_turn(&self, turn: TurnId) -> StoreResult<Vec<OutboxRow>> {
        self.all(OF_TURN, values![turn], rows::outbox).await
    }

    pub(crate) async fn outbox(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<OutboxRow>> {
        self.all(OUTBOX, values![conversation, limit], rows::outbox)
            .await
    }

    pub(crate) async fn outbox_item(&self, id: OutboxId) -> StoreResult<Option<OutboxRow>> {
        self.one(ITEM, values![id], rows::outbox).await
    }

    pub(crate) async fn dead_letters(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<OutboxRow>> {
        self.all(DEAD, values![conversation, limit], rows::outbox)
            .await
    }

    /// Every state is named, with 0 where there is none.
    pub(crate) async fn totals(&self) -> StoreResult<Totals> {
        let counts = self
            .all(TOTALS, Vec::new(), |fields| {
                Ok((fields.take::<String>()?, fields.count()?))
            })
            .await?;
        let counts: BTreeMap<String, u64> = counts.into_iter().collect();
        let count = |name: &str| counts.get(name).copied().unwrap_or(0);
        let named =
            |table: &str, state: &str| (state.to_owned(), count(&format!("{table}.{state}")));
        Ok(Totals {
            conversations: count("conversations"),
            live_processes: count("processes.live"),
            notifications: State::ALL
                .iter()
                .map(|state| named("notifications", state.name()))
                .collect(),
            outbox: OutboxState::ALL
                .iter()
                .map(|state| named("outbox", state.name()))
                .collect(),
        })
    }
}
