//! What an `expect` step may ask for.

use std::collections::BTreeMap;
use std::fmt;

use homing_domain::key::SessionKey;
use homing_domain::notification::State;
use serde::{Deserialize, Deserializer};

/// Every field is optional; a list is exact, and counts since the step before that was an `expect`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    pub turns: Option<Vec<ExpectedTurn>>,
    pub posts: Option<Vec<ExpectedPost>>,
    pub answers: Option<Vec<ExpectedAnswers>>,
    pub states: Option<BTreeMap<String, ExpectedState>>,
    pub alive: Option<Vec<String>>,
    pub session: Option<ExpectedSession>,
    pub reply: Option<ExpectedReply>,
}

/// A background turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedTurn {
    pub at: SessionKey,
    pub session: Option<String>,
    pub about: Vec<String>,
}

/// A message that answers nobody's message or command.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPost {
    pub at: SessionKey,
    #[serde(default)]
    pub has: Vec<String>,
    pub kind: Option<PostKind>,
    pub window: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostKind {
    /// Of a background turn.
    Answer,
    Notice,
}

impl PostKind {
    pub const fn name(self) -> &'static str {
        match self {
            PostKind::Answer => "answer",
            PostKind::Notice => "notice",
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedAnswers {
    pub at: SessionKey,
    pub count: usize,
    /// Texts that are in what was answered there.
    #[serde(default)]
    pub has: Vec<String>,
    /// Texts that are in none of it.
    #[serde(default)]
    pub lacks: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedReply {
    pub has: Vec<String>,
}

/// `delivered`, `dropped:session_reset`, or `null` for "there is no notification".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedState {
    NoNotification,
    Is {
        state: State,
        reason: Option<String>,
    },
}

impl<'de> Deserialize<'de> for ExpectedState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.as_deref()
            .map_or(Ok(ExpectedState::NoNotification), ExpectedState::parse)
            .map_err(serde::de::Error::custom)
    }
}

impl ExpectedState {
    fn parse(text: &str) -> Result<ExpectedState, String> {
        let (state, reason) = match text.split_once(':') {
            None => (text, None),
            Some((state, reason)) => (state, Some(reason)),
        };
        let names = || State::ALL.map(State::name).join(", ");
        let state = State::parse(state)
            .ok_or_else(|| format!("`{state}` is not a state; it is one of {}", names()))?;
        Ok(ExpectedState::Is {
            state,
            reason: reason.map(str::to_owned),
        })
    }
}

impl fmt::Display for ExpectedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpectedState::NoNotification => f.write_str("no notification"),
            ExpectedState::Is {
                state,
                reason: None,
            } => f.write_str(state.name()),
            ExpectedState::Is {
                state,
                reason: Some(reason),
            } => write!(f, "{}:{reason}", state.name()),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawSession")]
pub struct ExpectedSession {
    pub at: SessionKey,
    pub wanted: Wanted,
}

/// A label, or `None` for "no session".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    Is(Option<String>),
    IsNot(Option<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSession {
    at: SessionKey,
    #[serde(default, deserialize_with = "present")]
    is: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    is_not: Option<Option<String>>,
}

/// Tells `null` from a field that is not there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

impl TryFrom<RawSession> for ExpectedSession {
    type Error = &'static str;
    fn try_from(raw: RawSession) -> Result<ExpectedSession, &'static str> {
        let wanted = match (raw.is, raw.is_not) {
            (Some(label), None) => Wanted::Is(label),
            (None, Some(label)) => Wanted::IsNot(label),
            (None, None) | (Some(_), Some(_)) => {
                return Err("a session is expected by either `is` or `is_not`");
            }
        };
        Ok(ExpectedSession { at: raw.at, wanted })
    }
}
