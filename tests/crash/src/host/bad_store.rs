//! Stores that answer too early, or write in two steps what is one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::Origin;
use homing_domain::time::Timestamp;
use homing_ports::IdSource;
use homing_ports::inbox::{Accepted, Inbound};
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
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl Queries for Bad {
            $(async fn $name(&self, $($argument: $type),*) -> StoreResult<$answer> {
                self.inner.$name($($argument),*).await
            })*
        }
    };
}

passed_on! {
    conversation(id: ConversationId) -> Option<ConversationRow>;
    conversation_by_key(key: &SessionKey) -> Option<ConversationRow>;
    conversations(limit: u32) -> Vec<ConversationRow>;
    conversations_with_work() -> Vec<ConversationId>;
    session(id: SessionId) -> Option<SessionRow>;
    sessions(conversation: ConversationId, limit: u32) -> Vec<SessionRow>;
    lineage(id: LineageId) -> Option<LineageRow>;
    history(session: SessionId, limit: u32) -> Vec<MessageRow>;
    conversation_history(conversation: ConversationId, limit: u32) -> Vec<MessageRow>;
    inbound_waiting(conversation: ConversationId, limit: u32) -> Vec<InboundRow>;
    running_turns(conversation: ConversationId) -> Vec<TurnRow>;
    process(id: ProcessId) -> Option<ProcessRow>;
    processes(conversation: ConversationId, limit: u32) -> Vec<ProcessRow>;
    live_processes(lineage: LineageId) -> Vec<ProcessRow>;
    all_live_processes() -> Vec<ProcessRow>;
    recent_processes(limit: u32) -> Vec<ProcessRow>;
    notification(id: NotificationId) -> Option<NotificationRow>;
    open_notifications(conversation: ConversationId) -> Vec<OpenNotification>;
    notifications(conversation: ConversationId, limit: u32) -> Vec<NotificationRow>;
    notifications_of(source: Source) -> Vec<NotificationRow>;
    decisions(notification: NotificationId) -> Vec<DecisionRow>;
    outbox_waiting(conversation: ConversationId, limit: u32) -> Vec<OutboxRow>;
    outbox_of_turn(turn: TurnId) -> Vec<OutboxRow>;
    outbox(conversation: ConversationId, limit: u32) -> Vec<OutboxRow>;
    window(id: WindowId) -> Option<WindowRow>;
    open_windows(conversation: ConversationId) -> Vec<WindowRow>;
    delegations(conversation: ConversationId, limit: u32) -> Vec<DelegationRow>;
    delegation(id: DelegationId) -> Option<DelegationRow>;
    running_delegations(lineage: LineageId) -> Vec<DelegationRow>;
    all_running_delegations() -> Vec<DelegationRow>;
    processes_of_delegation(delegation: DelegationId) -> Vec<ProcessRow>;
    idle_conversations(before: Timestamp, limit: u32) -> Vec<ConversationId>;
    output_to_forget(before: Timestamp, limit: u32) -> Vec<(ProcessId, ConversationId)>;
    find_process(conversation: Option<ConversationId>, ending: &str) -> Vec<ProcessId>;
    find_session(conversation: ConversationId, ending: &str) -> Vec<SessionId>;
    find_notification(ending: &str) -> Vec<NotificationId>;
    totals() -> Totals;
}
