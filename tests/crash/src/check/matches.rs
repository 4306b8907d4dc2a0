//! Watch patterns: every line that matches is told or counted, once (OWN-80…84).
//!
//! **How it is counted:** each notification of a process holds some lines and the number of those it left out. Together they are what its
//! program has printed; what was taken back to be told with the end is in the end's.

use std::collections::BTreeSet;

use homing_domain::notification::{Kind, State};
use homing_domain::process::{Ending, ProcessState};
use homing_ports::store::{NotificationRow, ProcessRow, Source};

use super::facts::Facts;
use super::{Fault, Found};
use crate::people::Ledger;
use crate::programs::{Program, label_in};

pub fn check(facts: &Facts, ledger: &Ledger, found: &mut Found) {
    // What a notification of one that never ran holds is why.
    let watched = |row: &&ProcessRow| !row.watch.is_empty() && row.state != ProcessState::Failed;
    for row in facts.processes.values().filter(watched) {
        let launched = label_in(&row.command).and_then(|label| ledger.programs.get(label));
        if let Some(launched) = launched {
            counted(facts, row, &launched.program, found);
        }
    }
}

fn counted(facts: &Facts, row: &ProcessRow, program: &Program, found: &mut Found) {
    let (id, label) = (row.id, program.label());
    let (mut matches, mut lines) = (0, BTreeSet::new());
    for one in facts.of(Source::Process(id)).filter(|one| tells(one)) {
        matches += u64::from(one.more);
        for line in one.content.lines() {
            matches += 1;
            if !line.starts_with(&program.pattern()) {
                found.fault(
                    Fault::Misrouted,
                    format!("{label} ({id}): `{line}` is no match of it"),
                );
            }
            if !lines.insert(line) {
                found.fault(
                    Fault::Duplicated,
                    format!("{label} ({id}): `{line}` is told twice"),
                );
            }
        }
    }
    found.figures.matches += matches;
    if matches > program.matches {
        found.fault(
            Fault::Duplicated,
            format!(
                "{label} ({id}): {} lines match, {matches} are told or counted",
                program.matches
            ),
        );
    } else if printed_all(row, program) && matches < program.matches {
        found.fault(
            Fault::Lost,
            format!(
                "{label} ({id}): {} lines match, only {matches} are told or counted",
                program.matches
            ),
        );
    }
}

/// What was to be told and is told with the end instead is counted there.
fn tells(one: &NotificationRow) -> bool {
    let taken_back =
        one.state == State::Consumed && one.reason.as_deref() == Some("told_at_the_end");
    let watched = matches!(one.kind, Kind::Matched | Kind::WatchOff);
    !(watched && taken_back)
}

/// One that was stopped, or lost, has printed some of it.
fn printed_all(row: &ProcessRow, program: &Program) -> bool {
    let by_itself = row.ending == Some(program.ending());
    let stopped = matches!(row.ending, Some(Ending::Signal(_))) && row.consumed.is_some();
    row.state == ProcessState::Exited && by_itself && !stopped
}
