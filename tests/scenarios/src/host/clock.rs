//! A clock that can be moved ahead: the machine's time and an offset.
//!
//! **Invariant:** `now` grows with every call, so that two things that happen one after the other never tie.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::time::Timestamp;
use homing_ports::{Clock, SystemClock};
use tokio::sync::watch;

#[derive(Debug)]
pub struct ShiftedClock {
    state: Mutex<State>,
    moved: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    ahead: Duration,
    last: Timestamp,
    sleepers: HashMap<u64, Timestamp>,
    next_sleeper: u64,
}

impl State {
    /// What `now` would say, without saying it.
    fn shown(&self) -> Timestamp {
        SystemClock.now().plus(self.ahead).max(self.last)
    }
}

impl ShiftedClock {
    pub fn new(ahead: Duration) -> ShiftedClock {
        ShiftedClock {
            state: Mutex::new(State {
                ahead,
                ..State::default()
            }),
            moved: watch::Sender::new(0),
        }
    }

    pub fn shown(&self) -> Timestamp {
        self.lock().shown()
    }

    /// Moves it to `moment`, which wakes who sleeps until then. Back it does not go.
    pub fn move_to(&self, moment: Timestamp) {
        let mut state = self.lock();
        let missing = moment.since(SystemClock.now().plus(state.ahead));
        state.ahead += missing;
        drop(state);
        self.moved.send_modify(|version| *version += 1);
    }

    pub fn ahead(&self) -> Duration {
        self.lock().ahead
    }

    /// When the first of those who sleep wakes by itself, if that is in the future and not after `limit`.
    pub fn next_waking(&self, limit: Timestamp) -> Option<Timestamp> {
        let state = self.lock();
        let now = state.shown();
        state
            .sleepers
            .values()
            .copied()
            .filter(|deadline| *deadline > now && *deadline <= limit)
            .min()
    }

    /// Sleepers whose time has come and who have not noticed yet.
    pub fn due(&self) -> usize {
        let state = self.lock();
        let now = state.shown();
        state
            .sleepers
            .values()
            .filter(|deadline| **deadline <= now)
            .count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Clock for ShiftedClock {
    fn now(&self) -> Timestamp {
        let mut state = self.lock();
        let now = SystemClock
            .now()
            .plus(state.ahead)
            .max(state.last.plus(Duration::from_millis(1)));
        state.last = now;
        now
    }

    async fn sleep_until(&self, deadline: Timestamp) {
        let mut moved = self.moved.subscribe();
        let _sleeper = Sleeper::new(self, deadline);
        loop {
            let left = deadline.since(self.shown());
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                _ = moved.changed() => {}
            }
        }
    }
}

/// Someone who sleeps, for as long as they do: dropping the future ends it, too.
struct Sleeper<'a> {
    clock: &'a ShiftedClock,
    number: u64,
}

impl<'a> Sleeper<'a> {
    fn new(clock: &'a ShiftedClock, deadline: Timestamp) -> Sleeper<'a> {
        let mut state = clock.lock();
        let number = state.next_sleeper;
        state.next_sleeper += 1;
        state.sleepers.insert(number, deadline);
        Sleeper { clock, number }
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.clock.lock().sleepers.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn two_looks_never_tie() {
        let clock = ShiftedClock::new(Duration::ZERO);
        let mut last = clock.now();
        for _ in 0..2_000 {
            let now = clock.now();
            assert!(now > last);
            last = now;
        }
        // It has run ahead of the machine; moving it still moves it by the whole span.
        clock.move_to(clock.shown().plus(DAY));
        assert!(clock.now() >= last.plus(DAY));
    }

    #[tokio::test]
    async fn moving_it_wakes_those_whose_time_has_come_and_no_others() {
        let clock = ShiftedClock::new(Duration::ZERO);
        let start = clock.now();
        let soon = clock.sleep_until(start.plus(DAY));
        let late = clock.sleep_until(start.plus(DAY * 3));
        tokio::pin!(soon, late);
        tokio::select! {
            biased;
            () = &mut soon => panic!("woken too early"),
            () = &mut late => panic!("woken too early"),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(
            clock.next_waking(start.plus(DAY * 9)),
            Some(start.plus(DAY))
        );
        clock.move_to(start.plus(DAY * 2));
        assert_eq!(clock.due(), 1);
        tokio::select! {
            () = &mut soon => {}
            () = &mut late => panic!("woken too early"),
        }
        assert_eq!(
            (clock.due(), clock.next_waking(start.plus(DAY * 9))),
            (0, Some(start.plus(DAY * 3)))
        );
    }
}
