//! `/steer`: a message for the turn that runs. One that it does not take up is answered afterwards.

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::{Change, StoreError};

use super::{Call, Command, Effect, Outcome, Running, Step};

pub(super) const COMMAND: Command = Command {
    name: "steer",
    usage: "TEXT",
    summary: "tell me something about what I am doing right now",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let text = call.invocation.rest.trim();
        if text.is_empty() {
            return Ok(call.usage("What should I know?"));
        }
        let reply = match call.running {
            Some(Running::Foreground { .. }) => {
                "Noted: I take it up at the next step, or answer it afterwards."
            }
            Some(Running::Background { .. }) => {
                "I am telling a result, which is not steered; your message comes next."
            }
            None => "",
        };
        Ok(Outcome::Step(Step {
            reply: reply.to_owned(),
            changes: vec![Change::RewriteInbound {
                inbound: call.inbound.id,
                text: text.to_owned(),
            }],
            effects: vec![Effect::Steer(call.inbound.id)],
        }))
    }
    .boxed()
}
