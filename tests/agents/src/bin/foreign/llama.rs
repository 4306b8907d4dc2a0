//! llama.cpp with real models, small ones: what they say is their own affair, how the server works with us is not.

use std::time::Duration;

use anyhow::{bail, ensure};
use homing_agents_tests::{Chat, Home, Message, Outcome, Stage, joined};
use homing_domain::process::Ending;
use homing_ports::agent::AgentError;
use homing_ports::store::{MessageRow, Role};

use super::agent;

/// A model reads a hundred tokens a second here, and where much else runs a tenth of that; with its tools it has thousands to read.
const PATIENCE: Duration = Duration::from_secs(200);

/// One that only talks: the server's cache, leaving in the middle, and a conversation that outgrows it.
pub async fn talks(url: &str) -> anyhow::Result<()> {
    let agent = agent(url, |settings| {
        settings.instructions = Some("Answer in one short sentence.".into());
        settings.context_tokens = 100_000;
        settings.output_tokens = 64;
        settings.client.attempts = 2;
        settings.client.first_token_limit = PATIENCE;
    })?;
    let stage = Stage::new(agent.clone())?;
    let first = stage.say("Say hello.").await?;
    let first_used = stage.used();
    println!("  {:?} {first_used:?}", first.text);
    ensure!(!first.text.is_empty() && first_used.prompt_tokens > 0);
    let second = stage.say("Say it again.").await?;
    let used = stage.used();
    println!("  {:?} {used:?}", second.text);
    let read_again = used.prompt_tokens - used.cached_tokens;
    ensure!(
        used.cached_tokens > first_used.prompt_tokens / 2 && read_again < 200,
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
                println!("  {:?}", summary.text);
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

/// One that calls tools, if not wisely: they are told to it, it calls them, they run, it reads what came of that, and in the end it answers.
pub async fn calls(url: &str) -> anyhow::Result<()> {
    let agent = agent(url, |settings| {
        settings.instructions = Some(
            "Call the tool that you are told to call, once. After its answer call nothing more: say in one sentence what the answer was.".into(),
        );
        settings.context_tokens = 8_000;
        // What it goes on with, if it does, is its own affair.
        settings.rounds = 4;
        settings.output_tokens = 200;
        settings.client.attempts = 1;
        settings.client.first_token_limit = PATIENCE;
        settings.client.idle_limit = PATIENCE;
        settings.client.total_limit = PATIENCE;
    })?;
    let home = Home::of(agent).await?.patient(PATIENCE);
    let chat = home.chat("ada")?;
    let answer = chat
        .ask("Call the tool terminal with the command: echo hello-$((40+2))")
        .await?;
    println!("  {answer:?}");
    let outcomes = home.agent.outcomes(1).await?;
    ensure!(
        matches!(outcomes[..], [Outcome::Answered(_)]),
        "{outcomes:?}"
    );
    let rows = chat.rows().await?;
    for row in &rows {
        println!("    {:?} {:?}", row.role, row.text);
    }
    ran(&home, &chat, "hello-42").await?;
    paired(&rows)?;
    ensure!(!answer.is_empty());
    chat.outbox().await?;

    Ok(())
}

/// A command ran to its good end and printed this, and the model was answered with it.
async fn ran(home: &Home, chat: &Chat<'_>, printed: &str) -> anyhow::Result<()> {
    let rows = chat.rows().await?;
    for process in chat.processes().await? {
        let output = home.output(process.id).await?;
        let read = |row: &MessageRow| row.role == Role::Tool && row.text.contains(printed);
        if process.ending == Some(Ending::Code(0))
            && output == format!("{printed}\n").as_bytes()
            && rows.iter().any(read)
        {
            return Ok(());
        }
    }
    bail!("nothing printed `{printed}`: {rows:?}")
}

/// Every call has its one result, and an answer is the last word.
fn paired(rows: &[MessageRow]) -> anyhow::Result<()> {
    let roles: Vec<Role> = rows.iter().map(|row| row.role).collect();
    let results = roles.iter().filter(|role| **role == Role::Tool).count();
    let calls = rows
        .iter()
        .filter_map(|row| row.data.as_deref())
        .map(|data| data.matches("\"arguments\"").count());
    ensure!(
        roles.first() == Some(&Role::Person) && roles.last() == Some(&Role::Agent),
        "{roles:?}"
    );
    ensure!(results > 0 && results == calls.sum::<usize>(), "{rows:?}");
    Ok(())
}
