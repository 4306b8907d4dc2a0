//! `/sessions`: those of this conversation, newest first.

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::time::Span;
use homing_ports::store::{SessionRow, StoreError};

use super::{Call, Command, Outcome};

pub(super) const COMMAND: Command = Command {
    name: "sessions",
    usage: "",
    summary: "the sessions of this conversation",
    run,
};

const SHOWN: u32 = 20;

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let sessions = call.inside.store.sessions(call.row.id, SHOWN).await?;
        if sessions.is_empty() {
            return Ok(Outcome::reply(
                "No session yet. Your first message begins one.",
            ));
        }
        let lines: Vec<String> = sessions.iter().map(|session| line(call, session)).collect();
        Ok(Outcome::reply(format!(
            "{}\n/resume SESSION goes back to an open one.",
            lines.join("\n")
        )))
    }
    .boxed()
}

fn line(call: &Call<'_>, session: &SessionRow) -> String {
    let standing = match (call.row.current, session.ended) {
        (Some(current), _) if current.session == session.id => "current".to_owned(),
        (_, Some((reason, at))) => format!(
            "{} {} ago",
            reason.name(),
            Span(call.inside.now().since(at))
        ),
        (_, None) => "parked".to_owned(),
    };
    let title = session
        .title
        .as_deref()
        .map(|title| format!(" “{title}”"))
        .unwrap_or_default();
    format!(
        "• {}{title} – {standing}, {} messages",
        session.id, session.messages
    )
}
