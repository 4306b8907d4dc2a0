//! The tools against a store, a watcher and a clock in the test's hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod consuming;
mod doubles;
mod files;
mod moving;
