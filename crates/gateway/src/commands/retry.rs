//! `/retry`: the same question once more, without the first answer.

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::command::{self, Parsed};
use homing_ports::store::{Change, StoreError};

use super::{Call, Command, Outcome, Step, undo};

pub(super) const COMMAND: Command = Command {
    name: "retry",
    usage: "",
    summary: "take my last answer out of my memory, and ask the same again",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let (current, message) = match undo::last(call, 1).await? {
            Ok(found) => found,
            Err(problem) => return Ok(Outcome::reply(problem)),
        };
        if !matches!(command::parse(&message.text, &[]), Parsed::NotACommand) {
            return Ok(Outcome::reply(
                "The last message reads like a command; send it again yourself.",
            ));
        }
        Ok(Outcome::Step(Step {
            reply: format!("Once more: “{}”", undo::named(&message)),
            changes: vec![
                Change::RequireGeneration(call.row.generation),
                Change::Undo {
                    lineage: current.lineage,
                    from: message.id,
                },
                Change::RewriteInbound {
                    inbound: call.inbound.id,
                    text: message.text,
                },
            ],
            effects: Vec::new(),
        }))
    }
    .boxed()
}
