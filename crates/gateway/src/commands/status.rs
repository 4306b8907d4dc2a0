//! `/status`: this conversation in a few lines.

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::time::Span;
use homing_ports::store::{ProcessRow, StoreError};

use super::{Call, Command, Outcome, Running};

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
                let title = session.title.map(|title| format!(" “{title}”")).unwrap_or_default();
                let age = Span(call.inside.now().since(session.started_at));
                format!("Session {}{title}: {} messages, {age} old.", session.id, session.messages)
            }
            None => "No session yet.".to_owned(),
        };
        let doing = match (&call.running, call.compressing) {
            (Some(Running::Foreground { .. }), _) => "At work on your message.",
            (Some(Running::Background { .. }), _) => "Telling a result.",
            (None, true) => "Compressing.",
            (None, false) => "Idle.",
        };
        let live = call.inside.store.processes(call.row.id, 200).await?;
        let live = live.iter().filter(|process: &&ProcessRow| process.state.is_live()).count();
        let open = call.inside.store.open_notifications(call.row.id).await?.len();
        let unsent = call.inside.store.outbox_waiting(call.row.id, 200).await?.len();
        Ok(Outcome::reply(format!(
            "{}\n{session}\n{doing}\n{live} processes run, {open} results wait to be told, {unsent} messages wait to be sent.",
            call.row.key
        )))
    }
    .boxed()
}
