//! What is configured for one bot.
//!
//! **Invariant:** a [`Telegram`](crate::Telegram) exists only for settings that [`TelegramSettings::check`] accepts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use homing_domain::origin::AccountName;
use reqwest::Url;

use crate::token::Token;

#[derive(Debug, Clone)]
pub struct TelegramSettings {
    pub account: AccountName,
    pub token: Token,
    /// `https://api.telegram.org`, or a Bot API server of one's own.
    pub api_url: Url,
    pub mode: Mode,
    /// Who may speak, by their numbers. In private chats nobody else may; empty means everybody of the allowed groups.
    pub people: Vec<i64>,
    /// Where the bot may be spoken to, besides private chats.
    pub chats: Vec<ChatRule>,
    /// Whether a message in a group must be addressed to the bot. A rule may say otherwise for its place.
    pub require_mention: bool,
    /// Offered to people while they type `/`.
    pub commands: Vec<CommandName>,
    pub budgets: Budgets,
    /// The adapter's own folder; it is made.
    pub state: PathBuf,
    /// Whether answers are shown while they are made.
    pub previews: bool,
    pub pace: Pace,
}

/// How updates come.
#[derive(Debug, Clone)]
pub enum Mode {
    Polling,
    Webhook {
        /// What Telegram is told to call. Its path is the one that is served.
        public_url: Url,
        listen: SocketAddr,
        /// 1 to 256 of `A-Z a-z 0-9 _ -`.
        secret: Secret,
    },
}

/// The secret that Telegram sends along with every webhook call. Prints as nothing.
#[derive(Clone)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("<secret>")
    }
}

/// A place where the bot may be spoken to. Without a topic it is the whole chat; a rule with a topic allows that topic, and goes before one without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRule {
    pub chat: i64,
    /// 1 is the general topic, as in Telegram's links.
    pub topic: Option<i64>,
    pub require_mention: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandName {
    /// Without `/`.
    pub name: String,
    pub description: String,
}

/// How much is sent at most. Telegram publishes no exact limits; these are the ones it recommends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    pub per_chat: Rate,
    /// For groups, beside `per_chat`.
    pub per_group: Rate,
    pub overall: Rate,
}

/// So many messages in any span of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub messages: usize,
    pub per: Duration,
}

impl Default for Budgets {
    fn default() -> Budgets {
        let rate = |messages, seconds| Rate {
            messages,
            per: Duration::from_secs(seconds),
        };
        Budgets {
            per_chat: rate(5, 5),
            per_group: rate(20, 60),
            overall: rate(30, 1),
        }
    }
}

/// How long things are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How long a poll waits for news. Telegram allows 50 seconds.
    pub poll: Duration,
    /// How long an answer of Telegram is waited for; a poll's answer as much longer.
    pub answer: Duration,
    /// How long a send waits for its budget before it tells the outbox to come back.
    pub patience: Duration,
    /// Waits between tries double from the first to the longest.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// So when another program uses the token.
    pub first_conflict_wait: Duration,
    pub longest_conflict_wait: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            poll: Duration::from_secs(50),
            answer: Duration::from_secs(30),
            patience: Duration::from_millis(1_500),
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            first_conflict_wait: Duration::from_secs(5),
            longest_conflict_wait: Duration::from_secs(60),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error(
        "`{0}` cannot be the address of a Bot API server; it looks like https://api.telegram.org"
    )]
    ApiUrl(String),
    #[error(
        "`{0}` cannot be a webhook's public address; Telegram calls https:// addresses with a path, such as https://example.org/telegram"
    )]
    PublicUrl(String),
    #[error("a webhook's secret is 1 to 256 of A-Z a-z 0-9 _ -")]
    Secret,
    #[error("the budget {0} allows nothing; give it at least one message in more than no time")]
    Budget(&'static str),
}

impl TelegramSettings {
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let can_be_base = matches!(self.api_url.scheme(), "http" | "https")
            && self.api_url.has_host()
            && self.api_url.query().is_none();
        if !can_be_base {
            return Err(SettingsError::ApiUrl(self.api_url.to_string()));
        }
        if let Mode::Webhook {
            public_url, secret, ..
        } = &self.mode
        {
            if !matches!(public_url.scheme(), "http" | "https") || !public_url.has_host() {
                return Err(SettingsError::PublicUrl(public_url.to_string()));
            }
            let is_secret = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            if !(1..=256).contains(&secret.0.len()) || !secret.0.bytes().all(is_secret) {
                return Err(SettingsError::Secret);
            }
        }
        let Budgets {
            per_chat,
            per_group,
            overall,
        } = self.budgets;
        for (name, rate) in [
            ("per_chat", per_chat),
            ("per_group", per_group),
            ("overall", overall),
        ] {
            if rate.messages == 0 || rate.per.is_zero() {
                return Err(SettingsError::Budget(name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;

    fn settings() -> TelegramSettings {
        TelegramSettings {
            account: AccountName {
                profile: "main".into(),
                platform: "telegram".into(),
                account: None,
            },
            token: Token::new("1:abcdefghijk").unwrap(),
            api_url: "https://api.telegram.org".parse().unwrap(),
            mode: Mode::Webhook {
                public_url: "https://example.org/telegram".parse().unwrap(),
                listen: SocketAddr::from(([127, 0, 0, 1], 8443)),
                secret: Secret("a-Secret_1".into()),
            },
            people: vec![],
            chats: vec![],
            require_mention: true,
            commands: vec![],
            budgets: Budgets::default(),
            state: PathBuf::new(),
            previews: true,
            pace: Pace::default(),
        }
    }

    #[test]
    fn what_cannot_work_is_refused_in_words() {
        assert_eq!(settings().check(), Ok(()));
        type Change = fn(&mut TelegramSettings);
        let changes: [(Change, &str); 5] = [
            (
                |settings| settings.api_url = "file:///etc".parse().unwrap(),
                "https://api.telegram.org",
            ),
            (
                |settings| settings.budgets.per_group.messages = 0,
                "per_group",
            ),
            (
                |settings| settings.budgets.overall.per = Duration::ZERO,
                "overall",
            ),
            (
                |settings| {
                    if let Mode::Webhook { secret, .. } = &mut settings.mode {
                        *secret = Secret("not allowed".into());
                    }
                },
                "1 to 256",
            ),
            (
                |settings| {
                    if let Mode::Webhook { public_url, .. } = &mut settings.mode {
                        *public_url = "ftp://example.org".parse().unwrap();
                    }
                },
                "https://",
            ),
        ];
        for (change, way_out) in changes {
            let mut settings = settings();
            change(&mut settings);
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(way_out), "{error}");
        }
    }

    #[test]
    fn settings_print_no_secret() {
        let printed = format!("{:?}", settings());
        assert!(
            !printed.contains("abcdefghijk") && !printed.contains("a-Secret_1"),
            "{printed}"
        );
    }
}
