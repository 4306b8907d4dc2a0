//! How busy the gateway is: numbers for "is it quiet", used by the planned stop and by tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// How often a snapshot is taken anew because something moved.
const LOOKS: usize = 64;

/// A snapshot. Waiting for a person, a platform, a clock or a store that is away is not work; what is to be tried again is in `retrying`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// Wakes in mailboxes that are not handled yet.
    pub mailbox: usize,
    /// Turns and sub-agents that run.
    pub turns: usize,
    /// Sends whose outcome is open.
    pub sends: usize,
    /// Exits and outputs that are being read.
    pub ingesting: usize,
    /// Steps that the store did not answer and that are tried again.
    pub retrying: usize,
}

impl Activity {
    pub const fn idle(self) -> bool {
        self.mailbox + self.turns + self.sends + self.ingesting + self.retrying == 0
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub mailbox: AtomicUsize,
    pub turns: AtomicUsize,
    pub sends: AtomicUsize,
    pub retrying: AtomicUsize,
    /// Turns, counted among those, that wait for a person's answer.
    asking: Arc<AtomicUsize>,
    /// Grows with every change, so that a snapshot can tell that one came in between.
    moves: AtomicUsize,
    pub changed: Notify,
}

/// A turn waits for a person for as long as this is held.
#[derive(Debug)]
pub(crate) struct Asking(Arc<AtomicUsize>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Counters {
    pub fn add(&self, counter: &AtomicUsize) {
        counter.fetch_add(1, Ordering::AcqRel);
        self.moves.fetch_add(1, Ordering::AcqRel);
    }

    pub fn done(&self, counter: &AtomicUsize) {
        counter.fetch_sub(1, Ordering::AcqRel);
        self.moves.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    pub fn asking(&self) -> Asking {
        self.asking.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_waiters();
        Asking(self.asking.clone())
    }

    /// Work moves: an exit becomes a wake, a wake a turn, and a turn's end a wake again. Nothing may be missed in between, so what was read while
    /// something moved is read again; where it never stands still it is busy in any case.
    pub fn snapshot(&self, ingesting: usize) -> Activity {
        let mut before = self.moves.load(Ordering::Acquire);
        for _ in 0..LOOKS {
            let seen = self.read(ingesting);
            let after = self.moves.load(Ordering::Acquire);
            if before == after {
                return seen;
            }
            before = after;
        }
        let mut seen = self.read(ingesting);
        seen.mailbox = seen.mailbox.max(1);
        seen
    }

    fn read(&self, ingesting: usize) -> Activity {
        let read = |counter: &AtomicUsize| counter.load(Ordering::Acquire);
        Activity {
            ingesting,
            mailbox: read(&self.mailbox),
            turns: read(&self.turns).saturating_sub(read(&self.asking)),
            sends: read(&self.sends),
            retrying: read(&self.retrying),
        }
    }
}
