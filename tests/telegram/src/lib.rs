//! The Telegram adapter against a strict simulator of Telegram: what a test needs to say what it means.
//!
//! **Invariant:** a test ends with [`Stage::end`], which fails if the bot has done anything that no correct client does, or has let its token out.

mod inbox;
mod stage;

pub use inbox::{Call, FakeInbox};
pub use stage::{HandClock, LIMIT, Stage, outgoing};
