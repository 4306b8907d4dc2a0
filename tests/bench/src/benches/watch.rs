//! How many bytes of output a second go through watch patterns: lines assembled, each looked at with all patterns.

use std::time::Instant;

use anyhow::ensure;
use homing_watcher::pattern::{Lines, Patterns};

use crate::report::Figures;
use crate::samples::Samples;

const PATTERNS: usize = 20;
/// Bytes of each round.
const ROUND: usize = 16 * 1024 * 1024;
const ROUNDS: usize = 9;
/// As the watcher reads them.
const CHUNK: usize = 256 * 1024;
/// One line in so many matches.
const RARE: usize = 1_000;

pub async fn run() -> anyhow::Result<Figures> {
    let text = output();
    let plain: Vec<String> = (0..PATTERNS)
        .map(|number| format!("MARKER-{number:02}"))
        .collect();
    let regex: Vec<String> = (0..PATTERNS)
        .map(|number| format!("re:MARKER-{number:02} at [0-9]+$"))
        .collect();
    let mut figures = Figures::default();
    figures.add("mb_per_s", rate(&text, &plain)?);
    figures.add("mb_per_s_regex", rate(&text, &regex)?);
    figures.add("patterns", PATTERNS as f64);
    figures.add("round_mb", ROUND as f64 / 1e6);
    Ok(figures)
}

/// Megabytes a second, the median of the rounds.
fn rate(text: &[u8], patterns: &[String]) -> anyhow::Result<f64> {
    let patterns = Patterns::new(patterns)?;
    let mut samples = Samples::default();
    let mut matched = 0;
    for _ in 0..ROUNDS {
        let (mut lines, mut from) = (Lines::default(), 0);
        let begun = Instant::now();
        for chunk in text.chunks(CHUNK) {
            lines.feed(from, chunk, |line| {
                matched += usize::from(patterns.matches(line))
            });
            from += chunk.len() as u64;
        }
        samples.add(begun.elapsed());
    }
    let expected = ROUNDS
        * text
            .split(|byte| *byte == b'\n')
            .filter(|line| line.starts_with(b"MARKER"))
            .count();
    ensure!(
        matched == expected,
        "{matched} lines matched where {expected} do"
    );
    Ok(text.len() as f64 / 1e6 / (samples.median_ms() / 1e3))
}

/// What a build prints: lines of some length, a few of which matter.
fn output() -> Vec<u8> {
    let mut text = Vec::with_capacity(ROUND + 200);
    let mut number = 0;
    while text.len() < ROUND {
        let line = match number % RARE {
            0 => format!("MARKER-{:02} at {number}\n", number / RARE % PATTERNS),
            _ => format!(
                "[{number:>8}] compiling module_{:x} with the usual options and no MARK at all\n",
                number * 2_654_435_761
            ),
        };
        text.extend_from_slice(line.as_bytes());
        number += 1;
    }
    text
}
