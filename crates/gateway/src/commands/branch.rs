//! `/branch`: a lineage of its own that remembers its parent. What the trunk started stays the trunk's (OWN-12).

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::ids::{LineageId, SessionId};
use homing_domain::session::Current;
use homing_ports::store::{Change, StoreError};

use super::{Call, Command, Outcome, Step, resume};

pub(super) const COMMAND: Command = Command {
    name: "branch",
    usage: "[TITLE]",
    summary: "try something beside this session; /resume leads back",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let Some(current) = call.row.current else {
            return Ok(Outcome::reply(
                "There is no session to branch from yet. Write something first.",
            ));
        };
        let leave = match resume::leave(call) {
            Ok(leave) => leave,
            Err(refusal) => return Ok(refusal),
        };
        let (lineage, session) = (
            call.inside.ids.next::<LineageId>(),
            call.inside.ids.next::<SessionId>(),
        );
        let title = Some(call.invocation.rest.clone()).filter(|title| !title.is_empty());
        let mut changes = leave.changes;
        changes.push(Change::StartLineage {
            lineage,
            session,
            parent: Some(current.session),
            title,
        });
        changes.push(Change::Point(Some(Current { session, lineage })));
        let reply = format!(
            "On a branch now: {session}. What {} started waits for it; /resume {} leads back.",
            current.session, current.session
        );
        Ok(Outcome::Step(Step {
            reply,
            changes,
            effects: leave.effects,
        }))
    }
    .boxed()
}
