//! How much may be sent when.
//!
//! **Invariant:** in no span of its length does a budget let through more than it allows. Messages go before what can be left out
//! ([`Use::Extra`]): that leaves a quarter of every budget to them. A chat that Telegram has slowed down gets nothing until its time is over.
//! **Absent on purpose:** a clock. The moment is given.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::settings::{Budgets, Rate};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Message,
    /// A preview, a sign of typing: nothing is lost without it.
    Extra,
}

#[derive(Debug)]
pub(crate) struct Budget {
    rates: Budgets,
    overall: Window,
    chats: HashMap<i64, Chat>,
}

#[derive(Debug, Default)]
struct Chat {
    in_chat: Window,
    in_group: Window,
    slowed_until: Option<Instant>,
    /// So for what can be left out.
    extras_slowed_until: Option<Instant>,
}

/// When something was sent, oldest first; as many as matter.
#[derive(Debug, Default)]
struct Window(VecDeque<Instant>);

/// Chats are forgotten once there are so many and their windows are over.
const REMEMBERED: usize = 512;

impl Budget {
    pub fn new(rates: Budgets) -> Budget {
        Budget {
            rates,
            overall: Window::default(),
            chats: HashMap::new(),
        }
    }

    /// Takes room for one message, or says when to ask again. Groups have negative numbers.
    pub fn take(&mut self, chat: i64, wanted: Use, now: Instant) -> Result<(), Duration> {
        self.forget(now);
        let rates = self.rates;
        let of_chat = self.chats.entry(chat).or_default();
        let mut wait = of_chat.slowed(wanted, now);
        wait = wait.max(self.overall.wait(rates.overall, wanted, now));
        wait = wait.max(of_chat.in_chat.wait(rates.per_chat, wanted, now));
        let is_group = chat < 0;
        if is_group {
            wait = wait.max(of_chat.in_group.wait(rates.per_group, wanted, now));
        }
        if !wait.is_zero() {
            return Err(wait);
        }
        self.overall.0.push_back(now);
        of_chat.in_chat.0.push_back(now);
        if is_group {
            of_chat.in_group.0.push_back(now);
        }
        Ok(())
    }

    /// Room for something that counts in no chat, such as a sign of typing.
    pub fn take_aside(&mut self, chat: i64, now: Instant) -> Result<(), Duration> {
        let slowed = self
            .chats
            .get(&chat)
            .map_or(Duration::ZERO, |chat| chat.slowed(Use::Extra, now));
        let wait = slowed.max(self.overall.wait(self.rates.overall, Use::Extra, now));
        match wait.is_zero() {
            true => {
                self.overall.0.push_back(now);
                Ok(())
            }
            false => Err(wait),
        }
    }

    /// Telegram has said so of a message, or of an extra. An extra that came too soon says nothing about messages.
    pub fn slow_down(&mut self, chat: i64, what: Use, wait: Duration, now: Instant) {
        let until = now + wait.min(LONGEST_SLOWDOWN);
        let of_chat = self.chats.entry(chat).or_default();
        let slowed_until = match what {
            Use::Message => &mut of_chat.slowed_until,
            Use::Extra => &mut of_chat.extras_slowed_until,
        };
        *slowed_until = (*slowed_until).max(Some(until));
    }

    fn forget(&mut self, now: Instant) {
        if self.chats.len() < REMEMBERED {
            return;
        }
        let rates = self.rates;
        self.chats.retain(|_, chat| {
            !chat.slowed(Use::Extra, now).is_zero()
                || chat.in_chat.is_open(rates.per_chat, now)
                || chat.in_group.is_open(rates.per_group, now)
        });
    }
}

/// A day. What is longer is a mistake, and an instant cannot be any number of years away.
const LONGEST_SLOWDOWN: Duration = Duration::from_secs(86_400);

