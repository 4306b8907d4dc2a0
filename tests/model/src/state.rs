//! What is in the world of the model: the store's rows, what the gateway remembers, what people have seen.
//!
//! **Invariant:** [`Store`] is what is committed and survives a crash; [`Memory`] is what does not. A step changes the store once, as a commit does.
//! **Absent on purpose:** texts, ids, times. A session is a lineage and how often it was compressed; a hold is recent or too old.

use homing_domain::notification::State as Standing;
use homing_domain::outbox::{How, Lineage as Stale, OutboxState, Repeats};
use homing_domain::session::Boundary;
use homing_domain::verdict::{AfterAutoReset, WhenAway};

use crate::rules::Broken;

/// Notifications of the model: 0 is of a process that runs from the beginning, 1 of one that a foreground turn starts.
pub const NOTIFICATIONS: usize = 2;
/// Lineages that a conversation can have in the model.
pub const LINEAGES: usize = 4;
/// The window that asked for notification 1, and another one.
pub const ASKED: usize = 0;
pub const OTHER: usize = 1;

/// Numbers below 8: notifications or lineages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Set(u8);

impl Set {
    pub const fn one(number: usize) -> Set {
        Set(1 << number)
    }
    pub const fn with(self, number: usize) -> Set {
        Set(self.0 | 1 << number)
    }
    pub const fn has(self, number: usize) -> bool {
        self.0 & 1 << number != 0
    }
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        (0..8).filter(move |number| self.has(*number))
    }
}

/// What one run of the model is set to; never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Setting {
    pub repeats: Repeats,
    pub after_auto_reset: AfterAutoReset,
    pub when_away: WhenAway,
    /// Notification 1 was asked for from a console window.
    pub windowed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub setting: Setting,
    pub store: Store,
    /// `None` while the gateway is down.
    pub memory: Option<Memory>,
    pub people: People,
    pub left: Left,
    /// Rules that a step has broken.
    pub broken: Broken,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Store {
    pub lineages: [Lineage; LINEAGES],
    pub current: Option<usize>,
    pub works: [Work; NOTIFICATIONS],
    /// Entries of a notification into a lineage's history. Counted, so that the rules are checked and not the store's unique index.
    pub history: [[u8; LINEAGES]; NOTIFICATIONS],
    /// What has not settled, in the order of commits.
    pub outbox: Vec<Item>,
    /// People's messages that no turn has taken.
    pub waiting: u8,
    pub windows: [bool; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lineage {
    Unused,
    Open { tip: u8 },
    Closed(Boundary),
}

impl Lineage {
    pub const fn is_open(self) -> bool {
        matches!(self, Lineage::Open { .. })
    }
    /// By `/new`, `/reset` or `/delete`.
    pub const fn is_closed_by_a_person(self) -> bool {
        matches!(self, Lineage::Closed(Boundary::Reset | Boundary::Deleted))
    }
}

/// A process and its notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Work {
    pub process: Process,
    /// The lineage it is stamped with, from before it runs.
    pub owner: usize,
    pub consumed: Option<Seen>,
    /// Where its notification stands; `None` before there is one.
    pub standing: Option<Standing>,
    pub held: Held,
    /// Background turns that failed on it.
    pub attempts: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Process {
    NotStarted,
    Running,
    /// By itself.
    Ended,
    /// Because somebody wanted it.
    Stopped,
}

impl Process {
    pub const fn is_over(self) -> bool {
        matches!(self, Process::Ended | Process::Stopped)
    }
}

/// Who knows the result already: the stored mark, and what the model knows of how it came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seen {
    ByLineage(usize),
    /// By the background turn that was to tell it.
    WhileTold,
    Stopped,
}

/// `held_since`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Held {
    Never,
    Recently,
    TooLong,
}

/// An item of the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Item {
    pub what: What,
    /// As its row has it; `None` for command replies.
    pub lineage: Option<usize>,
    pub state: OutboxState,
    /// It is at the platform. Nobody here knows.
    pub arrived: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// To a person's message.
    Answer,
    /// A background turn's answer, or a notice.
    Told(Set),
    /// That this lineage was ended.
    Confirmation(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Memory {
    pub turn: Option<Turn>,
    pub compressing: bool,
    pub sending: Option<Sending>,
    /// What a planted bug has still to do. Always `None` in the true model.
    pub unfinished: Option<Unfinished>,
}

impl Memory {
    pub const fn is_free(&self) -> bool {
        self.turn.is_none() && !self.compressing
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Turn {
    Foreground { lineage: usize },
    Background { lineage: usize, told: Set },
}

impl Turn {
    pub const fn lineage(self) -> usize {
        match self {
            Turn::Foreground { lineage } | Turn::Background { lineage, .. } => lineage,
        }
    }
}

/// The attempt that is under way: of the one item that is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sending {
    /// Where the item stood before.
    pub before: OutboxState,
    pub how: How,
    pub lineage: Stale,
    pub arrived: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unfinished {
    /// Marked delivered, not in the history yet.
    Enter { lineage: usize, told: Set },
    /// In the history, not marked yet.
    Mark { told: Set },
    /// Checked, not sent yet.
    Send(Item),
    /// Marked as stopped, not stopped yet.
    Stop(usize),
}

/// What people have seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct People {
    /// Lineages whose end was confirmed to them.
    pub confirmed: Set,
    /// Notifications that they were told.
    pub told: Set,
}

/// How often something may still happen: this makes the model finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Left {
    pub commands: u8,
    pub messages: u8,
    pub compressions: u8,
    pub crashes: u8,
    /// Turns and sends that fail.
    pub mishaps: u8,
    /// Stretches of time as long as a hold may last.
    pub waits: u8,
    pub windows: u8,
}

impl State {
    pub fn first(setting: Setting, left: Left) -> State {
        let work = Work {
            process: Process::NotStarted,
            owner: 0,
            consumed: None,
            standing: None,
            held: Held::Never,
            attempts: 0,
        };
        let running = Work {
            process: Process::Running,
            ..work
        };
        let mut lineages = [Lineage::Unused; LINEAGES];
        lineages[0] = Lineage::Open { tip: 0 };
        State {
            setting,
            store: Store {
                lineages,
                current: Some(0),
                works: [running, work],
                history: [[0; LINEAGES]; NOTIFICATIONS],
                outbox: Vec::new(),
                waiting: 0,
                windows: [setting.windowed, false],
            },
            memory: Some(Memory::default()),
            people: People::default(),
            left,
            broken: Broken::default(),
        }
    }
}
