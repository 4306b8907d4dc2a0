//! `/sessions`: those of this conversation, newest first.

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::time::Span;
use homing_ports::store::{SessionRow, StoreError};

use super::{Call, Choice, Command, Outcome};

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
        Ok(Outcome::Choice(Choice {
            reply: format!(
                "{}\n/resume SESSION goes back to an open one.",
                lines.join("\n")
            ),
            options: parked(call, &sessions),
        }))
    }
    .boxed()
}

/// Those that can be gone back to.
fn parked(call: &Call<'_>, sessions: &[SessionRow]) -> Vec<(String, String)> {
    let is_current = |session: &&SessionRow| {
        call.row
            .current
            .is_some_and(|current| current.session == session.id)
    };
    let open = sessions
        .iter()
        .filter(|session| session.ended.is_none() && !is_current(session));
    open.map(|session| {
        let name = session.title.clone().unwrap_or(session.id.to_string());
        (format!("Back to {name}"), format!("/resume {}", session.id))
    })
    .collect()
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
