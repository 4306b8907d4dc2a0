//! The model agent against a server that others wrote, which runs already: `foreign KIND URL`.
//!
//! **Invariant:** it ends: every wait is bounded by the client's limits, which are short here. What it saw is printed; anything unexpected is an error.
#![expect(
    clippy::print_stdout,
    reason = "telling what was seen is what this program is for"
)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use homing_agent_openai::client::Settings;
use homing_agent_openai::{AgentSettings, OpenAiAgent};
use homing_agents_tests::{Message, Stage, joined};
use homing_ports::agent::AgentError;
use homing_ports::store::Role;

/// Turns under chaos.
const TURNS: usize = 40;
/// Longer than anything here takes: reaching it is a failure.
const LONG: Duration = Duration::from_secs(120);

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
        bail!("usage: foreign aimock|fakellm|llama URL, with the address up to /v1");
    };
    let judged = async {
        match kind.as_str() {
            "aimock" => aimock(url).await,
            "fakellm" => fakellm(url).await,
            "llama" => llama(url).await,
            other => bail!("{other} is unknown; there are aimock, fakellm and llama"),
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

/// Scripted and unreliable: whatever the chaos, an answer is the whole answer, or a plain error.
async fn aimock(url: &str) -> anyhow::Result<()> {
    let agent = agent(url, |_| {})?;
    let (mut answered, mut failed) = (0, 0);
    for turn in 0..TURNS {
        let stage = Stage::new(agent.clone())?;
        let (asked, expected) = match turn % 3 {
            0 => ("hello", "Hello to you."),
            1 => (
                "count the files",
                "I count them.\n\nThere are 42 files in this folder, which is just enough.",
            ),
            _ => ("count everything", "One and two."),
        };
        match stage.say(asked).await {
            Ok(answer) => {
                ensure!(answer.text == expected, "{asked}: {:?}", answer.text);
                answered += 1;
            }
            Err(AgentError::Model { plain, .. }) => {
                println!("  {asked}: {plain}");
                failed += 1;
            }
            Err(error) => bail!("{asked}: {error}"),
        }
        let begun = stage.tools.begun().len();
        ensure!(begun <= turn % 3, "{asked}: {begun} commands were run");
    }
    println!("  {answered} turns answered, {failed} failed in plain words");
    ensure!(answered > TURNS * 3 / 4, "the chaos won");
    Ok(())
}

async fn fakellm(url: &str) -> anyhow::Result<()> {
    let stage = Stage::new(agent(url, |settings| settings.client.attempts = 2)?)?;
    let answer = stage.say("count the files").await?;
    println!("  {:?}", answer.text);
    ensure!(
        answer
            .text
            .ends_with("There are 42 files in this folder, which is just enough.")
    );
    ensure!(
        stage.tools.begun() == ["ls | wc -l"],
        "{:?}",
        stage.tools.begun()
    );
    let roles: Vec<Role> = stage.tools.rows().iter().map(|row| row.role).collect();
    ensure!(
        roles == [Role::Person, Role::Agent, Role::Tool, Role::Agent],
        "{roles:?}"
    );
    let summary = stage.compress().await?;
    ensure!(
        summary.text.contains("Goals: files are counted"),
        "{}",
        summary.text
    );
    // Nothing is scripted for this: it makes something up.
    let other = Stage::new(stage.agent.clone())?
        .say("anything else")
        .await?;
    println!("  {:?} {:?}", other.text, other.usage);
    ensure!(!other.text.is_empty() && other.usage.requests == 1);
    Ok(())
}

/// A real model, a small one: what it says is its own affair, how the server works is not.
async fn llama(url: &str) -> anyhow::Result<()> {
    let agent = agent(url, |settings| {
        settings.instructions = Some("Answer in one short sentence.".into());
        settings.context_tokens = 100_000;
        settings.output_tokens = 64;
        settings.client.attempts = 2;
    })?;
    let stage = Stage::new(agent.clone())?;
    let first = stage.say("Say hello.").await?;
    println!("  {:?} {:?}", first.text, first.usage);
    ensure!(!first.text.is_empty() && first.usage.prompt_tokens > 0);
    let second = stage.say("Say it again.").await?;
    println!("  {:?} {:?}", second.text, second.usage);
    let read_again = second.usage.prompt_tokens - second.usage.cached_tokens;
    ensure!(
        second.usage.cached_tokens > first.usage.prompt_tokens / 2 && read_again < 200,
        "the server read the beginning anew"
    );

    let mut cancelled = Stage::new(agent.clone())?;
    let mut running = cancelled.start(Message {
        text: "Tell a very long story.",
        ..Message::default()
    });
    running.seen.wait_for(|seen| !seen.text.is_empty()).await?;
    cancelled.cancel.cancel();
    let answer = joined(running.answer).await;
    ensure!(matches!(answer, Err(AgentError::Cancelled)), "{answer:?}");
    cancelled.cancel = Default::default();
    ensure!(!cancelled.say("Say hello.").await?.text.is_empty());

    // It holds less than we were told: its own refusal is what ends this, and compression is the way out.
    for number in 0..60 {
        let text = format!(
            "Note number {number}: {}",
            "the build runs in the folder of the shop. ".repeat(10)
        );
        match stage.say(&text).await {
            Ok(_) => {}
            Err(AgentError::TooLong) => {
                println!("  too long at note {number}");
                let summary = stage.compress().await?;
                println!("  {:?} {:?}", summary.text, summary.usage);
                let after = stage.say("Say hello.").await?;
                println!("  {:?}", after.text);
                ensure!(!after.text.is_empty());
                return Ok(());
            }
            Err(error) => bail!("note {number}: {error}"),
        }
    }
    bail!("the conversation never became too long")
}
