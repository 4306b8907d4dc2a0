//! What `/new`, `/reset` and `/delete` of the current session share: a boundary that a person wants (OWN-13, 31, 100).

use homing_domain::ids::LineageId;
use homing_domain::process::Consumption;
use homing_domain::session::{Boundary, Current};
use homing_ports::store::{Change, ProcessRow, StoreError};

use super::{Call, Effect};
use crate::OnReset;
use crate::conversation::{EndedBy, end_running};
use crate::delegations;

/// What ends the current session, and what of its lineage still runs.
pub(super) struct Ended {
    pub changes: Vec<Change>,
    pub effects: Vec<Effect>,
    pub live: Vec<ProcessRow>,
    pub interrupted: usize,
}

/// Closes the current lineage and cancels its turn, beside what [`end_lineage`] does.
pub(super) async fn end_current(
    call: &Call<'_>,
    current: Current,
    boundary: Boundary,
) -> Result<Ended, StoreError> {
    let mut ended = end_lineage(call, current.lineage, boundary).await?;
    let mut changes = vec![Change::RequireGeneration(call.row.generation)];
    if let Some(running) = &call.running {
        changes.extend(end_running(running, EndedBy::Boundary));
        ended.effects.push(Effect::CancelTurn);
    }
    ended.effects.push(Effect::AbandonCompression);
    changes.append(&mut ended.changes);
    changes.extend(
        call.waiting
            .iter()
            .map(|inbound| Change::FinishInbound { inbound: *inbound }),
    );
    ended.changes = changes;
    Ok(ended)
}

/// Closes a lineage, interrupts its delegations, cancels what of it has not left, and stops its processes if that is wanted.
pub(super) async fn end_lineage(
    call: &Call<'_>,
    lineage: LineageId,
    boundary: Boundary,
) -> Result<Ended, StoreError> {
    let store = &call.inside.store;
    let live = store.live_processes(lineage).await?;
    let (mut changes, mut effects) = (Vec::new(), Vec::new());
    changes.push(Change::CloseLineage { lineage, boundary });
    // OWN-100: interrupted in the same step, so that they are judged by a lineage that is closed.
    let delegations = store.running_delegations(lineage).await?;
    changes.extend(delegations::interrupt(call.inside, &delegations).await?);
    effects.extend(
        delegations
            .iter()
            .map(|delegation| Effect::CancelDelegation(delegation.id)),
    );
    changes.push(Change::CancelQueued {
        lineage,
        reason: format!("session_{}", boundary.name()),
    });
    if call.inside.settings.on_reset == OnReset::Kill {
        for process in live.iter().filter(|process| process.consumed.is_none()) {
            changes.push(Change::Consume {
                process: process.id,
                lineage,
                how: Consumption::PersonKilled,
            });
        }
        effects.extend(live.iter().map(|process| Effect::Kill(process.id)));
    }
    Ok(Ended {
        changes,
        effects,
        live,
        interrupted: delegations.len(),
    })
}

/// The sentences about what goes on, and how to get at it.
pub(super) fn about_the_rest(call: &Call<'_>, ended: &Ended) -> String {
    let mut text = String::new();
    if !call.waiting.is_empty() {
        text.push_str(&format!(
            "\n{} of your earlier messages had not been answered yet and will not be.",
            call.waiting.len()
        ));
    }
    text.push_str(&about_what_ran(call, ended));
    text
}

/// What is interrupted, stopped, or goes on without a session to report to.
pub(super) fn about_what_ran(call: &Call<'_>, ended: &Ended) -> String {
    let mut text = String::new();
    if ended.interrupted > 0 {
        text.push_str(&format!("\nInterrupted: {} sub-agents.", ended.interrupted));
    }
    if ended.live.is_empty() {
        return text;
    }
    let lines: Vec<String> = ended
        .live
        .iter()
        .map(|process| call.process_line(process))
        .collect();
    match call.inside.settings.on_reset {
        OnReset::Keep => text.push_str(&format!(
            "\nStill running, and no longer reporting here:\n{}\n/ps shows them, /adopt PROCESS lets one report here again, /kill PROCESS stops it.",
            lines.join("\n")
        )),
        OnReset::Kill => text.push_str(&format!("\nStopped with it:\n{}", lines.join("\n"))),
    }
    text
}
