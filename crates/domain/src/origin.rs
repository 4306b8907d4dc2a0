//! Where a message came from and where an answer must go (OWN-4…6).

use crate::key::{ChatType, KeySettings, SessionKey};

/// A place and a person in it. Stamped on everything a conversation starts; routing reads this, never a parsed key, when it is there (OWN-5).
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    pub profile: String,
    pub platform: String,
    /// Which configured bot or workspace; `None` is the default one (OWN-6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub chat_type: ChatType,
    pub chat: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The platform's id of the message an answer may be anchored to. Background turns do not use it (public bug 52694).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
}

impl Origin {
    /// The conversation this belongs to: the only way a key is built (OWN-4).
    pub fn key(&self, settings: KeySettings) -> SessionKey {
        SessionKey::build(self, settings)
    }

    /// The last resort of OWN-5: an origin from a key alone.
    pub fn from_key(key: &SessionKey) -> Origin {
        Origin {
            profile: key.profile.clone(),
            platform: key.platform.clone(),
            account: key.account.clone(),
            chat_type: key.chat_type,
            chat: key.chat.clone(),
            thread: key.thread.clone(),
            user: key.user.clone(),
            anchor: None,
        }
    }

    /// Which adapter a delivery needs (OWN-6).
    pub fn account_name(&self) -> AccountName {
        AccountName {
            profile: self.profile.clone(),
            platform: self.platform.clone(),
            account: self.account.clone(),
        }
    }
}

/// (profile, platform, account): names one configured bot, so that a second bot never answers for the first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountName {
    pub profile: String,
    pub platform: String,
    pub account: Option<String>,
}

impl std::fmt::Display for AccountName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.profile, self.platform)?;
        self.account
            .as_ref()
            .map_or(Ok(()), |account| write!(f, "@{account}"))
    }
}
