//! Agents against what they talk to: model servers, tools, a conversation.
//!
//! **Invariant:** the server of a test is real HTTP on loopback and plays a script; nothing waits for a time, only for what was to happen.

pub mod conformance;
mod home;
pub mod scripted;
mod stage;
mod talk;
mod tools;

pub use home::{Chat, Fifo, Home, Outcome, StillClock, Watched};
pub use scripted::{AtHome, Scripted, runs, terminal};
pub use stage::{Message, Running, Stage, joined};
pub use talk::{Talk, user};
pub use tools::{Does, FakeTools};
