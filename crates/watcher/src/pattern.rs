//! Watch patterns over assembled lines (OWN-80).
//!
//! **Invariant:** what matches does not depend on how the bytes were written: lines are assembled from bytes, and only whole lines (or the
//! rest at the end of a process, or a line longer than the carry) are matched. Engines are linear in the text.
//! **Absent on purpose:** limits on how often a match is told.

use aho_corasick::AhoCorasick;
use regex::RegexSet;

/// A line longer than this is matched in pieces of this many bytes.
pub const CARRY_LIMIT: usize = 64 * 1024;
/// A matched line is kept up to this many bytes.
const KEPT_LINE: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("a watch pattern is empty; give a text to look for, or `re:` and a regular expression")]
    Empty,
    #[error("`{pattern}` is not a regular expression: {problem}")]
    Regex { pattern: String, problem: String },
}

/// The patterns of one process.
#[derive(Debug)]
pub struct Patterns {
    plain: Option<AhoCorasick>,
    regex: Option<RegexSet>,
}

impl Patterns {
    /// `re:…` is a regular expression, everything else is looked for as it stands.
    pub fn new(patterns: &[String]) -> Result<Self, PatternError> {
        let (mut plain, mut regex) = (Vec::new(), Vec::new());
        for pattern in patterns {
            match pattern.strip_prefix("re:") {
                Some("") => return Err(PatternError::Empty),
                Some(expression) => {
                    regex::Regex::new(expression).map_err(|error| PatternError::Regex {
                        pattern: expression.into(),
                        problem: last_line(&error.to_string()),
                    })?;
                    regex.push(expression.to_owned());
                }
                None if pattern.is_empty() => return Err(PatternError::Empty),
                None => plain.push(pattern.clone()),
            }
        }
        let too_big = |error: String| PatternError::Regex {
            pattern: patterns.join(", "),
            problem: error,
        };
        Ok(Self {
            plain: match plain.is_empty() {
                true => None,
                false => {
                    Some(AhoCorasick::new(&plain).map_err(|error| too_big(error.to_string()))?)
                }
            },
            regex: match regex.is_empty() {
                true => None,
                false => Some(
                    RegexSet::new(&regex)
                        .map_err(|error| too_big(last_line(&error.to_string())))?,
                ),
            },
        })
    }

    pub fn matches(&self, line: &str) -> bool {
        self.plain
            .as_ref()
            .is_some_and(|plain| plain.is_match(line))
            || self
                .regex
                .as_ref()
                .is_some_and(|regex| regex.is_match(line))
    }
}

fn last_line(text: &str) -> String {
    text.lines()
        .last()
        .unwrap_or(text)
        .trim_start_matches("error: ")
        .to_owned()
}

/// Assembles lines from bytes. Knows how far it is: `position` is the offset of the first byte of the unfinished line.
#[derive(Debug, Default)]
pub struct Lines {
    carry: Vec<u8>,
    /// Offset just behind everything that was fed.
    fed: u64,
}

impl Lines {
    /// Starts at an offset: the beginning of a line.
    pub fn at(offset: u64) -> Self {
        Self {
            carry: Vec::new(),
            fed: offset,
        }
    }

    /// Where to read on.
    pub fn fed(&self) -> u64 {
        self.fed
    }

    /// Where to begin again after a restart: everything before has been matched.
    pub fn settled(&self) -> u64 {
        self.fed - self.carry.len() as u64
    }

