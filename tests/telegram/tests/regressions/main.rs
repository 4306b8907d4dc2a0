//! What went wrong elsewhere in Telegram, and must not here: a whole gateway with its store, its processes and the real adapter against the strict
//! simulator. The names carry the numbers of public reports.
//!
//! **Invariant:** a test ends with [`world::World::end`], which fails if the bot has done anything that no correct client does.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod addressed;
mod helper;
mod lobby;
mod moves;
mod places;
mod restarts;
mod topics;
mod troubles;
mod world;
