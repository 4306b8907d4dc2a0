//! The agent of any OpenAI-compatible model server.

pub mod client;
