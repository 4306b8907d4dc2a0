//! Settings: text in, checked values out.
//!
//! **Invariant:** what parses is possible: after [`Config::parse`] nobody has to check a setting again. An error names the file, the line, the
//! key, the value and the way out. An unknown key is an error, not a shrug: a mistyped setting must not be a default.
//! **Absent on purpose:** reading environment variables, files, secrets. The binary does that.

mod agent;
mod duration;
mod limit;
mod secret;
mod telegram;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use homing_domain::key::{KeySettings, SessionKey};
use homing_domain::verdict::{AfterAutoReset, Policy, Unaddressed, WhenAway};
use serde::Deserialize;

pub use agent::{Agent, AgentKind, AskInBackground, Busy, OutputLimit};
pub use duration::{DurationError, parse_duration};
pub use limit::{SizeError, parse_size};
pub use secret::SecretSource;
pub use telegram::{Telegram, TelegramChat, TelegramWebhook};

/// The address that is listened on unless another is named.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7350";

/// All settings. `Config::default()` is what runs without a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub gateway: GatewayConfig,
    pub sessions: Sessions,
    pub windows: Windows,
    pub notifications: Notifications,
    pub processes: Processes,
    pub agent: Agent,
    /// Without it there is no Telegram.
    pub telegram: Option<Telegram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayConfig {
    /// Where everything is kept.
    pub data: PathBuf,
    /// The console's address: loopback only, for now.
    pub listen: SocketAddr,
    /// How long records of sends and of handled messages are kept; `None` is for ever. Histories stay.
    #[serde(deserialize_with = "duration::optional_field")]
    pub keep_records_for: Option<Duration>,
    /// How long a planned stop waits for what is under way.
    #[serde(deserialize_with = "duration::field")]
    pub stop_within: Duration,
    /// Characters of an answer that is sent again although it may have arrived, on a platform that recognises no repeat (Telegram).
    pub repeat_answers_up_to: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    pub per_user_in_groups: bool,
    pub per_user_in_threads: bool,
    /// When a session ends by itself (OWN-15).
    pub reset: Reset,
    /// For `reset = "idle"`: after this long without a message.
    #[serde(deserialize_with = "duration::field")]
    pub idle_after: Duration,
    /// For `reset = "daily"`: at this hour, 0 to 23, in `time_zone`.
    pub daily_at: u8,
    /// A name of the IANA time zone database, such as `Europe/Berlin`.
    pub time_zone: String,
    pub after_auto_reset: AfterAutoReset,
    #[serde(deserialize_with = "duration::field")]
    pub keepalive_max_age: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Windows {
    pub when_away: WhenAway,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notifications {
    #[serde(deserialize_with = "duration::field")]
    pub hold_for: Duration,
    pub unaddressed: Unaddressed,
    /// The operator's home conversation, a session key. Needed for `unaddressed = "home"`.
    #[serde(deserialize_with = "home")]
    pub home: Option<SessionKey>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Processes {
    pub on_reset: OnReset,
    #[serde(deserialize_with = "duration::field")]
    pub kill_grace: Duration,
    /// Where commands run; the current directory if it is not named.
    pub workspace: Option<PathBuf>,
    /// How many may live, of one conversation and in all.
    pub per_conversation: usize,
    pub in_all: usize,
    /// A process that runs longer is ended; `None` is no limit.
    #[serde(deserialize_with = "duration::optional_field")]
    pub run_for: Option<Duration>,
    /// Bytes that one process's whole tree may use, where the kernel lets us limit it; `None` is no limit.
    #[serde(deserialize_with = "limit::size")]
    pub memory_max: Option<u64>,
    /// Processes and threads that it may have; `None` is no limit.
    #[serde(deserialize_with = "limit::count")]
    pub pids_max: Option<u64>,
    /// How long the output of an ended process is kept, counted from its end.
    #[serde(deserialize_with = "duration::field")]
    pub keep_output_for: Duration,
    /// Sub-agents that may run for one session at a time.
    pub delegations_at_once: usize,
    /// Variables of the gateway's own environment that children may see. Everything else is withheld.
    pub environment: Vec<String>,
}

/// When a session ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reset {
    #[default]
    Off,
    Idle,
    Daily,
}

/// What becomes of running processes at `/new`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnReset {
    #[default]
    Keep,
    Kill,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            data: PathBuf::from("data"),
            listen: SocketAddr::from(([127, 0, 0, 1], 7350)),
            keep_records_for: Some(Duration::from_secs(90 * 86_400)),
            stop_within: Duration::from_secs(5),
            repeat_answers_up_to: 1_000,
        }
    }
}

