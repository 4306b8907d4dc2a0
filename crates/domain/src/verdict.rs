//! The verdict: one pure function says what becomes of a notification (OWN-30…42).
//!
//! **Invariant:** exhaustive over its enums, no wildcard arms; a new case is a compile error here before it is a bug elsewhere.
//! **Absent on purpose:** a clock, a store, a fallback. What cannot be known is `Retry`, never a guess (OWN-40).

use crate::ids::{SessionId, WindowId};
use crate::process::Consumption;
use crate::session::Boundary;
use crate::time::Timestamp;
use std::time::Duration;

/// Where the owner's lineage stands, seen from its conversation now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It is the conversation's current lineage; its tip is `tip`.
    Current {
        tip: SessionId,
    },
    /// Open, but the conversation points elsewhere (OWN-14).
    Parked,
    Closed(Boundary),
    /// Its tip is moving; look again.
    Compressing,
    /// Nothing proves who owns the work (OWN-39).
    Unaddressed(Missing),
    /// The store could not answer. Not an absence (OWN-40).
    Unknown,
}

/// What is missing from an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missing {
    Owner,
    Session,
    Profile,
    Account,
}

impl Missing {
    pub const fn name(self) -> &'static str {
        match self {
            Missing::Owner => "no owner",
            Missing::Session => "unknown session",
            Missing::Profile => "unknown profile",
            Missing::Account => "unknown account",
        }
    }
}

/// What is known of the console window that asked for the work (OWN-34…36).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asker {
    /// The work was not started from a window.
    NoWindow,
    Open(WindowId),
    /// It is gone; `other` is the most recently active window that shows the lineage.
    Gone {
        other: Option<WindowId>,
    },
}

/// Everything the verdict is decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Facts {
    pub standing: Standing,
    pub asker: Asker,
    /// A stored mark that the owner's lineage has the result, or that it was stopped on purpose.
    pub consumed: Option<Consumption>,
    /// Since when it has been held, if it has.
    pub held_since: Option<Timestamp>,
    pub now: Timestamp,
}

/// `sessions.after_auto_reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterAutoReset {
    #[default]
    Notice,
    Deliver,
    Drop,
}

/// `windows.when_away`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenAway {
    #[default]
    Hold,
    Run,
}

/// `notifications.unaddressed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unaddressed {
    #[default]
    Drop,
    /// A notice to the operator's home conversation.
    Home,
}

/// The settings the verdict obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Policy {
    pub after_auto_reset: AfterAutoReset,
    pub when_away: WhenAway,
    pub unaddressed: Unaddressed,
    /// How long a hold may last (OWN-41).
    pub hold_for: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            after_auto_reset: AfterAutoReset::default(),
            when_away: WhenAway::default(),
            unaddressed: Unaddressed::default(),
            hold_for: Duration::from_secs(7 * 86_400),
        }
    }
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// A background turn at the tip of the current lineage, its answer addressed to `window` if there is one.
    Deliver {
        window: Option<WindowId>,
    },
    /// Plain text, not put into a session's history.
    Notice(Place),
    Hold(Hold),
    Drop(DropReason),
    Consume(Consumption),
    Retry(Unclear),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The thread that started the work.
    Thread,
    /// The operator's home conversation.
    Home,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hold {
    Parked,
    Away,
}

impl Hold {
    pub const fn name(self) -> &'static str {
        match self {
            Hold::Parked => "parked",
            Hold::Away => "away",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    SessionReset,
    SessionDeleted,
    /// `after_auto_reset = "drop"`.
    AutoReset,
    Unaddressed(Missing),
    Expired,
    /// The lineage was closed while its background turn ran (OWN-64).
    ResetDuringTurn,
}

impl DropReason {
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::SessionReset => "session_reset",
            DropReason::SessionDeleted => "session_deleted",
            DropReason::AutoReset => "auto_reset",
            DropReason::Unaddressed(_) => "unaddressed",
            DropReason::Expired => "expired",
            DropReason::ResetDuringTurn => "reset_during_turn",
        }
    }
}

/// Why there is no verdict yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unclear {
    StoreSilent,
    Compressing,
}

/// Decides. Routing comes first: only what the owner's own lineage wrote can consume (OWN-44), and that is what `consumed` holds.
pub fn judge(facts: &Facts, policy: &Policy) -> Verdict {
    match facts.standing {
        Standing::Unknown => return Verdict::Retry(Unclear::StoreSilent),
        Standing::Current { .. }
        | Standing::Parked
        | Standing::Closed(_)
        | Standing::Compressing
        | Standing::Unaddressed(_) => {}
    }
    if let Some(how) = facts.consumed {
        return Verdict::Consume(how);
    }
    match facts.standing {
        Standing::Unknown => Verdict::Retry(Unclear::StoreSilent),
        Standing::Compressing => Verdict::Retry(Unclear::Compressing),
        Standing::Unaddressed(missing) => match policy.unaddressed {
            Unaddressed::Drop => Verdict::Drop(DropReason::Unaddressed(missing)),
            Unaddressed::Home => Verdict::Notice(Place::Home),
        },
        Standing::Closed(Boundary::Reset) => Verdict::Drop(DropReason::SessionReset),
        Standing::Closed(Boundary::Deleted) => Verdict::Drop(DropReason::SessionDeleted),
        Standing::Closed(Boundary::Idle | Boundary::Daily) => match policy.after_auto_reset {
            AfterAutoReset::Notice => Verdict::Notice(Place::Thread),
            AfterAutoReset::Deliver => Verdict::Deliver {
                window: asking_window(facts.asker),
            },
            AfterAutoReset::Drop => Verdict::Drop(DropReason::AutoReset),
        },
        Standing::Parked => hold(Hold::Parked, facts, policy),
        Standing::Current { .. } => match facts.asker {
            Asker::NoWindow => Verdict::Deliver { window: None },
            Asker::Open(window) => Verdict::Deliver {
                window: Some(window),
            },
            Asker::Gone {
                other: Some(window),
            } => Verdict::Deliver {
                window: Some(window),
            },
            Asker::Gone { other: None } => match policy.when_away {
                WhenAway::Hold => hold(Hold::Away, facts, policy),
                WhenAway::Run => Verdict::Deliver { window: None },
            },
        },
    }
}

fn asking_window(asker: Asker) -> Option<WindowId> {
    match asker {
        Asker::NoWindow => None,
        Asker::Open(window) => Some(window),
        Asker::Gone { other } => other,
    }
}

/// OWN-41: a hold that has lasted too long ends here, and only here.
fn hold(reason: Hold, facts: &Facts, policy: &Policy) -> Verdict {
    match facts.held_since {
        Some(since) if facts.now.since(since) >= policy.hold_for => {
            Verdict::Drop(DropReason::Expired)
        }
        Some(_) | None => Verdict::Hold(reason),
    }
}

#[cfg(test)]
mod tests;
