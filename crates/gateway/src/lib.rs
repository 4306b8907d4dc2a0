//! The gateway: one task and one mailbox per conversation, turns, commands, and the outbox as the only door.
//!
//! **Invariant:** session pointers, verdicts and sends of a conversation are written by its own task, one step after another (OWN-61), so
//! "check the session, then send" cannot be interleaved with a reset.
//! **Absent on purpose:** platforms, models, SQL. Those are behind ports.

mod activity;
pub mod commands;
mod conversation;
mod delegations;
pub mod explain;
mod gateway;
mod inbox;
mod inside;
mod mailboxes;
mod moves;
mod settings;
mod supervision;
mod telling;
mod upkeep;

pub use activity::Activity;
pub use gateway::{Gateway, Parts, StartError, Stopped};
pub use homing_tools::ControlAccess;
pub use homing_watcher::Limits;
pub use settings::{AskInBackground, AutoReset, Busy, OnReset, Settings};
