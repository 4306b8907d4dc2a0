//! Spans of time as people write them: `15s`, `90m`, `36h`, `7d`, `250ms`.

use std::time::Duration;

use serde::Deserialize;

/// Why a text is not a span of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a span of time: write a whole number and a unit, such as \"250ms\", \"15s\", \"90m\", \"36h\" or \"7d\""
)]
pub struct DurationError {
    text: String,
}

/// The longest span that makes sense here: a hundred years.
const LONGEST_SECONDS: u64 = 100 * 366 * 86_400;

pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let error = || DurationError { text: text.into() };
    let trimmed = text.trim();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = trimmed.split_at(digits);
    let number: u64 = number.parse().map_err(|_| error())?;
    let seconds = |factor: u64| number.checked_mul(factor).map(Duration::from_secs);
    let span = match unit.trim() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => seconds(1),
        "m" | "min" => seconds(60),
        "h" => seconds(3_600),
        "d" => seconds(86_400),
        _ => None,
    };
    span.filter(|span| span.as_secs() <= LONGEST_SECONDS)
        .ok_or_else(error)
}

pub(crate) fn field<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(serde::de::Error::custom)
}

/// `"off"` is no limit.
pub(crate) fn optional_field<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.as_str() {
        "off" => Ok(None),
        text => parse_duration(text)
            .map(Some)
            .map_err(serde::de::Error::custom),
    }
}
