//! What a change means: a pure list of statements, each with the rows it must find.
//!
//! **Invariant:** a step that finds what it must not leaves the whole commit undone, so steps may write first and be checked after. Every step
//! names its row by id and, where the table has one, by conversation: a commit cannot touch another conversation's rows.
//! **Absent on purpose:** reading before writing. A condition belongs into the statement's WHERE, where nothing can come in between.

mod accept;
mod approvals;
mod notifications;
mod outbox;
mod sessions;
mod turns;
mod unmet;
mod work;

use homing_domain::ids::ConversationId;
use homing_domain::time::Timestamp;
use homing_ports::store::{Change, Commit};

pub(crate) use accept::{accept, edit_inbound, open_conversation};
pub(crate) use unmet::{expectation, no_conversation};

use crate::values::{Value, values};

/// One statement.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Exactly one statement, static text, question marks in the order of `values`.
    pub sql: &'static str,
    pub values: Vec<Value>,
    pub expect: Expect,
    /// The change it belongs to.
    pub change: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// It changes exactly one row, or the change is unmet.
    One,
    /// It changes one row or more, or the change is unmet.
    Some,
    /// It finds a row, or the change is unmet.
    Found,
    /// It finds the conversation's row, or there is none.
    Conversation,
    /// It finds this epoch, or another gateway has taken over.
    Epoch(u64),
    Any,
    /// The change contradicts itself; nothing is asked of the database.
    Never,
}

/// The steps of a commit in the making.
#[derive(Debug)]
pub(crate) struct Plan {
    conversation: ConversationId,
    at: Timestamp,
    change: usize,
    steps: Vec<Step>,
}

impl Plan {
    fn step(&mut self, expect: Expect, sql: &'static str, values: Vec<Value>) {
        self.steps.push(Step {
            sql,
            values,
            expect,
            change: self.change,
        });
    }

    fn one(&mut self, sql: &'static str, values: Vec<Value>) {
        self.step(Expect::One, sql, values);
    }

    /// A change that names another conversation than its commit's cannot be met.
    fn only_in(&mut self, conversation: ConversationId) {
        if conversation != self.conversation {
            self.step(Expect::Never, "", Vec::new());
        }
    }
}

/// Begins a transaction, unless another gateway has taken over: what comes behind it is in the same text, which saves a round trip to the connection.
pub(crate) fn begin(epoch: u64) -> [Step; 2] {
    let step = |sql, expect| Step {
        sql,
        values: Vec::new(),
        expect,
        change: 0,
    };
    [
        step("BEGIN IMMEDIATE", Expect::Any),
        step(
            "SELECT coalesce(max(epoch), 0) FROM instances",
            Expect::Epoch(epoch),
        ),
    ]
}

/// The statements of a commit, in order. The first takes the conversation's row, as every store must (house plan: lock the row first).
pub(crate) fn commit(commit: &Commit) -> Vec<Step> {
    let Commit {
        conversation,
        at,
        changes,
    } = commit;
    let mut plan = Plan {
        conversation: *conversation,
        at: *at,
        change: 0,
        steps: Vec::with_capacity(changes.len() + 2),
    };
    if changes
        .iter()
        .any(|change| matches!(change, Change::StartTurn { .. }))
    {
        plan.step(
            Expect::Conversation,
            "UPDATE conversations SET active_at = max(active_at, ?) WHERE id = ? RETURNING 1",
            values![*at, *conversation],
        );
    } else {
        plan.step(
            Expect::Conversation,
            "SELECT 1 FROM conversations WHERE id = ?",
            values![*conversation],
        );
    }
    for (index, change) in changes.iter().enumerate() {
        plan.change = index;
        plan.add(change);
    }
    plan.steps
}

