//! `/explain`: why a result was or was not posted (OWN-43).

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::StoreError;

use super::{Call, Command, Outcome};
use crate::explain::{self, Scope};

pub(super) const COMMAND: Command = Command {
    name: "explain",
    usage: "NOTIFICATION|PROCESS",
    summary: "why a result was or was not posted",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let Some(wanted) = call.arguments().first() else {
            return Ok(call.usage("Which notification or process?"));
        };
        let explained = explain::explain(
            &*call.inside.store,
            wanted,
            Scope::Conversation(call.row.id),
        )
        .await?;
        Ok(Outcome::reply(match explained {
            Ok(explanation) => explanation.to_string(),
            Err(problem) => problem,
        }))
    }
    .boxed()
}
