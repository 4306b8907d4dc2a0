//! Upper limits as people write them: `2G`, `512M`, or `"off"`.

use serde::Deserialize;

/// Why a text is not a size of memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a size of memory: write a whole number and a unit of at least one megabyte in all, such as \"512M\", \"2G\" or \"1T\" (each 1024 of the one before), or \"off\""
)]
pub struct SizeError {
    text: String,
}

/// With less, nothing could even be started.
const SMALLEST: u64 = 1 << 20;

/// Bytes.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let error = || SizeError { text: text.into() };
    let trimmed = text.trim();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = trimmed.split_at(digits);
    let number: u64 = number.parse().map_err(|_| error())?;
    let factor: u64 = match unit.trim() {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return Err(error()),
    };
    number
        .checked_mul(factor)
        .filter(|bytes| (SMALLEST..=i64::MAX as u64).contains(bytes))
        .ok_or_else(error)
}

/// `"off"` is no limit.
pub(crate) fn size<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "off" => Ok(None),
        text => parse_size(text).map(Some).map_err(serde::de::Error::custom),
    }
}

/// 0 and `"off"` are no limit.
pub(crate) fn count<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(i64),
        Text(String),
    }
    let wrong = |found: &str| {
        Err(serde::de::Error::custom(format!(
            "`{found}` is not a number of processes: write a whole number such as 512, or \"off\""
        )))
    };
    match Written::deserialize(deserializer) {
        Ok(Written::Number(0)) => Ok(None),
        Ok(Written::Number(number)) => match u64::try_from(number) {
            Ok(number) => Ok(Some(number)),
            Err(_) => wrong(&number.to_string()),
        },
        Ok(Written::Text(text)) if text == "off" => Ok(None),
        Ok(Written::Text(text)) => wrong(&text),
        Err(_) => wrong("it"),
    }
}
