//! `/queue`: a message that waits for its turn, whatever messages do otherwise while something runs.

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::{Change, StoreError};

use super::{Call, Command, Effect, Outcome, Step};

pub(super) const COMMAND: Command = Command {
    name: "queue",
    usage: "TEXT",
    summary: "a message for afterwards: what I am doing is neither steered nor ended by it",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let text = call.invocation.rest.trim();
        if text.is_empty() {
            return Ok(call.usage("What is to be queued?"));
        }
        let reply = match call.running {
            Some(_) => "Queued: it comes after what I am doing.",
            None => "",
        };
        Ok(Outcome::Step(Step {
            reply: reply.to_owned(),
            changes: vec![Change::RewriteInbound {
                inbound: call.inbound.id,
                text: text.to_owned(),
            }],
            effects: vec![Effect::Queue(call.inbound.id)],
        }))
    }
    .boxed()
}
