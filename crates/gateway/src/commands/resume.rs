//! `/resume`: back to another open lineage of this conversation; the one left behind is parked (OWN-14).

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::session::Current;
use homing_ports::store::{Change, StoreError};

use super::{Call, Command, Effect, Outcome, Running, Step};
use crate::conversation::{EndedBy, end_running};

pub(super) const COMMAND: Command = Command {
    name: "resume",
    usage: "SESSION",
    summary: "go back to another session of this conversation; /sessions lists them",
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
        let Some(lineage) = call.inside.store.lineage(session.lineage).await? else {
            return Ok(Outcome::reply(format!(
                "Session {} has no lineage; it cannot be resumed.",
                session.id
            )));
        };
        if let Some((boundary, _)) = lineage.closed {
            return Ok(Outcome::reply(format!(
                "Session {} has ended ({}); it cannot be resumed.",
                session.id,
                boundary.name()
            )));
        }
        if call
            .row
            .current
            .is_some_and(|current| current.lineage == lineage.id)
        {
            return Ok(Outcome::reply(format!(
                "You are in it already: {}.",
                lineage.tip
            )));
        }
        let leave = match leave(call) {
            Ok(leave) => leave,
            Err(refusal) => return Ok(refusal),
        };
        let mut changes = leave.changes;
        changes.push(Change::Point(Some(Current {
            session: lineage.tip,
            lineage: lineage.id,
        })));
        Ok(Outcome::Step(Step {
            reply: format!("Back in {}.", lineage.tip),
            changes,
            effects: leave.effects,
        }))
    }
    .boxed()
}

/// What leaving the current session without ending it takes.
pub(super) struct Leave {
    pub changes: Vec<Change>,
    pub effects: Vec<Effect>,
}

/// A background turn is stopped and what it was to tell waits; a person's turn is not thrown away without being asked.
pub(super) fn leave(call: &Call<'_>) -> Result<Leave, Outcome> {
    if call.compressing {
        return Err(Outcome::reply(
            "This session is being compressed; try again in a moment.",
        ));
    }
    let mut changes = vec![Change::RequireGeneration(call.row.generation)];
    match &call.running {
        None => Ok(Leave {
            changes,
            effects: Vec::new(),
        }),
        Some(Running::Foreground { .. }) => Err(Outcome::reply(
            "I am still at your last message. Wait for it, or /stop it first.",
        )),
        Some(running @ Running::Background { .. }) => {
            changes.extend(end_running(running, EndedBy::Leaving));
            Ok(Leave {
                changes,
                effects: vec![Effect::CancelTurn],
            })
        }
    }
}