impl Plan {
    fn add(&mut self, change: &Change) {
        match change {
            Change::RequireGeneration(generation) => self.step(
                Expect::Found,
                "SELECT 1 FROM conversations WHERE id = ? AND generation = ?",
                values![self.conversation, *generation],
            ),
            Change::StartLineage {
                lineage,
                session,
                parent,
                title,
            } => self.start_lineage(*lineage, *session, *parent, title.as_ref()),
            Change::Continue {
                lineage,
                from,
                session,
                summary,
                kept_from,
            } => self.continue_lineage(*lineage, *from, *session, summary, *kept_from),
            Change::CloseLineage { lineage, boundary } => self.close_lineage(*lineage, *boundary),
            Change::Point(current) => self.point(*current),
            Change::Title { session, title } => self.title(*session, title),
            Change::Append(message) => self.append(message),
            Change::Undo { lineage, from } => self.undo(*lineage, *from),
            Change::SetModel(model) => self.set_model(model.as_ref()),
            Change::EnterHistory {
                lineage,
                session,
                notification,
            } => self.enter_history(*lineage, *session, *notification),
            Change::TakeInbound { inbound, turn } => self.take_inbound(*inbound, *turn),
            Change::FinishInbound { inbound } => self.finish_inbound(*inbound),
            Change::FinishInboundOf { turn } => self.finish_inbound_of(*turn),
            Change::Previewed { turn, message } => self.previewed(*turn, message),
            Change::Used { turn, usage } => self.used(*turn, *usage),
            Change::RequeueInbound { inbound } => self.requeue_inbound(*inbound),
            Change::RewriteInbound { inbound, text } => self.rewrite_inbound(*inbound, text),
            Change::RepeatInbound {
                inbound,
                text,
                quoted,
                attachments,
            } => self.repeat_inbound(*inbound, text, quoted.as_ref(), attachments),
            Change::StartTurn {
                turn,
                session,
                lineage,
                kind,
            } => self.start_turn(*turn, *session, *lineage, *kind),
            Change::RequireTurn(turn) => self.require_turn(*turn),
            Change::CountTool { turn } => self.count_tool(*turn),
            Change::EndTurn { turn, end, error } => self.end_turn(*turn, *end, error.as_ref()),
            Change::AddProcess(process) => self.add_process(process),
            Change::ProcessStarted { process } => self.process_started(*process),
            Change::ProcessFailed { process, failure } => self.process_failed(*process, failure),
            Change::ProcessEnded {
                process,
                ending,
                ended_at,
                output_total,
                output_tail,
            } => {
                self.process_ended(*process, *ending, *ended_at, *output_total, output_tail);
            }
            Change::Consume {
                process,
                lineage,
                how,
            } => self.consume(*process, *lineage, *how),
            Change::NotStopped { process } => self.not_stopped(*process),
            Change::Adopt { process, owner } => self.adopt(*process, owner),
            Change::Watched { process, watched } => self.watched(*process, watched),
            Change::ForgetOutput { process } => self.forget_output(*process),
            Change::MoveToBackground { process } => self.move_to_background(*process),
            Change::RequireDelegation(delegation) => self.require_delegation(*delegation),
            Change::AddNotification {
                notification,
                source,
                kind,
                sequence,
                content,
                more,
            } => {
                self.add_notification(*notification, *source, *kind, *sequence, content, *more);
            }
            Change::Decide(decision) => self.decide(decision),
            Change::Enqueue(outgoing) => self.enqueue(outgoing),
            Change::CancelQueued { lineage, reason } => self.cancel_queued(*lineage, reason),
            Change::Sending { outbox, attempt } => self.sending(*outbox, *attempt),
            Change::Sent {
                outbox,
                attempt,
                platform_message,
            } => self.sent(*outbox, *attempt, platform_message.as_ref()),
            Change::SendAgain {
                outbox,
                attempt,
                not_before,
                reason,
            } => self.send_again(*outbox, *attempt, *not_before, reason),
            Change::SendUncertain {
                outbox,
                attempt,
                not_before,
                reason,
            } => self.send_uncertain(*outbox, *attempt, *not_before, reason),
            Change::SendCancelled {
                outbox,
                attempt,
                reason,
            } => self.send_cancelled(*outbox, *attempt, reason),
            Change::SendDead {
                outbox,
                attempt,
                reason,
            } => self.send_dead(*outbox, *attempt, reason),
            Change::ToldAgain { outbox, by } => self.told_again(*outbox, *by),
            Change::AddApproval(approval) => self.add_approval(approval),
            Change::SettleApproval { approval, state } => self.settle_approval(*approval, *state),
            Change::OpenWindow { window } => self.open_window(*window),
            Change::TouchWindow { window } => self.touch_window(*window),
            Change::CloseWindow { window } => self.close_window(*window),
            Change::AddDelegation(delegation) => self.add_delegation(delegation),
            Change::EndDelegation {
                delegation,
                state,
                result,
            } => self.end_delegation(*delegation, *state, result),
        }
    }
}

/// An origin as its column.
fn json<T: serde::Serialize>(value: &T) -> Value {
    // Origins and lists of text always serialise; were one not to, the empty text fails loudly when it is read.
    serde_json::to_string(value).unwrap_or_default().into()
}
