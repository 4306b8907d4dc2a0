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
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::inbox::{Accepted, Edited, Inbound};
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
    ($handle:ident; $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl Queries for $handle {
            $(async fn $name(&self, $($argument: $type),*) -> StoreResult<$answer> {
                self.reads.fetch_add(1, Ordering::Relaxed);
                self.inner.$name($($argument),*).await
            })*
        }
    };
}

homing_ports::every_query! { queries, Journal }
