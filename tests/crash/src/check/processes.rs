//! Programs: each ran at most once, its end is recorded as it was, and there is a notification of it.

use std::collections::{BTreeMap, BTreeSet};

use homing_domain::ids::ProcessId;
use homing_domain::notification::{Kind, State};
use homing_domain::process::{Ending, ProcessState};
use homing_ports::store::{DelegationState, ProcessKind, ProcessRow, Source};

use super::delegations::label_of;
use super::facts::Facts;
use super::told::is_adopted;
use super::{Fault, Found};
use crate::people::Ledger;
use crate::programs::label_in;

pub fn check(
    facts: &Facts,
    ledger: &Ledger,
    journal: &[String],
    shims_killed: &BTreeSet<ProcessId>,
    found: &mut Found,
) {
    let mut runs: BTreeMap<&str, u64> = BTreeMap::new();
    for label in journal {
        *runs.entry(label).or_default() += 1;
    }
    found.figures.ran = runs.len() as u64;
    for (label, times) in &runs {
        if *times > 1 {
            found.fault(Fault::RanTwice, format!("{label} ran {times} times"));
        }
    }
    let mut rows: BTreeMap<&str, &ProcessRow> = BTreeMap::new();
    for row in facts.processes.values() {
        let Some(label) = label_in(&row.command) else {
            continue;
        };
        if let Some(other) = rows.insert(label, row) {
            found.fault(
                Fault::RanTwice,
                format!("{label} is {} and {}", other.id, row.id),
            );
        }
    }
    for label in runs.keys() {
        if !rows.contains_key(label) {
            found.fault(
                Fault::Lost,
                format!("{label} ran, and the store knows nothing of it"),
            );
        }
    }
    for (label, row) in &rows {
        process(facts, ledger, label, row, runs.contains_key(label), found);
        if row.state == ProcessState::Lost {
            found.figures.reported_lost += 1;
            if !shims_killed.contains(&row.id) {
                found.fault(
                    Fault::Lost,
                    format!(
                        "{label} ({}) is reported lost, and nobody killed its supervisor",
                        row.id
                    ),
                );
            }
        }
    }
    let (reported, killed) = (found.figures.reported_lost, shims_killed.len() as u64);
    if reported > killed {
        found.fault(
            Fault::Books,
            format!("{reported} processes are reported lost, {killed} supervisors were killed"),
        );
    }
}

fn process(
    facts: &Facts,
    ledger: &Ledger,
    label: &str,
    row: &ProcessRow,
    ran: bool,
    found: &mut Found,
) {
    let id = row.id;
    let Some(launched) = ledger.programs.get(label) else {
        return found.fault(Fault::Lost, format!("nobody asked for {label} ({id})"));
    };
    if facts.thread(row.owner.conversation) != Some(launched.at.thread) {
        found.fault(
            Fault::Misrouted,
            format!(
                "{label} ({id}) was asked for in thread {} and belongs to another",
                launched.at.thread
            ),
        );
    }
    match row.state {
        ProcessState::Starting | ProcessState::Running => found.fault(
            Fault::Lost,
            format!("{label} ({id}) is still {}", row.state.name()),
        ),
        ProcessState::Failed if ran => found.fault(
            Fault::Lost,
            format!("{label} ({id}) ran, and is recorded as never started"),
        ),
        ProcessState::Failed => {}
        ProcessState::Exited => exited(facts, ledger, label, row, found),
        ProcessState::Lost => {}
    }
    let ended = matches!(row.state, ProcessState::Exited | ProcessState::Lost);
    if ended && row.kind == ProcessKind::Task && row.notify {
        notified(facts, ledger, label, row, found);
    }
}

fn exited(facts: &Facts, ledger: &Ledger, label: &str, row: &ProcessRow, found: &mut Found) {
    let Some(launched) = ledger.programs.get(label) else {
        return;
    };
    let (id, wanted) = (row.id, launched.program.ending());
    if row.ending != Some(wanted) {
        let stopped = matches!(row.ending, Some(Ending::Signal(9 | 15)));
        if !(stopped && may_be_stopped(facts, ledger, label, row)) {
            let ending = row.ending.map(|ending| ending.to_string());
            found.fault(
                Fault::Lost,
                format!("{label} ({id}): {wanted}, and recorded is {ending:?}"),
            );
        }
        return;
    }
    if row.output_tail != launched.program.output_tail() {
        found.fault(
            Fault::Lost,
            format!(
                "{label} ({id}): the recorded output is another one, {} bytes",
                row.output_tail.len()
            ),
        );
    }
}

/// Somebody asked for it, or its sub-agent was interrupted while it waited for it. Who adopted it later has taken it over from the sub-agent.
fn may_be_stopped(facts: &Facts, ledger: &Ledger, label: &str, row: &ProcessRow) -> bool {
    let asked = ledger.to_be_killed.contains(label)
        || ledger.processes_to_be_killed.contains(&row.id.to_string());
    let interrupted = facts
        .delegations
        .values()
        .filter(|delegation| delegation.state == DelegationState::Interrupted)
        .any(|delegation| match row.owner.delegation {
            Some(own) => own == delegation.id,
            None => is_adopted(ledger, Source::Process(row.id)) && label_of(delegation) == label,
        });
    asked || interrupted
}

/// Once, and once more for each time it was adopted.
fn notified(facts: &Facts, ledger: &Ledger, label: &str, row: &ProcessRow, found: &mut Found) {
    let wanted = match row.state {
        ProcessState::Lost => Kind::Lost,
        _ => Kind::Completed,
    };
    let of_it: Vec<_> = facts
        .of(Source::Process(row.id))
        .filter(|one| one.kind == wanted)
        .collect();
    let id = row.id;
    let adopted = ledger.adopted.get(&id.to_string()).copied().unwrap_or(0);
    match of_it.as_slice() {
        [] => found.fault(
            Fault::Lost,
            format!("{label} ({id}) has ended, and nothing tells it"),
        ),
        [one] if matches!(one.state, State::Pending | State::Claimed) => found.fault(
            Fault::Lost,
            format!("{label} ({id}): {} is still {}", one.id, one.state.name()),
        ),
        [_] => {}
        more if more.len() as u64 <= 1 + adopted => {}
        more => found.fault(
            Fault::Duplicated,
            format!("{label} ({id}) has {} notifications", more.len()),
        ),
    }
}
