//! The writer's thread: an executor for one future that listens for a moment before it sleeps.
//!
//! **Why not a task of the runtime:** sqlx answers from a thread of its own, one message per statement, a few microseconds apart. A task that sleeps
//! between two of them costs a system call and two context switches for each; together that was more than half of the time a commit took. Here the
//! next message usually comes while this thread still listens.
//! **And so:** no runtime can drop the writer in the middle of a transaction.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// As long as SQLite needs for a statement or two. A commit's fsync takes longer, and is slept through.
const LISTEN: Duration = Duration::from_micros(20);

struct Bell {
    rung: AtomicBool,
    thread: Thread,
}

impl Bell {
    fn take(&self) -> bool {
        self.rung.load(Ordering::Relaxed) && self.rung.swap(false, Ordering::Acquire)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Ordering::Release) {
            // A system call only if the thread sleeps.
            self.thread.unpark();
        }
    }
}

/// Runs a future to its end on this thread.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    let bell = Arc::new(Bell {
        rung: AtomicBool::new(false),
        thread: thread::current(),
    });
    let waker = Waker::from(bell.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        let since = Instant::now();
        while !bell.take() {
            match since.elapsed() < LISTEN {
                // Given away, not burnt: on a busy machine the answer needs this processor.
                true => thread::yield_now(),
                false => thread::park(),
            }
        }
    }
}
