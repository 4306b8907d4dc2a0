//! `/delete`: ends a lineage for good. Its history stays readable to the operator; its results are dropped (OWN-31).

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::session::Boundary;
use homing_ports::store::{Change, StoreError};

use super::{Call, Command, Outcome, Step, boundary};

pub(super) const COMMAND: Command = Command {
    name: "delete",
    usage: "SESSION",
    summary: "end a session for good; what it started is no longer posted",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let Some(wanted) = call.arguments().first() else {
            return Ok(call.usage("Which session?"));
        };
        let session = match call.find_session(wanted).await? {
            Ok(session) => session,
            Err(problem) => return Ok(Outcome::reply(problem)),
        };
        let closed = call
            .inside
            .store
            .lineage(session.lineage)
            .await?
            .and_then(|lineage| lineage.closed);
        if let Some((boundary, _)) = closed {
            return Ok(Outcome::reply(format!(
                "Session {} has ended already ({}).",
                session.id,
                boundary.name()
            )));
        }
        if let Some(current) = call
            .row
            .current
            .filter(|current| current.lineage == session.lineage)
        {
            let ended = boundary::end_current(call, current, Boundary::Deleted).await?;
            let reply = format!(
                "Deleted: {}. Your next message begins a fresh one.{}",
                session.id,
                boundary::about_the_rest(call, &ended)
            );
            let mut changes = ended.changes;
            changes.push(Change::Point(None));
            return Ok(Outcome::Step(Step {
                reply,
                changes,
                effects: ended.effects,
            }));
        }
        let ended = boundary::end_lineage(call, session.lineage, Boundary::Deleted).await?;
        let reply = format!(
            "Deleted: {}.{}",
            session.id,
            boundary::about_what_ran(call, &ended)
        );
        Ok(Outcome::Step(Step {
            reply,
            changes: ended.changes,
            effects: ended.effects,
        }))
    }
    .boxed()
}
