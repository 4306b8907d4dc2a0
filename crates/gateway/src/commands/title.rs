//! `/title`: a name for the current session.

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::{Change, StoreError};

use super::{Call, Command, Outcome, Step};

pub(super) const COMMAND: Command = Command {
    name: "title",
    usage: "TEXT",
    summary: "name this session",
    run,
};

/// Characters of a title.
const LIMIT: usize = 100;

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let title = call
            .invocation
            .rest
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if title.is_empty() {
            return Ok(call.usage("What shall it be called?"));
        }
        let length = title.chars().count();
        if length > LIMIT {
            return Ok(call.usage(&format!(
                "A title of {length} characters is too long; at most {LIMIT}."
            )));
        }
        let Some(current) = call.row.current else {
            return Ok(Outcome::reply(
                "There is no session yet. Your first message begins one.",
            ));
        };
        let reply = format!("This session is called “{title}” now.");
        Ok(Outcome::Step(Step {
            reply,
            changes: vec![Change::Title {
                session: current.session,
                title,
            }],
            effects: Vec::new(),
        }))
    }
    .boxed()
}
