//! `/deny`: the person says no to what they were asked.

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::{ApprovalState, StoreError};
use homing_tools::Approval;

use super::{Call, Command, Outcome, approve, inline_code};

pub(super) const COMMAND: Command = Command {
    name: "deny",
    usage: "[QUESTION]",
    summary: "no, do not run it",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let question = call.arguments().first().map(String::as_str);
        Ok(match approve::find(call, question).await? {
            Ok(row) => {
                let reply = format!("Denied: {}", inline_code(&row.command));
                approve::settle(&row, ApprovalState::Denied, Approval::Denied, reply)
            }
            Err(problem) => Outcome::reply(problem),
        })
    }
    .boxed()
}
