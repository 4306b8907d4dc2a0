//! What the runner has a held turn do, as a model does it: a tool call, and its result as the model reads it.

use std::str::FromStr;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::stage::{Order, Turn};
use crate::host::acting::Called;
use crate::protocol::Call;

/// Seconds that a model waits for a process; there is no shorter time.
const WAIT: u64 = 1;

pub async fn carry_out(turn: &Turn, call: &Call) -> Result<Called, String> {
    let on = |action: &str, process: &dyn ToString| json!({"action": action, "process": process.to_string()});
    let said = match call {
        Call::Start {
            command,
            notify,
            watch,
            ..
        } => {
            let arguments =
                json!({"command": command, "background": true, "notify": notify, "watch": watch});
            ask(turn, "terminal", arguments).await?
        }
        Call::Delegate { task, .. } => ask(turn, "delegate", json!({"tasks": [task]})).await?,
        Call::Wait(process) => {
            let mut arguments = on("wait", process);
            arguments["limit"] = WAIT.into();
            ask(turn, "process", arguments).await?
        }
        Call::Log(process) => log(turn, on("log", process)).await?,
        Call::Poll(process) => ask(turn, "process", on("poll", process)).await?,
        Call::Kill(process) => ask(turn, "process", on("kill", process)).await?,
        Call::List => ask(turn, "process", json!({"action": "list"})).await?,
    };
    let started = match call {
        Call::Start { .. } => after(&said, "started in the background as ").map(Called::Started),
        Call::Delegate { .. } => after(&said, "started: ").map(Called::Delegated),
        _ => None,
    };
    Ok(started.unwrap_or(Called::Said(said)))
}

/// From the first byte until there is no more.
async fn log(turn: &Turn, mut arguments: Value) -> Result<String, String> {
    let mut offset = 0;
    loop {
        arguments["offset"] = offset.into();
        let said = ask(turn, "process", arguments.clone()).await?;
        match more_from(&said) {
            Some(to) if to > offset => offset = to,
            _ => return Ok(said),
        }
    }
}

async fn ask(turn: &Turn, name: &'static str, arguments: Value) -> Result<String, String> {
    let (to, result) = oneshot::channel();
    let call = Order::Call {
        name,
        arguments,
        to,
    };
    if !turn.order(call) {
        return Err("nobody waits for orders".into());
    }
    let said = tokio::select! {
        biased;
        said = result => said.ok(),
        // By a tool that found its session gone, or by a person.
        () = turn.over.cancelled() => None,
    };
    said.ok_or_else(|| "the turn has ended, and the result was not read".into())
}

/// The id that stands after these words at the beginning.
fn after<T: FromStr>(said: &str, words: &str) -> Option<T> {
    let rest = said.strip_prefix(words)?;
    let end = rest
        .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// `bytes 0 to 16384 of 20000, 3616 more after it; …`: where the rest begins.
fn more_from(said: &str) -> Option<u64> {
    let head = said.lines().next()?;
    let (_, rest) = head.split_once(" to ")?;
    let (to, rest) = rest.split_once(' ')?;
    rest.contains(" more after it").then(|| to.parse().ok())?
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use homing_domain::ids::{DelegationId, ProcessId};

    use super::*;

    #[test]
    fn ids_are_read_from_what_tools_say() {
        let process = ProcessId::from_number(77);
        let said = format!("started in the background as {process}");
        assert_eq!(after(&said, "started in the background as "), Some(process));
        let delegation = DelegationId::from_number(78);
        let said = format!("started: {delegation}. What they find is told here.");
        assert_eq!(after(&said, "started: "), Some(delegation));
        assert_eq!(after::<ProcessId>("not run: no", "started: "), None);
    }

    #[test]
    fn a_log_goes_on_where_it_was_cut() {
        assert_eq!(
            more_from("bytes 0 to 16384 of 20000, 3616 more after it; it runs\nx to 7 more"),
            Some(16_384)
        );
        assert_eq!(more_from("bytes 0 to 9 of 9; it has ended\n"), None);
        assert_eq!(more_from("there is no process"), None);
    }
}
