//! How a simulated server behaves, said once at its start.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// For [`Server::start`](super::Server::start).
#[derive(Debug, Clone)]
pub struct Settings {
    /// Loopback only: anything else is refused.
    pub listen: SocketAddr,
    pub schema: Schema,
    /// Whether `/_control/…` is served. Only the standalone program needs it.
    pub control: bool,
    pub pace: Pace,
    /// `None`: nobody is ever told to slow down, except by a fault.
    pub flood: Option<Flood>,
    pub rich_messages: RichMessages,
    /// The largest file that `getFile` gives out, in bytes: 20 MB.
    pub download_limit: u64,
    /// The largest request, in bytes: 50 MB and what surrounds them.
    pub upload_limit: usize,
}

/// Where the JSON Schema of methods is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schema {
    /// `telegram_bot_api_10.3.schema.json` in `HOMING_CONTRACTS`, or in `../shared/contracts` beside the project. Where it is absent, requests are checked by the simulator's own rules only.
    Found,
    File(PathBuf),
    Off,
}

/// How long things take. The default suits tests; [`Pace::real`] is what Telegram does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// The longest that a `getUpdates` waits, whatever it asked for.
    pub longest_poll: Duration,
    /// How long one second of a `timeout`, a `Retry-After` header or a draft's life lasts.
    pub second: Duration,
    /// Polls that repeat an offset are slowed down; `None` leaves them alone.
    pub same_offset: Option<SameOffset>,
    /// The first delay after a failed webhook delivery. It doubles with every further failure.
    pub webhook_retry: Duration,
    pub longest_webhook_retry: Duration,
    pub webhook_timeout: Duration,
}

/// What happens to a poll with the offset of the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameOffset {
    /// Within this span of the last poll's start, a poll waits at least as long.
    pub waits_within: Duration,
    /// Within this span of the last poll's end, a poll gets one update.
    pub single_within: Duration,
}

/// How much may be sent before 429.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flood {
    pub per_chat: Option<Budget>,
    pub per_group: Option<Budget>,
    pub overall: Option<Budget>,
}

/// So many messages in any span of this length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub messages: usize,
    pub per: Duration,
}

/// Whether the server knows `sendRichMessage`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RichMessages {
    /// Taken, and kept as they are.
    Taken,
    /// 400 with this text after `Bad Request: `.
    Refused(String),
    /// As a server before Bot API 10.1: 404.
    Unknown,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            schema: Schema::Found,
            control: false,
            pace: Pace::default(),
            flood: None,
            rich_messages: RichMessages::Taken,
            download_limit: 20 * 1024 * 1024,
            upload_limit: 50 * 1024 * 1024 + 64 * 1024,
        }
    }
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            same_offset: None,
            webhook_retry: Duration::from_millis(10),
            longest_webhook_retry: Duration::from_millis(500),
            webhook_timeout: Duration::from_secs(10),
            ..Pace::real()
        }
    }
}

impl Pace {
    pub fn real() -> Pace {
        Pace {
            longest_poll: Duration::from_secs(50),
            second: Duration::from_secs(1),
            same_offset: Some(SameOffset {
                waits_within: Duration::from_secs(3),
                single_within: Duration::from_millis(500),
            }),
            webhook_retry: Duration::from_secs(1),
            longest_webhook_retry: Duration::from_secs(60),
            webhook_timeout: Duration::from_secs(60),
        }
    }

    /// How long so many of Telegram's seconds last here.
    pub fn seconds(&self, seconds: u64) -> Duration {
        self.second
            .saturating_mul(u32::try_from(seconds).unwrap_or(u32::MAX))
    }
}

impl Flood {
    /// What the documentation says: about one message a second in a chat (short bursts pass), 20 a minute in a group, 30 a second overall.
    pub fn documented() -> Flood {
        let budget = |messages, seconds| {
            Some(Budget {
                messages,
                per: Duration::from_secs(seconds),
            })
        };
        Flood {
            per_chat: budget(5, 5),
            per_group: budget(20, 60),
            overall: budget(30, 1),
        }
    }
}
