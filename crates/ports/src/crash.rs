//! Named places where a test lets the gateway die.
//!
//! **Invariant:** without the feature `crash-points`, [`point`] is nothing. With it, nothing happens either until [`arm`] was called, which only
//! `homing-crash` does. A point that is hit ends the process at once: no destructor runs, nothing is flushed, no thread is asked.
//! **Absent on purpose:** faults that a program survives. Those belong into wrappers of ports.

/// Every point, and what has just happened, or is about to, where it stands.
pub const POINTS: &[&str] = &[
    // What people write.
    "accept-before-commit",
    "accept-after-commit",
    "message-taken",
    "turn-ended-before-commit",
    "turn-ended-after-commit",
    // A process, from its row to its notification.
    "process-row-committed",
    "shim-started",
    "exit-seen",
    "exit-committed",
    "consume-after-commit",
    // A notification.
    "judged-before-commit",
    "claim-committed",
    // The way out.
    "sending-committed",
    "sent-before-settle",
    "settle-committed",
    // What moves a conversation.
    "command-before-commit",
    "command-after-commit",
    "reset-before-commit",
    "reset-after-commit",
    "compress-before-commit",
    "compress-after-commit",
    // Dying once more while taking over.
    "recovery-processes",
    "recovery-sends",
    "recovery-turns",
    "recovery-claims",
    "recovery-committed",
];

/// The exit code of a process that died at a point.
pub const EXIT_CODE: i32 = 86;

/// Here a test may let the process die.
#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub fn point(_name: &'static str) {}

#[cfg(feature = "crash-points")]
pub use armed::{Unknown, arm, point};

#[cfg(feature = "crash-points")]
mod armed {
    #![expect(
        unsafe_code,
        reason = "the one way to end a process without running anything of it"
    )]

    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::{EXIT_CODE, POINTS};

    struct Armed {
        name: String,
        hit: u32,
        seen: AtomicU32,
    }

    static ARMED: OnceLock<Armed> = OnceLock::new();

    #[derive(Debug, thiserror::Error)]
    pub enum Unknown {
        #[error("there is no crash point `{0}`")]
        Name(String),
        #[error("a crash point was armed before")]
        ArmedBefore,
    }

    /// The process ends when `name` is hit for the `hit`th time. Once per process.
    pub fn arm(name: &str, hit: u32) -> Result<(), Unknown> {
        if !POINTS.contains(&name) {
            return Err(Unknown::Name(name.to_owned()));
        }
        let armed = Armed {
            name: name.to_owned(),
            hit,
            seen: AtomicU32::new(0),
        };
        ARMED.set(armed).map_err(|_| Unknown::ArmedBefore)
    }

    /// Here a test may let the process die.
    pub fn point(name: &'static str) {
        let Some(armed) = ARMED.get().filter(|armed| armed.name == name) else {
            return;
        };
        if armed.seen.fetch_add(1, Ordering::AcqRel) + 1 == armed.hit {
            // SAFETY: it takes a number and does not return.
            unsafe { libc::_exit(EXIT_CODE) }
        }
    }
}
