//! `/kill`: a person stops a process; its end is no news then (OWN-38).

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::process::Consumption;
use homing_ports::store::{Change, StoreError};

use super::{Call, Command, Effect, Outcome, Step};

pub(super) const COMMAND: Command = Command {
    name: "kill",
    usage: "PROCESS",
    summary: "stop a process and everything it started",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let Some(wanted) = call.arguments().first() else {
            return Ok(call.usage("Which process?"));
        };
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
