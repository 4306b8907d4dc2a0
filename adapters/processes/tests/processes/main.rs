//! Real supervisors, real programs, real files.
//!
//! No test sleeps to get into step: it waits for a wake, or for a line that the program writes, and gives up after a generous while.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, reason = "two of the tests also measure")]

mod bench;

mod cgroups;
mod crashes;
mod endings;
mod kills;
mod outputs;
mod programs;
mod restarts;
mod supervisors;