    /// Feeds bytes that begin at offset `from`. A gap (output no longer kept) ends the unfinished line.
    pub fn feed(&mut self, from: u64, bytes: &[u8], mut line: impl FnMut(&str)) {
        if from > self.fed {
            self.finish(&mut line);
        }
        self.fed = from + bytes.len() as u64;
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.carry_on(&rest[..end], &mut line);
            self.finish(&mut line);
            rest = &rest[end + 1..];
        }
        self.carry_on(rest, &mut line);
    }

    /// A line longer than the carry is matched in pieces, which begin at the same bytes however it was written.
    fn carry_on(&mut self, bytes: &[u8], line: &mut impl FnMut(&str)) {
        self.carry.extend_from_slice(bytes);
        let pieces = self.carry.len().saturating_sub(1) / CARRY_LIMIT;
        for piece in self.carry.chunks(CARRY_LIMIT).take(pieces) {
            line(&String::from_utf8_lossy(piece));
        }
        self.carry.drain(..pieces * CARRY_LIMIT);
    }

    /// The last line has no end: it counts all the same.
    pub fn finish(&mut self, mut line: impl FnMut(&str)) {
        if self.carry.is_empty() {
            return;
        }
        let carry = std::mem::take(&mut self.carry);
        let text = String::from_utf8_lossy(&carry);
        line(text.strip_suffix('\r').unwrap_or(&text));
    }
}

/// A line as it is kept: bounded, at a character border.
pub fn kept(line: &str) -> String {
    if line.len() <= KEPT_LINE {
        return line.to_owned();
    }
    let mut end = KEPT_LINE;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{} […]", &line[..end])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn collect(pieces: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut seen, mut at) = (Lines::default(), Vec::new(), 0);
        for piece in pieces {
            lines.feed(at, piece, |line| seen.push(line.to_owned()));
            at += piece.len() as u64;
        }
        lines.finish(|line| seen.push(line.to_owned()));
        seen
    }

    proptest! {
        // OWN-80: write boundaries do not matter, not even inside a character.
        #[test]
        fn boundaries_do_not_matter(text in "[a-zä日\n]{0,60}", cuts in prop::collection::vec(0usize..200, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let (mut pieces, mut from) = (Vec::new(), 0);
            for cut in cuts.into_iter().chain([bytes.len()]) {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            prop_assert_eq!(collect(&pieces), collect(&[bytes]));
        }
    }

    #[test]
    fn a_restart_begins_at_the_unfinished_line() {
        let mut lines = Lines::default();
        lines.feed(0, b"one\ntw", |_| {});
        assert_eq!((lines.settled(), lines.fed()), (4, 6));
    }

    // OWN-80: not even for a line that is longer than the carry.
    #[test]
    fn a_long_line_is_cut_at_the_same_bytes_however_it_was_written() {
        let mut line = "x".repeat(CARRY_LIMIT - 3).into_bytes();
        line.extend_from_slice(b"READY and more\n");
        let whole = collect(&[&line]);
        for cut in [
            1,
            CARRY_LIMIT - 1,
            CARRY_LIMIT,
            CARRY_LIMIT + 1,
            line.len() - 1,
        ] {
            assert_eq!(collect(&[&line[..cut], &line[cut..]]), whole, "{cut}");
        }
    }

    #[test]
    fn a_gap_does_not_join_two_lines() {
        let (mut lines, mut seen) = (Lines::default(), Vec::new());
        lines.feed(0, b"RE", |line| seen.push(line.to_owned()));
        lines.feed(100, b"ADY\n", |line| seen.push(line.to_owned()));
        assert_eq!(seen, ["RE", "ADY"]);
    }

    #[test]
    fn plain_text_is_not_a_regular_expression() {
        let patterns = Patterns::new(&["a.c".into(), "re:^x+$".into()]).unwrap();
        assert!(patterns.matches("..a.c..") && patterns.matches("xxx"));
        assert!(!patterns.matches("abc") && !patterns.matches("xy"));
    }

    #[test]
    fn a_bad_pattern_says_what_is_wrong() {
        assert!(
            Patterns::new(&["re:(".into()])
                .unwrap_err()
                .to_string()
                .contains("unclosed group")
        );
        assert_eq!(
            Patterns::new(&[String::new()]).unwrap_err(),
            PatternError::Empty
        );
    }
}
