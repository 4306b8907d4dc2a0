//! Stores that answer too early, write in two steps what is one, write something else, or do not tell what they know.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::notification::Kind;
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
            | Planted::ClosedWindowOwns
            | Planted::DelegationEndsTwice
            | Planted::InterruptedAsFinished
            | Planted::MatchesDroppedAtExit
            | Planted::ResetOfLiveWork
    )
}

#[derive(Debug)]
pub struct Bad {
    inner: SqliteStore,
    ids: IdSource,
    planted: Planted,
    /// Held by a commit that is late: the order stays.
    order: Arc<Mutex<()>>,
    /// Windows that were closed, as they were.
    closed: Arc<Mutex<Vec<WindowRow>>>,
}

impl Bad {
    pub fn new(inner: SqliteStore, ids: IdSource, planted: Planted) -> Bad {
        Bad {
            inner,
            ids,
            planted,
            order: Arc::default(),
            closed: Arc::default(),
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

    /// What is written instead of a change.
    fn instead(&self, change: Change) -> Vec<Change> {
        match (self.planted, change) {
            (
                Planted::DelegationEndsTwice,
                Change::AddNotification {
                    notification,
                    source: source @ Source::Delegation(_),
                    kind,
                    sequence,
                    content,
                    more,
                },
            ) => {
                let one = |notification, sequence| Change::AddNotification {
                    notification,
                    source,
                    kind,
                    sequence,
                    content: content.clone(),
                    more,
                };
                vec![
                    one(notification, sequence),
                    one(self.ids.next::<NotificationId>(), sequence + 1),
                ]
            }
            (
                Planted::InterruptedAsFinished,
                Change::EndDelegation {
                    delegation, result, ..
                },
            ) => vec![Change::EndDelegation {
                delegation,
                state: DelegationState::Finished,
                result,
            }],
            (
                Planted::MatchesDroppedAtExit,
                Change::AddNotification {
                    notification,
                    source,
                    kind: kind @ Kind::Completed,
                    sequence,
                    ..
                },
            ) => vec![Change::AddNotification {
                notification,
                source,
                kind,
                sequence,
                content: String::new(),
                more: 0,
            }],
            (_, change) => vec![change],
        }
    }

    async fn remember_what_is_closed(&self, commit: &Commit) -> StoreResult<()> {
        for change in &commit.changes {
            if let Change::CloseWindow { window } = change
                && let Some(row) = self.inner.window(*window).await?
            {
                self.closed.lock().await.push(row);
            }
        }
        Ok(())
    }

    async fn commit_badly(&self, mut commit: Commit) -> StoreResult<Committed> {
        if self.planted == Planted::ClosedWindowOwns {
            self.remember_what_is_closed(&commit).await?;
        }
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
            _ => {
                let changes = std::mem::take(&mut commit.changes);
                commit.changes = changes
                    .into_iter()
                    .flat_map(|change| self.instead(change))
                    .collect();
                self.inner.commit(commit).await
            }
        }
    }

    async fn known_open_windows(
        &self,
        conversation: ConversationId,
    ) -> StoreResult<Vec<WindowRow>> {
        let mut open = self.inner.open_windows(conversation).await?;
        let closed = self.closed.lock().await;
        let here = closed.iter().filter(|row| row.conversation == conversation);
        open.extend(here.cloned());
        Ok(open)
    }

    async fn known_live_processes(&self, lineage: LineageId) -> StoreResult<Vec<ProcessRow>> {
        match self.planted {
            Planted::ResetOfLiveWork => Ok(Vec::new()),
            _ => self.inner.live_processes(lineage).await,
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
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl Queries for Bad {
            async fn open_windows(
                &self,
                conversation: ConversationId,
            ) -> StoreResult<Vec<WindowRow>> {
                self.known_open_windows(conversation).await
            }
            async fn live_processes(&self, lineage: LineageId) -> StoreResult<Vec<ProcessRow>> {
                self.known_live_processes(lineage).await
            }
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
    conversations_of(account: &AccountName, chat: &str, thread: Option<&str>) -> Vec<ConversationId>;
    context(session: SessionId, limit: u32) -> Context;
    search_history(conversation: ConversationId, words: &str, limit: u32) -> Vec<MessageRow>;
    usage(lineage: LineageId) -> Usage;
    dead_letters(conversation: ConversationId, limit: u32) -> Vec<OutboxRow>;
    outbox_item(id: OutboxId) -> Option<OutboxRow>;
    open_approvals(conversation: ConversationId) -> Vec<ApprovalRow>;
    approval(id: ApprovalId) -> Option<ApprovalRow>;
    is_approved(lineage: LineageId, conversation: ConversationId, person: Option<&str>, command: &str) -> bool;
    batch(first: DelegationId) -> Vec<DelegationRow>;
    totals() -> Totals;
}
