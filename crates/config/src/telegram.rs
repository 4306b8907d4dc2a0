//! The Telegram bot: its token, and who may talk to it where.

use std::net::SocketAddr;

use serde::Deserialize;

use crate::{ConfigError, SecretSource};

/// One bot. Nobody may talk to it unless `people` or `chats` says so.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telegram {
    /// From BotFather.
    pub token: SecretSource,
    /// Another Bot API server.
    #[serde(default = "api_url")]
    pub api_url: String,
    /// Ids of those who may write to it in private, and who may use it in groups. Without any, everyone of an allowed group may, and nobody
    /// in private.
    #[serde(default)]
    pub people: Vec<i64>,
    /// Groups and channels that it answers in.
    #[serde(default)]
    pub chats: Vec<TelegramChat>,
    /// In groups it answers when it is mentioned, replied to, or given a command; otherwise to everything.
    #[serde(default = "yes")]
    pub require_mention: bool,
    /// Shows an answer while it is written.
    #[serde(default = "yes")]
    pub previews: bool,
    /// Updates come to this address instead of being asked for.
    #[serde(default)]
    pub webhook: Option<TelegramWebhook>,
}

/// A group or channel, or one topic of it with settings of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelegramChat {
    pub chat: i64,
    /// `None`: the whole chat.
    pub topic: Option<i64>,
    pub require_mention: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelegramWebhook {
    /// What Telegram calls: https, on port 443, 80, 88 or 8443.
    pub url: String,
    /// Where the reverse proxy in front passes it on to.
    pub listen: SocketAddr,
    /// Shared with Telegram alone: 1 to 256 of A-Z a-z 0-9 _ -.
    pub secret: SecretSource,
}

fn api_url() -> String {
    "https://api.telegram.org".to_owned()
}

fn yes() -> bool {
    true
}

impl Telegram {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let impossible = |key, value: &str, problem: &str| {
            Err(ConfigError::Impossible {
                key,
                value: format!("{value:?}"),
                problem: problem.into(),
            })
        };
        if !self.api_url.starts_with("https://") && !self.api_url.starts_with("http://") {
            let problem = "it begins with https:// (or http:// for a server of your own)";
            return impossible("telegram.api_url", &self.api_url, problem);
        }
        if let Some(webhook) = &self.webhook
            && !webhook.url.starts_with("https://")
            && !webhook.url.starts_with("http://127.0.0.1")
        {
            let problem = "Telegram calls https addresses only";
            return impossible("telegram.webhook.url", &webhook.url, problem);
        }
        if self.people.is_empty() && self.chats.is_empty() {
            let problem = "nobody could talk to it: name yourself in `people` (a bot such as @userinfobot tells your id) or a group in `[[telegram.chats]]`";
            return Err(ConfigError::Impossible {
                key: "telegram.people",
                value: "[]".into(),
                problem: problem.into(),
            });
        }
        Ok(())
    }
}
