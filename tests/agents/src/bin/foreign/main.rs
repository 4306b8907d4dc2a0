//! The model agent against a server that others wrote, which runs already: `foreign KIND URL`.
//!
//! What the models of these servers call runs for real, in a gateway at home. Only what is about the client and its cache is played on a stage.
//!
//! **Invariant:** it ends: every wait is bounded by the client's limits, which are short here. What it saw is printed; anything unexpected is an error.
#![expect(
    clippy::print_stdout,
    reason = "telling what was seen is what this program is for"
)]

mod llama;
mod scripted;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use homing_agent_openai::client::Settings;
use homing_agent_openai::{AgentSettings, OpenAiAgent};
use homing_agents_tests::{Chat, Fifo, Home};
use homing_domain::notification::State;
use homing_ports::store::Role;

/// Longer than anything here takes: reaching it is a failure.
const LONG: Duration = Duration::from_secs(270);
/// A command in the background, which ends when it is let on and prints `built-home-42`.
const BUILD: &str = "read word < gate; echo built-$word-$((40+2))";

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("foreign: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, url] = arguments.as_slice() else {
        bail!("usage: foreign aimock|fakellm|llama|calls URL, with the address up to /v1");
    };
    let judged = async {
        match kind.as_str() {
            "aimock" => scripted::aimock(url).await,
            "fakellm" => scripted::fakellm(url).await,
            "llama" => llama::talks(url).await,
            "calls" => llama::calls(url).await,
            other => bail!("{other} is unknown; there are aimock, fakellm, llama and calls"),
        }
    };
    tokio::time::timeout(LONG, judged)
        .await
        .context("it did not come to an end")?
        .with_context(|| format!("judging by {kind}"))?;
    println!("{kind}: passed");
    Ok(())
}

fn agent(url: &str, change: impl FnOnce(&mut AgentSettings)) -> anyhow::Result<Arc<OpenAiAgent>> {
    let mut client = Settings::new(url, "gpt-4o");
    client.first_token_limit = Duration::from_secs(30);
    client.idle_limit = Duration::from_secs(20);
    client.total_limit = Duration::from_secs(60);
    client.attempts = 8;
    client.backoff_first = Duration::from_millis(5);
    let mut settings = AgentSettings::new(client);
    change(&mut settings);
    Ok(Arc::new(OpenAiAgent::new(settings)?))
}

/// The build that the chat has started is let on, ends, and is told once, whatever words the model has for it.
async fn comes_home(home: &Home, chat: &Chat<'_>, gate: &Fifo) -> anyhow::Result<String> {
    let processes = chat.processes().await?;
    ensure!(
        matches!(&processes[..], [one] if one.state.is_live() && one.command == BUILD),
        "{processes:?}"
    );
    ensure!(chat.told().is_empty(), "{:?}", chat.told());
    gate.say("home")?;
    let process = chat.ended().await?;
    ensure!(home.output(process.id).await? == b"built-home-42\n");
    let told = home
        .until("the build is told", async || Ok(chat.told().pop()))
        .await?;
    home.quiet().await?;
    ensure!(chat.told().len() == 1, "{:?}", chat.told());
    let notifications = chat.notifications().await?;
    let delivered = notifications
        .iter()
        .filter(|row| row.state == State::Delivered);
    ensure!(
        delivered.count() == 1 && notifications.len() == 1,
        "{notifications:?}"
    );
    let rows = chat.rows().await?;
    let block = rows.iter().find(|row| row.role == Role::Notification);
    ensure!(
        block.is_some_and(|row| row.text.contains("built-home-42")),
        "{rows:?}"
    );
    Ok(told)
}
