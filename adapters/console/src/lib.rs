//! The local web console: a place where people talk, and the page that shows where every result went.
//!
//! **Invariant:** the page shows rows of the store. A live event only says "look again", so a lost event costs a moment, never a message;
//! that is why a send here is exactly once (the text is in the store before we are asked to send it).
//! **Absent on purpose:** facts of its own, except logins and which windows are connected; a build step; anything loaded from elsewhere;
//! listening beyond loopback (that needs a password first).

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test ends where it fails")
)]

mod api;
mod assets;
mod console;
mod errors;
mod guard;
mod login;
mod metrics;
mod pages;
mod platform;
mod stream;
mod threads;
mod windows;

pub use console::{Console, ConsoleSettings, Inside};
pub use login::Login;
