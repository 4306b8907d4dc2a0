//! The domain: what Homing knows, without a clock, a disk, a network or a random number.
//!
//! **Invariant:** every function here is a pure function of its arguments, so all of it can be property-tested and model-checked.
//! **Absent on purpose:** I/O, `async`, time sources, randomness, wire and row types.

pub mod ids;
pub mod time;
pub mod key;
pub mod origin;
pub mod owner;
pub mod session;
pub mod process;
pub mod notification;
pub mod verdict;
pub mod command;
pub mod redact;
pub mod block;
pub mod split;
