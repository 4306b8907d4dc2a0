//! The frame of the house: which crate may use which, and what must be true of every file.
//!
//! **Invariant:** the checks are pure functions from facts to a list of complaints; `tests/house.rs` reads the facts from the workspace. A
//! complaint names what is wrong and the way out.
//! **Absent on purpose:** anything of Homing. This crate is built and run in seconds, before the rest.

pub mod arrows;
pub mod files;
pub mod workspace;
