//! A clock that runs faster than the machine's, so that limits of seconds and hours are reached while the loop runs.
//!
//! **Invariant:** a round's gateways share one clock: it goes on across a crash, and begins where the machine's was when the round began.

use std::time::Duration;

use async_trait::async_trait;
use homing_domain::time::Timestamp;
use homing_ports::{Clock, SystemClock};

/// Moments of it in one of the machine's.
pub const TIMES: i64 = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hurried {
    /// Where both clocks show the same.
    pub from: Timestamp,
}

impl Hurried {
    pub fn from_now() -> Hurried {
        Hurried {
            from: SystemClock.now(),
        }
    }

    pub fn shows(self, machine: Timestamp) -> Timestamp {
        Timestamp(self.from.0 + (machine.0 - self.from.0) * TIMES)
    }

    /// What the machine's clock shows at a moment of this one.
    pub fn machine(self, shown: Timestamp) -> Timestamp {
        Timestamp(self.from.0 + (shown.0 - self.from.0) / TIMES)
    }
}

#[async_trait]
impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        self.shows(SystemClock.now())
    }

    async fn sleep_until(&self, deadline: Timestamp) {
        loop {
            let left = deadline.0 - self.now().0;
            if left <= 0 {
                return;
            }
            // At least the machine's next moment, or this would spin.
            let pause = (left / TIMES).max(1);
            tokio::time::sleep(Duration::from_millis(pause.unsigned_abs())).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_can_be_read_from_each_other() {
        let clock = Hurried {
            from: Timestamp(1_000_000),
        };
        assert_eq!(clock.shows(Timestamp(1_000_000)), Timestamp(1_000_000));
        assert_eq!(clock.shows(Timestamp(1_000_010)), Timestamp(1_000_500));
        assert_eq!(clock.machine(Timestamp(1_000_549)), Timestamp(1_000_010));
    }
}
