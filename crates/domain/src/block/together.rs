//! Several delegations that are told as one.

use std::fmt;

use super::DelegationEnd;

/// How many ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Batch {
    finished: usize,
    failed: usize,
    interrupted: usize,
}

impl Batch {
    pub fn of(ends: impl IntoIterator<Item = DelegationEnd>) -> Batch {
        let mut batch = Batch::default();
        for end in ends {
            match end {
                DelegationEnd::Finished => batch.finished += 1,
                DelegationEnd::Failed => batch.failed += 1,
                DelegationEnd::Interrupted => batch.interrupted += 1,
            }
        }
        batch
    }

    pub(super) const fn all_finished(self) -> bool {
        self.failed == 0 && self.interrupted == 0
    }
}

/// `3 sub-agents: 2 done, 1 failed`
impl fmt::Display for Batch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.finished + self.failed + self.interrupted;
        let ends = [
            (self.finished, "done"),
            (self.failed, "failed"),
            (self.interrupted, "interrupted"),
        ];
        let ends = ends.into_iter().filter(|(count, _)| *count > 0);
        let ends: Vec<String> = ends.map(|(count, end)| format!("{count} {end}")).collect();
        let plural = if all == 1 { "" } else { "s" };
        write!(formatter, "{all} sub-agent{plural}: {}", ends.join(", "))
    }
}
