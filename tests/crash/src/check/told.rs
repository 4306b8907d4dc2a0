//! Results: what is delivered was posted, once, in its owner's conversation, to its owner's history, and not after its end was confirmed.

use std::collections::{BTreeMap, BTreeSet};

use homing_domain::ids::{LineageId, OutboxId, ProcessId, SessionId};
use homing_domain::notification::State;
use homing_domain::process::Ending;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{NotificationRow, OutboxState, Source};

use super::facts::Facts;
use super::posts::{Post, Posts, Says};
use super::{Fault, Found};
use crate::people::Ledger;
use crate::programs::label_in;

pub fn check(facts: &Facts, posts: &Posts, ledger: &Ledger, found: &mut Found) {
    let posted: BTreeSet<OutboxId> = posts.all.iter().filter_map(|post| post.outbox).collect();
    let mut told: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for post in &posts.all {
        if let Says::Told { session, about } = &post.says {
            for process in about {
                *told.entry(*process).or_default() += 1;
                one_result(facts, post, *process, *session, found);
            }
            if let [process] = about.as_slice() {
                content(facts, ledger, post, *process, found);
            }
        }
    }
    for (process, times) in &told {
        if *times > 1 {
            found.fault(
                Fault::Duplicated,
                format!("{process} was told {times} times"),
            );
        }
    }
    outbox(facts, &posted, found);
    for notification in facts.notifications.values() {
        if notification.state == State::Delivered {
            delivered(facts, notification, &posted, &told, found);
        }
    }
    not_after_the_end(facts, posts, found);
}

fn one_result(
    facts: &Facts,
    post: &Post,
    process: ProcessId,
    session: SessionId,
    found: &mut Found,
) {
    let Some(row) = facts.processes.get(&process) else {
        return found.fault(Fault::Misrouted, format!("{process} was told and is none"));
    };
    if post.thread != facts.thread(row.owner.conversation) {
        found.fault(
            Fault::Misrouted,
            format!("{process} was told in thread {:?}", post.thread),
        );
    }
    if facts.lineage_of(session) != Some(row.owner.lineage) {
        found.fault(
            Fault::Misrouted,
            format!("{process} was told to {session}, which is not of its lineage"),
        );
    }
}

/// A post about one process holds its result.
fn content(facts: &Facts, ledger: &Ledger, post: &Post, process: ProcessId, found: &mut Found) {
    let Some(row) = facts.processes.get(&process) else {
        return;
    };
    let program = label_in(&row.command)
        .and_then(|label| ledger.programs.get(label))
        .map(|launched| launched.program);
    let (Some(program), Some(Ending::Code(_))) = (program, row.ending) else {
        return;
    };
    // Longer outputs are shown in part.
    let wanted = format!(
        "output {} {}",
        program.label(),
        program.lines.wrapping_sub(1)
    );
    if (1..=20).contains(&program.lines) && !post.text.contains(&wanted) {
        found.fault(
            Fault::Lost,
            format!("{process} was told without its output `{wanted}`"),
        );
    }
}

fn outbox(facts: &Facts, posted: &BTreeSet<OutboxId>, found: &mut Found) {
    for item in facts.outbox.values() {
        match item.state {
            OutboxState::Sent if !posted.contains(&item.id) => found.fault(
                Fault::FalseDelivered,
                format!(
                    "{} ({}) is sent and was not posted",
                    item.id,
                    item.kind.name()
                ),
            ),
            OutboxState::Dead => found.fault(
                Fault::DeadLetter,
                format!(
                    "{}: {}",
                    item.id,
                    item.reason.as_deref().unwrap_or_default()
                ),
            ),
            OutboxState::Queued | OutboxState::Sending | OutboxState::Uncertain => found.fault(
                Fault::Books,
                format!("{} is still {}", item.id, item.state.name()),
            ),
            OutboxState::Sent | OutboxState::Cancelled => {}
        }
    }
}

fn delivered(
    facts: &Facts,
    notification: &NotificationRow,
    posted: &BTreeSet<OutboxId>,
    told: &BTreeMap<ProcessId, u64>,
    found: &mut Found,
) {
    let items: Vec<_> = facts
        .outbox
        .values()
        .filter(|item| item.turn.is_some() && item.turn == notification.turn)
        .collect();
    let id = notification.id;
    if items.is_empty() {
        return found.fault(
            Fault::FalseDelivered,
            format!("{id} is delivered, and nothing was to be sent"),
        );
    }
    let all_sent = items
        .iter()
        .all(|item| item.state == OutboxState::Sent && posted.contains(&item.id));
    if let Source::Process(process) = notification.source
        && all_sent
        && !told.contains_key(&process)
    {
        found.fault(
            Fault::Lost,
            format!("{id} is delivered and sent, and {process} is in no post"),
        );
    }
}

/// Once the answer to the `/new` that closed a lineage is posted, nothing of that lineage is.
fn not_after_the_end(facts: &Facts, posts: &Posts, found: &mut Found) {
    let mut closed: BTreeMap<LineageId, usize> = BTreeMap::new();
    for (index, post) in posts.all.iter().enumerate() {
        if let Some(lineage) = confirmed_end(facts, post) {
            closed.entry(lineage).or_insert(index);
        }
        let lineage = match &post.says {
            Says::Answer { session, .. } | Says::Told { session, .. } => facts.lineage_of(*session),
            // What says nothing of itself is what its row says.
            Says::Interrupted | Says::Other => post
                .outbox
                .and_then(|id| facts.outbox.get(&id))
                .and_then(|item| item.lineage),
        };
        if let Some(end) = lineage.and_then(|lineage| closed.get(&lineage))
            && *end < index
        {
            found.fault(
                Fault::Misrouted,
                format!(
                    "post {index} (`{}`) is of a lineage whose end was confirmed by post {end}",
                    post.text.lines().next().unwrap_or_default()
                ),
            );
        }
    }
}

/// The lineage whose end this post confirms: the new session began in the transaction that closed it.
fn confirmed_end(facts: &Facts, post: &Post) -> Option<LineageId> {
    if post.kind != OutgoingKind::Reply {
        return None;
    }
    let session = fresh_session(&post.text)?;
    let row = facts.sessions.get(&session)?;
    let ended = facts.lineages.values().find(|lineage| {
        lineage.conversation == row.conversation
            && lineage.closed.is_some_and(|(_, at)| at == row.started_at)
    });
    ended.map(|lineage| lineage.id)
}

/// The session that the answer to a `/new` names.
pub fn fresh_session(text: &str) -> Option<SessionId> {
    text.strip_prefix("A fresh session: ")?
        .split('.')
        .next()?
        .parse()
        .ok()
}
