//! Sub-agents: each that began has ended, once, and is told as what it was (OWN-23, 93, 100, 101).

use std::collections::BTreeMap;

use homing_domain::ids::DelegationId;
use homing_domain::notification::State;
use homing_ports::store::{DelegationRow, DelegationState, Source};

use super::facts::Facts;
use super::posts::{Posts, Says};
use super::told::is_adopted;
use super::{Fault, Found, Moments};
use crate::people::{Ledger, Started};
use crate::programs::label_in;

pub fn check(facts: &Facts, posts: &Posts, ledger: &Ledger, moments: Moments, found: &mut Found) {
    let mut by_label: BTreeMap<&str, DelegationId> = BTreeMap::new();
    for row in facts.delegations.values() {
        found.figures.delegations += 1;
        found.figures.interrupted += u64::from(row.state == DelegationState::Interrupted);
        let id = row.id;
        let label = label_of(row);
        asked_for(facts, ledger, row, label, found);
        if let Some(other) = by_label.insert(label, id) {
            found.fault(
                Fault::RanTwice,
                format!("{label} was delegated to {other} and to {id}"),
            );
        }
        one_end(facts, row, found);
        result(facts, ledger, row, label, found);
        window(facts, moments, row, found);
    }
    answered(facts, posts, found);
    told(facts, posts, found);
}

/// The program that it runs.
pub fn label_of(row: &DelegationRow) -> &str {
    row.task.split(' ').nth(1).unwrap_or_default()
}

fn asked_for(facts: &Facts, ledger: &Ledger, row: &DelegationRow, label: &str, found: &mut Found) {
    let launched = ledger
        .programs
        .get(label)
        .filter(|launched| launched.started == Started::ByDelegation);
    let Some(launched) = launched else {
        return found.fault(
            Fault::Lost,
            format!("nobody asked for {} ({label})", row.id),
        );
    };
    let at = (Some(launched.at.thread), launched.at.window);
    let owned = (facts.thread(row.owner.conversation), row.owner.window);
    if at != owned {
        found.fault(
            Fault::Misrouted,
            format!(
                "{} was asked for in thread and window {at:?} and belongs to {owned:?}",
                row.id
            ),
        );
    }
}

/// Exactly one notification tells its end, and it is told or held.
fn one_end(facts: &Facts, row: &DelegationRow, found: &mut Found) {
    let id = row.id;
    if row.state == DelegationState::Running {
        return found.fault(Fault::Lost, format!("{id} still runs"));
    }
    let ends: Vec<_> = facts.of(Source::Delegation(id)).collect();
    match ends.as_slice() {
        [] => found.fault(Fault::Lost, format!("{id} has ended, and nothing tells it")),
        [one] if matches!(one.state, State::Pending | State::Claimed) => found.fault(
            Fault::Lost,
            format!("{id}: {} is still {}", one.id, one.state.name()),
        ),
        [_] => {}
        more => found.fault(
            Fault::Duplicated,
            format!("{id} has {} notifications", more.len()),
        ),
    }
}

/// What a finished one says is what its program did.
fn result(facts: &Facts, ledger: &Ledger, row: &DelegationRow, label: &str, found: &mut Found) {
    if row.state != DelegationState::Finished {
        return;
    }
    let ran = facts.processes.values().find(|process| {
        // Who adopts it takes it over from the sub-agent.
        let is_its_own = process.owner.delegation == Some(row.id)
            || is_adopted(ledger, Source::Process(process.id));
        is_its_own && label_in(&process.command) == Some(label)
    });
    let Some(process) = ran else {
        return found.fault(
            Fault::Lost,
            format!("{} is finished, and {label} is no process of it", row.id),
        );
    };
    let wanted = match (row.task.starts_with("run "), process.ending) {
        (true, Some(ending)) => format!("ran {label}: {ending}"),
        (true, None) => format!("ran {label}: an end"),
        (false, _) => format!("started {label} {}", process.id),
    };
    if row.result.as_deref() != Some(wanted.as_str()) {
        found.fault(
            Fault::Lost,
            format!("{}: `{wanted}`, and recorded is {:?}", row.id, row.result),
        );
    }
}

/// OWN-101: what a window delegated does not outlive it, and a window's end is nobody else's.
fn window(facts: &Facts, moments: Moments, row: &DelegationRow, found: &mut Found) {
    let id = row.id;
    let closed = row
        .owner
        .window
        .and_then(|window| facts.windows.get(&window)?.closed_at);
    let by_its_window = facts
        .of(Source::Delegation(id))
        .any(|one| one.reason.as_deref() == Some("window_closed"));
    if by_its_window && closed.is_none() {
        found.fault(
            Fault::Misrouted,
            format!("{id} was interrupted by the end of a window that is not its own"),
        );
    }
    let (Some(closed), Some(ended)) = (closed, row.ended_at) else {
        return;
    };
    let ran_then = moments.well_before(row.created_at, closed);
    let finished = row.state == DelegationState::Finished;
    if ran_then && finished && moments.well_before(closed, ended) {
        found.fault(
            Fault::Misrouted,
            format!("{id} went on after its window was closed"),
        );
    }
}

/// An answer that says that something was delegated is true.
fn answered(facts: &Facts, posts: &Posts, found: &mut Found) {
    for post in posts.items() {
        if !matches!(post.says, Says::Answer { .. }) {
            continue;
        }
        let named = post
            .text
            .split(' ')
            .skip_while(|word| *word != "delegated")
            .nth(2)
            .and_then(|word| word.parse::<DelegationId>().ok());
        if let Some(id) = named.filter(|id| !facts.delegations.contains_key(id)) {
            found.fault(
                Fault::Lost,
                format!("{id} was said to have begun, and the store knows nothing of it"),
            );
        }
    }
}

/// A post about one of them alone says how it ended.
fn told(facts: &Facts, posts: &Posts, found: &mut Found) {
    for post in posts.items() {
        let Says::Told { about, .. } = &post.says else {
            continue;
        };
        let [(Source::Delegation(id), _)] = about.as_slice() else {
            continue;
        };
        let Some(row) = facts.delegations.get(id) else {
            continue;
        };
        let wanted = match row.state {
            DelegationState::Interrupted => "was interrupted",
            DelegationState::Failed => "failed",
            DelegationState::Finished | DelegationState::Running => "finished",
        };
        if !post.text.contains(wanted) {
            found.fault(
                Fault::Lost,
                format!("{id} {wanted}, and what was told does not say so"),
            );
        }
        let result = row.result.as_deref().unwrap_or_default();
        if row.state == DelegationState::Finished && !post.text.contains(result) {
            found.fault(Fault::Lost, format!("{id} was told without its result"));
        }
    }
}
