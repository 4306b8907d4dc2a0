//! How often a match is told (OWN-81…83): one limiter a process, one breaker over all, decided in one step.
//!
//! **Invariant:** a match is either told or counted; what is counted is told later, in a digest or in the completion. Both limits agree
//! before either spends anything, so a match that the breaker silences costs its process no window and no place in its life.
//! **Absent on purpose:** patterns and lines. What matched is the caller's.

use std::time::Duration;

use crate::time::Timestamp;

/// At most one notification of a process in this time.
pub const WINDOW: Duration = Duration::from_secs(15);
/// Windows in a row with excess until watching stops.
pub const FULL_WINDOWS: u32 = 3;
/// Watch notifications in a process's life.
pub const LIFETIME: u32 = 8;
/// Over all processes: at most [`BREAKER_LIMIT`] in this time.
pub const BREAKER_WINDOW: Duration = Duration::from_secs(10);
pub const BREAKER_LIMIT: u32 = 15;
/// How long the breaker is silent once it has tripped.
pub const BREAKER_SILENCE: Duration = Duration::from_secs(30);

/// Where a process's watching stands. Stored with every change of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limiter {
    /// When the window began that is open, or was last.
    pub window: Option<Timestamp>,
    /// Matches that were counted and not told yet.
    pub waiting: u32,
    /// Windows in a row that had excess.
    pub full_windows: u32,
    /// Watch notifications so far.
    pub told: u32,
    pub switched_off: bool,
}

/// The breaker over all processes. Remembered only: after a restart it begins afresh.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breaker {
    /// Moments of the last notifications, oldest first; at most [`BREAKER_LIMIT`].
    recent: Vec<Timestamp>,
    silent_until: Option<Timestamp>,
}

/// What is to be done about matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Nothing now; what waits is looked at again then.
    Wait(Timestamp),
    /// Nothing, and nothing will be: what is counted goes into the completion.
    Count,
    /// One notification, for everything that waited.
    Tell { matches: u32 },
    /// One notification that says that watching stops; completion is told instead.
    SwitchOff { matches: u32 },
}

/// Decides about `new` matches (0 when a timer asks). Changes nothing it is given.
pub fn decide(
    limiter: &Limiter,
    breaker: &Breaker,
    new: u32,
    now: Timestamp,
) -> (Limiter, Breaker, Action) {
    let mut after = *limiter;
    after.waiting = after.waiting.saturating_add(new);
    if after.switched_off || after.told >= LIFETIME || after.waiting == 0 {
        return (after, breaker.clone(), Action::Count);
    }
    let open_until = limiter
        .window
        .map(|start| start.plus(WINDOW))
        .filter(|end| now < *end);
    if let Some(end) = open_until {
        return (after, breaker.clone(), Action::Wait(end));
    }
    // The window before is over. What waited since then, before these matches, was its excess.
    after.full_windows = if limiter.waiting > 0 {
        limiter.full_windows + 1
    } else {
        0
    };
    let (breaker, silent_until) = breaker.ask(now);
    if let Some(until) = silent_until {
        // Silenced by others: this is no excess of its own, so its own count of windows stays.
        after.full_windows = limiter.full_windows;
        return (after, breaker, Action::Wait(until));
    }
    let matches = after.waiting;
    after.waiting = 0;
    after.window = Some(now);
    after.told += 1;
    if after.full_windows >= FULL_WINDOWS {
        after.switched_off = true;
        return (after, breaker, Action::SwitchOff { matches });
    }
    (after, breaker, Action::Tell { matches })
}

impl Breaker {
    /// One notification more, or until when there is silence.
    fn ask(&self, now: Timestamp) -> (Breaker, Option<Timestamp>) {
        let mut after = self.clone();
        if let Some(until) = self.silent_until {
            if now < until {
                return (after, Some(until));
            }
            after = Breaker::default();
        }
        after.recent.retain(|at| now.since(*at) < BREAKER_WINDOW);
        if after.recent.len() >= BREAKER_LIMIT as usize {
            let until = now.plus(BREAKER_SILENCE);
            after.silent_until = Some(until);
            return (after, Some(until));
        }
        after.recent.push(now);
        (after, None)
    }
}

#[cfg(test)]
mod tests;
