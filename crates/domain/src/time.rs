//! Moments and spans as the domain sees them: numbers it is given, never a clock it reads.

use std::fmt;
use std::time::Duration;

/// A moment: milliseconds since the Unix epoch, UTC.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub const fn millis(self) -> i64 {
        self.0
    }
    /// Time since `earlier`; zero if the clock went backwards.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
    pub fn plus(self, span: Duration) -> Timestamp {
        Timestamp(
            self.0
                .saturating_add(span.as_millis().min(i64::MAX as u128) as i64),
        )
    }
}

/// A span for people: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`.
#[derive(Debug, Clone, Copy)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let two =
            |f: &mut fmt::Formatter<'_>, big: u64, unit: &str, small: u64, small_unit: &str| {
                match small {
                    0 => write!(f, "{big} {unit}"),
                    _ => write!(f, "{big} {unit} {small} {small_unit}"),
                }
            };
        match seconds {
            0..10 => write!(f, "{:.1} s", self.0.as_secs_f64()),
            10..60 => write!(f, "{seconds} s"),
            60..3_600 => two(f, seconds / 60, "min", seconds % 60, "s"),
            3_600..86_400 => two(f, seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
            _ => two(f, seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_people_say_them() {
        let said = |ms| Span(Duration::from_millis(ms)).to_string();
        assert_eq!(said(420), "0.4 s");
        assert_eq!(said(12_300), "12 s");
        assert_eq!(said(185_000), "3 min 5 s");
        assert_eq!(said(7_200_000), "2 h");
        assert_eq!(said(356_400_000), "4 d 3 h");
    }
}
