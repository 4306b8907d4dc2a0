//! Sessions that ended by themselves: not while something lived in them, or waited to be told (OWN-15).
//!
//! **Absent on purpose:** whether one was due. The policy proposes; what is checked is that a proposal was refused where it had to be.

use homing_domain::ids::LineageId;
use homing_domain::notification::State;
use homing_domain::process::ProcessState;
use homing_domain::session::Boundary;
use homing_domain::time::Timestamp;
use homing_ports::store::{DelegationRow, NotificationRow, ProcessRow, Source};

use super::facts::Facts;
use super::told::is_adopted;
use super::{Fault, Found, Moments};
use crate::host::KEEPALIVE;
use crate::people::Ledger;

pub fn check(facts: &Facts, ledger: &Ledger, moments: Moments, found: &mut Found) {
    for row in facts.lineages.values() {
        let Some((Boundary::Idle | Boundary::Daily, at)) = row.closed else {
            continue;
        };
        found.figures.automatic_resets += 1;
        for what in under_way(facts, ledger, moments, row.id, at) {
            found.fault(
                Fault::ResetTooEarly,
                format!("{} was ended by itself while {what}", row.id),
            );
        }
    }
}

/// What had begun well before that moment and was over well after it. Who adopted what in between is not known.
fn under_way(
    facts: &Facts,
    ledger: &Ledger,
    moments: Moments,
    lineage: LineageId,
    at: Timestamp,
) -> Vec<String> {
    let processes = facts.processes.values().filter(|row| {
        row.owner.lineage == lineage
            && !is_adopted(ledger, Source::Process(row.id))
            && lived(moments, row, at)
    });
    let delegations = facts
        .delegations
        .values()
        .filter(|row| row.owner.lineage == lineage && ran(moments, row, at));
    let notifications = facts.notifications.values().filter(|row| {
        let owner = facts.owner(row.source);
        owner.is_some_and(|owner| owner.lineage == lineage)
            && !is_adopted(ledger, row.source)
            && waited(moments, row, at)
    });
    processes
        .map(|row| format!("{} lived", row.id))
        .chain(delegations.map(|row| format!("{} ran", row.id)))
        .chain(notifications.map(|row| format!("{} waited", row.id)))
        .collect()
}

/// And was young enough to keep its session.
fn lived(moments: Moments, row: &ProcessRow, at: Timestamp) -> bool {
    let begun = row.created_at;
    let ended = match (row.state, row.ended_at) {
        (ProcessState::Exited, Some(ended)) => moments.shown(ended),
        // When one was lost nobody knows, and a failed one never lived.
        _ => return false,
    };
    // Without a doubt: it was younger when it was asked about, which came before this moment.
    let young = moments.machine(at).since(moments.machine(begun)) < KEEPALIVE;
    begun < at && young && moments.well_before(at, ended)
}

fn ran(moments: Moments, row: &DelegationRow, at: Timestamp) -> bool {
    let ended = row.ended_at.unwrap_or(Timestamp(i64::MAX / 2));
    row.created_at < at && moments.well_before(at, ended)
}

fn waited(moments: Moments, row: &NotificationRow, at: Timestamp) -> bool {
    let open = matches!(row.state, State::Pending | State::Claimed | State::Held);
    let settled_after = row
        .settled_at
        .is_some_and(|settled| moments.well_before(at, settled));
    moments.well_before(row.created_at, at) && (open || settled_after)
}
