//! `/background`: the command that I wait for goes on without me; its end is told like any other's.

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::{Change, ProcessKind, StoreError};

use super::{Call, Command, Effect, Outcome, Running, Step};

pub(super) const COMMAND: Command = Command {
    name: "background",
    usage: "",
    summary: "let the command that I am waiting for go on in the background",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let (Some(Running::Foreground { .. }), Some(current)) = (&call.running, call.row.current) else {
            return Ok(Outcome::reply("I am not waiting for a command right now. `!bg COMMAND` starts one in the background."));
        };
        let live = call.inside.store.live_processes(current.lineage).await?;
        // A sub-agent's commands carry this lineage, too, and I am not the one who waits for them.
        let waited_for = live
            .iter()
            .rev()
            .find(|process| process.kind == ProcessKind::Foreground && process.owner.delegation.is_none());
        let Some(process) = waited_for else {
            return Ok(Outcome::reply("I am at your message, but not waiting for a command."));
        };
        Ok(Outcome::Step(Step {
            reply: format!("{} goes on in the background.", process.id),
            changes: vec![Change::MoveToBackground { process: process.id }],
            effects: vec![Effect::Moved(process.id)],
        }))
    }
    .boxed()
}
