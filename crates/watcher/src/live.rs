//! What the watcher remembers of a living process. Nothing here is a fact that cannot be read again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::ids::{ConversationId, ProcessId};
use homing_ports::store::{ProcessKind, ProcessRow, Watched};
use tokio::sync::Notify;

use crate::pattern::{Lines, Patterns};

/// Settings of a process that its end and its output are read with.
#[derive(Debug)]
pub struct Live {
    pub conversation: ConversationId,
    pub kind: ProcessKind,
    pub notify: bool,
    pub patterns: Option<Patterns>,
    /// Reading its output: one reader at a time.
    pub watching: tokio::sync::Mutex<Watching>,
    /// Woken once its end is committed.
    pub ended: Notify,
    /// Bytes read for watching, for tests and status.
    pub read_to: std::sync::atomic::AtomicU64,
}

#[derive(Debug)]
pub struct Watching {
    pub lines: Lines,
    pub watched: Watched,
}

impl Live {
    pub fn new(row: &ProcessRow, patterns: Option<Patterns>) -> Self {
        Self {
            conversation: row.owner.conversation,
            kind: row.kind,
            notify: row.notify,
            patterns,
            watching: tokio::sync::Mutex::new(Watching {
                lines: Lines::at(row.watched.scanned),
                watched: row.watched,
            }),
            ended: Notify::new(),
            read_to: std::sync::atomic::AtomicU64::new(row.watched.scanned),
        }
    }
}

/// The living processes of this gateway, and which of them is being ingested.
#[derive(Debug, Default)]
pub struct Registry {
    inner: Mutex<HashMap<ProcessId, Entry>>,
}

#[derive(Debug)]
struct Entry {
    live: Arc<Live>,
    ingesting: bool,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<ProcessId, Entry>> {
        // The map is whole after every single operation, so a panic elsewhere cannot have left it torn.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn insert(&self, process: ProcessId, live: Live) -> Arc<Live> {
        let live = Arc::new(live);
        self.lock().insert(
            process,
            Entry {
                live: live.clone(),
                ingesting: false,
            },
        );
        live
    }

    pub fn get(&self, process: ProcessId) -> Option<Arc<Live>> {
        self.lock().get(&process).map(|entry| entry.live.clone())
    }

    /// Claims the ingestion of its end. `None` if it is not here or someone is at it.
    pub fn claim(&self, process: ProcessId) -> Option<Arc<Live>> {
        let mut inner = self.lock();
        let entry = inner.get_mut(&process).filter(|entry| !entry.ingesting)?;
        entry.ingesting = true;
        Some(entry.live.clone())
    }

    /// It lives on after all.
    pub fn release(&self, process: ProcessId) {
        if let Some(entry) = self.lock().get_mut(&process) {
            entry.ingesting = false;
        }
    }

    pub fn remove(&self, process: ProcessId) {
        self.lock().remove(&process);
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }
}
