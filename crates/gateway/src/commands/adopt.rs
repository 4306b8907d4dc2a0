//! `/adopt`: a person overrides a drop or a hold: the work belongs to the current session from now on (OWN-42).

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::ids::NotificationId;
use homing_domain::notification::{Kind, State};
use homing_domain::owner::Owner;
use homing_domain::process::ProcessState;
use homing_ports::store::{Change, NotificationRow, ProcessRow, Source, StoreError};

use super::{Call, Command, Outcome, Step};

pub(super) const COMMAND: Command = Command {
    name: "adopt",
    usage: "PROCESS",
    summary: "let a process of an earlier session report to this one",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let Some(wanted) = call.arguments().first() else {
            return Ok(call.usage("Which process?"));
        };
        let process = match call.find_process(wanted).await? {
            Ok(process) => process,
            Err(problem) => return Ok(Outcome::reply(problem)),
        };
        let Some(current) = call.row.current else {
            return Ok(Outcome::reply(
                "There is no session to adopt it yet. Write something first.",
            ));
        };
        // The same session, and the same window to tell it in: there is nothing to override.
        if process.owner.lineage == current.lineage && process.owner.window == call.inbound.window {
            return Ok(Outcome::reply(format!(
                "{} reports to this session already.",
                process.id
            )));
        }
        let owner = Owner {
            conversation: call.row.id,
            session: current.session,
            lineage: current.lineage,
            origin: homing_domain::origin::Origin {
                anchor: None,
                ..call.inbound.origin.clone()
            },
            window: call.inbound.window,
            delegation: None,
        };
        let mut changes = vec![
            Change::RequireGeneration(call.row.generation),
            Change::Adopt {
                process: process.id,
                owner,
            },
        ];
        let told = call
            .inside
            .store
            .notifications_of(Source::Process(process.id))
            .await?;
        changes.extend(tell_again(call, &process, &told));
        Ok(Outcome::Step(Step {
            reply: format!("{} reports to this session now.", process.id),
            changes,
            effects: Vec::new(),
        }))
    }
    .boxed()
}

/// A settled notification stays as it is; what it was about is told anew if the process has ended and nothing about its end is open.
fn tell_again(call: &Call<'_>, process: &ProcessRow, told: &[NotificationRow]) -> Option<Change> {
    let ended =
        |notification: &&NotificationRow| matches!(notification.kind, Kind::Completed | Kind::Lost);
    let open = told
        .iter()
        .filter(ended)
        .any(|notification| !notification.state.is_final());
    if process.state.is_live() || open {
        return None;
    }
    let kind = match process.state {
        ProcessState::Lost => Kind::Lost,
        ProcessState::Exited
        | ProcessState::Failed
        | ProcessState::Starting
        | ProcessState::Running => Kind::Completed,
    };
    let was_told = told.iter().filter(|notification| notification.kind == kind);
    let sequence = was_told
        .map(|notification| notification.sequence + 1)
        .max()
        .unwrap_or(0);
    debug_assert!(
        told.iter()
            .all(|notification| notification.state != State::Claimed || notification.kind != kind)
    );
    Some(Change::AddNotification {
        notification: call.inside.ids.next::<NotificationId>(),
        source: Source::Process(process.id),
        kind,
        sequence,
        content: String::new(),
        more: 0,
    })
}
