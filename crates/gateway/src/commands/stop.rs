//! `/stop`: the turn that runs ends now. What runs in the background goes on.

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::StoreError;

use super::{Call, Command, Effect, Outcome, Running, Step};
use crate::conversation::{EndedBy, end_running};

pub(super) const COMMAND: Command = Command {
    name: "stop",
    usage: "",
    summary: "stop what I am doing right now; background work goes on",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let Some(running) = &call.running else { return Ok(Outcome::reply("I am not doing anything right now. /ps shows what runs in the background.")) };
        let waiting = match call.waiting.len() {
            0 => String::new(),
            count => format!(" {count} of your messages wait; they come next."),
        };
        let reply = match running {
            Running::Foreground { .. } => format!("Stopped.{waiting}"),
            Running::Background { .. } => format!("Stopped; the result that I was telling you waits and is told again after your next message.{waiting}"),
        };
        let changes = end_running(running, EndedBy::Stop);
        let effects = match running {
            Running::Foreground { .. } => vec![Effect::CancelTurn],
            Running::Background { .. } => vec![Effect::CancelTurn, Effect::PauseBackground],
        };
        Ok(Outcome::Step(Step { reply, changes, effects }))
    }
    .boxed()
}
