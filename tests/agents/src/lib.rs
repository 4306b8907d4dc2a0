//! Agents against what they talk to.
//!
//! **Invariant:** the server of a test is real HTTP on loopback and plays a script; nothing waits for a time, only for what was to happen.

mod talk;

pub use talk::{Talk, user};
