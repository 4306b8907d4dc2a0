//! `/new`: the session ends, a fresh one begins (OWN-13, 100).

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::ids::{LineageId, SessionId};
use homing_domain::session::{Boundary, Current};
use homing_ports::store::{Change, StoreError};

use super::{Call, Command, Outcome, Step, boundary};

pub(super) const COMMAND: Command = Command {
    name: "new",
    usage: "[TITLE]",
    summary: "end this session and begin a fresh one; results of the old one are no longer posted here",
    run,
};

pub(super) fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let (mut changes, mut effects, mut rest) = (Vec::new(), Vec::new(), String::new());
        if let Some(current) = call.row.current {
            let ended = boundary::end_current(call, current, Boundary::Reset).await?;
            rest = boundary::about_the_rest(call, &ended);
            changes.extend(ended.changes);
            effects.extend(ended.effects);
        }
        let (lineage, session) = (
            call.inside.ids.next::<LineageId>(),
            call.inside.ids.next::<SessionId>(),
        );
        let title = Some(call.invocation.rest.clone()).filter(|title| !title.is_empty());
        changes.push(Change::StartLineage {
            lineage,
            session,
            parent: None,
            title,
        });
        changes.push(Change::Point(Some(Current { session, lineage })));
        Ok(Outcome::Step(Step {
            reply: format!("A fresh session: {session}.{rest}"),
            changes,
            effects,
        }))
    }
    .boxed()
}
