//! What a process wrote, as text that can be read on while it writes.
//!
//! **Invariant:** text never changes once it was given. What may still change – the line that is being written, a progress line that overwrites
//! itself – is `line`, apart from `text`; `next` is where that line begins, so a reader that goes on from there appends the next `text`, replaces
//! its `line`, and has what a terminal would show. Each answer that leaves more to read gets further than the one before.
//! **Absent on purpose:** raw bytes, and consuming: whoever reads here only looks (OWN-50 is about the agent).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homing_domain::block::clean;
use homing_domain::ids::ProcessId;
use homing_domain::redact::redact;
use homing_ports::processes::{OutputChunk, ProcessError};
use homing_ports::store::ProcessRow;
use serde::{Deserialize, Serialize};

use super::extract::{Asked, Named, id};
use super::wire;
use crate::console::App;
use crate::errors::ApiError;

const LIMIT: usize = 64 * 1024;
const LIMIT_MOST: usize = 1024 * 1024;
/// An unfinished line is read again with each piece of it. One that is longer, in bytes, is cut.
const LINE_LIMIT: usize = 16 * 1024;

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
    /// Where to go on reading: behind `text`, so that `line` is read again.
    next: u64,
    total: u64,
    /// Whether there is more than this answer holds.
    more: bool,
    /// Cleaned of colours, cursor jumps and what was overwritten, and redacted.
    text: String,
    /// The line that is being written, so far.
    line: String,
}

pub(super) async fn read(
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
    // Its row first: one that has ended by now has written everything that is read below.
    let row = app
        .inside
        .queries
        .process(process)
        .await?
        .ok_or_else(absent)?;
    let limit = span.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MOST);
    let read = match span.from {
        Some(from) => app.inside.processes.output(process, from, limit).await,
        None => app.inside.processes.tail(process, limit).await.map(at_line),
    };
    let chunk = match read {
        Ok(chunk) => chunk,
        // Its folder has been cleaned, or not been made: what the store kept is what there is.
        Err(ProcessError::Unknown(_)) => kept(&row, span.from),
        Err(error) => return Err(error.into()),
    };
    Ok(Json(told(&row, &chunk)))
}

fn told(row: &ProcessRow, chunk: &OutputChunk) -> Log {
    let more = chunk.from + (chunk.bytes.len() as u64) < chunk.total;
    let parts = if row.state.is_live() || more {
        Parts::of(&chunk.bytes, more)
    } else {
        Parts::all(&chunk.bytes)
    };
    Log {
        process: wire::Process::from(row),
        from: chunk.from,
        next: chunk.from + parts.unfinished as u64,
        total: chunk.total,
        more,
        text: readable(&chunk.bytes[..parts.settled]),
        line: readable(&chunk.bytes[parts.unfinished..]),
    }
}

fn readable(bytes: &[u8]) -> String {
    redact(&clean(bytes)).into_owned()
}

/// Where a piece of output is divided, in bytes from its beginning.
#[derive(Debug, PartialEq, Eq)]
struct Parts {
    /// Before it are whole lines.
    settled: usize,
    /// From here on is the line being written. What lies between the two has been overwritten.
    unfinished: usize,
}

impl Parts {
    fn all(bytes: &[u8]) -> Parts {
        Parts {
            settled: bytes.len(),
            unfinished: bytes.len(),
        }
    }

    /// `more`: there is something behind these bytes, so reading the same again would not get further.
    fn of(bytes: &[u8], more: bool) -> Parts {
        let lines = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        let line = &bytes[lines..];
        let would_stall = lines == 0 && more;
        if line.len() <= LINE_LIMIT && !would_stall {
            return Parts {
                settled: lines,
                unfinished: lines,
            };
        }
        // A progress line that never ends: only its newest form counts.
        let is_return = |byte: &u8| *byte == b'\r';
        let written = line.iter().rposition(|byte| !is_return(byte)).unwrap_or(0);
        match line[..written].iter().rposition(is_return) {
            Some(at) if at > 0 && !clean(&line[at..]).is_empty() => Parts {
                settled: lines,
                unfinished: lines + at,
            },
            Some(_) | None => Parts::all(bytes),
        }
    }
}

/// Begins with a whole line, if there is one: half an escape sequence is no text, and half a secret does not look like one.
fn at_line(chunk: OutputChunk) -> OutputChunk {
    let newline = chunk.bytes.iter().position(|byte| *byte == b'\n');
    match newline.map(|newline| newline + 1) {
        Some(line) if chunk.from > 0 && line < chunk.bytes.len() => OutputChunk {
            from: chunk.from + line as u64,
            bytes: chunk.bytes[line..].to_vec(),
            total: chunk.total,
        },
        Some(_) | None => chunk,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(written: &[u8], more: bool) -> (String, String, usize) {
        let parts = Parts::of(written, more);
        let (text, line) = (&written[..parts.settled], &written[parts.unfinished..]);
        (readable(text), readable(line), parts.unfinished)
    }

    #[test]
    fn whole_lines_are_settled_and_the_one_being_written_is_not() {
        let expected = ("one\ntwo\n".into(), "thr".into(), 8);
        assert_eq!(divided(b"one\ntwo\nthr", false), expected);
        assert_eq!(divided(b"one\ntwo\nthr", true), expected);
        let progress = b"get\n 10%\r 20%\r\x1b[32m 30%\x1b[0m\r";
        assert_eq!(
            divided(progress, false),
            ("get\n".into(), " 30%".into(), 4),
            "all of it is read again: nobody knows yet what overwrites what"
        );
    }

    #[test]
    fn a_line_without_end_is_cut_or_only_its_newest_form_is_kept() {
        let long = vec![b'x'; LINE_LIMIT];
        assert_eq!(Parts::of(&long, false).unfinished, 0);
        assert_eq!(Parts::of(&long, true), Parts::all(&long));
        let longer = vec![b'x'; LINE_LIMIT + 1];
        assert_eq!(Parts::of(&longer, false), Parts::all(&longer));
        for forms in [b"10%\r20%\r30%".as_slice(), b"10%\r20%\r30%\r\r"] {
            assert_eq!(divided(forms, true), (String::new(), "30%".into(), 7));
        }
    }

    /// Read in pieces of any size it becomes what is read at once.
    #[test]
    fn reading_on_gives_what_reading_at_once_gives() {
        let written = "a\nprogress 1\rprogress 2\r\nh\u{e4}user \u{1b}[1mbold\u{1b}[0m\n".repeat(9);
        let written = written.as_bytes();
        for piece in 1..written.len() {
            let (mut text, mut next, mut seen) = (String::new(), 0, 0);
            while seen < written.len() {
                seen = (seen + piece).min(written.len());
                let parts = Parts::of(&written[next..seen], false);
                text += &readable(&written[next..next + parts.settled]);
                next += parts.unfinished;
            }
            assert_eq!(text, clean(written), "{piece}");
            assert_eq!(next, written.len());
        }
    }

    #[test]
    fn the_end_of_an_output_begins_with_a_whole_line() {
        let chunk = |from, bytes: &[u8]| OutputChunk {
            from,
            bytes: bytes.to_vec(),
            total: 100,
        };
        assert_eq!(at_line(chunk(7, b"alf\nwhole")), chunk(11, b"whole"));
        assert_eq!(at_line(chunk(0, b"first\nwhole")).from, 0);
        assert_eq!(at_line(chunk(7, b"one line\n")).from, 7);
    }
}
