//! What answers: from settings to an agent.

use std::sync::Arc;

use anyhow::Context;
use homing_agent_openai::client::{self, OutputLimitName, Secret};
use homing_agent_openai::{AgentSettings, OpenAiAgent};
use homing_agent_shell::ShellAgent;
use homing_config::{AgentKind, Config, OutputLimit};
use homing_ports::agent::Agent;

use crate::secret;

pub fn agent(config: &Config) -> anyhow::Result<Arc<dyn Agent>> {
    match config.agent.kind {
        AgentKind::Shell => Ok(Arc::new(ShellAgent)),
        AgentKind::Openai => Ok(Arc::new(
            OpenAiAgent::new(openai(&config.agent)?).context("`[agent]`")?,
        )),
    }
}

fn openai(agent: &homing_config::Agent) -> anyhow::Result<AgentSettings> {
    // Checked with the settings: both are there.
    let base_url = agent.base_url.clone().unwrap_or_default();
    let model = agent.model.clone().unwrap_or_default();
    let mut settings = AgentSettings::new(client::Settings {
        fallback_models: agent.fallback_models.clone(),
        key: agent
            .key
            .as_ref()
            .map(|source| secret::read(source, "agent.key").map(|key| Secret::new(&key)))
            .transpose()?,
        first_token_limit: agent.first_token_within,
        idle_limit: agent.next_token_within,
        total_limit: agent.answer_within,
        attempts: agent.attempts,
        output_limit_name: match agent.output_limit() {
            OutputLimit::MaxTokens => OutputLimitName::MaxTokens,
            OutputLimit::MaxCompletionTokens => OutputLimitName::MaxCompletionTokens,
        },
        ..client::Settings::new(base_url, model)
    });
    settings.instructions = match &agent.instructions {
        Some(path) => Some(
            std::fs::read_to_string(path)
                .with_context(|| format!("`agent.instructions`: reading {}", path.display()))?,
        ),
        None => None,
    };
    settings.context_tokens = agent.context_tokens;
    settings.output_tokens = agent.output_tokens;
    settings.rounds = agent.rounds;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_name_of_an_answers_limit_reaches_the_client() {
        let name = |url: &str| {
            let text = format!("[agent]\nkind = \"openai\"\nbase_url = \"{url}\"\nmodel = \"m\"\n");
            let settings = openai(&Config::parse(&text).unwrap().agent).unwrap();
            settings.client.output_limit_name
        };
        let openai_itself = name("https://api.openai.com/v1");
        assert_eq!(openai_itself, OutputLimitName::MaxCompletionTokens);
        let another = name("http://127.0.0.1:8080/v1");
        assert_eq!(another, OutputLimitName::MaxTokens);
    }
}
