//! The real store, with a note of when it answered what.
//!
//! **Invariant:** nothing is changed, delayed or kept back; a note is made after the store has answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::notification::State;
use homing_domain::origin::Origin;
use homing_domain::time::Timestamp;
use homing_ports::inbox::{Accepted, Inbound};
use homing_ports::store::*;
use homing_store_sqlite::SqliteStore;

/// When a notification's steps were durable.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    /// With the process's end (OWN-24).
    pub recorded: Option<Instant>,
    pub claimed: Option<Instant>,
    /// In the history, and its answer in the outbox.
    pub delivered: Option<Instant>,
}

#[derive(Debug)]
pub struct Journal {
    inner: SqliteStore,
    notes: Mutex<Notes>,
    commits: AtomicU64,
    reads: AtomicU64,
}

#[derive(Debug, Default)]
struct Notes {
    source: HashMap<NotificationId, ProcessId>,
    moments: HashMap<ProcessId, Moments>,
    /// How long the commits took that record the start of a process.
    starts: HashMap<ProcessId, Duration>,
}

impl Journal {
    pub fn new(inner: SqliteStore) -> Arc<Journal> {
        Arc::new(Journal {
            inner,
            notes: Mutex::default(),
            commits: AtomicU64::new(0),
            reads: AtomicU64::new(0),
        })
    }

    pub fn moments(&self, process: ProcessId) -> Moments {
        self.notes()
            .moments
            .get(&process)
            .copied()
            .unwrap_or_default()
    }

    /// The time that committing a process's row and its start took together.
    pub fn start_commits(&self, process: ProcessId) -> Option<Duration> {
        self.notes().starts.get(&process).copied()
    }

    /// Commits and accepted messages so far.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
    /// Questions so far.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, changes: Vec<Noted>, took: Duration) {
        let now = Instant::now();
        let mut notes = self.notes();
        for change in changes {
            match change {
                Noted::Recorded(notification, process) => {
                    notes.source.insert(notification, process);
                    notes.moments.entry(process).or_default().recorded = Some(now);
                }
                Noted::Moved(notification, to) => {
                    let Some(process) = notes.source.get(&notification).copied() else {
                        continue;
                    };
                    let moments = notes.moments.entry(process).or_default();
                    match to {
                        State::Claimed => moments.claimed = Some(now),
                        State::Delivered => moments.delivered = Some(now),
                        State::Pending
                        | State::Held
                        | State::Noticed
                        | State::Consumed
                        | State::Dropped => {}
                    }
                }
                Noted::Start(process) => *notes.starts.entry(process).or_default() += took,
            }
        }
    }
}

/// What of a commit is worth a note.
enum Noted {
    Recorded(NotificationId, ProcessId),
    Moved(NotificationId, State),
    Start(ProcessId),
}

impl Noted {
    fn of(change: &Change) -> Option<Noted> {
        match change {
            Change::AddNotification {
                notification,
                source: Source::Process(process),
                ..
            } => Some(Noted::Recorded(*notification, *process)),
            Change::Decide(decision) => Some(Noted::Moved(decision.notification, decision.to)),
            Change::AddProcess(process) => Some(Noted::Start(process.id)),
            Change::ProcessStarted { process } => Some(Noted::Start(*process)),
            _ => None,
        }
    }
}

#[async_trait]
impl Store for Journal {
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
        self.commits.fetch_add(1, Ordering::Relaxed);
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
        self.commits.fetch_add(1, Ordering::Relaxed);
        let noted: Vec<Noted> = commit.changes.iter().filter_map(Noted::of).collect();
        let begun = Instant::now();
        let committed = self.inner.commit(commit).await?;
        if committed == Committed::Done && !noted.is_empty() {
            self.note(noted, begun.elapsed());
        }
        Ok(committed)
    }
}

macro_rules! queries {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl Queries for Journal {
            $(async fn $name(&self, $($argument: $type),*) -> StoreResult<$answer> {
                self.reads.fetch_add(1, Ordering::Relaxed);
                self.inner.$name($($argument),*).await
            })*
        }
    };
}

queries! {
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
