//! The updates of one bot, until it confirmed them.
//!
//! **Invariant:** an update leaves only when a poll's offset is higher than its number, or a webhook took it. What was confirmed is remembered
//! for a while only to be repeated on request.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::errors::ApiError;
use super::settings::SameOffset;

/// The most that one poll answers, in bytes.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;
/// How many confirmed updates are remembered.
const REMEMBERED: usize = 100;

/// What a bot hears of only if it asks.
const ONLY_IF_ASKED: &[&str] = &["chat_member", "message_reaction", "message_reaction_count"];

#[derive(Debug, Clone)]
pub(super) struct Update {
    pub id: i64,
    /// With `update_id`.
    pub body: Value,
    /// Updates of one lane reach a webhook one after another.
    pub lane: i64,
}

#[derive(Debug)]
pub(super) struct Queue {
    pending: VecDeque<Update>,
    confirmed: VecDeque<Update>,
    next_id: i64,
    /// `None`: the default kinds.
    pub allowed: Option<BTreeSet<String>>,
    polls: Polls,
    pub to_repeat: usize,
    pub to_reorder: usize,
}

/// Who polls, and when.
#[derive(Debug, Default)]
struct Polls {
    current: u64,
    ended_by: Option<Ending>,
    last_offset: i64,
    begun: Option<Instant>,
    ended: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    OtherPoll,
    Webhook,
}

impl Ending {
    fn error(self) -> ApiError {
        match self {
            Ending::OtherPoll => ApiError::other_poller(),
            Ending::Webhook => ApiError::webhook_was_set(),
        }
    }
}

/// What a poll wants, after the limits of the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Poll {
    pub ticket: u64,
    pub limit: usize,
    pub wait: Duration,
}

impl Queue {
    pub fn new(first_id: i64) -> Queue {
        Queue {
            pending: VecDeque::new(),
            confirmed: VecDeque::new(),
            next_id: first_id,
            allowed: None,
            polls: Polls::default(),
            to_repeat: 0,
            to_reorder: 0,
        }
    }

    pub fn allows(&self, kind: &str) -> bool {
        match &self.allowed {
            Some(kinds) => kinds.contains(kind),
            None => !ONLY_IF_ASKED.contains(&kind),
        }
    }

    /// An empty list means the default again.
    pub fn allow(&mut self, kinds: &[String]) {
        self.allowed = (!kinds.is_empty()).then(|| kinds.iter().cloned().collect());
    }

