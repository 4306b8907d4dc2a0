//! `/retry`: the same question once more with all it came with, without the first answer.

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::command::{self, Parsed};
use homing_ports::inbox::CameWith;
use homing_ports::store::{Change, MessageRow, StoreError};

use super::{Call, Command, Outcome, Step, undo};

pub(super) const COMMAND: Command = Command {
    name: "retry",
    usage: "",
    summary: "take my last answer out of my memory, and ask the same again",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let undo::Found {
            current, message, ..
        } = match undo::last(call, 1).await? {
            Ok(found) => found,
            Err(problem) => return Ok(Outcome::reply(problem)),
        };
        let again = written(&message);
        if !matches!(command::parse(&again.text, &[]), Parsed::NotACommand) {
            return Ok(Outcome::reply(
                "The last message reads like a command; send it again yourself.",
            ));
        }
        Ok(Outcome::Step(Step {
            reply: format!("Once more: “{}”{}", undo::named(&again.text), with(&again)),
            changes: vec![
                Change::RequireGeneration(call.row.generation),
                Change::Undo {
                    lineage: current.lineage,
                    from: message.id,
                },
                Change::RepeatInbound {
                    inbound: call.inbound.id,
                    text: again.text,
                    quoted: again.quoted,
                    attachments: again.attachments,
                },
            ],
            effects: Vec::new(),
        }))
    }
    .boxed()
}

/// A message as it was written.
fn written(message: &MessageRow) -> CameWith {
    CameWith::read(message.data.as_deref()).unwrap_or_else(|| CameWith {
        text: message.text.clone(),
        quoted: None,
        attachments: Vec::new(),
    })
}

fn with(again: &CameWith) -> String {
    match (again.attachments.len(), again.quoted.is_some()) {
        (0, false) => String::new(),
        (0, true) => ", with what it answered to".to_owned(),
        (1, _) => ", with its file".to_owned(),
        (count, _) => format!(", with its {count} files"),
    }
}
