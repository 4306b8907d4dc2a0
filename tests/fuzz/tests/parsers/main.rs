//! Every parser that reads what somebody else wrote. Each check says what an accepted input promises, not only that nothing panics.
//!
//! **Absent on purpose:** the platforms' payloads; they come with their adapters.

#![allow(clippy::unwrap_used, reason = "tests")]

mod danger;
mod lines;
mod markup;
mod models;
mod names;
mod records;
mod scenarios;
mod settings;
mod telling;
mod typed;

/// What text targets read: bytes that are not UTF-8 come as replacement characters.
fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}