    /// Takes an update in, `update_id` first.
    pub fn push(&mut self, fields: &Value, lane: i64) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        let mut body = json!({"update_id": id});
        for (name, value) in fields.as_object().into_iter().flatten() {
            if name != "update_id" {
                body[name] = value.clone();
            }
        }
        self.pending.push_back(Update { id, body, lane });
        id
    }

    pub fn set_next_id(&mut self, id: i64) {
        self.next_id = id;
    }

    pub fn pending(&self) -> impl Iterator<Item = &Update> {
        self.pending.iter()
    }

    pub fn drop_pending(&mut self) {
        self.pending.clear();
    }

    /// A poll begins: it confirms, and ends the one before.
    pub fn begin(&mut self, offset: i64, limit: usize, wait: Duration) -> Poll {
        self.confirm(offset);
        self.end_poll(Ending::OtherPoll);
        Poll {
            ticket: self.polls.current,
            limit,
            wait,
        }
    }

    /// A poll that repeats an offset is slowed down.
    pub fn slow_down(&mut self, poll: &mut Poll, offset: i64, rule: Option<&SameOffset>) {
        let now = Instant::now();
        let within = |since: Option<Instant>, span| {
            since.is_some_and(|since| now.duration_since(since) < span)
        };
        if let Some(rule) = rule.filter(|_| self.polls.last_offset == offset) {
            if within(self.polls.begun, rule.waits_within) {
                poll.wait = poll.wait.max(rule.waits_within);
            }
            if within(self.polls.ended, rule.single_within) {
                poll.limit = 1;
            }
        }
        self.polls.last_offset = offset;
        self.polls.begun = Some(now);
    }

    /// Whoever polls is told that it is over.
    pub fn end_poll(&mut self, ending: Ending) {
        self.polls.current += 1;
        self.polls.ended_by = Some(ending);
    }

    /// Updates for this poll; `None` while there are none.
    pub fn take(&mut self, poll: &Poll) -> Result<Option<Vec<Value>>, ApiError> {
        if poll.ticket != self.polls.current {
            return Err(self.polls.ended_by.unwrap_or(Ending::OtherPoll).error());
        }
        let repeated = self.to_repeat.min(self.confirmed.len());
        if self.pending.is_empty() && repeated == 0 {
            return Ok(None);
        }
        self.to_repeat = 0;
        let again = self.confirmed.iter().skip(self.confirmed.len() - repeated);
        let mut size = 0;
        let mut answer: Vec<Value> = again
            .chain(&self.pending)
            .take(poll.limit)
            .map(|update| update.body.clone())
            .take_while(|update| {
                size += update.to_string().len();
                size <= LARGEST_ANSWER
            })
            .collect();
        if self.to_reorder > 0 {
            self.to_reorder -= 1;
            answer.reverse();
        }
        self.polls.ended = Some(Instant::now());
        Ok(Some(answer))
    }

    /// The offset is the confirmation. A negative one counts from the end and forgets the rest.
    fn confirm(&mut self, offset: i64) {
        let keep = usize::try_from(-offset).unwrap_or(usize::MAX);
        while let Some(first) = self.pending.front() {
            let done = match offset {
                0 => false,
                1.. => first.id < offset,
                _ => self.pending.len() > keep,
            };
            if !done {
                break;
            }
            let first = self.pending.pop_front();
            self.confirmed.extend(first);
        }
        while self.confirmed.len() > REMEMBERED {
            self.confirmed.pop_front();
        }
    }

    /// A webhook took it.
    pub fn delivered(&mut self, id: i64) {
        if let Some(at) = self.pending.iter().position(|update| update.id == id) {
            let update = self.pending.remove(at);
            self.confirmed.extend(update);
        }
    }

    /// Puts the last confirmed ones back in front, for a webhook.
    pub fn repeat_now(&mut self) {
        for _ in 0..std::mem::take(&mut self.to_repeat) {
            if let Some(update) = self.confirmed.pop_back() {
                self.pending.push_front(update);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(count: i64) -> Queue {
        let mut queue = Queue::new(10);
        for number in 0..count {
            queue.push(&json!({"message": {"message_id": number}}), 0);
        }
        queue
    }

    fn poll(queue: &mut Queue, offset: i64) -> Vec<i64> {
        let poll = queue.begin(offset, 100, Duration::ZERO);
        let answer = queue.take(&poll).expect("nobody else polls");
        let ids = answer.unwrap_or_default().into_iter();
        ids.filter_map(|update| update["update_id"].as_i64())
            .collect()
    }

    #[test]
    fn the_offset_confirms_and_nothing_else_does() {
        let mut queue = queue(3);
        assert_eq!(poll(&mut queue, 0), [10, 11, 12]);
        assert_eq!(poll(&mut queue, 0), [10, 11, 12]);
        assert_eq!(poll(&mut queue, 12), [12]);
        assert_eq!(poll(&mut queue, 0), [12]);
        assert_eq!(poll(&mut queue, 13), [] as [i64; 0]);
    }

    #[test]
    fn a_negative_offset_keeps_the_last_ones() {
        let mut queue = queue(5);
        assert_eq!(poll(&mut queue, -2), [13, 14]);
        assert_eq!(poll(&mut queue, 0), [13, 14]);
    }

    #[test]
    fn what_was_confirmed_is_repeated_once_on_request() {
        let mut queue = queue(3);
        poll(&mut queue, 12);
        queue.to_repeat = 1;
        assert_eq!(poll(&mut queue, 12), [11, 12]);
        assert_eq!(poll(&mut queue, 12), [12]);
    }

    #[test]
    fn a_second_poll_ends_the_first() {
        let mut queue = queue(1);
        let first = queue.begin(0, 100, Duration::ZERO);
        let second = queue.begin(0, 100, Duration::ZERO);
        assert_eq!(queue.take(&first), Err(ApiError::other_poller()));
        assert!(queue.take(&second).is_ok());
    }

    #[test]
    fn a_poll_that_repeats_its_offset_is_slowed_down() {
        let rule = SameOffset {
            waits_within: Duration::from_secs(3),
            single_within: Duration::from_secs(3),
        };
        let mut queue = queue(2);
        let mut first = queue.begin(10, 100, Duration::ZERO);
        queue.slow_down(&mut first, 10, Some(&rule));
        assert_eq!((first.limit, first.wait), (100, Duration::ZERO));
        queue.take(&first).expect("it polls alone");
        let mut second = queue.begin(10, 100, Duration::ZERO);
        queue.slow_down(&mut second, 10, Some(&rule));
        assert_eq!((second.limit, second.wait), (1, Duration::from_secs(3)));
    }
}
