//! The adapter against the simulator, with a fake inside.
#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod doctor;
mod files;
mod incoming;
mod live;
mod people;
mod sending;
mod troubles;
mod webhook;
