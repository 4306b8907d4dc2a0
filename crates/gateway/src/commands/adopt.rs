//! `/adopt`: a person overrides a drop or a hold: the work belongs to the current session from now on (OWN-42).

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::ids::NotificationId;
use homing_domain::notification::{Kind, State};
use homing_domain::owner::Owner;
use homing_domain::process::ProcessState;
use homing_domain::session::Current;
use homing_ports::store::{Change, NotificationRow, ProcessKind, ProcessRow, Source, StoreError};

use super::{Call, Command, Effect, Outcome, Running, Step};

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
        if let Some(needless) = is_needless(call, current, &process) {
            return Ok(Outcome::reply(needless));
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
            effects: moved(&process),
        }))
    }
    .boxed()
}

/// What already comes to this session, as the sentence that says so.
fn is_needless(call: &Call<'_>, current: Current, process: &ProcessRow) -> Option<String> {
    if process.owner.lineage != current.lineage {
        return None;
    }
    let (id, in_foreground) = (process.id, process.kind == ProcessKind::Foreground);
    if in_foreground && process.state.is_live() {
        return Some(waited_for(call, process));
    }
    // Another window is another place to tell it in.
    let same_window = process.owner.window == call.inbound.window;
    // Of a command that somebody waited for, the result was the answer. Of any other that was started to end silently, there was none.
    let is_told = process.notify || in_foreground;
    (same_window && is_told).then(|| format!("{id} reports to this session already."))
}

/// To take it from whoever waits for it is what `/background` is for.
fn waited_for(call: &Call<'_>, process: &ProcessRow) -> String {
    let id = process.id;
    match (process.owner.delegation, &call.running) {
        (Some(_), _) => format!(
            "A sub-agent of this session waits for {id}: what comes of it is part of its result."
        ),
        (None, Some(Running::Foreground { .. })) => format!(
            "I am waiting for {id} myself: its result is part of my answer. /background lets it go on without me."
        ),
        (None, Some(Running::Background { .. }) | None) => {
            format!("I am waiting for {id} myself: its result is part of what I say next.")
        }
    }
}

/// Whoever waits for it in the session that is left goes on without it, and its end is told, however silently it was started.
fn moved(process: &ProcessRow) -> Vec<Effect> {
    match process.state.is_live() {
        true => vec![Effect::Moved(process.id)],
        false => Vec::new(),
    }
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
