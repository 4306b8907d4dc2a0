//! What the watcher remembers of a living process. Nothing here is a fact that cannot be read again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::ids::{ConversationId, ProcessId, WindowId};
use homing_domain::time::Timestamp;
use homing_ports::store::{ProcessKind, ProcessRow, Watched};
use tokio::sync::Notify;

use crate::pattern::{Lines, Patterns};

/// Settings of a process that its end and its output are read with.
#[derive(Debug)]
pub struct Live {
    pub conversation: ConversationId,
    /// The console window that started it.
    pub window: Option<WindowId>,
    notify: AtomicBool,
    foreground: AtomicBool,
    /// Its end is wanted, was not taken by its supervisor, and is tried again.
    insisted_on: AtomicBool,
    pub patterns: Option<Patterns>,
    /// Reading its output: one reader at a time.
    pub watching: tokio::sync::Mutex<Watching>,
    /// Woken once its end is committed, or once it has moved to the background.
    pub changed: Notify,
    /// Bytes read for watching, for tests and status.
    read_to: AtomicU64,
}

#[derive(Debug)]
pub struct Watching {
    pub lines: Lines,
    /// As it is stored.
    pub watched: Watched,
    /// A step of watching was not answered: it may be stored, or not.
    pub unsure: bool,
    /// When a timer looks at what waits.
    pub timer: Option<Timestamp>,
    /// The end is committed, with everything that was not told before it.
    pub over: bool,
}

impl Live {
    pub fn new(row: &ProcessRow, patterns: Option<Patterns>) -> Self {
        let scanned = row.watched.scanned;
        Self {
            conversation: row.owner.conversation,
            window: row.owner.window,
            notify: AtomicBool::new(row.notify),
            foreground: AtomicBool::new(row.kind == ProcessKind::Foreground),
            insisted_on: AtomicBool::new(false),
            patterns,
            watching: tokio::sync::Mutex::new(Watching {
                lines: Lines::at(scanned),
                watched: row.watched.clone(),
                unsure: false,
                timer: None,
                over: false,
            }),
            changed: Notify::new(),
            read_to: AtomicU64::new(scanned),
        }
    }

    pub fn notifies(&self) -> bool {
        self.notify.load(Ordering::Acquire)
    }

    /// A turn waits for it: its end is that turn's business.
    pub fn is_foreground(&self) -> bool {
        self.foreground.load(Ordering::Acquire)
    }

    pub fn move_to_background(&self) {
        self.notify.store(true, Ordering::Release);
        self.foreground.store(false, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// `false` if somebody is at it already.
    pub fn begin_insisting(&self) -> bool {
        !self.insisted_on.swap(true, Ordering::AcqRel)
    }

    pub fn stop_insisting(&self) {
        self.insisted_on.store(false, Ordering::Release);
    }

    pub fn read_to(&self) -> Option<u64> {
        self.patterns
            .as_ref()
            .map(|_| self.read_to.load(Ordering::Acquire))
    }

    pub fn has_read_to(&self, offset: u64) {
        self.read_to.store(offset, Ordering::Release);
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
    /// Somebody wanted to look while someone was at it: a wake comes once, so it must not be lost.
    asked_again: bool,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<ProcessId, Entry>> {
        // The map is whole after every single operation, so a panic elsewhere cannot have left it torn.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn insert(&self, process: ProcessId, live: Live) {
        let live = Arc::new(live);
        self.lock().insert(
            process,
            Entry {
                live,
                ingesting: false,
                asked_again: false,
            },
        );
    }

    /// Its end is not ingested until it is released.
    pub fn insert_claimed(&self, process: ProcessId, live: Live) {
        let live = Arc::new(live);
        self.lock().insert(
            process,
            Entry {
                live,
                ingesting: true,
                asked_again: false,
            },
        );
    }

    pub fn get(&self, process: ProcessId) -> Option<Arc<Live>> {
        self.lock().get(&process).map(|entry| entry.live.clone())
    }

    /// Claims the ingestion of its end. `None` if it is not here or someone is at it.
    pub fn claim(&self, process: ProcessId) -> Option<Arc<Live>> {
        let mut inner = self.lock();
        let entry = inner.get_mut(&process)?;
        if entry.ingesting {
            entry.asked_again = true;
            return None;
        }
        entry.ingesting = true;
        Some(entry.live.clone())
    }

    /// It lives on after all. `true` if somebody wanted to look meanwhile: then look once more.
    #[must_use]
    pub fn release(&self, process: ProcessId) -> bool {
        match self.lock().get_mut(&process) {
            Some(entry) => {
                entry.ingesting = false;
                std::mem::take(&mut entry.asked_again)
            }
            None => false,
        }
    }

    pub fn remove(&self, process: ProcessId) {
        self.lock().remove(&process);
    }

    /// Living processes of a conversation.
    pub fn count(&self, conversation: ConversationId) -> usize {
        let inner = self.lock();
        inner
            .values()
            .filter(|entry| entry.live.conversation == conversation)
            .count()
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }
}
