//! All that can happen, and what it costs.
//!
//! **Invariant:** what the gateway, a program or the platform does by itself is free; what disturbs them is bounded by [`Left`].

use homing_domain::outbox::Attempt;

use crate::state::{LINEAGES, Left, NOTIFICATIONS};

/// One step of one party. What a conversation's task does between two waits, with one commit, is one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A program ends, also while the gateway is down.
    ProcessEnds(usize),
    /// Its end and its notification are recorded.
    Recorded(usize),
    Message,
    BeginForeground,
    /// The foreground turn starts process 1.
    Start,
    /// The running turn waits for, or reads to the end, a process that is over.
    Look(usize),
    EndForeground,
    Judge,
    BeginBackground,
    EndBackground,
    FailBackground,
    New,
    Branch,
    Resume(usize),
    Delete(usize),
    Stop,
    Kill(usize),
    /// The session ends by the idle policy.
    Idle,
    BeginCompression,
    EndCompression,
    BeginSend,
    /// The platform has the message, and shows it.
    Arrive,
    EndSend(Attempt),
    /// The second half of what a planted bug does in two.
    Finish,
    Crash,
    Restart,
    /// Longer than a hold may last.
    Wait,
    CloseWindow(usize),
    OpenWindow(usize),
}

impl Action {
    pub fn all() -> Vec<Action> {
        use Action::*;
        let mut all = vec![
            Message,
            BeginForeground,
            Start,
            EndForeground,
            Judge,
            BeginBackground,
            EndBackground,
            FailBackground,
            New,
            Branch,
            Stop,
            Idle,
            BeginCompression,
            EndCompression,
            BeginSend,
            Arrive,
            Finish,
            Crash,
            Restart,
            Wait,
        ];
        for number in 0..NOTIFICATIONS {
            all.extend([
                ProcessEnds(number),
                Recorded(number),
                Look(number),
                Kill(number),
            ]);
        }
        for lineage in 0..LINEAGES {
            all.extend([Resume(lineage), Delete(lineage)]);
        }
        all.extend(
            [
                Attempt::Accepted,
                Attempt::NotSent,
                Attempt::Unknown,
                Attempt::Refused,
            ]
            .map(EndSend),
        );
        for window in 0..2 {
            all.extend([CloseWindow(window), OpenWindow(window)]);
        }
        all
    }

    /// What is left after it; `None` if there is not enough.
    pub fn pay(self, left: Left) -> Option<Left> {
        let mut after = left;
        let account = match self {
            Action::New
            | Action::Branch
            | Action::Resume(_)
            | Action::Delete(_)
            | Action::Stop
            | Action::Kill(_)
            | Action::Idle => &mut after.commands,
            Action::Message => &mut after.messages,
            Action::BeginCompression => &mut after.compressions,
            Action::Crash => &mut after.crashes,
            Action::FailBackground
            | Action::EndSend(Attempt::NotSent | Attempt::Unknown | Attempt::Refused) => {
                &mut after.mishaps
            }
            Action::Wait => &mut after.waits,
            Action::CloseWindow(_) | Action::OpenWindow(_) => &mut after.windows,
            Action::ProcessEnds(_)
            | Action::Recorded(_)
            | Action::BeginForeground
            | Action::Start
            | Action::Look(_)
            | Action::EndForeground
            | Action::Judge
            | Action::BeginBackground
            | Action::EndBackground
            | Action::EndCompression
            | Action::BeginSend
            | Action::Arrive
            | Action::EndSend(Attempt::Accepted)
            | Action::Finish
            | Action::Restart => return Some(left),
        };
        *account = account.checked_sub(1)?;
        Some(after)
    }
}
