//! The accounts that people write to: one for each promise that a platform can make about repeats.
//!
//! **Invariant:** a thread is on one of them, which follows from its number; thread numbers are used once over all of them.

use homing_domain::origin::AccountName;
use homing_ports::platform::Repeats;

pub const KINDS: [Repeats; 3] = [Repeats::Deduplicates, Repeats::LookUp, Repeats::Unprotected];

pub fn account(kind: Repeats) -> AccountName {
    let platform = match kind {
        Repeats::Deduplicates => "deduplicating",
        Repeats::LookUp => "searchable",
        Repeats::Unprotected => "forgetful",
    };
    AccountName {
        profile: "main".into(),
        platform: platform.into(),
        account: None,
    }
}

/// What the platform of a thread promises.
pub fn kind_of(thread: u64) -> Repeats {
    match thread % 3 {
        1 => Repeats::Deduplicates,
        2 => Repeats::LookUp,
        _ => Repeats::Unprotected,
    }
}
