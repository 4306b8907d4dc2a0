//! What is walked through: a platform's promise, the policies, and how much may happen.
//!
//! **Absent on purpose:** one scene with everything. Each kind of disturbance meets each other one in some scene; all of them at once would be
//! billions of states and no new pair.

use homing_domain::outbox::Repeats;
use homing_domain::verdict::{AfterAutoReset, WhenAway};

use crate::state::{Left, Setting};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scene {
    pub setting: Setting,
    pub left: Left,
}

/// A platform that offers nothing, the default policies, no window.
pub const USUAL: Setting = Setting {
    repeats: Repeats::Unprotected,
    after_auto_reset: AfterAutoReset::Notice,
    when_away: WhenAway::Hold,
    windowed: false,
};
/// A person's one message, which may start the second process, and nothing that disturbs.
pub const QUIET: Left = Left {
    commands: 0,
    messages: 1,
    compressions: 0,
    crashes: 0,
    mishaps: 0,
    waits: 0,
    windows: 0,
};

/// The full run.
pub fn full() -> Vec<Scene> {
    vec![
        Scene {
            setting: USUAL,
            left: Left {
                commands: 2,
                crashes: 1,
                mishaps: 1,
                ..QUIET
            },
        },
        Scene {
            setting: USUAL,
            left: Left {
                commands: 1,
                crashes: 2,
                mishaps: 2,
                ..QUIET
            },
        },
        Scene {
            setting: Setting {
                repeats: Repeats::Deduplicates,
                after_auto_reset: AfterAutoReset::Deliver,
                ..USUAL
            },
            left: Left {
                commands: 2,
                compressions: 1,
                crashes: 1,
                ..QUIET
            },
        },
        Scene {
            setting: Setting {
                repeats: Repeats::LookUp,
                after_auto_reset: AfterAutoReset::Drop,
                ..USUAL
            },
            left: Left {
                commands: 2,
                crashes: 1,
                mishaps: 1,
                ..QUIET
            },
        },
        Scene {
            setting: USUAL,
            left: Left {
                commands: 3,
                crashes: 1,
                waits: 1,
                ..QUIET
            },
        },
        Scene {
            setting: Setting {
                windowed: true,
                ..USUAL
            },
            left: Left {
                commands: 2,
                waits: 1,
                windows: 2,
                ..QUIET
            },
        },
        Scene {
            setting: Setting {
                windowed: true,
                when_away: WhenAway::Run,
                repeats: Repeats::Deduplicates,
                ..USUAL
            },
            left: Left {
                commands: 1,
                crashes: 1,
                mishaps: 1,
                windows: 2,
                ..QUIET
            },
        },
    ]
}

/// A few seconds, without optimisation.
pub fn quick() -> Vec<Scene> {
    let alone = Left {
        messages: 0,
        crashes: 1,
        mishaps: 2,
        ..QUIET
    };
    vec![
        Scene {
            setting: USUAL,
            left: Left {
                commands: 1,
                crashes: 1,
                ..QUIET
            },
        },
        Scene {
            setting: USUAL,
            left: Left {
                commands: 2,
                waits: 1,
                ..alone
            },
        },
        Scene {
            setting: Setting {
                repeats: Repeats::LookUp,
                after_auto_reset: AfterAutoReset::Drop,
                ..USUAL
            },
            left: Left {
                commands: 1,
                ..alone
            },
        },
        Scene {
            setting: Setting {
                repeats: Repeats::Deduplicates,
                after_auto_reset: AfterAutoReset::Deliver,
                ..USUAL
            },
            left: Left {
                commands: 1,
                compressions: 1,
                ..alone
            },
        },
        Scene {
            setting: Setting {
                windowed: true,
                ..USUAL
            },
            left: Left {
                commands: 1,
                windows: 2,
                ..QUIET
            },
        },
    ]
}
