//! Messages and commands: each is answered once, unless a boundary that came after it ended it.

use std::collections::{BTreeMap, BTreeSet};

use homing_domain::ids::SessionId;
use homing_domain::time::Timestamp;
use homing_ports::platform::OutgoingKind;

use super::facts::Facts;
use super::posts::{Posts, Says};
use super::told::fresh_session;
use super::{Fault, Found};
use crate::people::{Ledger, What, Written};

/// A command that met another state than it expected says so, and does nothing.
const MET_ANOTHER_STATE: &str = "That changed while I was at it";
/// Longer than this, in bytes, an answer may be a part of one. The platform takes 4,000 characters.
const PART: usize = 3_000;

pub fn check(facts: &Facts, posts: &Posts, ledger: &Ledger, found: &mut Found) {
    messages(posts, ledger, found);
    let threads: BTreeSet<u64> = ledger.written.iter().map(|one| one.thread).collect();
    for thread in threads {
        commands(facts, posts, ledger, thread, found);
        new_sessions(facts, posts, ledger, thread, found);
    }
}

fn messages(posts: &Posts, ledger: &Ledger, found: &mut Found) {
    let mut answers: BTreeMap<&str, Vec<Option<u64>>> = BTreeMap::new();
    let mut interrupted: BTreeMap<u64, usize> = BTreeMap::new();
    for post in &posts.all {
        match &post.says {
            Says::Answer { label, .. } => answers.entry(label).or_default().push(post.thread),
            Says::Interrupted => {
                *interrupted.entry(post.thread.unwrap_or(0)).or_default() += 1;
            }
            Says::Told { .. } | Says::Other => {}
        }
    }
    for (index, one) in ledger.written.iter().enumerate() {
        let What::Message { label } = &one.what else {
            continue;
        };
        match answers.get(label.as_str()).map(Vec::as_slice) {
            Some([thread]) if *thread == Some(one.thread) => {}
            Some([thread]) => found.fault(
                Fault::Misrouted,
                format!("{label} was answered in thread {thread:?}"),
            ),
            Some(more) => found.fault(
                Fault::Duplicated,
                format!("{label} was answered {} times", more.len()),
            ),
            None if ended_by_a_boundary(&ledger.written, index) => {}
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

fn ended_by_a_boundary(written: &[Written], index: usize) -> bool {
    let Some(one) = written.get(index) else {
        return false;
    };
    let after = written.iter().skip(index + 1);
    after
        .filter(|later| later.thread == one.thread)
        .any(|later| matches!(later.what, What::New { .. }))
}

/// Commands have no labels; each has one answer. A `/compress` that still waits when a `/new` comes is ended by it, and the answer to that says so.
fn commands(facts: &Facts, posts: &Posts, ledger: &Ledger, thread: u64, found: &mut Found) {
    let (mut wanted, mut ended) = (0, 0);
    for (index, one) in ledger.written.iter().enumerate() {
        let is_command = matches!(one.what, What::New { .. } | What::Command);
        if one.thread != thread || !is_command {
            continue;
        }
        match one.text == "/compress" && ended_by_a_boundary(&ledger.written, index) {
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
