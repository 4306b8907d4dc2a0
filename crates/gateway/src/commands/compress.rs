//! `/compress`: the session goes on with a summary of itself (OWN-11).

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::StoreError;

use super::{Call, Command, Outcome};

pub(super) const COMMAND: Command = Command {
    name: "compress",
    usage: "",
    summary: "go on with a summary; what runs still reports here",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        match call.row.current {
            Some(_) => Ok(Outcome::Compress),
            None => Ok(Outcome::reply("There is no session to compress yet.")),
        }
    }
    .boxed()
}