impl Default for Sessions {
    fn default() -> Self {
        let keys = KeySettings::default();
        Self {
            per_user_in_groups: keys.per_user_in_groups,
            per_user_in_threads: keys.per_user_in_threads,
            reset: Reset::default(),
            idle_after: Duration::from_secs(86_400),
            daily_at: 4,
            time_zone: "UTC".to_owned(),
            after_auto_reset: AfterAutoReset::default(),
            keepalive_max_age: Duration::from_secs(86_400),
        }
    }
}

impl Default for Notifications {
    fn default() -> Self {
        Self {
            hold_for: Policy::default().hold_for,
            unaddressed: Unaddressed::default(),
            home: None,
        }
    }
}

impl Default for Processes {
    fn default() -> Self {
        let environment = [
            "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR",
        ];
        Self {
            on_reset: OnReset::default(),
            kill_grace: Duration::from_secs(5),
            workspace: None,
            per_conversation: 100,
            in_all: 2_000,
            run_for: None,
            memory_max: None,
            pids_max: None,
            keep_output_for: Duration::from_secs(7 * 86_400),
            delegations_at_once: 4,
            environment: environment.map(str::to_owned).to_vec(),
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text of `toml`: line, column, the line itself, and what was expected.
    #[error("the configuration cannot be read\n{0}")]
    Text(String),
    #[error("`{key} = {value}` is not possible: {problem}")]
    Impossible {
        key: &'static str,
        value: String,
        problem: String,
    },
}

impl Config {
    /// Reads and checks. The error does not name the file: the caller knows it.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config: Config = toml::from_str(text)
            .map_err(|error| ConfigError::Text(error.to_string().trim_end().to_owned()))?;
        config.check()?;
        Ok(config)
    }

    /// What single values cannot show.
    pub fn check(&self) -> Result<(), ConfigError> {
        let impossible = |key, value: String, problem: &str| {
            Err(ConfigError::Impossible {
                key,
                value,
                problem: problem.into(),
            })
        };
        if !self.gateway.listen.ip().is_loopback() {
            let problem = "the console answers on loopback only; use 127.0.0.1 or [::1] and a tunnel (for example `ssh -L`)";
            return impossible(
                "gateway.listen",
                format!("\"{}\"", self.gateway.listen),
                problem,
            );
        }
        if self.notifications.unaddressed == Unaddressed::Home && self.notifications.home.is_none()
        {
            let problem = "there is no home to send them to; set `notifications.home` to a session key, or `unaddressed = \"drop\"`";
            return impossible("notifications.unaddressed", "\"home\"".into(), problem);
        }
        if self.sessions.daily_at > 23 {
            let problem = "an hour is 0 to 23; midnight is 0";
            return impossible(
                "sessions.daily_at",
                self.sessions.daily_at.to_string(),
                problem,
            );
        }
        if let Some(name) = self
            .processes
            .environment
            .iter()
            .find(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            let problem = "a variable is named, not set: write `\"PATH\"`, not `\"PATH=/bin\"`";
            return impossible("processes.environment", format!("{name:?}"), problem);
        }
        let is_given = |name: &str| self.processes.environment.iter().any(|given| given == name);
        for (key, source) in self.secrets() {
            if let SecretSource::Environment(name) = source
                && is_given(name)
            {
                let problem = format!(
                    "it holds `{key}`, which no command may see; give commands a variable of their own"
                );
                return impossible("processes.environment", format!("{name:?}"), &problem);
            }
        }
        self.agent.check()?;
        self.telegram.as_ref().map_or(Ok(()), Telegram::check)
    }

    /// Where each secret is, by the name of its setting.
    pub fn secrets(&self) -> Vec<(&'static str, &SecretSource)> {
        let telegram = self.telegram.as_ref();
        let webhook = telegram.and_then(|telegram| telegram.webhook.as_ref());
        let agent = self.agent.key.iter().map(|key| ("agent.key", key));
        let token = telegram.map(|telegram| ("telegram.token", &telegram.token));
        let webhook = webhook.map(|webhook| ("telegram.webhook.secret", &webhook.secret));
        agent.chain(token).chain(webhook).collect()
    }

    pub fn keys(&self) -> KeySettings {
        KeySettings {
            per_user_in_groups: self.sessions.per_user_in_groups,
            per_user_in_threads: self.sessions.per_user_in_threads,
        }
    }

    pub fn verdict(&self) -> Policy {
        Policy {
            after_auto_reset: self.sessions.after_auto_reset,
            when_away: self.windows.when_away,
            unaddressed: self.notifications.unaddressed,
            hold_for: self.notifications.hold_for,
        }
    }
}

fn home<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<SessionKey>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests;
