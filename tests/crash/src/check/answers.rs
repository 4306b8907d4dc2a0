//! Messages and commands: each is answered once, unless a boundary that came after it ended it.

use std::collections::{BTreeMap, BTreeSet};

use homing_domain::ids::{SessionId, WindowId};
use homing_domain::session::Boundary;
use homing_domain::time::Timestamp;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{OutboxRow, OutboxState};

use super::facts::Facts;
use super::posts::{Posts, Says, says};
use super::told::{deleted_session, fresh_session};
use super::{Fault, Found};
use crate::people::{Ledger, What, Written};

/// A command that met another state than it expected says so, and does nothing.
const MET_ANOTHER_STATE: &str = "That changed while I was at it";
/// Longer than this, in bytes, an answer may be a part of one. The platform takes 4,000 characters.
const PART: usize = 3_000;

pub fn check(facts: &Facts, posts: &Posts, ledger: &Ledger, found: &mut Found) {
    let boundaries = Boundaries::read(posts, ledger);
    messages(facts, posts, ledger, &boundaries, found);
    let threads: BTreeSet<u64> = ledger.written.iter().map(|one| one.thread).collect();
    for thread in threads {
        commands(facts, posts, ledger, &boundaries, thread, found);
        new_sessions(facts, posts, ledger, thread, found);
    }
}

/// What ended sessions at a person's wish: every `/new`, and the `/delete` of a session that was current.
struct Boundaries {
    /// By thread, the last of them, as an index into what was written.
    last: BTreeMap<u64, usize>,
}

impl Boundaries {
    fn read(posts: &Posts, ledger: &Ledger) -> Boundaries {
        let deleted: BTreeSet<SessionId> = posts
            .items()
            .filter(|post| post.text.contains("Your next message begins a fresh one"))
            .filter_map(|post| deleted_session(&post.text))
            .collect();
        let mut last = BTreeMap::new();
        for (index, one) in ledger.written.iter().enumerate() {
            let ends = match &one.what {
                What::New { .. } => true,
                What::Delete { session } => session
                    .parse()
                    .is_ok_and(|session| deleted.contains(&session)),
                What::Message { .. } | What::Command => false,
            };
            if ends {
                last.insert(one.thread, index);
            }
        }
        Boundaries { last }
    }

    /// One of them came after this.
    fn end(&self, one: &Written, index: usize) -> bool {
        self.last.get(&one.thread).is_some_and(|last| *last > index)
    }
}

fn messages(
    facts: &Facts,
    posts: &Posts,
    ledger: &Ledger,
    boundaries: &Boundaries,
    found: &mut Found,
) {
    type At = (Option<u64>, Option<WindowId>);
    let mut answers: BTreeMap<&str, Vec<At>> = BTreeMap::new();
    let mut interrupted: BTreeMap<u64, usize> = BTreeMap::new();
    for post in posts.items() {
        match &post.says {
            Says::Answer { label, .. } => answers
                .entry(label)
                .or_default()
                .push((post.thread, post.window)),
            Says::Interrupted => {
                *interrupted.entry(post.thread.unwrap_or(0)).or_default() += 1;
            }
            Says::Told { .. } | Says::Other => {}
        }
    }
    let mut cancelled: BTreeSet<String> = BTreeSet::new();
    for (thread, says) in cancelled_by_delete(facts) {
        match says {
            Says::Answer { label, .. } => drop(cancelled.insert(label)),
            Says::Interrupted => *interrupted.entry(thread).or_default() += 1,
            Says::Told { .. } | Says::Other => {}
        }
    }
    for (index, one) in ledger.written.iter().enumerate() {
        let What::Message { label } = &one.what else {
            continue;
        };
        match answers.get(label.as_str()).map(Vec::as_slice) {
            Some([at]) if *at == (Some(one.thread), one.window) => {}
            Some([(thread, window)]) => found.fault(
                Fault::Misrouted,
                format!("{label} was answered in thread {thread:?}, window {window:?}"),
            ),
            Some(more) => found.fault(
                Fault::Duplicated,
                format!("{label} was answered {} times", more.len()),
            ),
            None if boundaries.end(one, index) || cancelled.contains(label) => {}
            None => match interrupted.get_mut(&one.thread).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => found.fault(
                    Fault::Unanswered,
                    format!("{label} (`{}`) was never answered", one.text),
                ),
            },
        }
    }
}

