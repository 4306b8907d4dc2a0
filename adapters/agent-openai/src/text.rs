//! Texts made shorter. Pure.

use super::client::estimate_tokens;

/// The beginning and the end of a text that is longer than so many bytes, with what is missing told between them.
pub fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(most * 2 / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - most / 3)..];
    let missing = text.len() - head.len() - tail.len();
    format!("{head}\n[… {missing} bytes are left out here …]\n{tail}")
}

/// Of one line, for a person to glance at.
pub fn glance(text: &str, most: usize) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default().replace('`', "'");
    let is_all = lines.next().is_none() && first.chars().count() <= most;
    let short: String = first.chars().take(most).collect();
    match is_all {
        true => short,
        false => format!("{short}…"),
    }
}

/// Parts of about so many tokens by the rule of thumb, cut at line ends where there are any.
pub fn parts(text: &str, tokens: u64) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let part = first_part(rest, tokens.max(1));
        parts.push(part);
        rest = &rest[part.len()..];
    }
    parts
}

fn first_part(text: &str, tokens: u64) -> &str {
    // No character is more than two tokens, and none has more than four bytes.
    let mut most = usize::try_from(tokens.saturating_mul(8)).unwrap_or(usize::MAX);
    loop {
        if most >= text.len() {
            most = text.len();
        }
        let end = text.floor_char_boundary(most).max(first_character(text));
        let part = &text[..end];
        if estimate_tokens(part) <= tokens || part.chars().nth(1).is_none() {
            let is_all = part.len() == text.len();
            // A line that is much longer than the part is cut within.
            let line = part.rfind('\n').map(|at| at + 1);
            return match line {
                Some(line) if !is_all && line >= end / 2 => &text[..line],
                _ => part,
            };
        }
        most = end * 3 / 4;
    }
}

fn first_character(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_text_keeps_both_ends_and_says_what_is_missing() {
        let text = format!("begin {} end", "x".repeat(1_000));
        let short = shortened(&text, 90);
        assert!(
            short.starts_with("begin xx") && short.ends_with(" end"),
            "{short}"
        );
        assert!(
            short.contains("[… 920 bytes are left out here …]"),
            "{short}"
        );
        assert_eq!(shortened("short", 90), "short");
    }

    #[test]
    fn a_glance_is_one_line() {
        assert_eq!(glance("make -j2", 60), "make -j2");
        assert_eq!(glance("make `x`\nmake install", 60), "make 'x'…");
        assert_eq!(glance("abcdef", 3), "abc…");
    }

    proptest! {
        #[test]
        fn parts_are_the_text_and_fit(text in "[a-z日😀 \n]{0,400}", tokens in 1_u64..50) {
            let parts = parts(&text, tokens);
            prop_assert_eq!(&parts.concat(), &text);
            for part in parts {
                prop_assert!(estimate_tokens(part) <= tokens || part.chars().count() == 1);
            }
        }

        #[test]
        fn any_text_can_be_shortened(text in ".{0,200}", most in 0_usize..100) {
            let short = shortened(&text, most);
            prop_assert!(short.len() <= most.max(text.len().min(most)) + 60);
        }
    }
}
