//! What travels between the adapter and the server, as JSON.
//!
//! **Invariant:** both sides read strictly; an unknown field is an error and not a surprise later.
//!
//! | request | answer |
//! |---|---|
//! | `POST /v1/<platform>/<account>/send` | [`SendAnswer`], or [`Problem`] |
//! | `GET /v1/<platform>/<account>/updates?offset=N&wait_ms=M` | [`Updates`]; everything before `offset` is forgotten |
//! | `GET /v1/<platform>/<account>/outbox/<id>` | [`SendAnswer`] of the message that carried this id, or 404 |
//! | `DELETE /v1/<platform>/<account>/messages/<message>` | taken back, or 404 |

use homing_domain::ids::WindowId;
use homing_domain::key::ChatType;
use homing_domain::origin::AccountName;
use serde::{Deserialize, Serialize};

/// Longest time that a poll is kept waiting, in milliseconds.
pub const LONGEST_WAIT_MS: u64 = 30_000;
/// Most updates in one answer.
pub const BATCH: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendBody {
    /// The outbox id: the idempotency key where `deduplicate` says so, and what a look-up asks for.
    pub id: String,
    pub deduplicate: bool,
    /// 1 for the first try.
    pub attempt: u32,
    /// `answer`, `reply`, `background`, `notice`.
    pub kind: String,
    pub profile: String,
    pub chat_type: ChatType,
    pub chat: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowId>,
    pub text: String,
    #[serde(default)]
    pub may_repeat: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendAnswer {
    pub message: String,
    pub landed: LandedAt,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LandedAt {
    pub chat: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    pub error: String,
    /// With 429.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    pub offset: u64,
    pub wait_ms: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Updates {
    pub updates: Vec<Update>,
}

/// What a person wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Grows over all accounts of a server, so that no two accounts share one.
    pub update: u64,
    pub message: String,
    pub chat_type: ChatType,
    pub chat: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowId>,
    pub text: String,
}

/// How a path names the account: the profile, then its account if it is not the default one.
pub(crate) fn account_segment(account: &AccountName) -> String {
    match &account.account {
        None => account.profile.clone(),
        Some(name) => format!("{}@{name}", account.profile),
    }
}

pub(crate) fn account_of(platform: String, segment: &str) -> AccountName {
    let (profile, account) = match segment.split_once('@') {
        None => (segment, None),
        Some((profile, account)) => (profile, Some(account.to_owned())),
    };
    AccountName {
        profile: profile.to_owned(),
        platform,
        account,
    }
}
