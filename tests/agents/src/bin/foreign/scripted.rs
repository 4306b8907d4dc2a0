//! Servers with a script: what they say is known, what they do to the connection is not.

use anyhow::ensure;
use homing_agents_tests::{Home, Outcome};
use homing_domain::process::Ending;
use homing_ports::store::{Queries as _, Role};

use super::{BUILD, agent, comes_home};

/// Turns under chaos.
const TURNS: usize = 40;

/// Unreliable: whatever the chaos, an answer is the whole answer or says in plain words that it is none, and no call is carried out twice.
pub async fn aimock(url: &str) -> anyhow::Result<()> {
    let home = Home::of(agent(url, |_| {})?).await?;
    let (mut answered, mut failed) = (0, 0);
    for turn in 0..TURNS {
        let chat = home.chat(&format!("person-{turn}"))?;
        let (asked, expected, commands) = match turn % 3 {
            0 => ("hello", "Hello to you.", &[][..]),
            1 => (
                "count the files",
                "I count them.\n\nThere are 42 files in this folder, which is just enough.",
                &["ls | wc -l"][..],
            ),
            _ => (
                "count everything",
                "One and two.",
                &["echo one", "echo two"][..],
            ),
        };
        let told = chat.ask(asked).await?;
        let ran = chat.processes().await?;
        for process in &ran {
            ensure!(process.ending == Some(Ending::Code(0)), "{process:?}");
        }
        let ran: Vec<&str> = ran.iter().map(|process| &*process.command).collect();
        if told == expected {
            ensure!(ran == commands, "{asked}: {ran:?}");
            answered += 1;
        } else {
            ensure!(
                told.contains("The model") && commands.starts_with(&ran),
                "{asked}: {ran:?} {told:?}"
            );
            println!("  {asked}: {told}");
            failed += 1;
        }
        chat.outbox().await?;
    }
    println!("  {answered} turns answered, {failed} failed in plain words");
    ensure!(answered > TURNS * 3 / 4, "the chaos won");

    let (chat, gate) = (home.chat("builder")?, home.fifo("gate")?);
    let started = chat.ask("build it in the background").await?;
    println!("  {started:?}");
    let told = comes_home(&home, &chat, &gate).await?;
    println!("  {told:?}");
    ensure!(told == "The build came home.");
    Ok(())
}

pub async fn fakellm(url: &str) -> anyhow::Result<()> {
    let home = Home::of(agent(url, |settings| settings.client.attempts = 2)?).await?;
    let chat = home.chat("ada")?;
    let answer = chat.ask("count the files").await?;
    println!("  {answer:?}");
    ensure!(answer.ends_with("There are 42 files in this folder, which is just enough."));
    ensure!(chat.commands().await? == ["ls | wc -l"]);
    ensure!(chat.ended().await?.ending == Some(Ending::Code(0)));
    let roles = chat.roles().await?;
    ensure!(
        roles == [Role::Person, Role::Agent, Role::Tool, Role::Agent],
        "{roles:?}"
    );
    chat.ask("/compress").await?;
    let context = home.store.context(chat.session().await?, 100).await?;
    let summary = context.summary.unwrap_or_default();
    ensure!(summary.contains("Goals: files are counted"), "{summary}");

    // Nothing is scripted for this: it makes something up.
    let other = home.chat("bob")?.ask("anything else").await?;
    println!("  {other:?}");
    ensure!(!other.is_empty());
    let outcomes = home.agent.outcomes(2).await?;
    ensure!(
        outcomes
            .iter()
            .all(|outcome| matches!(outcome, Outcome::Answered(_))),
        "{outcomes:?}"
    );

    let (chat, gate) = (home.chat("builder")?, home.fifo("gate")?);
    let started = chat.ask("build it in the background").await?;
    println!("  {started:?}");
    ensure!(chat.commands().await? == [BUILD]);
    let told = comes_home(&home, &chat, &gate).await?;
    println!("  {told:?}");
    ensure!(told == "The build came home.");
    Ok(())
}
