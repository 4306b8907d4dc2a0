//! What answers.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::{ConfigError, SecretSource, duration};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    pub kind: AgentKind,
    /// What a person's further message does while a turn runs.
    pub busy: Busy,
    /// How long a question about a dangerous command waits for its answer.
    #[serde(deserialize_with = "duration::field")]
    pub approve_within: Duration,
    /// What background turns and sub-agents do that want to run a dangerous command (OWN-67).
    pub approve_in_background: AskInBackground,
    /// For `kind = "openai"`: the server's address, with its `/v1`.
    pub base_url: Option<String>,
    /// For `kind = "openai"`.
    pub model: Option<String>,
    /// Asked in this order when the model cannot answer.
    pub fallback_models: Vec<String>,
    pub key: Option<SecretSource>,
    /// A file whose text tells the model what it is for.
    pub instructions: Option<PathBuf>,
    /// What the model's window holds.
    pub context_tokens: u64,
    /// The longest answer.
    pub output_tokens: u64,
    /// What the server calls that limit. `None`: what servers at its address do, see [`Agent::output_limit`].
    pub output_limit: Option<OutputLimit>,
    /// Without a first word, between two of them, and in all.
    #[serde(deserialize_with = "duration::field")]
    pub first_token_within: Duration,
    #[serde(deserialize_with = "duration::field")]
    pub next_token_within: Duration,
    #[serde(deserialize_with = "duration::field")]
    pub answer_within: Duration,
    /// Tries of one request, the first included.
    pub attempts: u32,
    /// Rounds of model and tools in one turn.
    pub rounds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// Runs what it is told with `!`; needs no model.
    #[default]
    Shell,
    /// Any server that speaks OpenAI's chat completions.
    Openai,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Busy {
    /// It waits for its turn.
    #[default]
    Queue,
    /// The turn that runs takes it up.
    Steer,
    /// The turn that runs is ended.
    Interrupt,
}

/// The name of the limit of an answer's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimit {
    /// Nearly everywhere.
    MaxTokens,
    /// OpenAI's newer models refuse the other one, and its older models take this one as well.
    MaxCompletionTokens,
}

/// What background work does that needs a person's leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskInBackground {
    /// Nobody is asked, and it is not run.
    #[default]
    Refuse,
    /// Whoever had the work started is asked, where it comes home.
    Ask,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            kind: AgentKind::default(),
            busy: Busy::default(),
            approve_within: Duration::from_secs(300),
            approve_in_background: AskInBackground::default(),
            base_url: None,
            model: None,
            fallback_models: Vec::new(),
            key: None,
            instructions: None,
            context_tokens: 32_768,
            output_tokens: 4_096,
            output_limit: None,
            first_token_within: Duration::from_secs(120),
            next_token_within: Duration::from_secs(60),
            answer_within: Duration::from_secs(900),
            attempts: 4,
            rounds: 50,
        }
    }
}

impl Agent {
    /// As it is set, or else as the server at `base_url` is known to want it.
    pub fn output_limit(&self) -> OutputLimit {
        self.output_limit
            .unwrap_or_else(|| match self.host().to_ascii_lowercase().as_str() {
                "api.openai.com" => OutputLimit::MaxCompletionTokens,
                // Where data stays in a region: `eu.api.openai.com`.
                host if host.ends_with(".api.openai.com") => OutputLimit::MaxCompletionTokens,
                _ => OutputLimit::MaxTokens,
            })
    }

    fn host(&self) -> &str {
        let url = self.base_url.as_deref().unwrap_or_default();
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        rest.split(['/', ':', '?', '#']).next().unwrap_or_default()
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let impossible = |key, value: String, problem: &str| {
            Err(ConfigError::Impossible {
                key,
                value,
                problem: problem.into(),
            })
        };
        if self.kind == AgentKind::Openai {
            let http = |url: &String| url.starts_with("http://") || url.starts_with("https://");
            if !self.base_url.as_ref().is_some_and(http) {
                let problem = "it needs the address of a server: set `agent.base_url`, for example \"http://127.0.0.1:8080/v1\"";
                return impossible("agent.kind", "\"openai\"".into(), problem);
            }
            if self.model.as_ref().is_none_or(String::is_empty) {
                let problem = "it needs a model: set `agent.model` to a name that the server knows";
                return impossible("agent.kind", "\"openai\"".into(), problem);
            }
        }
        if self.output_tokens == 0 || self.output_tokens.saturating_mul(2) > self.context_tokens {
            let problem =
                "an answer may take at most half of `agent.context_tokens`, and at least 1";
            return impossible(
                "agent.output_tokens",
                self.output_tokens.to_string(),
                problem,
            );
        }
        for (key, value) in [
            ("agent.attempts", self.attempts),
            ("agent.rounds", self.rounds),
        ] {
            if value == 0 {
                return impossible(key, "0".into(), "at least 1");
            }
        }
        Ok(())
    }
}
