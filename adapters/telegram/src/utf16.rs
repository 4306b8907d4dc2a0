//! Positions in texts as Telegram counts them: UTF-16 code units.

use std::ops::Range;

pub(crate) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The byte range of a range in units. `None` if it splits a character or leaves the text: what came from outside may say anything.
pub(crate) fn bytes(text: &str, offset: usize, length: usize) -> Option<Range<usize>> {
    let end = offset.checked_add(length)?;
    let mut unit = 0;
    let mut start = None;
    let borders = text
        .char_indices()
        .map(|(byte, character)| (byte, character.len_utf16()));
    for (byte, width) in borders.chain([(text.len(), 0)]) {
        if unit == offset && start.is_none() {
            start = Some(byte);
        }
        if unit == end {
            return Some(start?..byte);
        }
        unit += width;
    }
    None
}

/// At most so many characters, and a `…` if any were left out.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_in_units_is_found_in_bytes() {
        assert_eq!(bytes("a😀b", 1, 2), Some(1..5));
        assert_eq!(bytes("a😀b", 3, 1), Some(5..6));
        assert_eq!(bytes("a😀b", 2, 1), None, "inside the pair");
        assert_eq!(bytes("ab", 1, 9), None);
        assert_eq!(bytes("ab", usize::MAX, 2), None);
        assert_eq!(bytes("ab", 2, 0), Some(2..2));
    }

    proptest! {
        #[test]
        fn no_range_leaves_the_text(text: String, offset: usize, length in 0..40usize) {
            for offset in [offset, offset % 40] {
                if let Some(range) = bytes(&text, offset, length) {
                    prop_assert!(text.get(range).is_some());
                }
            }
        }
    }
}
