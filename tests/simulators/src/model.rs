//! A model server, simulated: OpenAI's chat completions over real HTTP on loopback, with a script instead of a model.
//!
//! **Invariant:** it is as strict as the strictest server that it stands for: a request that any of them refuses is refused here, in OpenAI's shape,
//! and recorded with its reason. A scripted answer is given once, in order, to requests that were taken.
//! **Absent on purpose:** anything that a real server would not know, such as sessions, turns or conversations.
//!
//! A request is checked ([`Recorded::refused`]), then answered by the next scripted [`Answer`], else by the first rule that has one, else by the
//! player, who may take long; without one it is refused because nothing was scripted. It counts a token for every four bytes, and how many leading
//! messages were those of the request before: with the same tools, that is what a server with a prompt cache does not read again.

mod answer;
mod check;
mod ready;
mod render;
mod server;
mod serving;

pub use answer::{Answer, Call, Dialect, Step};
pub use ready::ReadyServer;
pub use server::{ModelServer, Recorded};
