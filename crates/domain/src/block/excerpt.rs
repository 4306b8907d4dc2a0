//! As much of a text as there is room for, cleaned and redacted before it is cut.

use super::clean;
use crate::redact::redact;

/// The end of an output.
pub(super) struct Excerpt {
    pub text: String,
    pub extent: Extent,
}

/// How much of the output it is, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Nothing,
    Unprintable { total: u64 },
    Whole { total: u64 },
    Tail { shown: u64, total: u64 },
}

impl Excerpt {
    /// At most `limit` bytes of whole lines; of a single line that is longer, its end.
    pub fn of(tail: &[u8], total: u64, limit: usize) -> Excerpt {
        let total = total.max(tail.len() as u64);
        let read = readable(tail, total, limit);
        let text = read.text.trim_matches('\n').trim_end();
        let kept = last_lines(text, limit);
        let extent = match (total, kept.is_empty()) {
            (0, _) => Extent::Nothing,
            (_, true) => Extent::Unprintable { total },
            (_, false) if read.is_whole && kept.len() == text.len() => Extent::Whole { total },
            (_, false) => Extent::Tail {
                shown: kept.len() as u64,
                total,
            },
        };
        Excerpt {
            text: kept.into(),
            extent,
        }
    }
}

struct Readable {
    text: String,
    is_whole: bool,
}

/// Cleans and redacts. Control sequences take room that is not shown, so more is read than is kept; but not all of what a caller may bring.
fn readable(tail: &[u8], total: u64, limit: usize) -> Readable {
    const ROOM_FOR_CONTROL: usize = 8;
    const AT_LEAST: usize = 16 * 1024;
    let window = limit
        .saturating_mul(ROOM_FOR_CONTROL)
        .saturating_add(AT_LEAST);
    let mut read = &tail[tail.len().saturating_sub(window)..];
    let is_whole = read.len() as u64 == total;
    // Half a line may be half a secret, or half an escape sequence.
    if let (false, Some(newline)) = (is_whole, read.iter().position(|byte| *byte == b'\n'))
        && newline + 1 < read.len()
    {
        read = &read[newline + 1..];
    }
    Readable {
        text: redact(&clean(read)).into_owned(),
        is_whole,
    }
}

fn last_lines(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let from = text.ceil_char_boundary(text.len() - limit);
    if text[..from].ends_with('\n') {
        return &text[from..];
    }
    match text[from..].find('\n') {
        Some(newline) => &text[from + newline + 1..],
        None => &text[from..],
    }
}

/// The first of some lines, and how many were left out. One that is too long by itself is cut.
pub(super) fn first_lines(lines: &[String], limit: usize) -> (String, u64) {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        // Secrets first: what is cut from them would not be known any more.
        let line = redact(&clean(line.as_bytes()))
            .trim_end()
            .replace('\n', " ");
        let break_before = if index == 0 { "" } else { "\n" };
        if text.len() + break_before.len() + line.len() > limit {
            if index == 0 {
                text = format!("{}…", &line[..line.floor_char_boundary(limit)]);
                return (text, lines.len() as u64 - 1);
            }
            return (text, (lines.len() - index) as u64);
        }
        text.push_str(break_before);
        text.push_str(&line);
    }
    (text, 0)
}

/// A command on one line, at most `limit` characters and a `…`.
pub(super) fn one_line(command: &str, limit: usize) -> String {
    let command = clean(command.as_bytes());
    let command = redact(command.trim());
    let line = command
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join(" ⏎ ")
        .replace('\t', " ");
    match line.char_indices().nth(limit) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// `81,234`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
