//! A clock that stands still until a test moves it.
//!
//! **Invariant:** `now` grows with every look, so that two things that happen one after the other never tie; whoever sleeps wakes only by a move.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use homing_domain::time::Timestamp;
use homing_ports::{Clock, SystemClock};
use tokio::sync::watch;

use super::LONG;

#[derive(Debug)]
pub struct StillClock {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    now: Timestamp,
    sleepers: HashMap<u64, Timestamp>,
    next_sleeper: u64,
}

impl Default for StillClock {
    fn default() -> StillClock {
        StillClock {
            state: Mutex::new(State {
                now: SystemClock.now(),
                sleepers: HashMap::new(),
                next_sleeper: 0,
            }),
            changes: watch::Sender::default(),
        }
    }
}

impl StillClock {
    /// Moves it, and wakes those whose time has come.
    pub fn advance(&self, by: Duration) {
        let mut state = self.lock();
        state.now = state.now.plus(by);
        drop(state);
        self.changed();
    }

    /// Returns when somebody sleeps that will wake within these two spans from now.
    pub async fn sleeper(&self, from: Duration, to: Duration) -> anyhow::Result<()> {
        let sleeps = |_: &u64| {
            let state = self.lock();
            let (from, to) = (state.now.plus(from), state.now.plus(to));
            let mut deadlines = state.sleepers.values();
            deadlines.any(|deadline| *deadline >= from && *deadline <= to)
        };
        let mut changes = self.changes.subscribe();
        tokio::time::timeout(LONG, changes.wait_for(sleeps))
            .await
            .context("nobody sleeps for so long")??;
        Ok(())
    }

    fn changed(&self) {
        self.changes.send_modify(|version| *version += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        let mut state = self.lock();
        state.now = state.now.plus(Duration::from_millis(1));
        state.now
    }

    async fn sleep_until(&self, deadline: Timestamp) {
        let mut changes = self.changes.subscribe();
        let _sleeper = Sleeper::of(self, deadline);
        let is_over = |_: &u64| deadline <= self.lock().now;
        // Its sender is in the clock: it cannot be gone.
        drop(changes.wait_for(is_over).await);
    }
}

/// Somebody who sleeps, for as long as they do.
struct Sleeper<'a>(&'a StillClock, u64);

impl<'a> Sleeper<'a> {
    fn of(clock: &'a StillClock, deadline: Timestamp) -> Sleeper<'a> {
        let mut state = clock.lock();
        let number = state.next_sleeper;
        state.next_sleeper += 1;
        state.sleepers.insert(number, deadline);
        drop(state);
        clock.changed();
        Sleeper(clock, number)
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.0.lock().sleepers.remove(&self.1);
    }
}
