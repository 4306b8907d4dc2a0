//! What a platform can do beside taking messages, played against a real gateway: a platform, an agent and a clock in the test's hand.
//!
//! **Invariant:** time passes only where a test lets it pass, and every wait is for something that happened. What is asserted not to happen was
//! asked after something that comes later in the same order.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod adopting;
mod attachments;
mod choices;
mod hiccups;
mod letters;
mod live;
mod moving;
mod said;
mod stage;
mod steered;
mod store;
mod together;
mod undone;
mod unseen;
mod used;
mod work;
