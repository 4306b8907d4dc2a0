//! Sessions, lineages, and how they end (OWN-10…16).

use crate::ids::{LineageId, SessionId};

/// Why a session ended. The first reason wins; a boundary is never undone (OWN-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Continued by the next session of its lineage.
    Compressed,
    /// `/new` or `/reset`.
    Reset,
    /// `/delete`.
    Deleted,
    /// The idle policy.
    Idle,
    /// The daily policy.
    Daily,
}

impl EndReason {
    pub const fn name(self) -> &'static str {
        match self {
            EndReason::Compressed => "compressed",
            EndReason::Reset => "reset",
            EndReason::Deleted => "deleted",
            EndReason::Idle => "idle",
            EndReason::Daily => "daily",
        }
    }
}

/// What closes a lineage: the end reasons but compression, which continues it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Boundary {
    Reset,
    Deleted,
    Idle,
    Daily,
}

impl Boundary {
    pub const ALL: [Boundary; 4] = [
        Boundary::Reset,
        Boundary::Deleted,
        Boundary::Idle,
        Boundary::Daily,
    ];

    pub const fn end_reason(self) -> EndReason {
        match self {
            Boundary::Reset => EndReason::Reset,
            Boundary::Deleted => EndReason::Deleted,
            Boundary::Idle => EndReason::Idle,
            Boundary::Daily => EndReason::Daily,
        }
    }
    pub const fn name(self) -> &'static str {
        self.end_reason().name()
    }
    pub fn parse(text: &str) -> Option<Boundary> {
        Boundary::ALL
            .into_iter()
            .find(|boundary| boundary.name() == text)
    }
}

/// The session that a conversation points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Current {
    pub session: SessionId,
    pub lineage: LineageId,
}
