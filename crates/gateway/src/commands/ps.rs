//! `/ps`: processes of this conversation, and what waits to be told.

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::time::Span;
use homing_ports::store::{DelegationRow, OpenNotification, ProcessRow, StoreError};

use super::{Call, Command, Outcome, inline_code};

pub(super) const COMMAND: Command = Command {
    name: "ps",
    usage: "",
    summary: "what runs here, what ended, what waits to be told",
    run,
};

const SHOWN: u32 = 20;

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let processes = call.inside.store.processes(call.row.id, SHOWN).await?;
        let delegations = call.inside.store.delegations(call.row.id, SHOWN).await?;
        if processes.is_empty() && delegations.is_empty() {
            return Ok(Outcome::reply("Nothing runs here, and nothing has."));
        }
        let open = call.inside.store.open_notifications(call.row.id).await?;
        let mut text = processes
            .iter()
            .map(|process| line(call, process))
            .collect::<Vec<_>>()
            .join("\n");
        let agents: Vec<String> = delegations
            .iter()
            .map(|delegation| agent(call, delegation))
            .collect();
        text.push_str(&agents.join(""));
        if !open.is_empty() {
            let waits: Vec<String> = open.iter().map(waiting).collect();
            text.push_str(&format!("\nWaiting to be told:\n{}", waits.join("\n")));
        }
        Ok(Outcome::reply(text))
    }
    .boxed()
}

fn line(call: &Call<'_>, process: &ProcessRow) -> String {
    let elsewhere = call
        .row
        .current
        .is_none_or(|current| current.lineage != process.owner.lineage);
    let owner = if elsewhere {
        " (started by another session)"
    } else {
        ""
    };
    format!("{}{owner}", call.process_line(process))
}

fn agent(call: &Call<'_>, delegation: &DelegationRow) -> String {
    let age = Span(
        delegation
            .ended_at
            .unwrap_or(call.inside.now())
            .since(delegation.created_at),
    );
    format!(
        "\n• {} – {} – {}, {age}",
        delegation.id,
        inline_code(&delegation.task),
        delegation.state.name()
    )
}

fn waiting(open: &OpenNotification) -> String {
    let notification = &open.notification;
    let reason = notification
        .reason
        .as_deref()
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    format!(
        "• {} – {} – {}{reason}",
        notification.id,
        notification.kind.name(),
        notification.state.name()
    )
}
