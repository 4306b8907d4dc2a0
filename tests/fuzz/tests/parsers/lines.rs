//! Lines of output, and patterns for them (OWN-80).

use homing_fuzz::{Numbers, Reading, fuzz};
use homing_watcher::Patterns;
use homing_watcher::pattern::{CARRY_LIMIT, Lines, kept};

use crate::text;

#[test]
fn lines_do_not_depend_on_how_they_were_written() {
    fuzz("lines", |input| {
        let whole = lines(input, &[]);
        let mut numbers =
            Numbers::from(input.len() as u64 * 31 + u64::from(input.first().copied().unwrap_or(0)));
        for _ in 0..3 {
            let cuts = cuts(&mut numbers, input.len());
            assert_eq!(lines(input, &cuts), whole, "written in pieces at {cuts:?}");
        }
        let every_byte: Vec<usize> = (0..input.len()).collect();
        assert_eq!(lines(input, &every_byte), whole);
        let crash = numbers.below(input.len() + 1);
        assert_eq!(after_a_restart(input, crash), whole, "a restart at {crash}");
        for line in &whole {
            assert!(
                !line.contains('\n') && !line.is_empty()
                    || line.is_empty() && input.contains(&b'\r')
            );
            let kept = kept(line);
            assert!(
                kept == *line
                    || kept.len() <= 500 + " […]".len()
                        && line.starts_with(kept.trim_end_matches(" […]"))
            );
        }
        Reading::of(!whole.is_empty())
    });
}

/// What is longer than the carry comes in pieces; nothing of it is lost.
#[test]
fn long_lines_come_whole_in_pieces() {
    let mut numbers = Numbers::from(5);
    for length in [
        CARRY_LIMIT - 1,
        CARRY_LIMIT,
        CARRY_LIMIT + 1,
        3 * CARRY_LIMIT + 7,
    ] {
        let mut input = b"x".repeat(length);
        input.extend_from_slice(b"\nnext\n");
        for _ in 0..4 {
            let cuts = cuts(&mut numbers, input.len());
            assert_eq!(
                lines(&input, &cuts).concat(),
                format!("{}next", "x".repeat(length))
            );
        }
    }
}

fn cuts(numbers: &mut Numbers, length: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = (0..numbers.below(6))
        .map(|_| numbers.below(length + 1))
        .collect();
    cuts.sort_unstable();
    cuts
}

fn lines(input: &[u8], cuts: &[usize]) -> Vec<String> {
    let (mut lines, mut seen, mut at) = (Lines::default(), Vec::new(), 0);
    for end in cuts.iter().copied().chain([input.len()]) {
        lines.feed(at as u64, &input[at..end], |line| {
            seen.push(line.to_owned())
        });
        assert_eq!(lines.fed(), end as u64);
        assert!(lines.settled() <= lines.fed());
        at = end;
    }
    lines.finish(|line| seen.push(line.to_owned()));
    seen
}

/// Read up to `crash`, then again from where everything had been matched.
fn after_a_restart(input: &[u8], crash: usize) -> Vec<String> {
    let (mut lines, mut seen) = (Lines::default(), Vec::new());
    lines.feed(0, &input[..crash], |line| seen.push(line.to_owned()));
    let from = lines.settled();
    let mut lines = Lines::at(from);
    lines.feed(from, &input[from as usize..], |line| {
        seen.push(line.to_owned())
    });
    lines.finish(|line| seen.push(line.to_owned()));
    seen
}

#[test]
fn patterns() {
    fuzz("pattern", |input| {
        let text = text(input);
        let (pattern, line) = text.split_once('\n').unwrap_or((&text, "READY on port 80"));
        let patterns = match Patterns::new(&[pattern.to_owned()]) {
            Ok(patterns) => patterns,
            Err(error) => {
                assert!(pattern.is_empty() || pattern.starts_with("re:"), "{error}");
                return Reading::Refused;
            }
        };
        let matches = patterns.matches(line);
        if !pattern.starts_with("re:") {
            assert_eq!(matches, line.contains(pattern));
        }
        // One more pattern never hides a match.
        let both = Patterns::new(&["no such text".to_owned(), pattern.to_owned()]).unwrap();
        assert_eq!(both.matches(line), matches || line.contains("no such text"));
        Reading::Accepted
    });
}
