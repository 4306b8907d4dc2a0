//! The simulated Bot API, asked with nothing but HTTP.
//!
//! Every answer and every update that passes through [`stage`] is checked against the schema of the Bot API, where that is at hand.

mod chats;
mod control;
mod editing;
mod errors;
mod faults;
mod files;
mod flood;
mod polling;
mod privacy;
mod samples;
mod sending;
mod stage;
mod topics;
mod webhooks;
