//! Stores that answer too early, or write in two steps what is one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::IdSource;
use homing_ports::inbox::{Accepted, Edited, Inbound};
use homing_ports::store::*;
use homing_store_sqlite::SqliteStore;
use tokio::sync::Mutex;

use crate::planted::Planted;

/// How late a commit is that was answered at once, and how far apart the two halves of one are.
const LATE: Duration = Duration::from_millis(40);

pub fn concerns(planted: Planted) -> bool {
    matches!(
        planted,
        Planted::DoneBeforeCommit
            | Planted::StartBeforeRow
            | Planted::EndInTwoSteps
            | Planted::FreshIdAfterCrash
    )
}

#[derive(Debug)]
pub struct Bad {
    inner: SqliteStore,
    ids: IdSource,
    planted: Planted,
    /// Held by a commit that is late: the order stays.
    order: Arc<Mutex<()>>,
}

impl Bad {
    pub fn new(inner: SqliteStore, ids: IdSource, planted: Planted) -> Bad {
        Bad {
            inner,
            ids,
            planted,
            order: Arc::default(),
        }
    }

    fn is_answered_early(&self, commit: &Commit) -> bool {
        commit.changes.iter().any(|change| match self.planted {
            Planted::DoneBeforeCommit => matches!(change, Change::Sending { .. }),
            Planted::StartBeforeRow => matches!(change, Change::AddProcess(_)),
            _ => false,
        })
    }

    async fn later(&self, commit: Commit) {
        let (inner, turn) = (
            self.inner.clone(),
            Arc::clone(&self.order).lock_owned().await,
        );
        tokio::spawn(async move {
            tokio::time::sleep(LATE).await;
            // "Done" was said already: that is what is wrong here.
            let _unheard = inner.commit(commit).await;
            drop(turn);
        });
    }

    /// First that it ended, then what is to be told.
    async fn in_two_steps(&self, mut commit: Commit) -> StoreResult<Committed> {
        let rest = commit.changes.split_off(1);
        let second = Commit {
            changes: rest,
            ..commit.clone()
        };
        match self.inner.commit(commit).await? {
            Committed::Done if !second.changes.is_empty() => {
                tokio::time::sleep(LATE).await;
                self.inner.commit(second).await
            }
            done => Ok(done),
        }
    }

    /// What may have arrived is put back into the queue under another id.
    async fn under_a_fresh_id(
        &self,
        conversation: ConversationId,
        change: Change,
    ) -> StoreResult<Vec<Change>> {
        let Change::SendUncertain {
            outbox,
            attempt,
            ref reason,
            ..
        } = change
        else {
            return Ok(vec![change]);
        };
        let waiting = self.inner.outbox_waiting(conversation, 1_000).await?;
        let Some(item) = waiting.into_iter().find(|item| item.id == outbox) else {
            return Ok(vec![change]);
        };
        Ok(vec![
            Change::SendCancelled {
                outbox,
                attempt,
                reason: reason.clone(),
            },
            Change::Enqueue(NewOutgoing {
                id: self.ids.next::<OutboxId>(),
                lineage: item.lineage,
                turn: item.turn,
                kind: item.kind,
                origin: item.origin,
                window: item.window,
                text: item.text,
                extras: Default::default(),
            }),
        ])
    }

    async fn commit_badly(&self, mut commit: Commit) -> StoreResult<Committed> {
        if self.is_answered_early(&commit) {
            self.later(commit).await;
            return Ok(Committed::Done);
        }
        let _turn = self.order.lock().await;
        let ends = |change: &Change| matches!(change, Change::ProcessEnded { .. });
        match self.planted {
            Planted::EndInTwoSteps if commit.changes.first().is_some_and(ends) => {
                self.in_two_steps(commit).await
            }
            Planted::FreshIdAfterCrash => {
                let mut changes = Vec::new();
                for change in std::mem::take(&mut commit.changes) {
                    changes.extend(self.under_a_fresh_id(commit.conversation, change).await?);
                }
                self.inner.commit(Commit { changes, ..commit }).await
            }
            _ => self.inner.commit(commit).await,
        }
    }
}

#[async_trait]
impl Store for Bad {
    async fn take_over(&self, at: Timestamp) -> StoreResult<u64> {
        self.inner.take_over(at).await
    }
    async fn clean(&self, before: Timestamp, limit: u32) -> StoreResult<u64> {
        self.inner.clean(before, limit).await
    }
    async fn accept(
        &self,
        inbound: Inbound,
        key: SessionKey,
        at: Timestamp,
    ) -> StoreResult<Accepted> {
        self.inner.accept(inbound, key, at).await
    }
    async fn edit_inbound(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> StoreResult<Edited> {
        self.inner.edit_inbound(account, platform_id, text).await
    }
    async fn move_chat(
        &self,
        account: &AccountName,
        from: &str,
        to: &str,
    ) -> StoreResult<Vec<ConversationId>> {
        self.inner.move_chat(account, from, to).await
    }
    async fn open_conversation(
        &self,
        key: &SessionKey,
        origin: &Origin,
        at: Timestamp,
    ) -> StoreResult<ConversationRow> {
        self.inner.open_conversation(key, origin, at).await
    }
    async fn commit(&self, commit: Commit) -> StoreResult<Committed> {
        self.commit_badly(commit).await
    }
}

macro_rules! passed_on {
    ($handle:ident; $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl Queries for $handle {
            $(async fn $name(&self, $($argument: $type),*) -> StoreResult<$answer> {
                self.inner.$name($($argument),*).await
            })*
        }
    };
}

homing_ports::every_query! { passed_on, Bad }
