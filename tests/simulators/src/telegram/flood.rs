//! Who sends too much.
//!
//! **Invariant:** only messages that were taken count. A refused one costs nothing, so that whoever waits as long as told gets through.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::ids::{Chat, UserId};
use super::settings::{Budget, Flood};

#[derive(Debug)]
pub(super) struct Gate {
    flood: Option<Flood>,
    chats: BTreeMap<(UserId, Chat), VecDeque<Instant>>,
    bots: BTreeMap<UserId, VecDeque<Instant>>,
}

impl Gate {
    pub fn new(flood: Option<Flood>) -> Gate {
        Gate {
            flood,
            chats: BTreeMap::new(),
            bots: BTreeMap::new(),
        }
    }

    pub fn set(&mut self, flood: Option<Flood>) {
        *self = Gate::new(flood);
    }

    /// How long a message to this chat has to wait; `None` if it may go.
    pub fn wait(&self, bot: UserId, chat: Chat, now: Instant) -> Option<Duration> {
        let flood = self.flood.as_ref()?;
        let in_chat = self.chats.get(&(bot, chat));
        let is_group = chat.bot.is_none();
        let waits = [
            left(flood.per_chat.as_ref(), in_chat, now),
            left(flood.per_group.as_ref().filter(|_| is_group), in_chat, now),
            left(flood.overall.as_ref(), self.bots.get(&bot), now),
        ];
        waits.into_iter().flatten().max()
    }

    /// So many messages went to this chat.
    pub fn count(&mut self, bot: UserId, chat: Chat, messages: usize, now: Instant) {
        if self.flood.is_some() {
            let times = || std::iter::repeat_n(now, messages);
            self.chats.entry((bot, chat)).or_default().extend(times());
            self.bots.entry(bot).or_default().extend(times());
        }
    }
}

/// How long until the oldest message that fills the budget is out of its span.
fn left(
    budget: Option<&Budget>,
    sent: Option<&VecDeque<Instant>>,
    now: Instant,
) -> Option<Duration> {
    let (budget, sent) = (budget?, sent?);
    let filling = sent.len().checked_sub(budget.messages.max(1))?;
    let left = budget
        .per
        .saturating_sub(now.duration_since(*sent.get(filling)?));
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::super::ids::ChatId;
    use super::*;

    #[test]
    fn a_full_budget_says_how_long_to_wait_and_empties() {
        let mut gate = Gate::new(Some(Flood {
            per_chat: None,
            per_group: Some(Budget {
                messages: 2,
                per: Duration::from_secs(60),
            }),
            overall: None,
        }));
        let (bot, begin) = (UserId(1), Instant::now());
        let group = Chat {
            id: ChatId(-1),
            bot: None,
        };
        let at = |seconds| begin + Duration::from_secs(seconds);
        gate.count(bot, group, 1, at(0));
        assert_eq!(gate.wait(bot, group, at(1)), None);
        gate.count(bot, group, 1, at(10));
        assert_eq!(gate.wait(bot, group, at(20)), Some(Duration::from_secs(40)));
        assert_eq!(gate.wait(bot, group, at(60)), None);
        let private = Chat {
            id: ChatId(1),
            bot: Some(bot),
        };
        assert_eq!(gate.wait(bot, private, at(20)), None);
    }
}