/// Answers that had not left when their session was deleted, current or not: what one of a parked session ends is said by no post.
fn cancelled_by_delete(facts: &Facts) -> impl Iterator<Item = (u64, Says)> {
    let of_deleted = |item: &&OutboxRow| {
        let closed = item
            .lineage
            .and_then(|lineage| facts.lineages.get(&lineage)?.closed);
        item.state == OutboxState::Cancelled
            && closed.is_some_and(|(boundary, _)| boundary == Boundary::Deleted)
    };
    facts.outbox.values().filter(of_deleted).map(|item| {
        let thread = item.origin.thread.as_deref();
        let thread = thread.and_then(|thread| thread.parse().ok());
        (thread.unwrap_or(0), says(&item.text))
    })
}

/// Commands have no labels; each has one answer. A `/compress` that still waits when a boundary comes is ended by it, and the answer to that says so.
fn commands(
    facts: &Facts,
    posts: &Posts,
    ledger: &Ledger,
    boundaries: &Boundaries,
    thread: u64,
    found: &mut Found,
) {
    let (mut wanted, mut ended) = (0, 0);
    for (index, one) in ledger.written.iter().enumerate() {
        let is_command = !matches!(one.what, What::Message { .. });
        if one.thread != thread || !is_command {
            continue;
        }
        match one.text == "/compress" && boundaries.end(one, index) {
            true => ended += 1,
            false => wanted += 1,
        }
    }
    let posted = answers_to_commands(facts, posts, thread);
    let said = format!("thread {thread}: {wanted} commands and {ended} more, {posted} answers");
    if posted < wanted {
        found.fault(Fault::Unanswered, said);
    } else if posted > wanted + ended {
        found.fault(Fault::Duplicated, said);
    }
}

/// A long answer leaves in parts, which were enqueued at the same moment.
fn answers_to_commands(facts: &Facts, posts: &Posts, thread: u64) -> usize {
    let mut answers = 0;
    let mut before: Option<(Option<Timestamp>, bool)> = None;
    for post in posts.of_kind(OutgoingKind::Reply, thread) {
        let item = post.outbox.and_then(|id| facts.outbox.get(&id));
        let at = item.map(|item| item.created_at);
        let goes_on = before.is_some_and(|(then, long)| long && then == at);
        answers += usize::from(!goes_on);
        before = Some((at, post.text.len() > PART));
    }
    answers
}

/// Every `/new` made one session, and the answer that names it was posted once.
fn new_sessions(facts: &Facts, posts: &Posts, ledger: &Ledger, thread: u64, found: &mut Found) {
    let here = posts.of_kind(OutgoingKind::Reply, thread);
    let mut met_another_state = 0;
    let mut confirmed: BTreeMap<SessionId, u64> = BTreeMap::new();
    for post in here {
        if post.text.starts_with(MET_ANOTHER_STATE) {
            met_another_state += 1;
        }
        if let Some(session) = fresh_session(&post.text) {
            *confirmed.entry(session).or_default() += 1;
        }
    }
    let mut titled: BTreeMap<&str, Vec<SessionId>> = BTreeMap::new();
    // A continuation keeps its session's title.
    let begun = facts
        .sessions
        .values()
        .filter(|session| session.continues.is_none());
    for session in begun {
        if let Some(title) = &session.title {
            titled.entry(title).or_default().push(session.id);
        }
    }
    for one in ledger.written.iter().filter(|one| one.thread == thread) {
        let What::New { title } = &one.what else {
            continue;
        };
        match titled.get(title.as_str()).map(Vec::as_slice) {
            None | Some([]) if met_another_state > 0 => met_another_state -= 1,
            None | Some([]) => found.fault(
                Fault::ConfirmationMissing,
                format!("/new {title} in thread {thread} did nothing"),
            ),
            Some([session]) => match confirmed.get(session).copied().unwrap_or(0) {
                1 => {}
                0 => found.fault(
                    Fault::ConfirmationMissing,
                    format!("/new {title} in thread {thread} was not answered"),
                ),
                times => found.fault(
                    Fault::Duplicated,
                    format!("/new {title} was answered {times} times"),
                ),
            },
            Some(more) => found.fault(
                Fault::Duplicated,
                format!("/new {title} made {} sessions", more.len()),
            ),
        }
    }
}
