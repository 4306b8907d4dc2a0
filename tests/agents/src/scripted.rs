//! A model agent over a simulated server, for turns: on a stage, and at home.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use homing_agent_openai::client::Settings;
use homing_agent_openai::{AgentSettings, OpenAiAgent};
use homing_ports::{Clock, SystemClock};
use homing_simulators::model::{Answer, Call, ModelServer};
use serde_json::{Value, json};

use crate::home::Home;
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
        until_server(&self.server, fits).await
    }

    /// The last request's messages in a word or two each.
    pub fn last_told(&self) -> Vec<String> {
        last_told(&self.server)
    }

    /// Why the server refused requests before it looked for an answer.
    pub fn refusals(&self) -> Vec<String> {
        refusals(&self.server)
    }
}

/// The same in a real gateway.
#[derive(Debug)]
pub struct AtHome {
    pub server: ModelServer,
    pub home: Home,
}

impl AtHome {
    pub async fn start() -> anyhow::Result<AtHome> {
        AtHome::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut AgentSettings)) -> anyhow::Result<AtHome> {
        AtHome::by(Arc::new(SystemClock), change).await
    }

    /// By a clock of the test's own.
    pub async fn by(
        clock: Arc<dyn Clock>,
        change: impl FnOnce(&mut AgentSettings),
    ) -> anyhow::Result<AtHome> {
        let server = ModelServer::start().await?;
        let agent = Arc::new(OpenAiAgent::new(settings(&server, change))?);
        let home = Home::with(agent, clock).await?;
        Ok(AtHome { server, home })
    }

    pub async fn until_server(&self, fits: impl Fn(&ModelServer) -> bool) -> anyhow::Result<()> {
        until_server(&self.server, fits).await
    }

    pub fn last_told(&self) -> Vec<String> {
        last_told(&self.server)
    }

    pub fn refusals(&self) -> Vec<String> {
        refusals(&self.server)
    }
}

async fn until_server(
    server: &ModelServer,
    fits: impl Fn(&ModelServer) -> bool,
) -> anyhow::Result<()> {
    let mut changes = server.changes();
    let wait = changes.wait_for(|_| fits(server));
    tokio::time::timeout(LONG, wait)
        .await
        .context("the server never was so")??;
    Ok(())
}

fn last_told(server: &ModelServer) -> Vec<String> {
    let requests = server.requests();
    let messages = requests
        .last()
        .map_or(&[][..], |request| request.messages());
    messages.iter().map(shape).collect()
}

fn refusals(server: &ModelServer) -> Vec<String> {
    let requests = server.requests();
    requests
        .into_iter()
        .filter_map(|request| request.refused)
        .collect()
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

/// A model that does what it is told: on `run: COMMAND` it calls the terminal, on `start: COMMAND` in the background, on `delegate: TASK` a sub-agent; and it
/// repeats what the tool answered.
pub fn obeys(body: &Value) -> Option<Answer> {
    let last = body["messages"].as_array()?.last()?;
    let content = last["content"].as_str()?;
    if last["role"] == "tool" {
        let short: String = content.chars().take(1_000).collect();
        return Some(Answer::text(&format!("It says: {short}")));
    }
    let asked = content.lines().last().unwrap_or_default();
    let call = match asked.split_once(": ") {
        Some(("run", command)) => terminal("call_1", command),
        Some(("start", command)) => {
            let arguments = json!({ "command": command, "background": true });
            Call::new("call_1", "terminal", &arguments)
        }
        Some(("delegate", task)) => Call::new("call_1", "delegate", &json!({ "tasks": [task] })),
        _ => return Some(Answer::text(&format!("You say: {content}"))),
    };
    Some(match body["tools"].is_array() {
        true => Answer::calls([call]),
        false => Answer::text(&format!("You say: {content}")),
    })
}
