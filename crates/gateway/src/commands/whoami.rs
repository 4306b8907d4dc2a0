//! `/whoami`: how this place and this person are addressed.

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::StoreError;

use super::{Call, Command, Outcome};

pub(super) const COMMAND: Command = Command {
    name: "whoami",
    usage: "",
    summary: "the key of this conversation and your id",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let user = call.inbound.origin.user.as_deref().unwrap_or("unknown");
        let name = call
            .inbound
            .author
            .as_deref()
            .map(|name| format!(" ({name})"))
            .unwrap_or_default();
        Ok(Outcome::reply(format!(
            "You are {user}{name} on {}.\nThis conversation is {}.",
            call.inbound.origin.account_name(),
            call.row.key
        )))
    }
    .boxed()
}
