//! The real store, which can be told not to answer.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::Origin;
use homing_domain::time::Timestamp;
use homing_ports::inbox::{Accepted, Inbound};
use homing_ports::store::*;
use homing_store_sqlite::SqliteStore;

#[derive(Debug)]
pub struct Fallible {
    inner: SqliteStore,
    fails: AtomicBool,
}

impl Fallible {
    pub fn new(inner: SqliteStore, fails: bool) -> Fallible {
        Fallible {
            inner,
            fails: AtomicBool::new(fails),
        }
    }

    pub fn set_failing(&self, fails: bool) {
        self.fails.store(fails, Ordering::Release);
    }

    pub fn fails(&self) -> bool {
        self.fails.load(Ordering::Acquire)
    }

    /// The store as it is, whatever the gateway is shown of it.
    pub fn beneath(&self) -> &SqliteStore {
        &self.inner
    }

    pub async fn close(&self) -> StoreResult<()> {
        self.inner.close().await
    }

    fn check(&self) -> StoreResult<()> {
        if self.fails() {
            Err(StoreError::Unavailable("it fails on purpose".into()))
        } else {
            Ok(())
        }
    }
}

macro_rules! fallible {
    ($port:ident: $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl $port for Fallible {
            $(async fn $name(&self, $($argument: $type),*) -> StoreResult<$answer> {
                self.check()?;
                self.inner.$name($($argument),*).await
            })*
        }
    };
}

fallible! { Store:
    take_over(at: Timestamp) -> u64;
    clean(before: Timestamp, limit: u32) -> u64;
    accept(inbound: Inbound, key: SessionKey, at: Timestamp) -> Accepted;
    open_conversation(key: &SessionKey, origin: &Origin, at: Timestamp) -> ConversationRow;
    commit(commit: Commit) -> Committed;
}

fallible! { Queries:
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
