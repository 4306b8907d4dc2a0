//! The control socket: how the command line, and the programs that Homing started, reach a running gateway (OWN-22).
//!
//! One JSON object a line, one answer a line. **Invariant:** a request without a valid token does nothing. A program's token acts for that
//! program's owner only; the operator's acts for everyone.

pub mod client;
pub mod server;
pub mod token;

use serde::{Deserialize, Serialize};

/// A request is at most this long, in bytes.
pub const LINE_LIMIT: u64 = 256 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Of the operator, or of a process (`HOMING_TOKEN`).
    pub token: String,
    #[serde(flatten)]
    pub action: Action,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Ends a process and everything it started.
    Kill { process: String },
    /// Starts a background process for the owner of the process that asks.
    Start {
        command: String,
        #[serde(default)]
        notify: bool,
        #[serde(default)]
        watch: Vec<String>,
    },
    /// Processes of the owner's conversation.
    List,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Asked { process: String },
    AlreadyEnded { process: String },
    Started { process: String },
    Processes(Vec<Listed>),
    Error(String),
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub process: String,
    pub state: String,
    pub ending: Option<String>,
    pub command: String,
}
