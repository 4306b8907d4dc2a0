//! Everything that was written and done, oldest first.

use std::collections::{BTreeMap, BTreeSet};

use homing_domain::ids::WindowId;

use super::Place;
use crate::programs::Program;

#[derive(Debug, Clone)]
pub struct Written {
    /// The conversation: its thread, counted from 1.
    pub thread: u64,
    /// The console window it was written in.
    pub window: Option<WindowId>,
    pub text: String,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Answered under this label.
    Message { label: String },
    /// `/new TITLE`.
    New { title: String },
    /// `/delete SESSION`.
    Delete { session: String },
    /// Any other command.
    Command,
}

#[derive(Debug, Clone, Copy)]
pub struct Launched {
    pub program: Program,
    pub at: Place,
    pub started: Started,
}

/// Who starts a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// The turn that answers the message, in the background.
    Directly,
    /// A sub-agent, which waits for it or leaves it in the background.
    ByDelegation,
}

#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub thread: u64,
    pub closed: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Ledger {
    pub written: Vec<Written>,
    pub programs: BTreeMap<String, Launched>,
    /// Programs that somebody asked to stop.
    pub to_be_killed: BTreeSet<String>,
    /// The same of `/kill`, by their process's id.
    pub processes_to_be_killed: BTreeSet<String>,
    /// How often `/adopt` was written of a process, by its id.
    pub adopted: BTreeMap<String, u64>,
    pub windows: BTreeMap<WindowId, Window>,
    numbers: u64,
}

impl Ledger {
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Windows of a thread that nobody has closed.
    pub fn open_windows(&self, thread: u64) -> Vec<WindowId> {
        let open = self
            .windows
            .iter()
            .filter(|(_, window)| window.thread == thread && !window.closed);
        open.map(|(id, _)| *id).collect()
    }
}