impl Chat {
    fn slowed(&self, wanted: Use, now: Instant) -> Duration {
        let until = match wanted {
            Use::Message => self.slowed_until,
            Use::Extra => self.slowed_until.max(self.extras_slowed_until),
        };
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

impl Window {
    fn wait(&mut self, rate: Rate, wanted: Use, now: Instant) -> Duration {
        while self.0.front().is_some_and(|sent| *sent + rate.per <= now) {
            self.0.pop_front();
        }
        let most = match wanted {
            Use::Message => rate.messages,
            Use::Extra => rate.messages - rate.messages.div_ceil(4),
        };
        // Room comes when so many of those in the window have left it that one more fits.
        let too_many = (self.0.len() + 1).saturating_sub(most);
        match too_many {
            0 => Duration::ZERO,
            _ => self.0.get(too_many - 1).map_or(rate.per, |sent| {
                (*sent + rate.per).saturating_duration_since(now)
            }),
        }
    }

    fn is_open(&self, rate: Rate, now: Instant) -> bool {
        self.0.back().is_some_and(|sent| *sent + rate.per > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rates(chat: usize, group: usize, overall: usize) -> Budgets {
        let rate = |messages, seconds| Rate {
            messages,
            per: Duration::from_secs(seconds),
        };
        Budgets {
            per_chat: rate(chat, 5),
            per_group: rate(group, 60),
            overall: rate(overall, 1),
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_burst_passes_and_then_room_comes_as_old_messages_leave() {
        let mut budget = Budget::new(rates(2, 20, 30));
        let start = Instant::now();
        assert_eq!(budget.take(7, Use::Message, start), Ok(()));
        assert_eq!(budget.take(7, Use::Message, start + SECOND), Ok(()));
        assert_eq!(
            budget.take(7, Use::Message, start + SECOND * 2),
            Err(SECOND * 3)
        );
        assert_eq!(
            budget.take(8, Use::Message, start + SECOND * 2),
            Ok(()),
            "another chat"
        );
        assert_eq!(budget.take(7, Use::Message, start + SECOND * 5), Ok(()));
    }

    #[test]
    fn groups_have_a_budget_more() {
        let mut budget = Budget::new(rates(9, 2, 30));
        let start = Instant::now();
        for _ in 0..2 {
            assert_eq!(budget.take(-7, Use::Message, start), Ok(()));
        }
        assert_eq!(budget.take(-7, Use::Message, start), Err(SECOND * 60));
        for _ in 0..9 {
            assert_eq!(budget.take(7, Use::Message, start), Ok(()));
        }
    }

    #[test]
    fn a_preview_leaves_room_for_the_answer() {
        let mut budget = Budget::new(rates(4, 20, 30));
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(budget.take(7, Use::Extra, start), Ok(()));
        }
        assert_eq!(budget.take(7, Use::Extra, start), Err(SECOND * 5));
        assert_eq!(budget.take(7, Use::Message, start), Ok(()));
    }

    #[test]
    fn a_slowed_chat_gets_nothing_and_others_go_on() {
        let mut budget = Budget::new(rates(4, 20, 30));
        let start = Instant::now();
        budget.slow_down(7, Use::Message, SECOND * 9, start);
        budget.slow_down(7, Use::Message, SECOND * 2, start);
        assert_eq!(budget.take(7, Use::Message, start), Err(SECOND * 9));
        assert_eq!(budget.take_aside(7, start), Err(SECOND * 9));
        assert_eq!(budget.take(8, Use::Message, start), Ok(()));
        assert_eq!(budget.take(7, Use::Message, start + SECOND * 9), Ok(()));
        budget.slow_down(7, Use::Message, Duration::MAX, start);
    }

    #[test]
    fn a_preview_that_came_too_soon_holds_no_answer_up() {
        let mut budget = Budget::new(rates(4, 20, 30));
        let start = Instant::now();
        budget.slow_down(7, Use::Extra, SECOND * 9, start);
        assert_eq!(budget.take(7, Use::Extra, start), Err(SECOND * 9));
        assert_eq!(budget.take_aside(7, start), Err(SECOND * 9));
        assert_eq!(budget.take(7, Use::Message, start), Ok(()));
    }

    proptest! {
        #[test]
        fn no_span_holds_more_than_is_allowed(
            asks in prop::collection::vec((-2..2i64, any::<bool>(), 0..900u64), 1..200)
        ) {
            let mut budget = Budget::new(rates(3, 5, 4));
            let mut now = Instant::now();
            let mut sent: Vec<(i64, Instant)> = Vec::new();
            for (chat, extra, later) in asks {
                now += Duration::from_millis(later);
                let wanted = if extra { Use::Extra } else { Use::Message };
                match budget.take(chat, wanted, now) {
                    Ok(()) => sent.push((chat, now)),
                    // Waiting so long is enough, if nothing else comes in between.
                    Err(wait) => {
                        prop_assert!(!wait.is_zero());
                        now += wait;
                        prop_assert_eq!(budget.take(chat, wanted, now), Ok(()));
                        sent.push((chat, now));
                    }
                }
                let within = |chat: Option<i64>, span: u64| sent
                    .iter()
                    .filter(|(of, at)| chat.is_none_or(|chat| chat == *of) && *at + Duration::from_secs(span) > now)
                    .count();
                prop_assert!(within(None, 1) <= 4);
                prop_assert!(within(Some(chat), 5) <= 3);
                prop_assert!(chat >= 0 || within(Some(chat), 60) <= 5);
            }
        }
    }
}
