//! What people do: messages and commands, as `crates/gateway/src/commands` carries them out, each in one commit.

use homing_domain::notification::State as Standing;
use homing_domain::outbox::{self, Lineage as Stale, OutboxState};
use homing_domain::session::Boundary;

use crate::bug::Bug;
use crate::rules::Rule;
use crate::state::{Lineage, OTHER, Process, Seen, Set, State, Turn, Unfinished, What};

impl State {
    pub(crate) fn message(&mut self) -> bool {
        self.store.waiting += 1;
        true
    }

    pub(crate) fn begin_foreground(&mut self) -> bool {
        let free = self.memory.as_ref().is_some_and(|memory| memory.is_free());
        if !free || self.store.waiting == 0 {
            return false;
        }
        let Some(lineage) = self.current_or_first() else {
            return false;
        };
        self.store.waiting -= 1;
        self.set_turn(Some(Turn::Foreground { lineage }));
        true
    }

    pub(crate) fn end_foreground(&mut self) -> bool {
        let Some(Turn::Foreground { lineage }) = self.turn() else {
            return false;
        };
        self.set_turn(None);
        self.enqueue(What::Answer, Some(lineage));
        true
    }

    /// The stamp is of the session whose turn it is, and is committed with the start.
    pub(crate) fn start(&mut self) -> bool {
        let Some(Turn::Foreground { lineage }) = self.turn() else {
            return false;
        };
        let work = &mut self.store.works[1];
        if work.process != Process::NotStarted {
            return false;
        }
        work.process = Process::Running;
        work.owner = lineage;
        true
    }

    /// Only the owner's lineage consumes; anybody may look.
    pub(crate) fn look(&mut self, number: usize, bug: Bug) -> bool {
        let work = &self.store.works[number];
        if work.consumed.is_some()
            || !work.process.is_over()
            || work.standing.is_some_and(Standing::is_final)
        {
            return false;
        }
        let seen = match self.turn() {
            Some(Turn::Foreground { lineage })
                if lineage == work.owner || bug == Bug::ForeignConsumption =>
            {
                Seen::ByLineage(lineage)
            }
            Some(Turn::Background { told, .. })
                if told.has(number) && bug == Bug::ConsumesWhileTold =>
            {
                Seen::WhileTold
            }
            Some(Turn::Foreground { .. } | Turn::Background { .. }) | None => return false,
        };
        self.store.works[number].consumed = Some(seen);
        true
    }

    pub(crate) fn kill(&mut self, number: usize, bug: Bug) -> bool {
        let work = &mut self.store.works[number];
        if work.process != Process::Running || work.consumed.is_some() || self.memory.is_none() {
            return false;
        }
        work.consumed = Some(Seen::Stopped);
        if bug == Bug::KillIsForgotten {
            self.leave_unfinished(Unfinished::Stop(number));
        } else {
            work.process = Process::Stopped;
        }
        true
    }

    /// `/new`.
    pub(crate) fn new_session(&mut self, bug: Bug) -> bool {
        let (Some(current), Some(next)) = (self.store.current, self.unused()) else {
            return false;
        };
        if self.memory.is_none() {
            return false;
        }
        self.end_current(current, Boundary::Reset, bug);
        self.point_at_new(next);
        self.confirm(current, bug);
        true
    }

    pub(crate) fn branch(&mut self, bug: Bug) -> bool {
        let (Some(_), Some(next)) = (self.store.current, self.unused()) else {
            return false;
        };
        if !self.leave() {
            return false;
        }
        self.point_at_new(next);
        self.read_again(bug);
        true
    }

    pub(crate) fn resume(&mut self, lineage: usize, bug: Bug) -> bool {
        let there = self.store.lineages[lineage].is_open() && self.store.current != Some(lineage);
        if !there || !self.leave() {
            return false;
        }
        self.store.current = Some(lineage);
        self.read_again(bug);
        true
    }

    pub(crate) fn delete(&mut self, lineage: usize, bug: Bug) -> bool {
        if self.memory.is_none() || !self.store.lineages[lineage].is_open() {
            return false;
        }
        if self.store.current == Some(lineage) {
            // The model keeps a lineage for the message that begins the next one.
            if self.unused().is_none() {
                return false;
            }
            self.end_current(lineage, Boundary::Deleted, bug);
            self.store.current = None;
        } else {
            self.close(lineage, Boundary::Deleted, bug);
        }
        self.confirm(lineage, bug);
        true
    }

    /// `/stop`.
    pub(crate) fn stop(&mut self, bug: Bug) -> bool {
        let Some(turn) = self.turn() else {
            return false;
        };
        self.release(turn);
        self.set_turn(None);
        self.read_again(bug);
        true
    }

    /// The idle policy: not while something runs or waits. What of the lineage has not left goes out: no person ended it.
    pub(crate) fn idle(&mut self) -> bool {
        let (Some(current), Some(_)) = (self.store.current, self.unused()) else {
            return false;
        };
        let waits = self.store.works.iter().any(|work| {
            work.owner == current && work.standing.is_some_and(|standing| !standing.is_final())
        });
        if waits || !self.memory.as_ref().is_some_and(|memory| memory.is_free()) {
            return false;
        }
        self.store.lineages[current] = Lineage::Closed(Boundary::Idle);
        self.store.current = None;
        true
    }

