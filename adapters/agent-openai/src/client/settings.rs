//! What a client is made of, and what is refused before anything is sent.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;
use serde_json::{Map, Value};

use super::secret::Secret;

/// Members of a request that the client writes itself. `extra` may not hold them.
const OURS: [&str; 11] = [
    "model",
    "messages",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "n",
    "functions",
    "function_call",
    "max_tokens",
    "max_completion_tokens",
];

#[derive(Debug, Clone)]
pub struct Settings {
    /// Up to and with the version: `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    pub model: String,
    /// Asked in this order when a model cannot answer.
    pub fallback_models: Vec<String>,
    pub key: Option<Secret>,
    /// For the connection alone.
    pub connect_limit: Duration,
    /// From the request to the first piece of the answer. A server that does not stream has to be done by then.
    pub first_token_limit: Duration,
    /// Between two pieces of the stream, comments of the server included.
    pub idle_limit: Duration,
    /// For one call of [`Client::chat`](super::Client::chat): attempts, waits and fallback models together.
    pub total_limit: Duration,
    /// How often one model is asked before the next one is, at least once.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles from there.
    pub backoff_first: Duration,
    pub backoff_longest: Duration,
    pub max_output_tokens: Option<u32>,
    pub output_limit_name: OutputLimitName,
    pub temperature: Option<f64>,
    pub reasoning_back: ReasoningBack,
    /// Passed through as they are, such as a server's reasoning settings.
    pub extra: Map<String, Value>,
    /// Ask for the usage at the end of a stream. A few servers refuse the question.
    pub include_usage: bool,
}

/// What the server calls the limit of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputLimitName {
    /// `max_tokens`: everywhere but at OpenAI's own newer models.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// Whether a model gets its own reasoning back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningBack {
    /// With messages that call tools, under the name that the server gave it. Some models lose their thread without it, some servers refuse to go on.
    #[default]
    WithToolCalls,
    Never,
}

impl Settings {
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Settings {
        Settings {
            base_url: base_url.into(),
            model: model.into(),
            fallback_models: Vec::new(),
            key: None,
            connect_limit: Duration::from_secs(10),
            // A local model reads a long prompt for minutes.
            first_token_limit: Duration::from_mins(5),
            idle_limit: Duration::from_mins(1),
            total_limit: Duration::from_mins(15),
            attempts: 4,
            backoff_first: Duration::from_secs(1),
            backoff_longest: Duration::from_secs(30),
            max_output_tokens: None,
            output_limit_name: OutputLimitName::default(),
            temperature: None,
            reasoning_back: ReasoningBack::default(),
            extra: Map::new(),
            include_usage: true,
        }
    }

    /// Where requests go, if everything here can be used.
    pub(super) fn check(&self) -> Result<Checked, SettingsError> {
        let url = self.chat_url()?;
        let models = std::iter::once(&self.model).chain(&self.fallback_models);
        if models.clone().any(|model| model.trim().is_empty()) {
            return Err(SettingsError::NoModel);
        }
        if self.attempts == 0 {
            return Err(SettingsError::NoAttempts);
        }
        for (name, limit) in [
            ("connect_limit", self.connect_limit),
            ("first_token_limit", self.first_token_limit),
            ("idle_limit", self.idle_limit),
            ("total_limit", self.total_limit),
        ] {
            if limit.is_zero() {
                return Err(SettingsError::NoTime(name));
            }
        }
        if let Some(name) = self.extra.keys().find(|name| OURS.contains(&name.as_str())) {
            return Err(SettingsError::NotExtra(name.clone()));
        }
        if self.temperature.is_some() && self.extra.contains_key("temperature") {
            return Err(SettingsError::NotExtra("temperature".into()));
        }
        Ok(Checked {
            loopback: is_loopback(&url),
            authorization: self.key.as_ref().map(authorization).transpose()?,
            url,
        })
    }

