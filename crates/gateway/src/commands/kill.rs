//! `/kill`: a person stops a process; its end is no news then (OWN-38).

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::ids::DelegationId;
use homing_domain::process::Consumption;
use homing_ports::store::{Change, DelegationState, StoreError};

use crate::delegations;

use super::{Call, Command, Effect, Outcome, Step};

pub(super) const COMMAND: Command = Command {
    name: "kill",
    usage: "PROCESS|DELEGATION",
    summary: "stop a process and everything it started",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let Some(wanted) = call.arguments().first() else {
            return Ok(call.usage("Which process?"));
        };
        if let Ok(delegation) = wanted.parse::<DelegationId>() {
            return stop_delegation(call, delegation).await;
        }
        let process = match call.find_process(wanted).await? {
            Ok(process) => process,
            Err(problem) => return Ok(Outcome::reply(problem)),
        };
        if !process.state.is_live() {
            return Ok(Outcome::reply(format!(
                "It has ended already.\n{}",
                call.process_line(&process)
            )));
        }
        let mut changes = Vec::new();
        if process.consumed.is_none() {
            changes.push(Change::Consume {
                process: process.id,
                lineage: process.owner.lineage,
                how: Consumption::PersonKilled,
            });
        }
        let reply = format!("Stopping {}.", process.id);
        Ok(Outcome::Step(Step {
            reply,
            changes,
            effects: vec![Effect::Kill(process.id)],
        }))
    }
    .boxed()
}

/// OWN-38: its end is no news, since a person wanted it.
async fn stop_delegation(call: &Call<'_>, id: DelegationId) -> Result<Outcome, StoreError> {
    let row = call.inside.store.delegation(id).await?;
    let Some(row) = row.filter(|row| row.owner.conversation == call.row.id) else {
        return Ok(Outcome::reply(format!(
            "There is no sub-agent `{id}` in this conversation. /ps lists those that are there."
        )));
    };
    if row.state != DelegationState::Running {
        return Ok(Outcome::reply(format!(
            "{id} has ended already: {}.",
            row.state.name()
        )));
    }
    let changes =
        delegations::stop(call.inside, std::slice::from_ref(&row), "person_killed").await?;
    Ok(Outcome::Step(Step {
        reply: format!("Stopped {id}."),
        changes,
        effects: vec![Effect::CancelDelegation(id)],
    }))
}