    pub(crate) fn begin_compression(&mut self) -> bool {
        let Some(memory) = self.memory.as_mut() else {
            return false;
        };
        if !memory.is_free() || self.store.current.is_none() {
            return false;
        }
        memory.compressing = true;
        true
    }

    pub(crate) fn end_compression(&mut self) -> bool {
        let (Some(memory), Some(current)) = (self.memory.as_mut(), self.store.current) else {
            return false;
        };
        let Lineage::Open { tip } = &mut self.store.lineages[current] else {
            return false;
        };
        if !std::mem::take(&mut memory.compressing) {
            return false;
        }
        *tip += 1;
        true
    }

    pub(crate) fn close_window(&mut self, window: usize) -> bool {
        self.setting.windowed && std::mem::take(&mut self.store.windows[window])
    }

    /// A window that was closed is never opened again; another one is.
    pub(crate) fn open_window(&mut self, window: usize) -> bool {
        let opens = self.setting.windowed && window == OTHER && !self.store.windows[OTHER];
        self.store.windows[window] |= opens;
        opens
    }

    /// Ends the current session with everything that runs in it.
    fn end_current(&mut self, current: usize, boundary: Boundary, bug: Bug) {
        if let Some(Turn::Background { told, .. }) = self.turn() {
            for number in told.numbers() {
                self.decide(number, Standing::Dropped);
            }
        }
        self.set_turn(None);
        if let Some(memory) = self.memory.as_mut() {
            memory.compressing = false;
        }
        self.store.waiting = 0;
        self.close(current, boundary, bug);
    }

    /// Closes a lineage and cancels what of it has not left.
    fn close(&mut self, lineage: usize, boundary: Boundary, bug: Bug) {
        self.store.lineages[lineage] = Lineage::Closed(boundary);
        let is_under_way = |state: OutboxState| state == OutboxState::Sending;
        for item in &mut self.store.outbox {
            if item.lineage != Some(lineage) {
                continue;
            }
            if is_under_way(item.state)
                && let Some(sending) = self
                    .memory
                    .as_mut()
                    .and_then(|memory| memory.sending.as_mut())
            {
                sending.lineage = Stale::Closed;
            }
            if bug != Bug::BoundaryKeepsQueued {
                item.state = outbox::at_boundary(item.state);
            }
        }
        self.store.outbox.retain(|item| !item.state.is_settled());
    }

    fn confirm(&mut self, lineage: usize, bug: Bug) {
        self.read_again(bug);
        if bug == Bug::ReplyOutsideTheOutbox {
            self.people.confirmed = self.people.confirmed.with(lineage);
        } else {
            self.enqueue(What::Confirmation(lineage), None);
        }
    }

    /// Leaves the current session without ending it: not out of a compression or a person's turn.
    fn leave(&mut self) -> bool {
        let Some(memory) = self.memory.as_ref() else {
            return false;
        };
        let turn = memory.turn;
        if memory.compressing || matches!(turn, Some(Turn::Foreground { .. })) {
            return false;
        }
        if let Some(turn) = turn {
            self.release(turn);
            self.set_turn(None);
        }
        true
    }

    /// What a turn that ends too early was to tell waits again.
    fn release(&mut self, turn: Turn) {
        if let Turn::Background { told, .. } = turn {
            for number in told.numbers() {
                self.decide(number, Standing::Pending);
            }
        }
    }

    /// After a command the outbox is read from the store, which does not say where an item stood before it was being sent.
    fn read_again(&mut self, bug: Bug) {
        let sending = self
            .memory
            .as_mut()
            .and_then(|memory| memory.sending.as_mut());
        if let (Bug::ForgetsUncertain, Some(sending)) = (bug, sending) {
            sending.before = OutboxState::Sending;
        }
    }

    pub(crate) fn turn(&self) -> Option<Turn> {
        self.memory.as_ref()?.turn
    }

    pub(crate) fn set_turn(&mut self, turn: Option<Turn>) {
        if let Some(memory) = self.memory.as_mut() {
            memory.turn = turn;
        }
    }

    pub(crate) fn leave_unfinished(&mut self, what: Unfinished) {
        if let Some(memory) = self.memory.as_mut() {
            memory.unfinished = Some(what);
        }
    }

    /// OWN-10: the first message makes the session.
    pub(crate) fn current_or_first(&mut self) -> Option<usize> {
        if self.store.current.is_none() {
            let first = self.unused()?;
            self.point_at_new(first);
        }
        self.store.current
    }

    fn point_at_new(&mut self, lineage: usize) {
        self.store.lineages[lineage] = Lineage::Open { tip: 0 };
        self.store.current = Some(lineage);
    }

    fn unused(&self) -> Option<usize> {
        self.store
            .lineages
            .iter()
            .position(|lineage| *lineage == Lineage::Unused)
    }

    /// The lineages that an item is about: its own, and the owners of what it tells.
    pub(crate) fn speaks_of(&self, what: What, lineage: Option<usize>) -> Set {
        let own = lineage.map_or(Set::default(), Set::one);
        match what {
            What::Answer | What::Confirmation(_) => own,
            What::Told(told) => told
                .numbers()
                .fold(own, |all, number| all.with(self.store.works[number].owner)),
        }
    }

    pub(crate) fn check_cancelled(&mut self, lineage: Option<usize>) {
        let by_a_person =
            lineage.is_some_and(|lineage| self.store.lineages[lineage].is_closed_by_a_person());
        self.expect(Rule::CancelledByAPerson, by_a_person);
    }
}
