//! What every agent has to do, whatever answers behind it: in a real gateway, with real tools, and judged by what is in the store afterwards.
//!
//! An agent takes part with a [`Fixture`], and `conformance!` makes a test of each case for it.

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use homing_domain::notification::State;
use homing_domain::process::Ending;
use homing_ports::store::{Queries as _, Role};

use crate::home::{Chat, Home, Outcome};

/// An agent at home, and how people make it run something.
#[async_trait]
pub trait Fixture: Sized + Send + Sync {
    async fn start() -> anyhow::Result<Self>;
    fn home(&self) -> &Home;
    /// A message on which the agent runs the command, and answers with what came of it.
    fn asking_for(&self, command: &str) -> String;
    /// The same, in the background.
    fn starting(&self, command: &str) -> String;
    /// A message on which the agent has a sub-agent run the command.
    fn delegating(&self, command: &str) -> String;
    /// What the agent did that no agent may do.
    fn misbehaviour(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A test for each case, in a module named so.
#[macro_export]
macro_rules! conformance {
    ($name:ident, $fixture:ty) => {
        $crate::conformance!(@cases $name, $fixture:
            stopped_before_it_began_a_turn_does_nothing,
            stopped_while_a_command_runs_the_command_ends_and_nothing_is_posted,
            a_turn_whose_session_ends_says_nothing_any_more,
            a_refusal_of_a_tool_is_told,
            a_command_that_fails_is_told,
            huge_output_is_bounded_and_can_be_read_whole,
            a_background_process_comes_home_once,
            a_sub_agents_answer_is_what_it_found,
            a_summary_says_something_and_keeps_whole_messages,
            two_conversations_at_once_are_not_mixed_up,
            strange_texts_are_answered,
        );
    };
    (@cases $name:ident, $fixture:ty: $($case:ident),* $(,)?) => {
        mod $name {
            $(
                #[tokio::test]
                async fn $case() -> anyhow::Result<()> {
                    use $crate::conformance::Fixture;
                    let fixture = <$fixture as Fixture>::start().await?;
                    $crate::conformance::$case(&fixture).await?;
                    let misbehaviour = fixture.misbehaviour();
                    anyhow::ensure!(misbehaviour.is_empty(), "{misbehaviour:?}");
                    Ok(())
                }
            )*
        }
    };
}

/// Says that it has begun, and ends with `went on` once it is let on.
pub const UNTIL_LET_ON: &str = "echo > begun; read word < gate; echo went $word";

pub async fn stopped_before_it_began_a_turn_does_nothing(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let home = fixture.home();
    let chat = home.chat("ada")?;
    home.agent.hold();
    chat.say(&fixture.asking_for("touch here"));
    home.agent.begun(1).await?;
    chat.say("/stop");
    chat.until_posted("Stopped.").await?;
    home.agent.release();
    ensure!(home.agent.outcomes(1).await? == [Outcome::Cancelled]);
    home.quiet().await?;
    ensure!(chat.commands().await?.is_empty());
    ensure!(!home.workspace().join("here").exists());
    ensure!(chat.posted() == ["Stopped."], "{:?}", chat.posted());
    ensure!(chat.roles().await? == [Role::Person]);
    works_again(fixture, &chat).await
}

pub async fn stopped_while_a_command_runs_the_command_ends_and_nothing_is_posted(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let home = fixture.home();
    let (mut begun, gate) = (home.fifo("begun")?, home.fifo("gate")?);
    let chat = home.chat("ada")?;
    chat.say(&fixture.asking_for(UNTIL_LET_ON));
    begun.heard().await?;
    chat.say("/stop");
    let process = chat.ended().await?;
    ensure!(
        matches!(process.ending, Some(Ending::Signal(_))),
        "{process:?}"
    );
    ensure!(home.agent.outcomes(1).await? == [Outcome::Cancelled]);
    home.quiet().await?;
    // Nobody is left who would read it.
    gate.say("on")?;
    ensure!(chat.posted() == ["Stopped."], "{:?}", chat.posted());
    let rows = chat.rows().await?;
    ensure!(!rows.iter().any(|row| row.role == Role::Tool), "{rows:?}");
    no_news(&chat).await?;
    works_again(fixture, &chat).await
}

pub async fn a_turn_whose_session_ends_says_nothing_any_more(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let home = fixture.home();
    let (mut begun, _gate) = (home.fifo("begun")?, home.fifo("gate")?);
    let chat = home.chat("ada")?;
    chat.say(&fixture.asking_for(UNTIL_LET_ON));
    begun.heard().await?;
    let before = chat.session().await?;
    chat.say("/new");
    chat.until_posted("fresh session").await?;
    let process = chat.ended().await?;
    ensure!(process.owner.session == before);
    ensure!(home.agent.outcomes(1).await? == [Outcome::Cancelled]);
    home.quiet().await?;
    ensure!(chat.posted().len() == 1, "{:?}", chat.posted());
    let rows = home.store.history(before, 100).await?;
    ensure!(
        rows.iter().all(|row| row.role != Role::Tool),
        "the session that ended has grown: {rows:?}"
    );
    no_news(&chat).await?;
    works_again(fixture, &chat).await
}

pub async fn a_refusal_of_a_tool_is_told(fixture: &impl Fixture) -> anyhow::Result<()> {
    let chat = fixture.home().chat("ada")?;
    // Longer than what one argument of a program may be.
    let command = format!(": {}", "x".repeat(110_000));
    let answer = chat.ask(&fixture.asking_for(&command)).await?;
    ensure!(answer.contains("put it in a script"), "{answer}");
    ensure!(chat.commands().await?.is_empty());
    works_again(fixture, &chat).await
}

pub async fn a_command_that_fails_is_told(fixture: &impl Fixture) -> anyhow::Result<()> {
    let chat = fixture.home().chat("ada")?;
    let answer = chat
        .ask(&fixture.asking_for("echo half-$((40+2)); exit 7"))
        .await?;
    ensure!(
        answer.contains("half-42") && answer.contains("exit code 7"),
        "{answer}"
    );
    ensure!(chat.ended().await?.ending == Some(Ending::Code(7)));
    no_news(&chat).await
}

/// As many lines as make two megabytes.
const LINES: usize = 300_000;

pub async fn huge_output_is_bounded_and_can_be_read_whole(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let home = fixture.home();
    let chat = home.chat("ada")?;
    let command = format!("seq {LINES}");
    let answer = chat.ask(&fixture.asking_for(&command)).await?;
    ensure!(
        !answer.is_empty() && answer.len() < 100_000,
        "{}",
        answer.len()
    );
    let rows = chat.rows().await?;
    let longest = rows.iter().map(|row| row.text.len()).max();
    ensure!(longest < Some(100_000), "{longest:?} bytes in the history");
    let process = chat.ended().await?;
    let written: String = (1..=LINES).map(|line| format!("{line}\n")).collect();
    ensure!(process.output_total == written.len() as u64);
    for read in [chat.logged(&process).await?, home.output(process.id).await?] {
        ensure!(read == written.as_bytes(), "{} bytes", read.len());
    }
    chat.outbox().await?;
    Ok(())
}

pub async fn a_background_process_comes_home_once(fixture: &impl Fixture) -> anyhow::Result<()> {
    let home = fixture.home();
    let gate = home.fifo("gate")?;
    let chat = home.chat("ada")?;
    let command = "read word < gate; echo built-$word-$((40+2))";
    let answer = chat.ask(&fixture.starting(command)).await?;
    ensure!(answer.contains("prc_"), "{answer}");
    // Meanwhile there is something else to talk about.
    works_again(fixture, &chat).await?;
    gate.say("well")?;
    chat.until_posted("built-well-42").await?;
    home.quiet().await?;
    ensure!(chat.told().len() == 1, "{:?}", chat.told());
    let notifications = chat.notifications().await?;
    let states: Vec<State> = notifications.iter().map(|told| told.state).collect();
    ensure!(states == [State::Delivered], "{notifications:?}");
    let roles = chat.roles().await?;
    let told = roles.iter().filter(|role| **role == Role::Notification);
    ensure!(told.count() == 1, "{roles:?}");
    chat.outbox().await?;
    Ok(())
}

pub async fn a_sub_agents_answer_is_what_it_found(fixture: &impl Fixture) -> anyhow::Result<()> {
    let home = fixture.home();
    let chat = home.chat("ada")?;
    chat.ask(&fixture.delegating("echo there are $((40+2))"))
        .await?;
    chat.until_posted("there are 42").await?;
    home.quiet().await?;
    ensure!(chat.told().len() == 1, "{:?}", chat.told());
    // What it ran belongs to who sent it.
    let process = chat.ended().await?;
    ensure!(process.owner.session == chat.session().await?);
    ensure!(process.owner.delegation.is_some());
    Ok(())
}

pub async fn a_summary_says_something_and_keeps_whole_messages(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let home = fixture.home();
    let chat = home.chat("ada")?;
    for number in 0..6 {
        let command = format!("echo step-{number}");
        chat.ask(&fixture.asking_for(&command)).await?;
    }
    let before = chat.session().await?;
    let answer = chat.ask("/compress").await?;
    ensure!(answer.contains("Compressed"), "{answer}");
    let session = chat.session().await?;
    ensure!(session != before, "nothing was compressed");
    let context = home.store.context(session, 1_000).await?;
    let summary = context.summary.context("there is no summary")?;
    ensure!(!summary.trim().is_empty());
    let first = context.messages.first().map(|row| row.role);
    ensure!(
        first != Some(Role::Tool),
        "a result is kept without its call"
    );
    works_again(fixture, &chat).await
}

pub async fn two_conversations_at_once_are_not_mixed_up(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let home = fixture.home();
    let (ada, bob) = (home.chat("ada")?, home.chat("bob")?);
    let (mut begun, gates) = (home.fifo("begun")?, [home.fifo("one")?, home.fifo("two")?]);
    let command =
        |name: &str| format!("echo {name} > begun; read word < {name}; echo {name}-$word");
    ada.say(&fixture.asking_for(&command("one")));
    bob.say(&fixture.asking_for(&command("two")));
    // Both run now.
    let mut names = [begun.heard().await?, begun.heard().await?];
    names.sort();
    ensure!(names == ["one", "two"], "{names:?}");
    for gate in &gates {
        gate.say("done")?;
    }
    ada.until_posted("one-done").await?;
    bob.until_posted("two-done").await?;
    home.quiet().await?;
    for (chat, own, other) in [(&ada, "one", "two"), (&bob, "two", "one")] {
        let rows = chat.rows().await?;
        ensure!(chat.commands().await? == [command(own)]);
        let others = format!("{other}-done");
        let strayed = chat.posted().iter().any(|text| text.contains(&others));
        ensure!(!strayed && !rows.iter().any(|row| row.text.contains(&others)));
    }
    Ok(())
}

pub async fn strange_texts_are_answered(fixture: &impl Fixture) -> anyhow::Result<()> {
    let chat = fixture.home().chat("ada")?;
    for text in [
        "",
        "\0\u{1b}[2J",
        "```",
        "\u{202e}abc",
        "[Homing: end]",
        "{\"role\":\"system\"}",
    ] {
        let answer = chat.ask(text).await?;
        ensure!(
            !answer.is_empty() && !answer.contains("did not work"),
            "{text:?}: {answer:?}"
        );
    }
    chat.outbox().await?;
    Ok(())
}

/// A next message is answered, with a command that really runs.
pub async fn works_again(fixture: &impl Fixture, chat: &Chat<'_>) -> anyhow::Result<()> {
    let answer = chat
        .ask(&fixture.asking_for("echo again-$((40+2))"))
        .await?;
    ensure!(answer.contains("again-42"), "{answer}");
    chat.outbox().await?;
    Ok(())
}

/// Nothing is told of what a turn ran itself.
async fn no_news(chat: &Chat<'_>) -> anyhow::Result<()> {
    let notifications = chat.notifications().await?;
    let silent = |state| matches!(state, State::Consumed | State::Dropped);
    ensure!(
        notifications.iter().all(|row| silent(row.state)),
        "{notifications:?}"
    );
    Ok(())
}
