//! What a notification looks like, to the agent and to people.

use crate::notification::Kind;
use crate::process::Ending;
use std::time::Duration;

/// How a delegation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DelegationEnd {
    Finished,
    Failed,
    /// The gateway died or a boundary came while it ran; what it had produced is told (OWN-93).
    Interrupted,
}

/// One notification, ready to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told<'a> {
    pub kind: Kind,
    /// The text of the process's or delegation's id.
    pub id: &'a str,
    /// The command, or a delegation's task.
    pub command: &'a str,
    /// `None` if it runs, or if nobody knows.
    pub ending: Option<Ending>,
    /// Of a delegation.
    pub delegation: Option<DelegationEnd>,
    pub ran_for: Option<Duration>,
    /// Lines that a watch pattern matched.
    pub matched_lines: &'a [String],
    /// Matches that were counted and not kept (OWN-81, 83).
    pub suppressed: u64,
    /// The end of the output, or a delegation's summary or error.
    pub output_tail: &'a [u8],
    /// Bytes that were written in all.
    pub output_total: u64,
}

impl<'a> Told<'a> {
    /// Nothing known yet but what it is about.
    pub fn new(kind: Kind, id: &'a str, command: &'a str) -> Told<'a> {
        Told {
            kind,
            id,
            command,
            ending: None,
            delegation: None,
            ran_for: None,
            matched_lines: &[],
            suppressed: 0,
            output_tail: &[],
            output_total: 0,
        }
    }
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub command_chars: usize,
    /// Of each item.
    pub output_bytes: usize,
    pub max_items: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { command_chars: 200, output_bytes: 2_000, max_items: 10 }
    }
}

/// For the agent. `fence` is a random marker.
pub fn render(_told: &[Told<'_>], _fence: &str, _bounds: Bounds) -> String {
    String::new()
}

/// For people.
pub fn plain(_told: &[Told<'_>], _bounds: Bounds) -> String {
    String::new()
}

/// One output for people: its end, bounded and fenced, with the total stated. (Wanted by the gateway's `/log` and the shell agent.)
pub fn output(tail: &[u8], _total: u64, _limit: usize) -> String {
    format!("```\n{}\n```", String::from_utf8_lossy(tail))
}
