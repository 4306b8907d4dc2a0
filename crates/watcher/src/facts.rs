//! From rows to the facts that a verdict is decided on.

use std::fmt;

use homing_domain::session::Current;
use homing_domain::time::Timestamp;
use homing_domain::verdict::{Asker, Facts, Missing, Standing};
use homing_ports::store::{OpenNotification, WindowRow};

/// What a conversation's task knows besides the notification itself.
#[derive(Debug, Clone, Copy)]
pub struct Present<'a> {
    pub current: Option<Current>,
    /// A compression is moving the tip (OWN-40).
    pub compressing: bool,
    /// Open windows of the conversation, most recently active first.
    pub windows: &'a [WindowRow],
    /// The owner's profile and account are configured here.
    pub profile_known: bool,
    pub account_known: bool,
    pub now: Timestamp,
}

/// Gathers the facts. Pure.
pub fn facts(open: &OpenNotification, present: &Present<'_>) -> Facts {
    Facts {
        standing: standing(open, present),
        asker: asker(open, present.windows),
        consumed: open.process.as_ref().and_then(|process| process.consumed),
        held_since: open.notification.held_since,
        now: present.now,
    }
}

fn standing(open: &OpenNotification, present: &Present<'_>) -> Standing {
    let (Some(owner), Some(lineage)) = (&open.owner, &open.lineage) else {
        return Standing::Unaddressed(if open.owner.is_none() {
            Missing::Owner
        } else {
            Missing::Session
        });
    };
    if !present.profile_known {
        return Standing::Unaddressed(Missing::Profile);
    }
    if !present.account_known {
        return Standing::Unaddressed(Missing::Account);
    }
    if let Some((boundary, _)) = lineage.closed {
        return Standing::Closed(boundary);
    }
    match present.current {
        Some(current) if current.lineage == owner.lineage && present.compressing => {
            Standing::Compressing
        }
        Some(current) if current.lineage == owner.lineage => Standing::Current {
            tip: current.session,
        },
        Some(_) | None => Standing::Parked,
    }
}

fn asker(open: &OpenNotification, windows: &[WindowRow]) -> Asker {
    let Some(asked) = open.owner.as_ref().and_then(|owner| owner.window) else {
        return Asker::NoWindow;
    };
    if windows.iter().any(|window| window.id == asked) {
        return Asker::Open(asked);
    }
    Asker::Gone {
        other: windows.first().map(|window| window.id),
    }
}

/// The facts as `explain` prints them (OWN-43).
#[derive(Debug)]
pub struct Said<'a>(pub &'a Facts);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.standing {
            Standing::Current { tip } => {
                write!(f, "the owner's lineage is current, its tip is {tip}")?
            }
            Standing::Parked => {
                f.write_str("the owner's lineage is open, but the conversation is at another one")?
            }
            Standing::Closed(boundary) => {
                write!(f, "the owner's lineage was closed: {}", boundary.name())?
            }
            Standing::Compressing => f.write_str("the owner's lineage is being compressed")?,
            Standing::Unaddressed(missing) => {
                write!(f, "nobody can be shown to own it: {}", missing.name())?
            }
            Standing::Unknown => f.write_str("the store could not answer")?,
        }
        match self.0.asker {
            Asker::NoWindow => {}
            Asker::Open(window) => write!(f, "; the window that asked, {window}, is open")?,
            Asker::Gone { other: Some(other) } => {
                write!(f, "; the window that asked is gone, {other} was used last")?
            }
            Asker::Gone { other: None } => {
                f.write_str("; the window that asked is gone and no other is open")?
            }
        }
        if let Some(consumed) = self.0.consumed {
            write!(f, "; the result is known already: {}", consumed.name())?;
        }
        if let Some(since) = self.0.held_since {
            write!(
                f,
                "; held for {}",
                homing_domain::time::Span(self.0.now.since(since))
            )?;
        }
        Ok(())
    }
}
