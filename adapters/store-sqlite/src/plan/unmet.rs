//! What a change needed, in words, for [`Committed::Unmet`](homing_ports::store::Committed).

use homing_ports::store::{Change, Commit, NewDelegation};

/// Says that the conversation itself was not there.
pub(crate) fn no_conversation(commit: &Commit) -> String {
    format!("there is no conversation {}", commit.conversation)
}

/// Says what the change at `index` expected to find.
pub(crate) fn expectation(commit: &Commit, index: usize) -> String {
    let Some(change) = commit.changes.get(index) else {
        return no_conversation(commit);
    };
    match change {
        Change::RequireGeneration(generation) => {
            format!("the conversation is not at generation {generation} any more")
        }
        Change::StartLineage {
            lineage, session, ..
        } => format!(
            "lineage {lineage} with session {session} cannot begin: an id is taken, or its parent is not there"
        ),
        Change::Continue { lineage, from, .. } => {
            format!("session {from} is not the open tip of lineage {lineage}")
        }
        Change::CloseLineage { lineage, .. } => {
            format!("lineage {lineage} is closed already, or is not of this conversation")
        }
        Change::Point(Some(current)) => format!(
            "session {} is not the tip of an open lineage {} of this conversation",
            current.session, current.lineage
        ),
        Change::Point(None) => no_conversation(commit),
        Change::Title { session, .. } => {
            format!("there is no session {session} in this conversation")
        }
        Change::Append(message) => format!(
            "there is no session {} in this conversation, or message {} exists",
            message.session, message.id
        ),
        Change::EnterHistory {
            lineage,
            notification,
            ..
        } => {
            format!(
                "notification {notification} is in the history of {lineage} already, is settled, or does not belong there"
            )
        }
        Change::Undo { .. } => "there is nothing to undo".to_owned(),
        Change::SetModel(_) => no_conversation(commit),
        Change::FinishInboundOf { turn } => format!("what turn {turn} took cannot be finished"),
        Change::Previewed { turn, .. } => format!("turn {turn} does not run"),
        Change::Used { turn, .. } => format!("there is no turn {turn} in this conversation"),
        Change::ToldAgain { outbox, .. } => {
            format!("{outbox} is no dead letter, or was told again already")
        }
        Change::AddApproval(approval) => format!(
            "{} does not run, or approval {} exists",
            approval.asker, approval.id
        ),
        Change::SettleApproval { approval, .. } => format!("{approval} is settled already"),
        Change::TakeInbound { inbound, .. } => format!("{inbound} is not queued"),
        Change::FinishInbound { inbound } => format!("{inbound} is done already, or is not there"),
        Change::RequeueInbound { inbound } => format!("{inbound} is not taken"),
        Change::RewriteInbound { inbound, .. } | Change::RepeatInbound { inbound, .. } => {
            format!("{inbound} is not queued")
        }
        Change::StartTurn { turn, session, .. } => format!(
            "turn {turn} cannot begin: session {session} has ended or is not there, or the turn exists"
        ),
        Change::RequireTurn(turn) | Change::CountTool { turn } | Change::EndTurn { turn, .. } => {
            format!("turn {turn} does not run")
        }
        Change::AddProcess(process) => format!(
            "process {} exists, or its owner is another conversation",
            process.id
        ),
        Change::ProcessStarted { process } | Change::ProcessFailed { process, .. } => {
            format!("process {process} is not starting")
        }
        Change::ProcessEnded { process, .. } => {
            format!("process {process} has ended already, or is not of this conversation")
        }
        Change::Consume {
            process, lineage, ..
        } => format!("process {process} is consumed already, or {lineage} does not own it"),
        Change::NotStopped { process } => {
            format!("process {process} has ended, or is not of this conversation")
        }
        Change::Adopt { process, .. } => {
            format!("there is no process {process}, or its new owner is another conversation")
        }
        Change::ForgetOutput { process } => {
            format!("process {process} has not ended, or its output is gone already")
        }
        Change::MoveToBackground { process } => {
            format!("process {process} does not run in the foreground")
        }
        Change::RequireDelegation(delegation) => format!("delegation {delegation} does not run"),
        Change::Watched { process, .. } => {
            format!("there is no process {process} in this conversation")
        }
        Change::AddNotification {
            notification,
            kind,
            sequence,
            ..
        } => {
            format!(
                "a {} notification number {sequence} of that source exists, or {notification} does",
                kind.name()
            )
        }
        Change::Decide(decision) => format!(
            "notification {} is not {}, or cannot become {}",
            decision.notification,
            decision.from.name(),
            decision.to.name()
        ),
        Change::Enqueue(outgoing) => format!(
            "{} cannot be queued: it exists, or its lineage is not there",
            outgoing.id
        ),
        Change::CancelQueued { lineage, .. } => {
            format!("what {lineage} has queued cannot be cancelled")
        }
        Change::Sending { outbox, attempt } => {
            format!("{outbox} does not wait for attempt {attempt}")
        }
        Change::Sent {
            outbox, attempt, ..
        }
        | Change::SendAgain {
            outbox, attempt, ..
        }
        | Change::SendUncertain {
            outbox, attempt, ..
        }
        | Change::SendCancelled {
            outbox, attempt, ..
        }
        | Change::SendDead {
            outbox, attempt, ..
        } => format!("attempt {attempt} of {outbox} is not the one under way"),
        Change::OpenWindow { window } => {
            format!("window {window} was closed, or shows another conversation")
        }
        Change::TouchWindow { window } | Change::CloseWindow { window } => {
            format!("window {window} is not open on this conversation")
        }
        Change::AddDelegation(NewDelegation { id: delegation, .. }) => {
            format!("delegation {delegation} exists, or its owner is another conversation")
        }
        Change::EndDelegation { delegation, .. } => {
            format!("delegation {delegation} does not run, or cannot end so")
        }
    }
}
