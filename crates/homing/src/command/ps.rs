//! `homing ps`

use std::process::ExitCode;

use homing_domain::process::{Ending, ProcessState};
use homing_domain::time::{Span, Timestamp};
use homing_ports::store::{ProcessRow, Queries};
use homing_ports::{Clock, SystemClock};
use serde_json::{Value, json};

use super::{block_on, print, reader};
use crate::arguments::Ps;

pub fn run(arguments: &Ps) -> anyhow::Result<ExitCode> {
    block_on(async {
        let store = reader(&arguments.place.data).await?;
        let mut rows = match arguments.live {
            true => store.all_live_processes().await?,
            false => store.recent_processes(arguments.limit).await?,
        };
        rows.truncate(arguments.limit as usize);
        if arguments.place.json {
            print(&Value::Array(rows.iter().map(to_json).collect()).to_string())?;
        } else if rows.is_empty() {
            print("nothing runs, and nothing has")?;
        } else {
            let now = SystemClock.now();
            for row in &rows {
                print(&line(row, now))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn line(row: &ProcessRow, now: Timestamp) -> String {
    let command: String = row
        .command
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .take(80)
        .collect();
    let state = match (row.state, row.ending) {
        (ProcessState::Exited | ProcessState::Lost, Some(ending)) => ending.to_string(),
        (state, _) => state.name().to_owned(),
    };
    let age = Span(row.ended_at.unwrap_or(now).since(row.created_at)).to_string();
    format!("{}  {state:<24} {age:>12}  {command}", row.id)
}

pub(super) fn to_json(row: &ProcessRow) -> Value {
    let (code, signal, lost) = match row.ending {
        Some(Ending::Code(code)) => (Some(code), None, None),
        Some(Ending::Signal(signal)) => (None, Some(signal), None),
        Some(Ending::Lost(reason)) => (None, None, Some(reason.name())),
        None => (None, None, None),
    };
    json!({
        "id": row.id,
        "state": row.state.name(),
        "exit_code": code,
        "signal": signal,
        "lost": lost,
        "failure": row.failure,
        "command": row.command,
        "conversation": row.owner.conversation,
        "session": row.owner.session,
        "started_at": row.created_at,
        "ended_at": row.ended_at,
        "output_total": row.output_total,
        "notify": row.notify,
        "watch": row.watch,
    })
}
