//! What runs, what it had to say, and what leaves.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homing_domain::ids::{ConversationId, ProcessId};
use homing_ports::processes::{OutputChunk, ProcessError};
use homing_ports::store::{ProcessRow, Queries};
use serde::{Deserialize, Serialize};

use super::extract::{Asked, Named, Place, id};
use super::wire;
use crate::console::App;
use crate::errors::ApiError;

const LIMIT: u32 = 50;
const LIMIT_MOST: u32 = 500;
const LOG_LIMIT: usize = 64 * 1024;
const LOG_LIMIT_MOST: usize = 1024 * 1024;

#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    conversation: Option<String>,
    #[serde(default)]
    limit: Option<u32>,
}

impl Wanted {
    fn limit(&self) -> u32 {
        self.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MOST)
    }

    /// `None` for a place where nobody has been yet.
    async fn conversation(
        &self,
        queries: &dyn Queries,
    ) -> Result<Option<ConversationId>, ApiError> {
        let way_out =
            || ApiError::malformed("Say which conversation: `?conversation=cnv_…`, or its key.");
        let name = self.conversation.as_deref().ok_or_else(way_out)?;
        Ok(Place::parse(name)?.find(queries).await?.map(|row| row.id))
    }
}

#[derive(Serialize)]
pub(super) struct Processes {
    processes: Vec<wire::Process>,
}

pub(super) async fn processes(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Processes>, ApiError> {
    let queries = app.inside.queries.as_ref();
    let rows = match wanted.conversation {
        None => queries.recent_processes(wanted.limit()).await?,
        Some(_) => match wanted.conversation(queries).await? {
            Some(conversation) => queries.processes(conversation, wanted.limit()).await?,
            None => Vec::new(),
        },
    };
    Ok(Json(Processes {
        processes: rows.iter().map(wire::Process::from).collect(),
    }))
}

#[derive(Serialize)]
pub(super) struct Notifications {
    notifications: Vec<wire::Notification>,
}

pub(super) async fn notifications(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Notifications>, ApiError> {
    let queries = app.inside.queries.as_ref();
    let rows = match wanted.conversation(queries).await? {
        Some(conversation) => queries.notifications(conversation, wanted.limit()).await?,
        None => Vec::new(),
    };
    Ok(Json(Notifications {
        notifications: rows.iter().map(wire::Notification::from).collect(),
    }))
}

#[derive(Serialize)]
pub(super) struct Outbox {
    outbox: Vec<wire::OutboxItem>,
}

pub(super) async fn outbox(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Outbox>, ApiError> {
    let queries = app.inside.queries.as_ref();
    let rows = match wanted.conversation(queries).await? {
        Some(conversation) => queries.outbox(conversation, wanted.limit()).await?,
        None => Vec::new(),
    };
    Ok(Json(Outbox {
        outbox: rows.iter().map(wire::OutboxItem::from).collect(),
    }))
}

#[derive(Deserialize)]
pub(super) struct Span {
    /// A byte of everything ever written; without it, the end of the output.
    #[serde(default)]
    from: Option<u64>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Log {
    process: wire::Process,
    /// Where `text` begins. Later than asked for where the output is no longer kept.
    from: u64,
    /// Where to go on reading.
    next: u64,
    total: u64,
    text: String,
}

/// Looking only: whoever reads here consumes nothing (OWN-50 is about the agent).
pub(super) async fn log(
    State(app): State<Arc<App>>,
    Named(name): Named,
    Asked(span): Asked<Span>,
) -> Result<Json<Log>, ApiError> {
    let process: ProcessId = id(&name)?;
    let absent = || {
        ApiError::absent(format!(
            "There is no process {process} here; `/ps` lists them."
        ))
    };
    let row = app
        .inside
        .queries
        .process(process)
        .await?
        .ok_or_else(absent)?;
    let limit = span.limit.unwrap_or(LOG_LIMIT).clamp(1, LOG_LIMIT_MOST);
    let read = match span.from {
        Some(from) => app.inside.processes.output(process, from, limit).await,
        None => app.inside.processes.tail(process, limit).await,
    };
    let chunk = match read {
        Ok(chunk) => chunk,
        // Its folder has been cleaned, or not been made: what the store kept is what there is.
        Err(ProcessError::Unknown(_)) => kept(&row, span.from),
        Err(error) => return Err(error.into()),
    };
    let next = chunk.from + chunk.bytes.len() as u64;
    let text = readable(&String::from_utf8_lossy(&chunk.bytes));
    Ok(Json(Log {
        process: wire::Process::from(&row),
        from: chunk.from,
        next,
        total: chunk.total,
        text,
    }))
}

/// The tail that was kept with the exit, from where it is asked for.
fn kept(row: &ProcessRow, from: Option<u64>) -> OutputChunk {
    let begins = row
        .output_total
        .saturating_sub(row.output_tail.len() as u64);
    let from = from
        .unwrap_or(begins)
        .clamp(begins, row.output_total.max(begins));
    let skipped = (from - begins) as usize;
    let bytes = row.output_tail.get(skipped..).unwrap_or_default().to_vec();
    OutputChunk {
        from,
        bytes,
        total: row.output_total,
    }
}

/// Colours and cursor jumps of a terminal are left out; what they surround stays.
fn readable(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_sequence(&mut rest),
            '\n' | '\t' => kept.push(character),
            control if control.is_control() => {}
            character => kept.push(character),
        }
    }
    kept
}

/// After an escape: `[ … letter`, `] … BEL`, or one character.
fn skip_sequence(rest: &mut std::str::Chars<'_>) {
    match rest.next() {
        Some('[') => drop(rest.find(|character| ('@'..='~').contains(character))),
        Some(']') => drop(rest.find(|character| matches!(character, '\u{7}' | '\u{9c}' | '\\'))),
        Some(_) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_colours_are_left_out_and_text_is_not() {
        assert_eq!(
            readable("\u{1b}[1;31merror\u{1b}[0m: \u{1b}]0;title\u{7}no\r\n\tmore\u{8}"),
            "error: no\n\tmore"
        );
        assert_eq!(readable("cut \u{1b}["), "cut ");
        assert_eq!(readable("\u{1b}"), "");
    }
}
