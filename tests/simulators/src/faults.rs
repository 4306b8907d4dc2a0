//! What can be made to go wrong, and for whom.

use std::time::Duration;

use homing_domain::origin::AccountName;
use homing_domain::split::Limit;

use crate::wire::{LandedAt, SendBody};

/// Whom a fault strikes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Every account of a platform.
    Platform(String),
    Account(AccountName),
}

impl Which {
    pub fn matches(&self, account: &AccountName) -> bool {
        match self {
            Which::Platform(name) => account.platform == *name,
            Which::Account(name) => account == name,
        }
    }
}

/// A chat with everything in it, or one thread of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub account: AccountName,
    pub chat: String,
    pub thread: Option<String>,
}

impl Place {
    fn holds(&self, account: &AccountName, body: &SendBody) -> bool {
        let thread = self.thread.is_none() || self.thread == body.thread;
        self.account == *account && self.chat == body.chat && thread
    }
}

#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub down: Vec<Which>,
    pub gone: Vec<Place>,
    pub limits: Vec<(Which, Limit)>,
    slow: Vec<(Which, Duration)>,
    dropping: Vec<Which>,
    misplacing: Vec<(Which, LandedAt)>,
}

impl Faults {
    pub fn is_down(&self, account: &AccountName) -> bool {
        self.down.iter().any(|which| which.matches(account))
    }
    pub fn is_gone(&self, account: &AccountName, body: &SendBody) -> bool {
        self.gone.iter().any(|place| place.holds(account, body))
    }
    pub fn limit(&self, account: &AccountName) -> Option<Limit> {
        self.limits
            .iter()
            .rev()
            .find(|(which, _)| which.matches(account))
            .map(|(_, limit)| *limit)
    }

    pub fn slow_next(&mut self, which: Which, span: Duration) {
        self.slow.push((which, span));
    }
    pub fn drop_next(&mut self, which: Which) {
        self.dropping.push(which);
    }
    pub fn misplace_next(&mut self, which: Which, landed: LandedAt) {
        self.misplacing.push((which, landed));
    }

    pub fn take_slow(&mut self, account: &AccountName) -> Option<Duration> {
        take(&mut self.slow, |(which, _)| which.matches(account)).map(|(_, span)| span)
    }
    pub fn take_drop(&mut self, account: &AccountName) -> bool {
        take(&mut self.dropping, |which| which.matches(account)).is_some()
    }
    pub fn take_misplaced(&mut self, account: &AccountName) -> Option<LandedAt> {
        take(&mut self.misplacing, |(which, _)| which.matches(account)).map(|(_, landed)| landed)
    }
}

/// Each of these strikes once: the first that matches is used up.
fn take<T>(faults: &mut Vec<T>, strikes: impl FnMut(&T) -> bool) -> Option<T> {
    let index = faults.iter().position(strikes)?;
    Some(faults.remove(index))
}
