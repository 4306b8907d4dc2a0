//! The watcher: pins each process to its owner, sees its end and its matches, and makes notifications of them.
//!
//! **Invariant:** a process's owner and settings are committed before anything runs (OWN-20); its end, its last output and its notification
//! are one transaction (OWN-24). A wake carries no facts: everything is read again from the run folder and the store.
//! **Absent on purpose:** telling. Whether and where a notification is told is judged in its conversation's own task; here are only the
//! facts for that ([`facts`]).

mod ending;
pub mod facts;
mod ingest;
mod live;
pub mod pattern;
mod scan;
mod service;

pub use ending::KILL_TRIES;
pub use ingest::EXIT_TAIL;
pub use pattern::{PatternError, Patterns};
pub use service::{BeginError, Limits, NotStopped, Recovered, Wait, Watcher, WatcherParts};
