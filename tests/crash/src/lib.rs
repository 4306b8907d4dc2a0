//! The proof by crashing: a real gateway is killed at random moments and at every named point, and afterwards nothing may be lost, told twice,
//! told elsewhere, or run twice.
//!
//! **Invariant:** what is checked against lives in this process, which never dies: what people wrote, what programs will do, what the simulated
//! platform has posted. The gateway under test is a child, so SIGKILL to it is a crash.
//! **Absent on purpose:** hooks in the gateway, beside the named points. What goes wrong on purpose is a wrapper of a port, in [`host`].

pub mod accounts;
pub mod audit;
pub mod check;
pub mod child;
pub mod crash_loop;
pub mod host;
pub mod people;
pub mod planted;
pub mod points;
pub mod programs;
pub mod random;
pub mod report;
pub mod shims;
mod sockets;
pub mod trace;
pub mod world;
