//! Texts for a model: cleaned, redacted, and bounded at line ends with the total stated.

use homing_domain::block;
use homing_domain::redact::redact;

/// Bytes of the longest answer.
const LONGEST: usize = 24 * 1024;
/// Bytes of an output's beginning and of its end that are answered.
pub(super) const HEAD: usize = 4 * 1024;
const TAIL: usize = 12 * 1024;

/// The last step of every answer.
pub(super) fn bounded(text: &str) -> String {
    let text = redact(text);
    if text.len() <= LONGEST {
        return text.into_owned();
    }
    let (head, tail) = (beginning(&text, LONGEST / 3), end(&text, LONGEST / 3 * 2));
    format!(
        "{head}\n[… {} of {} bytes left out …]\n{tail}",
        text.len() - head.len() - tail.len(),
        text.len()
    )
}

/// A program's output: all of it, or its beginning and its end. `head` and `tail` are pieces of it, `total` is what was written.
pub(super) fn output(head: &[u8], tail: &[u8], total: u64) -> String {
    let total = total.max(tail.len() as u64);
    if total == 0 {
        return "(no output)".to_owned();
    }
    if tail.len() as u64 == total {
        return readable(tail, total);
    }
    // Half a line may be half a secret.
    let first = head
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(&[][..], |newline| &head[..=newline]);
    let from = tail.iter().position(|byte| *byte == b'\n');
    let last = from
        .filter(|from| from + 1 < tail.len())
        .map_or(tail, |from| &tail[from + 1..]);
    let shown = (first.len() + last.len()) as u64;
    if shown >= total || first.is_empty() {
        return format!(
            "[the last {} of {total} bytes]\n{}",
            last.len(),
            readable(last, total)
        );
    }
    format!(
        "{}\n[… {} of {total} bytes left out …]\n{}",
        readable(first, total),
        total - shown,
        readable(last, total)
    )
}

fn readable(bytes: &[u8], total: u64) -> String {
    let text = block::clean(bytes);
    let text = redact(text.trim_end()).into_owned();
    match text.trim().is_empty() {
        true => format!("({total} bytes, nothing printable)"),
        false if text.len() <= HEAD + TAIL => text,
        false => {
            let (head, tail) = (beginning(&text, HEAD), end(&text, TAIL));
            let left = text.len() - head.len() - tail.len();
            format!("{head}\n[… {left} of {total} bytes left out …]\n{tail}")
        }
    }
}

/// At most `limit` bytes of whole lines; of a first line that is longer, its beginning.
pub(super) fn beginning(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let cut = &text[..text.floor_char_boundary(limit)];
    match cut.rfind('\n') {
        Some(newline) if newline > 0 => &cut[..newline],
        _ => cut,
    }
}

fn end(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let cut = &text[text.ceil_char_boundary(text.len() - limit)..];
    match cut.find('\n') {
        Some(newline) if newline + 1 < cut.len() => &cut[newline + 1..],
        _ => cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_both_ends_whole_lines_and_says_how_much_there_was() {
        let line = "0123456789 ä\n";
        let long = line.repeat(10_000);
        let short = bounded(&long);
        assert!(short.len() <= LONGEST + 100, "{}", short.len());
        assert!(short.starts_with(line) && short.ends_with(line));
        assert!(
            short.contains(&format!("of {} bytes left out", long.len())),
            "{short}"
        );
        assert!(
            short
                .lines()
                .all(|shown| shown == line.trim_end() || shown.starts_with('['))
        );
    }

    #[test]
    fn an_output_that_is_not_here_whole_says_its_total_and_begins_and_ends_with_lines() {
        let said = output(b"first\nsecond\nthi", b"rd half\nlast\n", 1_000);
        assert_eq!(
            said,
            "first\nsecond\n[… 982 of 1000 bytes left out …]\nlast"
        );
        let said = output(b"", b"rd half\nlast\n", 1_000);
        assert_eq!(said, "[the last 5 of 1000 bytes]\nlast");
        assert_eq!(output(b"", b"", 0), "(no output)");
        assert_eq!(output(b"", b"\x1b[31mred\x1b[0m\n", 13), "red");
        assert_eq!(output(b"", b"\0\0", 2), "(2 bytes, nothing printable)");
    }

    #[test]
    fn secrets_are_not_answered() {
        let key = format!("ghp_{}", "a1B2".repeat(9));
        assert!(!bounded(&format!("token {key}")).contains(&key));
        assert!(!output(b"", key.as_bytes(), key.len() as u64).contains(&key));
    }
}
