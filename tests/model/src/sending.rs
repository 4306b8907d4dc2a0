//! The outbox and the platform behind it, with the real rules of the outbox; and what a restart makes of both.

use homing_domain::notification::State as Standing;
use homing_domain::outbox::{self, Attempt, How, Lineage as Stale, OutboxState, Repeats};

use crate::bug::Bug;
use crate::rules::Rule;
use crate::state::{Item, Lineage, Memory, Process, Sending, State, Turn, Unfinished, What};

impl State {
    pub(crate) fn enqueue(&mut self, what: What, lineage: Option<usize>) {
        self.store.outbox.push(Item {
            what,
            lineage,
            state: OutboxState::Queued,
            arrived: false,
        });
    }

    /// Marked `sending` before it is sent.
    pub(crate) fn begin_send(&mut self, bug: Bug) -> bool {
        let states = self.store.outbox.iter().map(|item| item.state);
        // Whether another one is on its way, too, is the rule's to know.
        let (Some(memory), Some(first)) = (self.memory.as_mut(), outbox::next(states)) else {
            return false;
        };
        let index = match bug {
            Bug::SkipsTheFirst => self.store.outbox.len() - 1,
            _ => first,
        };
        let item = &mut self.store.outbox[index];
        memory.sending = Some(Sending {
            before: item.state,
            how: outbox::how_to_send(item.state, self.setting.repeats),
            lineage: Stale::Open,
            arrived: false,
        });
        item.state = OutboxState::Sending;
        let lineage = item.lineage;
        let may =
            lineage.is_none_or(|lineage| !self.store.lineages[lineage].is_closed_by_a_person());
        self.expect(Rule::ClosedDoesNotLeave, may);
        true
    }

    /// The platform has it. What the gateway will hear of that is another matter.
    pub(crate) fn arrive(&mut self) -> bool {
        let Some((index, sending)) = self.under_way() else {
            return false;
        };
        if sending.arrived {
            return false;
        }
        let item = self.store.outbox[index];
        let found = item.arrived
            && (sending.how == How::LookUpFirst || self.setting.repeats == Repeats::Deduplicates);
        if !found {
            self.expect(Rule::Order, index == 0);
            self.show(item, sending.how);
        }
        self.store.outbox[index].arrived = true;
        if let Some(sending) = self
            .memory
            .as_mut()
            .and_then(|memory| memory.sending.as_mut())
        {
            sending.arrived = true;
        }
        true
    }

    /// People see it.
    fn show(&mut self, item: Item, how: How) {
        let marked = how == How::Marked && self.setting.repeats == Repeats::Unprotected;
        let seen_before = item.arrived
            || match item.what {
                What::Told(told) => told.numbers().any(|number| self.people.told.has(number)),
                What::Answer | What::Confirmation(_) => false,
            };
        self.expect(Rule::NoRepeat, !seen_before || marked);
        let of = self.speaks_of(item.what, item.lineage);
        let stale = of
            .numbers()
            .any(|lineage| self.people.confirmed.has(lineage));
        self.expect(Rule::QuietAfterConfirmation, !stale);
        match item.what {
            What::Answer => {}
            What::Told(told) => {
                for number in told.numbers() {
                    self.people.told = self.people.told.with(number);
                }
            }
            What::Confirmation(lineage) => {
                self.people.confirmed = self.people.confirmed.with(lineage);
            }
        }
    }

    pub(crate) fn end_send(&mut self, attempt: Attempt, bug: Bug) -> bool {
        let Some((index, sending)) = self.under_way() else {
            return false;
        };
        let possible = match attempt {
            Attempt::Accepted => sending.arrived,
            Attempt::NotSent | Attempt::Refused => !sending.arrived,
            Attempt::Unknown => true,
        };
        if !possible {
            return false;
        }
        let lineage = match bug {
            Bug::StaleRetry => Stale::Open,
            _ => sending.lineage,
        };
        let after = outbox::after_attempt(sending.before, attempt, lineage);
        if let Some(memory) = self.memory.as_mut() {
            memory.sending = None;
        }
        self.expect(
            Rule::SentHasArrived,
            after != OutboxState::Sent || self.store.outbox[index].arrived,
        );
        if after == OutboxState::Cancelled {
            self.check_cancelled(self.store.outbox[index].lineage);
        }
        if after.is_settled() {
            self.store.outbox.remove(index);
        } else {
            self.store.outbox[index].state = after;
        }
        true
    }

    fn under_way(&self) -> Option<(usize, Sending)> {
        let sending = self.memory.as_ref()?.sending?;
        let mut items = self.store.outbox.iter();
        let index = items.position(|item| item.state == OutboxState::Sending)?;
        Some((index, sending))
    }

    /// The second half of a planted bug.
    pub(crate) fn finish(&mut self) -> bool {
        let unfinished = self
            .memory
            .as_mut()
            .and_then(|memory| memory.unfinished.take());
        match unfinished {
            None => return false,
            Some(Unfinished::Enter { lineage, told }) => self.enter_history(lineage, told),
            Some(Unfinished::Mark { told }) => self.mark_delivered(told),
            Some(Unfinished::Send(item)) => self.show(item, How::Plain),
            Some(Unfinished::Stop(number)) => {
                if self.store.works[number].process == Process::Running {
                    self.store.works[number].process = Process::Stopped;
                }
            }
        }
        true
    }

    /// What is remembered is gone. A person's message that a turn had taken is in the store and waits again.
    pub(crate) fn crash(&mut self) -> bool {
        let Some(memory) = self.memory.take() else {
            return false;
        };
        if matches!(memory.turn, Some(Turn::Foreground { .. })) {
            self.store.waiting += 1;
        }
        true
    }

    pub(crate) fn restart(&mut self, bug: Bug) -> bool {
        if self.memory.is_some() {
            return false;
        }
        self.memory = Some(Memory::default());
        self.recover_sends(bug);
        for number in 0..self.store.works.len() {
            let reopened = bug == Bug::RestartReopens && self.is_still_to_be_sent(number);
            if reopened || self.store.works[number].standing == Some(Standing::Claimed) {
                self.decide(number, Standing::Pending);
            }
        }
        true
    }

    fn recover_sends(&mut self, bug: Bug) {
        for item in &mut self.store.outbox {
            item.state = match (item.state, bug) {
                (OutboxState::Sending, Bug::SendingIsQueuedAtRestart) => OutboxState::Queued,
                (state, _) => outbox::at_restart(state),
            };
        }
        for index in 0..self.store.outbox.len() {
            let item = self.store.outbox[index];
            if item.state == OutboxState::Uncertain && self.is_cancelled_at_restart(item, bug) {
                self.store.outbox[index].state = outbox::at_boundary(item.state);
                self.check_cancelled(item.lineage);
            }
        }
        self.store.outbox.retain(|item| !item.state.is_settled());
    }

    /// It was on its way when its lineage was closed, and then nobody knew.
    fn is_cancelled_at_restart(&self, item: Item, bug: Bug) -> bool {
        let Some(lineage) = item.lineage.map(|lineage| self.store.lineages[lineage]) else {
            return false;
        };
        match bug {
            Bug::RestartKeepsClosed => false,
            Bug::RestartCancelsIdle => matches!(lineage, Lineage::Closed(_)),
            _ => lineage.is_closed_by_a_person(),
        }
    }

    fn is_still_to_be_sent(&self, number: usize) -> bool {
        self.store
            .outbox
            .iter()
            .any(|item| matches!(item.what, What::Told(told) if told.has(number)))
    }
}
