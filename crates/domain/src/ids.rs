//! Ids have kinds. An id is a 63-bit number that sorts by the time it was made, written as a prefix and 13 characters.
//!
//! **Layout:** 41 bits of milliseconds since 2025-01-01 (enough until 2094), 22 bits that tell apart ids of one millisecond.
//! The text form is Crockford's base 32 in lower case (no `i`, `l`, `o`, `u`), so it survives being read aloud and typed on a telephone.

use std::fmt;
use std::str::FromStr;

/// Milliseconds between the Unix epoch and 2025-01-01T00:00:00Z, where ids begin.
pub const ID_EPOCH_MS: i64 = 1_735_689_600_000;
/// Bits below the time part.
pub const SALT_BITS: u32 = 22;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const TEXT_LENGTH: usize = 13;

/// Why a text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("`{text}` is not {kind} id: it must begin with `{prefix}_`")]
    Prefix {
        text: String,
        kind: &'static str,
        prefix: &'static str,
    },
    #[error(
        "`{text}` is not {kind} id: after `{prefix}_` come 13 characters of 0-9 and a-z without i, l, o, u"
    )]
    Body {
        text: String,
        kind: &'static str,
        prefix: &'static str,
    },
}

/// Composes the number of an id. `salt` is cut to [`SALT_BITS`].
pub fn compose(unix_ms: i64, salt: u64) -> u64 {
    let ms = unix_ms.saturating_sub(ID_EPOCH_MS).max(0) as u64 & ((1 << 41) - 1);
    (ms << SALT_BITS) | (salt & ((1 << SALT_BITS) - 1))
}

fn encode(number: u64) -> [u8; TEXT_LENGTH] {
    let mut text = [b'0'; TEXT_LENGTH];
    let mut rest = number;
    for slot in text.iter_mut().rev() {
        *slot = ALPHABET[(rest & 31) as usize];
        rest >>= 5;
    }
    text
}

fn decode(text: &str) -> Option<u64> {
    if text.len() != TEXT_LENGTH {
        return None;
    }
    let mut number: u64 = 0;
    for byte in text.bytes() {
        let digit = ALPHABET
            .iter()
            .position(|letter| *letter == byte.to_ascii_lowercase())?;
        number = number.checked_mul(32)?.checked_add(digit as u64)?;
    }
    (number <= i64::MAX as u64).then_some(number)
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal, $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            pub const PREFIX: &'static str = $prefix;
            /// From a number made by [`compose`]; the top bit is cleared so that it fits a signed database column.
            pub const fn from_number(number: u64) -> Self { Self(number & i64::MAX as u64) }
            pub const fn number(self) -> u64 { self.0 }
            /// As a database column; never negative.
            pub const fn column(self) -> i64 { self.0 as i64 }
            pub const fn from_column(column: i64) -> Self { Self::from_number(column as u64) }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let text = encode(self.0);
                f.write_str(concat!($prefix, "_"))?;
                for byte in text { fmt::Write::write_char(f, byte as char)?; }
                Ok(())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(self, f) }
        }
        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                let body = text.strip_prefix(concat!($prefix, "_")).ok_or_else(|| IdError::Prefix { text: text.into(), kind: $kind, prefix: $prefix })?;
                decode(body).map(Self).ok_or_else(|| IdError::Body { text: text.into(), kind: $kind, prefix: $prefix })
            }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> { serializer.collect_str(self) }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// A place where people talk.
    ConversationId = "cnv", "a conversation";
    /// One physical session: one history.
    SessionId = "ses", "a session";
    /// A chain of sessions continued by compression.
    LineageId = "lin", "a lineage";
    /// One run of the agent.
    TurnId = "trn", "a turn";
    /// A line of a session's history.
    MessageId = "msg", "a message";
    /// Something a platform delivered to us.
    InboundId = "inb", "an inbound";
    /// Something that leaves a conversation.
    OutboxId = "out", "an outbox";
    /// A process that a session started.
    ProcessId = "prc", "a process";
    /// A sub-agent that a session started.
    DelegationId = "dlg", "a delegation";
    /// Something background work has to say.
    NotificationId = "ntf", "a notification";
    /// A console window: one UI session.
    WindowId = "win", "a window";
    /// A question to a person: may this command run?
    ApprovalId = "apr", "an approval";
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_round_trips(number in 0..=i64::MAX as u64) {
            let id = ProcessId::from_number(number);
            prop_assert_eq!(id.to_string().parse::<ProcessId>().unwrap(), id);
            prop_assert_eq!(ProcessId::from_column(id.column()), id);
        }

        #[test]
        fn text_sorts_as_the_number_does(a in 0..=i64::MAX as u64, b in 0..=i64::MAX as u64) {
            let (x, y) = (SessionId::from_number(a), SessionId::from_number(b));
            prop_assert_eq!(x.to_string().cmp(&y.to_string()), a.cmp(&b));
        }

        #[test]
        fn nothing_panics(text in ".{0,40}") {
            let _ = text.parse::<SessionId>();
        }
    }

    #[test]
    fn a_foreign_kind_is_refused_with_the_prefix_it_needs() {
        let process = ProcessId::from_number(compose(ID_EPOCH_MS + 5, 7)).to_string();
        let error = process.parse::<SessionId>().unwrap_err();
        assert!(
            error.to_string().contains("must begin with `ses_`"),
            "{error}"
        );
        assert!(
            "ses_000"
                .parse::<SessionId>()
                .unwrap_err()
                .to_string()
                .contains("13 characters")
        );
        assert!("ses_zzzzzzzzzzzzz".parse::<SessionId>().is_err());
    }
}
