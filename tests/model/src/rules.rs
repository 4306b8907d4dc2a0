//! What must hold, said again without the functions that are checked.
//!
//! **Invariant:** nothing here calls the verdict or the outbox. A rule about a state is a predicate; a rule about a step is a mark that the step
//! leaves in [`Broken`], made by comparing the step with the truth of the model.

use homing_domain::notification::State as Standing;
use homing_domain::session::Boundary;
use homing_domain::verdict::{AfterAutoReset, DropReason, Hold, Place, Verdict, WhenAway};

use crate::state::{ASKED, Held, Lineage, OTHER, Process, Seen, State};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Rule {
    QuietAfterConfirmation,
    ClosedDoesNotLeave,
    OnceIntoHistory,
    DeliveredIsInHistory,
    Settles,
    SettledStays,
    NoRepeat,
    OwnLineageOnly,
    HeldWhileAway,
    Order,
    ConsumedByRight,
    CancelledByAPerson,
    SentHasArrived,
}

impl Rule {
    pub const ALL: [Rule; 13] = [
        Rule::QuietAfterConfirmation,
        Rule::ClosedDoesNotLeave,
        Rule::OnceIntoHistory,
        Rule::DeliveredIsInHistory,
        Rule::Settles,
        Rule::SettledStays,
        Rule::NoRepeat,
        Rule::OwnLineageOnly,
        Rule::HeldWhileAway,
        Rule::Order,
        Rule::ConsumedByRight,
        Rule::CancelledByAPerson,
        Rule::SentHasArrived,
    ];

    pub const fn sentence(self) -> &'static str {
        match self {
            Rule::QuietAfterConfirmation => {
                "once the end of a lineage was confirmed to the person, nothing of it is posted (OWN-64)"
            }
            Rule::ClosedDoesNotLeave => {
                "nothing of a lineage that a person closed begins to be sent (OWN-64)"
            }
            Rule::OnceIntoHistory => {
                "a notification enters a lineage's history at most once (OWN-65)"
            }
            Rule::DeliveredIsInHistory => "what is marked delivered is in a history (OWN-65)",
            Rule::Settles => {
                "when nothing disturbs any more, every notification and every item settles (OWN-60, 68)"
            }
            Rule::SettledStays => "a settled notification never moves (OWN-60)",
            Rule::NoRepeat => {
                "nothing is shown twice, but marked as a possible repeat where the platform offers nothing (OWN-94)"
            }
            Rule::OwnLineageOnly => {
                "nothing is delivered but to the owner's lineage and the window it is for (OWN-30, 34, 44)"
            }
            Rule::HeldWhileAway => {
                "held only while parked or away, expired only out of a hold, dropped only with its lineage (OWN-31, 33, 36, 41)"
            }
            Rule::Order => {
                "items of a conversation are shown in the order of their commits (OWN-66)"
            }
            Rule::ConsumedByRight => {
                "consumed is only what the owner's lineage saw in a turn of its own, or what was really stopped (OWN-37, 38, 68)"
            }
            Rule::CancelledByAPerson => {
                "an item is cancelled only if a person closed its lineage (OWN-64)"
            }
            Rule::SentHasArrived => "what is settled as sent has arrived (OWN-66, 94)",
        }
    }

    pub fn of_sentence(sentence: &str) -> Option<Rule> {
        Rule::ALL
            .into_iter()
            .find(|rule| rule.sentence() == sentence)
    }
}

/// Rules that a step has broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Broken(u16);

impl Broken {
    pub const fn has(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u8 != 0
    }

    pub const fn any(self) -> bool {
        self.0 != 0
    }
}

impl State {
    pub(crate) fn expect(&mut self, rule: Rule, holds: bool) {
        if !holds {
            self.broken.0 |= 1 << rule as u8;
        }
    }

    pub(crate) fn each_once_in_history(&self) -> bool {
        self.store
            .history
            .iter()
            .flatten()
            .all(|entries| *entries <= 1)
    }

    pub(crate) fn delivered_is_in_history(&self) -> bool {
        let mut works = self.store.works.iter().zip(&self.store.history);
        works.all(|(work, entries)| {
            work.standing != Some(Standing::Delivered) || entries.iter().any(|entries| *entries > 0)
        })
    }

    /// Everything that was begun has come home.
    pub(crate) fn is_settled(&self) -> bool {
        self.store.outbox.is_empty()
            && self.store.works.iter().all(|work| {
                work.process == Process::NotStarted || work.standing.is_some_and(Standing::is_final)
            })
    }

