//! Known-bad variants. Each must break a rule, or the model sees too little.

use crate::rules::Rule;

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

impl Bug {
    /// Every one but none, with the rule that is expected to find it.
    pub const PLANTED: [(Bug, Rule); 18] = [
        (Bug::CheckThenSend, Rule::QuietAfterConfirmation),
        (Bug::AcknowledgeFirst, Rule::DeliveredIsInHistory),
        (Bug::HistoryFirst, Rule::OnceIntoHistory),
        (Bug::ReplyOutsideTheOutbox, Rule::QuietAfterConfirmation),
        (Bug::SendingIsQueuedAtRestart, Rule::NoRepeat),
        (Bug::RestartKeepsClosed, Rule::ClosedDoesNotLeave),
        (Bug::BoundaryKeepsQueued, Rule::ClosedDoesNotLeave),
        (Bug::StaleRetry, Rule::ClosedDoesNotLeave),
        (Bug::ForeignConsumption, Rule::ConsumedByRight),
        (Bug::FollowsTheKey, Rule::OwnLineageOnly),
        (Bug::SkipsTheFirst, Rule::Order),
        (Bug::RestartReopens, Rule::SettledStays),
        (Bug::RenewsHolds, Rule::Settles),
        (Bug::HeldIsNotJudged, Rule::Settles),
        (Bug::ForgetsUncertain, Rule::NoRepeat),
        (Bug::ConsumesWhileTold, Rule::ConsumedByRight),
        (Bug::KillIsForgotten, Rule::ConsumedByRight),
        (Bug::RestartCancelsIdle, Rule::CancelledByAPerson),
    ];
}
