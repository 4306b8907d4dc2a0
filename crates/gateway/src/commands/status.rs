//! `/status`: this conversation in a few lines.

use std::fmt::Display;

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::time::Span;
use homing_ports::store::{OutboxState, ProcessRow, StoreError, Usage};

use super::{Call, Command, Outcome, Running};
use crate::conversation::DEAD_LETTERS;

pub(super) const COMMAND: Command = Command {
    name: "status",
    usage: "",
    summary: "this conversation at a glance",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let session = match call.row.current {
            Some(current) => call.inside.store.session(current.session).await?,
            None => None,
        };
        let session = match session {
            Some(session) => {
                let title = session
                    .title
                    .map(|title| format!(" “{title}”"))
                    .unwrap_or_default();
                let age = Span(call.inside.now().since(session.started_at));
                let messages = counted(session.messages, "message", "messages");
                format!("Session {}{title}: {messages}, {age} old.", session.id)
            }
            None => "No session yet.".to_owned(),
        };
        let used = match call.row.current {
            Some(current) => used(call.inside.store.usage(current.lineage).await?),
            None => String::new(),
        };
        let doing = match (&call.running, call.compressing) {
            (Some(Running::Foreground { .. }), _) => "At work on your message.",
            (Some(Running::Background { .. }), _) => "Telling a result.",
            (None, true) => "Compressing.",
            (None, false) => "Idle.",
        };
        let live = call.inside.store.processes(call.row.id, 200).await?;
        let live = live
            .iter()
            .filter(|process: &&ProcessRow| process.state.is_live())
            .count();
        let open = call
            .inside
            .store
            .open_notifications(call.row.id)
            .await?
            .len();
        let unsent = call.inside.store.outbox_waiting(call.row.id, 200).await?;
        let unknown = unsent
            .iter()
            .filter(|item| item.state == OutboxState::Uncertain)
            .count();
        let unknown = match unknown {
            0 => String::new(),
            count => format!(" ({count} of them may have arrived)"),
        };
        let unsent = unsent.len();
        let dead = match call
            .inside
            .store
            .dead_letters(call.row.id, DEAD_LETTERS)
            .await?
            .len()
        {
            0 => String::new(),
            count => format!("\n{count} could not be delivered: /deadletters."),
        };
        Ok(Outcome::reply(format!(
            "{}\n{session}{used}\n{doing}\n{}, {}, {}{unknown}.{dead}",
            call.row.key,
            counted(live, "process runs", "processes run"),
            counted(open, "result waits to be told", "results wait to be told"),
            counted(
                unsent,
                "message waits to be sent",
                "messages wait to be sent"
            ),
        )))
    }
    .boxed()
}

fn counted<Count>(count: Count, one: &str, several: &str) -> String
where
    Count: Display + PartialEq + From<u8>,
{
    match count == Count::from(1) {
        true => format!("1 {one}"),
        false => format!("{count} {several}"),
    }
}

/// What models used for it; nothing where none did.
fn used(usage: Usage) -> String {
    match usage.requests {
        0 => String::new(),
        requests => format!(
            "\n{} tokens read ({} of them from a cache) and {} written, in {}.",
            usage.prompt_tokens,
            usage.cached_tokens,
            usage.completion_tokens,
            counted(requests, "request", "requests")
        ),
    }
}