    fn chat_url(&self) -> Result<Url, SettingsError> {
        let unusable = |why: &str| SettingsError::BaseUrl(why.to_owned());
        let mut url =
            Url::parse(self.base_url.trim()).map_err(|error| unusable(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable("it begins with neither http:// nor https://"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(unusable(
                "it holds a user name, a password or a query; a secret goes into the key",
            ));
        }
        url.set_fragment(None);
        url.path_segments_mut()
            .map_err(|()| unusable("it has no path"))?
            .pop_if_empty()
            .extend(["chat", "completions"]);
        Ok(url)
    }
}

/// What the client needs of settings that passed.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    pub url: Url,
    pub loopback: bool,
    pub authorization: Option<HeaderValue>,
}

fn authorization(key: &Secret) -> Result<HeaderValue, SettingsError> {
    let key = key.expose();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(SettingsError::Key);
    }
    let mut value =
        HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| SettingsError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

/// A proxy of the environment must not see, or swallow, what stays on this machine.
fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    })
}

/// Says the name of a setting, what is wrong with it and the way out. Never holds a key.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(
        "base_url cannot be used: {0}; it is the server's address up to and with the version, like http://127.0.0.1:8080/v1"
    )]
    BaseUrl(String),
    #[error("a model has no name; the server lists its models at base_url/models")]
    NoModel,
    #[error("attempts is 0; it has to be 1 at least")]
    NoAttempts,
    #[error("{0} is no time at all; give it a second at least")]
    NoTime(&'static str),
    #[error("extra.{0} is written by Homing itself; take it out of extra")]
    NotExtra(String),
    #[error(
        "the key is empty or holds something that a header cannot carry; check the file or variable that it comes from"
    )]
    Key,
    #[error("the HTTP client cannot be made")]
    Http(#[source] reqwest::Error),
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn url(base_url: &str) -> Result<String, SettingsError> {
        let checked = Settings::new(base_url, "m").check()?;
        Ok(checked.url.to_string())
    }

    #[test]
    fn the_path_of_the_chat_follows_the_base_whatever_its_end() {
        for base in ["http://h:1/v1", "http://h:1/v1/", " http://h:1/v1#part "] {
            assert_eq!(url(base).unwrap(), "http://h:1/v1/chat/completions");
        }
        assert_eq!(
            url("https://h/api/openai").unwrap(),
            "https://h/api/openai/chat/completions"
        );
    }

    #[test]
    fn an_address_with_a_secret_or_without_a_host_is_refused() {
        for base in [
            "",
            "h:1/v1",
            "ftp://h/v1",
            "http://u:p@h/v1",
            "http://h/v1?key=x",
            "unix:/x",
        ] {
            let error = url(base).unwrap_err().to_string();
            assert!(
                error.starts_with("base_url cannot be used: "),
                "{base}: {error}"
            );
        }
    }

    #[test]
    fn loopback_is_recognised() {
        let loopback = |base: &str| Settings::new(base, "m").check().unwrap().loopback;
        for base in [
            "http://127.0.0.1:1/v1",
            "http://127.9.9.9/v1",
            "http://[::1]:1/v1",
            "http://LocalHost/v1",
        ] {
            assert!(loopback(base), "{base}");
        }
        for base in ["http://10.0.0.1/v1", "https://localhost.example/v1"] {
            assert!(!loopback(base), "{base}");
        }
    }

    #[test]
    fn settings_that_cannot_work_are_named() {
        let refused = |change: fn(&mut Settings)| {
            let mut settings = Settings::new("http://h/v1", "m");
            change(&mut settings);
            settings.check().unwrap_err().to_string()
        };
        let begin = [
            refused(|settings| settings.model.clear()),
            refused(|settings| settings.fallback_models.push(" ".into())),
            refused(|settings| settings.attempts = 0),
            refused(|settings| settings.idle_limit = Duration::ZERO),
            refused(|settings| drop(settings.extra.insert("stream".into(), false.into()))),
            refused(|settings| settings.key = Some(Secret::new("two words"))),
            refused(|settings| settings.key = Some(Secret::new(""))),
        ];
        let wanted = [
            "a model has no name",
            "a model has no name",
            "attempts is 0",
            "idle_limit is no time",
            "extra.stream is written",
            "the key is empty",
            "the key is empty",
        ];
        for (error, wanted) in begin.iter().zip(wanted) {
            assert!(error.starts_with(wanted), "{error}");
            assert!(!error.contains("two words"));
        }
    }

    #[test]
    fn settings_print_without_their_key() {
        let mut settings = Settings::new("http://h/v1", "m");
        settings.key = Some(Secret::new("sesame-open"));
        assert!(!format!("{settings:?} {:?}", settings.check()).contains("sesame"));
    }
}
