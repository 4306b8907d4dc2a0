//! Spans as files write them: `15s`, `8d`, `1h30m`, `250ms`.

use std::time::Duration;

use serde::{Deserialize as _, Deserializer, de};

const UNITS: [(&str, u64); 6] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// # Errors
/// A text that is not a sequence of numbers with units.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a span; write it like 15s, 250ms, 1h30m or 8d");
    let mut rest = text.trim();
    let mut total = 0_u64;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|letter: char| !letter.is_ascii_digit())
            .ok_or_else(wrong)?;
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest
            .find(|letter: char| !letter.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let unit = UNITS
            .iter()
            .find(|(name, _)| *name == &rest[..letters])
            .ok_or_else(wrong)?;
        rest = &rest[letters..];
        total = number
            .checked_mul(unit.1)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(wrong)?;
    }
    // Beyond this, moments do not fit their 63 bits of milliseconds any more.
    if total > 100 * 365 * 86_400_000 {
        return Err(format!("`{text}` is longer than a hundred years"));
    }
    Ok(Duration::from_millis(total))
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn spans_are_numbers_with_units() {
        assert_eq!(parse("15s").unwrap(), Duration::from_secs(15));
        assert_eq!(parse("8d").unwrap(), Duration::from_secs(8 * 86_400));
        assert_eq!(parse("1h30m").unwrap(), Duration::from_secs(5_400));
        assert_eq!(parse("250ms").unwrap(), Duration::from_millis(250));
        assert_eq!(parse("0s").unwrap(), Duration::ZERO);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "15",
            "s",
            "1.5s",
            "-3s",
            "3 s",
            "3y",
            "99999999999999999999s",
            "40000d",
            "3sé",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
