//! The domain: what Homing knows, without a clock, a disk, a network or a random number.
//!
//! **Invariant:** every function here is a pure function of its arguments, so all of it can be property-tested and model-checked.
//! **Absent on purpose:** I/O, `async`, time sources, randomness, wire and row types.

pub mod block;
pub mod command;
pub mod danger;
pub mod ids;
pub mod key;
pub mod notification;
pub mod origin;
pub mod outbox;
pub mod owner;
pub mod process;
pub mod redact;
pub mod session;
pub mod split;
pub mod time;
pub mod verdict;
pub mod watch;