    /// Whether this lineage may take notification `number` into its history.
    pub(crate) fn may_tell(&self, number: usize, lineage: usize) -> bool {
        let owner = self.store.works[number].owner;
        let told_in_its_own = owner == lineage && self.store.lineages[owner].is_open();
        told_in_its_own || self.told_elsewhere_on_purpose(owner)
    }

    /// `after_auto_reset = "deliver"`.
    fn told_elsewhere_on_purpose(&self, owner: usize) -> bool {
        self.store.lineages[owner] == Lineage::Closed(Boundary::Idle)
            && self.setting.after_auto_reset == AfterAutoReset::Deliver
    }

    /// What the ownership rules say of a verdict, and which of them it breaks if it is another.
    pub(crate) fn check_verdict(&mut self, number: usize, verdict: Verdict) {
        let (rule, right) = match verdict {
            Verdict::Deliver { window } => (
                Rule::OwnLineageOnly,
                self.may_be_delivered(number) && window == self.window_for(number),
            ),
            Verdict::Consume(_) => (Rule::ConsumedByRight, self.was_consumed_by_right(number)),
            Verdict::Retry(_) => (Rule::HeldWhileAway, self.is_being_compressed(number)),
            Verdict::Hold(hold) => (Rule::HeldWhileAway, self.hold(number) == Some(hold)),
            Verdict::Drop(DropReason::Expired) => (
                Rule::HeldWhileAway,
                self.hold(number).is_some() && self.store.works[number].held == Held::TooLong,
            ),
            Verdict::Drop(reason) => (
                Rule::HeldWhileAway,
                self.lineage_of(number) == Lineage::Closed(Boundary::Reset)
                    && reason == DropReason::SessionReset
                    || self.lineage_of(number) == Lineage::Closed(Boundary::Deleted)
                        && reason == DropReason::SessionDeleted
                    || self.ended_by_itself(number, AfterAutoReset::Drop)
                        && reason == DropReason::AutoReset,
            ),
            Verdict::Notice(place) => (
                Rule::HeldWhileAway,
                place == Place::Thread && self.ended_by_itself(number, AfterAutoReset::Notice),
            ),
        };
        self.expect(rule, right);
    }

    fn lineage_of(&self, number: usize) -> Lineage {
        self.store.lineages[self.store.works[number].owner]
    }

    fn ended_by_itself(&self, number: usize, then: AfterAutoReset) -> bool {
        self.lineage_of(number) == Lineage::Closed(Boundary::Idle)
            && self.setting.after_auto_reset == then
    }

    fn is_current(&self, number: usize) -> bool {
        self.lineage_of(number).is_open()
            && self.store.current == Some(self.store.works[number].owner)
    }

    fn is_being_compressed(&self, number: usize) -> bool {
        self.is_current(number)
            && self
                .memory
                .as_ref()
                .is_some_and(|memory| memory.compressing)
    }

    fn may_be_delivered(&self, number: usize) -> bool {
        let current = self.is_current(number)
            && !self.is_being_compressed(number)
            && self.hold(number).is_none();
        self.store.works[number].consumed.is_none()
            && (current || self.told_elsewhere_on_purpose(self.store.works[number].owner))
    }

    /// The window that asked, as a number from 1; else the one that is open.
    fn window_for(&self, number: usize) -> Option<homing_domain::ids::WindowId> {
        let asked = self.setting.windowed && number == 1;
        let open = [ASKED, OTHER]
            .into_iter()
            .find(|window| self.store.windows[*window]);
        open.filter(|_| asked)
            .map(|window| homing_domain::ids::WindowId::from_number(1 + window as u64))
    }

    /// Why it may not be told now, though its lineage is open.
    fn hold(&self, number: usize) -> Option<Hold> {
        if !self.lineage_of(number).is_open() {
            return None;
        }
        if !self.is_current(number) {
            return Some(Hold::Parked);
        }
        let away = self.setting.windowed
            && number == 1
            && self.setting.when_away == WhenAway::Hold
            && self.window_for(number).is_none();
        away.then_some(Hold::Away)
    }

    fn was_consumed_by_right(&self, number: usize) -> bool {
        let work = &self.store.works[number];
        match work.consumed {
            None | Some(Seen::WhileTold) => false,
            Some(Seen::ByLineage(lineage)) => lineage == work.owner,
            Some(Seen::Stopped) => work.process == Process::Stopped,
        }
    }
}
