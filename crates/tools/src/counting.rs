//! What models used, on its way from the agent's meter into the store.
//!
//! **Invariant:** what is taken from a meter is counted by exactly one commit, or is in the meter again. Nothing is committed for its sake alone while
//! something else is going to be.

use homing_domain::ids::TurnId;
use homing_ports::agent::UsageMeter;
use homing_ports::store::{Change, Committed, Usage};

/// A meter, and the turn that it is counted for. Clones are the same.
#[derive(Debug, Clone)]
pub struct Counting {
    turn: TurnId,
    meter: UsageMeter,
}

impl Counting {
    /// With a meter of its own.
    pub fn of(turn: TurnId) -> Self {
        Self {
            turn,
            meter: UsageMeter::default(),
        }
    }

    pub fn turn(&self) -> TurnId {
        self.turn
    }

    /// For the agent to add to.
    pub fn meter(&self) -> UsageMeter {
        self.meter.clone()
    }

    /// What is to be counted by the next commit. Dropped unsettled, it is due again.
    pub fn due(&self) -> Due<'_> {
        Due {
            counting: self,
            usage: self.meter.take(),
        }
    }
}

#[derive(Debug)]
#[must_use]
pub struct Due<'a> {
    counting: &'a Counting,
    usage: Usage,
}

impl Due<'_> {
    /// `None`: nothing was used.
    pub fn change(&self) -> Option<Change> {
        (self.usage != Usage::default()).then_some(Change::Used {
            turn: self.counting.turn,
            usage: self.usage,
        })
    }

    pub fn settle(mut self, committed: &Committed) {
        if *committed == Committed::Done {
            self.usage = Usage::default();
        }
    }
}

impl Drop for Due<'_> {
    fn drop(&mut self) {
        self.counting.meter.add(self.usage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: Usage = Usage {
        requests: 1,
        prompt_tokens: 10,
        cached_tokens: 5,
        completion_tokens: 2,
    };

    #[test]
    fn what_a_commit_did_not_count_is_due_again_once() {
        let counting = Counting::of(TurnId::from_number(1));
        let meter = counting.meter();
        assert_eq!(counting.due().change(), None);
        meter.add(USAGE);
        let counted = Some(Change::Used {
            turn: counting.turn(),
            usage: USAGE,
        });
        // The store did not answer.
        assert_eq!(counting.due().change(), counted);
        // The turn was over.
        let unmet = Committed::Unmet {
            index: 0,
            what: String::new(),
        };
        counting.due().settle(&unmet);
        let due = counting.due();
        assert_eq!(due.change(), counted);
        due.settle(&Committed::Done);
        assert_eq!(meter.take(), Usage::default());
    }
}
