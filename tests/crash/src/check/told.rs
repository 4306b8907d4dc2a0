//! Results: what is delivered was posted, once, in its owner's conversation, to its owner's history, and not after its end was confirmed.

use std::collections::{BTreeMap, BTreeSet};

use homing_domain::ids::{LineageId, NotificationId, OutboxId, SessionId};
use homing_domain::notification::{Kind, State};
use homing_domain::owner::Owner;
use homing_domain::process::Ending;
use homing_domain::session::Boundary;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{NotificationRow, OutboxState, Source};

use super::facts::Facts;
use super::posts::{Post, Posts, Says};
use super::{Fault, Found};
use crate::people::Ledger;
use crate::programs::label_in;

pub fn check(facts: &Facts, posts: &Posts, ledger: &Ledger, found: &mut Found) {
    let posted: BTreeSet<OutboxId> = posts.all.iter().filter_map(|post| post.outbox).collect();
    let mut told: BTreeMap<NotificationId, u64> = BTreeMap::new();
    for post in posts.items() {
        if let Says::Told { session, about } = &post.says {
            for (source, notification) in about {
                *told.entry(*notification).or_default() += 1;
                one_result(facts, ledger, post, *source, *session, found);
            }
            if let [(source, notification)] = about.as_slice() {
                content(facts, ledger, post, *source, *notification, found);
            }
        }
    }
    for (notification, times) in &told {
        if *times > 1 {
            found.fault(
                Fault::Duplicated,
                format!("{notification} was told {times} times"),
            );
        }
    }
    outbox(facts, &posted, found);
    for notification in facts.notifications.values() {
        match notification.state {
            State::Delivered => delivered(facts, notification, &posted, &told, found),
            State::Noticed => noticed(facts, posts, notification, found),
            State::Pending | State::Claimed | State::Held | State::Consumed | State::Dropped => {}
        }
    }
    not_after_the_end(facts, posts, found);
}

fn one_result(
    facts: &Facts,
    ledger: &Ledger,
    post: &Post,
    source: Source,
    session: SessionId,
    found: &mut Found,
) {
    let Some(owner) = facts.owner(source) else {
        return found.fault(Fault::Misrouted, format!("{source:?} was told and is none"));
    };
    if post.thread != facts.thread(owner.conversation) {
        found.fault(
            Fault::Misrouted,
            format!("{source:?} was told in thread {:?}", post.thread),
        );
    }
    if !is_of(facts, ledger, owner, source, session) {
        found.fault(
            Fault::Misrouted,
            format!("{source:?} was told to {session}, which is not of its lineage"),
        );
    }
}

/// Whoever adopted it was its owner for a while, and so was whoever started it; the store knows the last of them.
fn is_of(
    facts: &Facts,
    ledger: &Ledger,
    owner: &Owner,
    source: Source,
    session: SessionId,
) -> bool {
    if facts.lineage_of(session) == Some(owner.lineage) {
        return true;
    }
    let of_the_conversation = facts
        .sessions
        .get(&session)
        .is_some_and(|session| session.conversation == owner.conversation);
    is_adopted(ledger, source) && of_the_conversation
}

pub fn is_adopted(ledger: &Ledger, source: Source) -> bool {
    match source {
        Source::Process(process) => ledger.adopted.contains_key(&process.to_string()),
        Source::Delegation(_) => false,
    }
}

/// A post about the end of one process holds its result.
fn content(
    facts: &Facts,
    ledger: &Ledger,
    post: &Post,
    source: Source,
    notification: NotificationId,
    found: &mut Found,
) {
    let Source::Process(process) = source else {
        return;
    };
    let kind = facts.notifications.get(&notification).map(|row| row.kind);
    let Some(row) = facts
        .processes
        .get(&process)
        .filter(|_| kind == Some(Kind::Completed))
    else {
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
    told: &BTreeMap<NotificationId, u64>,
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
    if all_sent && !told.contains_key(&id) {
        found.fault(
            Fault::Lost,
            format!("{id} is delivered and sent, and is in no post"),
        );
    }
}

/// A notice is plain text in the thread that started the work; it names what it is about, once for each notification.
fn noticed(facts: &Facts, posts: &Posts, notification: &NotificationRow, found: &mut Found) {
    let (id, source) = (notification.id, notification.source);
    let named = match source {
        Source::Process(process) => format!("({process})"),
        Source::Delegation(delegation) => format!("({delegation})"),
    };
    let thread = facts.thread(notification.conversation);
    let notices = posts
        .items()
        .filter(|post| post.kind == OutgoingKind::Notice && post.text.contains(&named));
    let (here, elsewhere): (Vec<&Post>, Vec<&Post>) =
        notices.partition(|post| post.thread == thread);
    let wanted = facts
        .notifications
        .values()
        .filter(|one| one.state == State::Noticed && one.source == source)
        .count();
    if !elsewhere.is_empty() {
        found.fault(
            Fault::Misrouted,
            format!("{id}: {named} was noticed in another thread"),
        );
    }
    if here.len() < wanted {
        found.fault(
            Fault::FalseDelivered,
            format!("{id} is noticed, and no notice names {named}"),
        );
    } else if here.len() > wanted {
        found.fault(
            Fault::Duplicated,
            format!("{named} was noticed {} times", here.len()),
        );
    }
}

/// Once the answer to the command that closed a lineage is posted, nothing of that lineage is.
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

/// The lineage whose end this post confirms: it names what was deleted, or the session that began in the transaction that closed it.
fn confirmed_end(facts: &Facts, post: &Post) -> Option<LineageId> {
    if post.kind != OutgoingKind::Reply {
        return None;
    }
    if let Some(session) = deleted_session(&post.text) {
        return facts.lineage_of(session);
    }
    let session = fresh_session(&post.text)?;
    let row = facts.sessions.get(&session)?;
    let ended = facts.lineages.values().find(|lineage| {
        let at_once = lineage
            .closed
            .is_some_and(|(boundary, at)| boundary == Boundary::Reset && at == row.started_at);
        lineage.conversation == row.conversation && at_once
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

/// The session that the answer to a `/delete` names.
pub fn deleted_session(text: &str) -> Option<SessionId> {
    text.strip_prefix("Deleted: ")?
        .split('.')
        .next()?
        .parse()
        .ok()
}
