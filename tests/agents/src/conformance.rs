//! What every agent has to do, whatever answers behind it.
//!
//! An agent takes part with a [`Fixture`], and `conformance!` makes a test of each case for it.

use anyhow::{Context as _, bail, ensure};
use async_trait::async_trait;
use homing_ports::agent::AgentError;
use homing_ports::store::Role;

use crate::stage::{Message, Stage, joined};
use crate::tools::Does;

/// An agent that is ready, and how people make it run something.
#[async_trait]
pub trait Fixture: Sized + Send + Sync {
    async fn start() -> anyhow::Result<Self>;
    fn stage(&self) -> &Stage;
    /// A message on which the agent runs the command, and answers with what came of it.
    fn asking_for(&self, command: &str) -> String;
    /// The task of a sub-agent, with the same effect.
    fn task_for(&self, command: &str) -> String;
}

/// A test for each case, in a module named so.
#[macro_export]
macro_rules! conformance {
    ($name:ident, $fixture:ty) => {
        $crate::conformance!(@cases $name, $fixture:
            cancelled_before_anything_it_does_nothing,
            cancelled_while_a_tool_runs_it_lets_the_tool_end,
            a_refusal_of_a_tool_is_told,
            a_turn_that_was_ended_fails,
            huge_output_is_bounded,
            a_notification_is_told,
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
                    let fixture = <$fixture as $crate::conformance::Fixture>::start().await?;
                    $crate::conformance::$case(&fixture).await
                }
            )*
        }
    };
}

pub async fn cancelled_before_anything_it_does_nothing(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let stage = fixture.stage();
    stage.cancel.cancel();
    stage.tools.on("build", Does::Waits);
    let answer = stage.say(&fixture.asking_for("build")).await;
    ensure!(matches!(answer, Err(AgentError::Cancelled)), "{answer:?}");
    // It may have begun, and must have ended then.
    ensure!(stage.tools.begun() == stage.tools.ended());
    Ok(())
}

pub async fn cancelled_while_a_tool_runs_it_lets_the_tool_end(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let stage = fixture.stage();
    stage.tools.on("build", Does::Waits);
    let text = fixture.asking_for("build");
    let running = stage.start(Message {
        text: &text,
        ..Message::default()
    });
    stage.tools.until_begun("build").await?;
    stage.cancel.cancel();
    let answer = joined(running.answer).await;
    ensure!(matches!(answer, Err(AgentError::Cancelled)), "{answer:?}");
    ensure!(
        stage.tools.ended() == ["build"],
        "the tool was dropped where it stood"
    );
    Ok(())
}

pub async fn a_refusal_of_a_tool_is_told(fixture: &impl Fixture) -> anyhow::Result<()> {
    let stage = fixture.stage();
    stage
        .tools
        .on("rm", Does::Fails("that is too dangerous".into()));
    let answer = stage.say(&fixture.asking_for("rm")).await?;
    ensure!(answer.text.contains("too dangerous"), "{}", answer.text);
    Ok(())
}

pub async fn a_turn_that_was_ended_fails(fixture: &impl Fixture) -> anyhow::Result<()> {
    let stage = fixture.stage();
    stage.tools.on("build", Does::EndsTheTurn);
    let answer = stage.say(&fixture.asking_for("build")).await;
    ensure!(answer.is_err(), "{answer:?}");
    Ok(())
}

pub async fn huge_output_is_bounded(fixture: &impl Fixture) -> anyhow::Result<()> {
    let stage = fixture.stage();
    stage.tools.on("cat", Does::Says("ü".repeat(2_000_000)));
    let answer = stage.say(&fixture.asking_for("cat")).await?;
    ensure!(
        !answer.text.is_empty() && answer.text.len() < 100_000,
        "{}",
        answer.text.len()
    );
    let rows = stage.tools.rows();
    let longest = rows.iter().map(|row| row.text.len()).max();
    ensure!(longest < Some(100_000), "{longest:?} bytes in the history");
    Ok(())
}

pub async fn a_notification_is_told(fixture: &impl Fixture) -> anyhow::Result<()> {
    let stage = fixture.stage();
    let answer = stage
        .notify("```x\nbuild ended with 0\n```", "build ended with 0")
        .await?;
    ensure!(
        answer.text.contains("build ended with 0"),
        "{}",
        answer.text
    );
    Ok(())
}

pub async fn a_sub_agents_answer_is_what_it_found(fixture: &impl Fixture) -> anyhow::Result<()> {
    let stage = fixture.stage();
    stage.tools.on("count", Does::Says("there are 42".into()));
    let answer = stage.delegate(&fixture.task_for("count")).await?;
    ensure!(answer.text.contains("there are 42"), "{}", answer.text);
    Ok(())
}

pub async fn a_summary_says_something_and_keeps_whole_messages(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let stage = fixture.stage();
    for number in 0..6 {
        let text = fixture.asking_for(&format!("step {number}"));
        stage.say(&text).await?;
    }
    let rows = stage.tools.rows();
    let summary = stage.summarize().await?;
    ensure!(!summary.text.trim().is_empty());
    if let Some(first) = summary.kept_from {
        let row = rows.iter().find(|row| row.id == first);
        let row = row.context("it keeps from a message that is not there")?;
        ensure!(row.role != Role::Tool, "a result is kept without its call");
    }
    Ok(())
}

pub async fn two_conversations_at_once_are_not_mixed_up(
    fixture: &impl Fixture,
) -> anyhow::Result<()> {
    let first = fixture.stage();
    let second = Stage::new(first.agent.clone())?;
    let (one, two) = (fixture.asking_for("one"), fixture.asking_for("two"));
    let (one, two) = tokio::join!(first.say(&one), second.say(&two));
    let (one, two) = (one?.text, two?.text);
    ensure!(one.contains("ran one") && !one.contains("two"), "{one}");
    ensure!(two.contains("ran two") && !two.contains("one"), "{two}");
    Ok(())
}

pub async fn strange_texts_are_answered(fixture: &impl Fixture) -> anyhow::Result<()> {
    let stage = fixture.stage();
    for text in [
        "",
        "\0\u{1b}[2J",
        "```",
        "\u{202e}abc",
        "[Homing: end]",
        "{\"role\":\"system\"}",
    ] {
        let answer = stage.say(text).await;
        if let Err(error) = answer {
            bail!("{text:?}: {error}");
        }
    }
    Ok(())
}
