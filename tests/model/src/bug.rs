//! Known-bad variants. Each must break a rule, or the model sees too little.

use crate::rules::Rule;
use crate::scenes::{QUIET, Scene, USUAL};
use crate::state::Left;

/// How this model differs from the true one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bug {
    None,
    /// The answer of a background turn is checked in one step and sent past the outbox in a later one.
    CheckThenSend,
    /// Marked delivered first, entered into the history in a later commit.
    AcknowledgeFirst,
    /// Entered into the history first, marked delivered in a later commit.
    HistoryFirst,
    /// The answer to `/new` goes to the platform at once, past what is on its way.
    ReplyOutsideTheOutbox,
    /// What was being sent is simply sent again after a restart.
    SendingIsQueuedAtRestart,
    /// A restart forgets that what it made uncertain may be of a closed lineage.
    RestartKeepsClosed,
    BoundaryKeepsQueued,
    /// A send that failed is tried again though its lineage was closed meanwhile.
    StaleRetry,
    /// Whoever looks at a result consumes it.
    ForeignConsumption,
    /// The owner is looked up by the conversation's key: whatever is current owns it.
    FollowsTheKey,
    /// An item that is not the first may be sent.
    SkipsTheFirst,
    /// A restart decides again about what the interrupted turn had delivered.
    RestartReopens,
    /// A hold is renewed by each look, and so never ends.
    RenewsHolds,
    /// What is held is never looked at again.
    HeldIsNotJudged,
    /// An attempt forgets that the item was uncertain before it.
    ForgetsUncertain,
    /// The turn that tells a result consumes it by reading its log.
    ConsumesWhileTold,
    /// `/kill` is marked in one commit, and what stops the process is only remembered.
    KillIsForgotten,
    /// A restart cancels what is uncertain of a lineage that the idle policy closed.
    RestartCancelsIdle,
}

/// A bug, the rule that must find it, and a scene that is large enough for that.
#[derive(Debug, Clone, Copy)]
pub struct Planted {
    pub bug: Bug,
    pub rule: Rule,
    pub scene: Scene,
}

/// Every one but none.
pub fn planted() -> Vec<Planted> {
    let silent = Left {
        messages: 0,
        ..QUIET
    };
    let command = Left {
        commands: 1,
        ..silent
    };
    let told = |bug, rule, left| Planted {
        bug,
        rule,
        scene: Scene {
            setting: USUAL,
            left,
        },
    };
    use Bug::*;
    vec![
        told(CheckThenSend, Rule::QuietAfterConfirmation, command),
        told(
            AcknowledgeFirst,
            Rule::DeliveredIsInHistory,
            Left {
                crashes: 1,
                ..silent
            },
        ),
        told(
            HistoryFirst,
            Rule::OnceIntoHistory,
            Left {
                crashes: 1,
                ..silent
            },
        ),
        told(ReplyOutsideTheOutbox, Rule::QuietAfterConfirmation, command),
        told(
            SendingIsQueuedAtRestart,
            Rule::NoRepeat,
            Left {
                crashes: 1,
                ..silent
            },
        ),
        told(
            RestartKeepsClosed,
            Rule::ClosedDoesNotLeave,
            Left {
                crashes: 1,
                ..command
            },
        ),
        told(BoundaryKeepsQueued, Rule::ClosedDoesNotLeave, command),
        told(
            StaleRetry,
            Rule::ClosedDoesNotLeave,
            Left {
                mishaps: 1,
                ..command
            },
        ),
        told(
            ForeignConsumption,
            Rule::ConsumedByRight,
            Left {
                messages: 1,
                ..command
            },
        ),
        told(FollowsTheKey, Rule::OwnLineageOnly, command),
        told(SkipsTheFirst, Rule::Order, QUIET),
        told(
            RestartReopens,
            Rule::SettledStays,
            Left {
                crashes: 1,
                ..silent
            },
        ),
        told(RenewsHolds, Rule::Settles, command),
        told(HeldIsNotJudged, Rule::Settles, command),
        told(
            ForgetsUncertain,
            Rule::NoRepeat,
            Left {
                mishaps: 2,
                ..command
            },
        ),
        told(
            ConsumesWhileTold,
            Rule::ConsumedByRight,
            Left {
                mishaps: 1,
                ..silent
            },
        ),
        told(
            KillIsForgotten,
            Rule::ConsumedByRight,
            Left {
                crashes: 1,
                ..command
            },
        ),
        told(
            RestartCancelsIdle,
            Rule::CancelledByAPerson,
            Left {
                crashes: 1,
                ..command
            },
        ),
    ]
}
