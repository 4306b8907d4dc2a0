//! Console windows: what was asked for in one is told in it while it is open, in another one of its conversation afterwards, and waits if
//! there is none (OWN-34…36, 42).

use homing_domain::ids::WindowId;
use homing_domain::notification::State;
use homing_domain::process::ProcessState;
use homing_domain::time::Timestamp;
use homing_ports::store::{NotificationRow, Source, WindowRow};

use super::facts::Facts;
use super::posts::{Post, Posts, Says};
use super::told::is_adopted;
use super::{Fault, Found, Moments};
use crate::people::Ledger;
use crate::programs::label_in;

pub fn check(facts: &Facts, posts: &Posts, ledger: &Ledger, moments: Moments, found: &mut Found) {
    books(facts, ledger, found);
    owners(facts, ledger, found);
    for post in posts.items() {
        in_its_thread(post, ledger, found);
        if let Says::Told { about, .. } = &post.says {
            for (source, notification) in about {
                if let Some(row) = facts.notifications.get(notification)
                    && !is_adopted(ledger, *source)
                {
                    told(facts, moments, post, row, found);
                }
            }
        }
    }
    for row in facts.notifications.values() {
        if row.state == State::Held {
            held(facts, ledger, row, found);
        }
    }
}

/// The store's windows are those that people have opened, and closed.
fn books(facts: &Facts, ledger: &Ledger, found: &mut Found) {
    for (id, window) in &ledger.windows {
        found.figures.windows_closed += u64::from(window.closed);
        let row = facts.windows.get(id);
        let closed = row.map(|row| row.closed_at.is_some());
        if closed != Some(window.closed) {
            found.fault(
                Fault::Lost,
                format!(
                    "{id} is closed: {}, in the store: {closed:?}",
                    window.closed
                ),
            );
        }
        let thread = row.and_then(|row| facts.thread(row.conversation));
        if thread != Some(window.thread) {
            found.fault(
                Fault::Misrouted,
                format!(
                    "{id} shows thread {}, in the store {thread:?}",
                    window.thread
                ),
            );
        }
    }
}

/// What a program belongs to is the window it was asked for in.
fn owners(facts: &Facts, ledger: &Ledger, found: &mut Found) {
    for row in facts.processes.values() {
        let launched = label_in(&row.command).and_then(|label| ledger.programs.get(label));
        let Some(launched) = launched.filter(|_| !is_adopted(ledger, Source::Process(row.id)))
        else {
            continue;
        };
        if row.owner.window != launched.at.window {
            found.fault(
                Fault::Misrouted,
                format!(
                    "{} was asked for in window {:?} and belongs to {:?}",
                    row.id, launched.at.window, row.owner.window
                ),
            );
        }
    }
}

fn in_its_thread(post: &Post, ledger: &Ledger, found: &mut Found) {
    let Some(window) = post.window else {
        return;
    };
    let shows = ledger.windows.get(&window).map(|window| window.thread);
    if shows != post.thread {
        found.fault(
            Fault::Misrouted,
            format!(
                "{window} shows thread {shows:?}, and was told of {:?}",
                post.thread
            ),
        );
    }
}

fn told(facts: &Facts, moments: Moments, post: &Post, row: &NotificationRow, found: &mut Found) {
    let (id, source) = (row.id, row.source);
    let Some(owner) = facts.owner(source) else {
        return;
    };
    match (owner.window, post.window) {
        (None, None) => {}
        (None, Some(window)) => found.fault(
            Fault::Misrouted,
            format!("{id} was asked for in no window and told in {window}"),
        ),
        (Some(asked), None) => found.fault(
            Fault::Misrouted,
            format!("{id} was asked for in {asked} and told in no window"),
        ),
        (Some(asked), Some(told)) => {
            let Some(asking) = facts.windows.get(&asked) else {
                return;
            };
            in_the_right_one(
                moments,
                row,
                asking,
                told,
                ended(facts, moments, row),
                found,
            );
        }
    }
}

/// OWN-34, 35, 42, where the order of what happened leaves no doubt.
fn in_the_right_one(
    moments: Moments,
    row: &NotificationRow,
    asking: &WindowRow,
    told: WindowId,
    ended: Timestamp,
    found: &mut Found,
) {
    let id = row.id;
    let gone = asking
        .closed_at
        .is_some_and(|closed| moments.well_before(closed, ended));
    if gone && told == asking.id {
        found.fault(
            Fault::Misrouted,
            format!("{id} was told in {told}, which was closed before it ended"),
        );
    }
    let open = match (asking.closed_at, row.settled_at) {
        (None, _) => true,
        (Some(closed), Some(settled)) => moments.well_before(settled, closed),
        (Some(_), None) => false,
    };
    if open && told != asking.id {
        found.fault(
            Fault::Misrouted,
            format!(
                "{id} was told in {told}, and {}, which asked, was open",
                asking.id
            ),
        );
    }
}

/// When there was something to tell, as the gateway's clock shows it. A supervisor looks at the machine's.
fn ended(facts: &Facts, moments: Moments, row: &NotificationRow) -> Timestamp {
    let exit = match row.source {
        Source::Process(process) => facts
            .processes
            .get(&process)
            .and_then(|process| {
                process
                    .ended_at
                    .filter(|_| process.state == ProcessState::Exited)
            })
            .map(|at| moments.shown(at)),
        Source::Delegation(_) => None,
    };
    exit.map_or(row.created_at, |at| at.min(row.created_at))
}

/// A hold has its reason to the end: its lineage is not current, or no window shows it.
fn held(facts: &Facts, ledger: &Ledger, row: &NotificationRow, found: &mut Found) {
    let Some(owner) = facts.owner(row.source) else {
        return;
    };
    let current = facts
        .conversations
        .get(&owner.conversation)
        .and_then(|conversation| conversation.current);
    let is_current = current.is_some_and(|current| current.lineage == owner.lineage);
    let thread = facts.thread(owner.conversation).unwrap_or(0);
    let windows = ledger.open_windows(thread);
    let rightly = match row.reason.as_deref() {
        Some("parked") => !is_current,
        Some("away") => is_current && owner.window.is_some() && windows.is_empty(),
        _ => false,
    };
    if !rightly {
        found.fault(
            Fault::Lost,
            format!("{} is held ({:?}) for no reason", row.id, row.reason),
        );
    }
}
