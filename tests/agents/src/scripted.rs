//! A model agent over a simulated server, for turns.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use homing_agent_openai::client::Settings;
use homing_agent_openai::{AgentSettings, OpenAiAgent};
use homing_simulators::model::{Answer, Call, ModelServer};
use serde_json::{Value, json};

use crate::stage::Stage;

/// Longer than anything here takes: reaching it is a failure.
const LONG: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Scripted {
    pub server: ModelServer,
    pub stage: Stage,
}

impl Scripted {
    pub async fn start() -> anyhow::Result<Scripted> {
        Scripted::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut AgentSettings)) -> anyhow::Result<Scripted> {
        let server = ModelServer::start().await?;
        let settings = settings(&server, change);
        Ok(Scripted {
            stage: Stage::new(Arc::new(OpenAiAgent::new(settings)?))?,
            server,
        })
    }

    /// Returns when the server is so.
    pub async fn until_server(&self, fits: impl Fn(&ModelServer) -> bool) -> anyhow::Result<()> {
        let mut changes = self.server.changes();
        let wait = changes.wait_for(|_| fits(&self.server));
        tokio::time::timeout(LONG, wait)
            .await
            .context("the server never was so")??;
        Ok(())
    }

    /// The last request's messages in a word or two each.
    pub fn last_told(&self) -> Vec<String> {
        let requests = self.server.requests();
        let messages = requests
            .last()
            .map_or(&[][..], |request| request.messages());
        messages.iter().map(shape).collect()
    }

    /// Why the server refused requests before it looked for an answer.
    pub fn refusals(&self) -> Vec<String> {
        let requests = self.server.requests();
        requests
            .into_iter()
            .filter_map(|request| request.refused)
            .collect()
    }
}

/// With limits that nothing reaches and waits that nobody notices.
pub fn settings(server: &ModelServer, change: impl FnOnce(&mut AgentSettings)) -> AgentSettings {
    let mut client = Settings::new(server.url(), "simulated");
    client.connect_limit = LONG;
    client.first_token_limit = LONG;
    client.idle_limit = LONG;
    client.total_limit = LONG;
    client.attempts = 3;
    client.backoff_first = Duration::from_millis(1);
    let mut settings = AgentSettings::new(client);
    change(&mut settings);
    settings
}

/// The model runs a command.
pub fn runs(id: &str, command: &str) -> Answer {
    Answer::calls([terminal(id, command)])
}

pub fn terminal(id: &str, command: &str) -> Call {
    Call::new(id, "terminal", &json!({ "command": command }))
}

fn shape(message: &Value) -> String {
    let role = message["role"].as_str().unwrap_or_default();
    let content = message["content"].as_str().unwrap_or_default();
    let calls: String = message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| format!("<{}>", call["id"].as_str().unwrap_or_default()))
        .collect();
    match message["tool_call_id"].as_str() {
        Some(id) => format!("{id}: {content}"),
        None => format!("{role}: {content}{calls}"),
    }
}

/// A model that does what it is told: on `run: COMMAND` it calls the terminal, and it repeats what that printed.
pub fn obeys(body: &Value) -> Option<Answer> {
    let last = body["messages"].as_array()?.last()?;
    let content = last["content"].as_str()?;
    if last["role"] == "tool" {
        let short: String = content.chars().take(1_000).collect();
        return Some(Answer::text(&format!("It says: {short}")));
    }
    let asked = content.lines().last().unwrap_or_default();
    Some(match asked.rsplit_once("run: ") {
        Some((_, command)) if body["tools"].is_array() => runs("call_1", command),
        _ => Answer::text(&format!("You say: {content}")),
    })
}
