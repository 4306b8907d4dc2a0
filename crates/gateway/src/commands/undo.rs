//! `/undo`: the last exchanges, out of what the agent sees. They stay readable.

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::session::Current;
use homing_ports::store::{Change, MessageRow, Role, StoreError};

use super::{Call, Command, Outcome, Running, Step};

/// Messages that are looked through.
const LOOKED_AT: u32 = 10_000;
/// Characters of a message that name it.
const NAMED: usize = 60;

pub(super) const COMMAND: Command = Command {
    name: "undo",
    usage: "[HOW MANY]",
    summary: "take the last exchange out of my memory; background results, files and processes stay as they are",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let count = match call.arguments().first().map(|text| text.parse::<usize>()) {
            None => 1,
            Some(Ok(count)) if count > 0 => count,
            Some(_) => return Ok(call.usage("How many is a number from 1.")),
        };
        let found = match last(call, count).await? {
            Ok(found) => found,
            Err(problem) => return Ok(Outcome::reply(problem)),
        };
        let what = match count {
            1 => "Taken out: ".to_owned(),
            count => format!("Taken out, {count} exchanges from here on: "),
        };
        Ok(Outcome::Step(Step {
            reply: format!(
                "{what}“{}” and what followed.{} Files and processes stay as they are.",
                named(&found.message.text),
                stays(found.told_since)
            ),
            changes: vec![
                Change::RequireGeneration(call.row.generation),
                Change::Undo {
                    lineage: found.current.lineage,
                    from: found.message.id,
                },
            ],
            effects: Vec::new(),
        }))
    }
    .boxed()
}

/// Results of background work are facts, and are not taken out with what was asked before them.
fn stays(told: usize) -> String {
    match told {
        0 => String::new(),
        1 => " The background result that was told since then stays in my memory.".to_owned(),
        told => {
            format!(" The {told} background results that were told since then stay in my memory.")
        }
    }
}

/// Where the last exchanges begin.
pub(super) struct Found {
    pub current: Current,
    pub message: MessageRow,
    /// Background results, after it.
    pub told_since: usize,
}

/// The message with which the last `count` exchanges begin; else the sentence that says why they cannot be taken out.
pub(super) async fn last(
    call: &Call<'_>,
    count: usize,
) -> Result<Result<Found, String>, StoreError> {
    if let Some(problem) = busy(call) {
        return Ok(Err(problem.to_owned()));
    }
    let Some(current) = call.row.current else {
        return Ok(Err("There is nothing to take out yet.".to_owned()));
    };
    let store = &call.inside.store;
    let context = store.context(current.session, LOOKED_AT).await?;
    let of = |role| context.messages.iter().filter(move |row| row.role == role);
    let persons: Vec<&MessageRow> = of(Role::Person).collect();
    let there = persons.len();
    let Some(message) = persons.into_iter().rev().nth(count - 1).cloned() else {
        return Ok(Err(match (there, context.summary.is_some()) {
            (0, true) => "What came before is only in the summary by now; it cannot be taken out. /new begins without it.".to_owned(),
            (0, false) => "There is nothing to take out yet.".to_owned(),
            (there, true) => format!(
                "Only the last {there} can be taken out: what came before is only in the summary by now. Nothing was changed."
            ),
            (there, false) => format!("There are only {there}. Nothing was changed."),
        }));
    };
    let session = store.session(message.session).await?;
    if session.is_none_or(|session| session.lineage != current.lineage) {
        return Ok(Err(
            "That was said before this branch began, and belongs to the session that it left. /resume leads back there.".to_owned(),
        ));
    }
    let told = of(Role::Notification).filter(|row| row.id > message.id);
    Ok(Ok(Found {
        current,
        told_since: told.count(),
        message,
    }))
}

fn busy(call: &Call<'_>) -> Option<&'static str> {
    match (&call.running, call.compressing) {
        (_, true) => Some("This session is being compressed; try again in a moment."),
        (Some(Running::Foreground { .. }), _) => {
            Some("I am still at your last message. Wait for it, or /stop it first.")
        }
        (Some(Running::Background { .. }), _) => {
            Some("I am telling a result; try again in a moment.")
        }
        // Commands overtake messages. The last exchange is the one that has not begun yet, and not what would be found.
        (None, false) if !call.waiting.is_empty() => Some(
            "There is a message that is not answered yet. Wait for its answer, then try again; nothing was changed.",
        ),
        (None, false) => None,
    }
}

pub(super) fn named(text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ");
    let short: String = line.chars().take(NAMED).collect();
    match line.chars().count() > NAMED {
        true => format!("{short}…"),
        false => short,
    }
}
