//! What the model agent and the gateway around it add to a model: its server has its answers ready and takes no time of its own.
//!
//! A turn is measured from a person's message at the platform to the answer there, with the store on disk; the model's own time is none. What is shown
//! while it is written is measured at the agent, because the simulated platform shows nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use homing_agent_openai::client::Settings;
use homing_agent_openai::{AgentSettings, OpenAiAgent};
use homing_agents_tests::{Message, Stage, joined};
use homing_ports::store::Role;
use homing_simulators::model::{Answer, Call, ReadyServer};
use serde_json::json;

use super::throughput::Echo;
use crate::line::{Line, PATIENCE, Reader, topic, write};
use crate::place::Place;
use crate::report::Figures;
use crate::rows::Rows;
use crate::samples::Samples;

const WARM_UP: usize = 10;
const TURNS: usize = 100;
const WATCHED: usize = 50;
/// Pieces of one answer, about a token each.
const TOKENS: usize = 20_000;
const HISTORY: usize = 5_000;
/// Messages of a history that are committed together.
const TOGETHER: usize = 250;

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    let model = model().await?;
    let folder = place.fresh()?;
    turns(folder.path(), &model, &mut figures).await?;
    let folder = place.fresh()?;
    without_a_model(folder.path(), &mut figures).await?;
    stream(&model, &mut figures).await?;
    let folder = place.fresh()?;
    compress(folder.path(), &model, &mut figures).await?;
    Ok(figures)
}

/// On `list` it looks at the processes first; it sums up what it is asked to; everything else gets one sentence.
async fn model() -> anyhow::Result<ReadyServer> {
    let answers = [
        Answer::text("That is done, and it was not much work."),
        Answer::calls([Call::new("call_1", "process", &json!({"action": "list"}))]),
        Answer::text(&"word ".repeat(TOKENS)).pieces(5, Duration::ZERO),
        Answer::text("Goals: to measure"),
    ];
    let server = ReadyServer::start(&answers, choice).await;
    server.context("starting the simulated model")
}

/// By the last message, and the first: the keys of a request are sorted, so the messages come first.
fn choice(request: &[u8]) -> usize {
    const BEHIND: &[u8] = b"],\"model\":";
    let end = request
        .windows(BEHIND.len())
        .rposition(|window| window == BEHIND);
    let messages = &request[..end.unwrap_or_default()];
    if messages.ends_with(b"list\",\"role\":\"user\"}") {
        1
    } else if messages.ends_with(b"long\",\"role\":\"user\"}") {
        2
    } else if begins_with_a_summary(messages) {
        3
    } else {
        0
    }
}

fn begins_with_a_summary(messages: &[u8]) -> bool {
    const OF_A_SUMMARY: &[u8] = b"between people and an agent";
    let head = &messages[..messages.len().min(2_000)];
    head.windows(OF_A_SUMMARY.len())
        .any(|window| window == OF_A_SUMMARY)
}

fn agent(model: &ReadyServer) -> anyhow::Result<Arc<OpenAiAgent>> {
    let settings = AgentSettings::new(Settings::new(model.url(), "simulated"));
    Ok(Arc::new(OpenAiAgent::new(settings)?))
}

async fn turns(folder: &Path, model: &ReadyServer, figures: &mut Figures) -> anyhow::Result<()> {
    let line = Line::start(folder, agent(model)?).await?;
    line.quiet().await?;
    let mut reader = Reader::new(&line.server);
    let (mut plain, mut with_tool) = (Samples::default(), Samples::default());
    for turn in 0..WARM_UP + TURNS {
        let (one, other) = (
            answered(&line, &mut reader, 0, "do it").await?,
            answered(&line, &mut reader, 1, "list").await?,
        );
        if turn >= WARM_UP {
            plain.add(one);
            with_tool.add(other);
        }
    }
    figures.add("overhead_ms_per_turn", plain.median_ms());
    figures.add("overhead_p99_ms", plain.p99_ms());
    figures.add("with_a_tool_ms", with_tool.median_ms());
    line.end().await
}

/// The same with an agent that only echoes: what of a turn is the platform's, the gateway's and the store's.
async fn without_a_model(folder: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    let line = Line::start(folder, Arc::new(Echo)).await?;
    line.quiet().await?;
    let mut reader = Reader::new(&line.server);
    let mut samples = Samples::default();
    for turn in 0..WARM_UP + TURNS {
        let one = answered(&line, &mut reader, 0, "do it").await?;
        if turn >= WARM_UP {
            samples.add(one);
        }
    }
    figures.add("without_a_model_ms", samples.median_ms());
    line.end().await
}

/// From the message to the first part of its answer.
async fn answered(
    line: &Line,
    reader: &mut Reader,
    number: usize,
    text: &str,
) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    write(&line.server, number, text);
    let sent = reader.next(PATIENCE).await?;
    let sent = sent.first().context("a message was not answered")?;
    Ok(sent.at.saturating_duration_since(begun))
}

async fn stream(model: &ReadyServer, figures: &mut Figures) -> anyhow::Result<()> {
    let agent = agent(model)?;
    let mut first = Samples::default();
    for turn in 0..WARM_UP + WATCHED {
        let stage = Stage::new(agent.clone())?;
        let begun = Instant::now();
        let mut running = stage.start(message("do it"));
        running.seen.wait_for(|seen| !seen.text.is_empty()).await?;
        if turn >= WARM_UP {
            first.add(begun.elapsed());
        }
        joined(running.answer).await?;
    }
    figures.add("first_token_ms", first.median_ms());

    let stage = Stage::new(agent)?;
    let begun = Instant::now();
    let running = stage.start(message("long"));
    let text = joined(running.answer).await?.text;
    ensure!(
        text.split_whitespace().count() == TOKENS,
        "words are missing"
    );
    figures.add(
        "tokens_per_s",
        TOKENS as f64 / begun.elapsed().as_secs_f64(),
    );
    Ok(())
}

fn message(text: &str) -> Message<'_> {
    Message {
        text,
        ..Message::default()
    }
}

/// By a person's `/compress`, from the message to the answer: reading, asking in pieces, and beginning the continuation.
async fn compress(folder: &Path, model: &ReadyServer, figures: &mut Figures) -> anyhow::Result<()> {
    let rows = Rows::open(folder).await?;
    let talk = rows.talk(topic(0)).await?;
    for _ in 0..HISTORY / TOGETHER {
        let messages = (0..TOGETHER).map(|number| {
            let role = if number % 2 == 0 {
                Role::Person
            } else {
                Role::Agent
            };
            rows.message(&talk, role)
        });
        rows.commit(talk.conversation, messages.collect()).await?;
    }
    rows.close().await?;

    let line = Line::start(folder, agent(model)?).await?;
    line.quiet().await?;
    let asked = model.asked();
    let mut reader = Reader::new(&line.server);
    let begun = Instant::now();
    write(&line.server, 0, "/compress");
    let sent = reader.next(PATIENCE).await?;
    let sent = sent.first().context("nobody answered /compress")?;
    ensure!(
        sent.body.text.starts_with("Compressed"),
        "{}",
        sent.body.text
    );
    figures.add(
        "compress_ms",
        sent.at.saturating_duration_since(begun).as_secs_f64() * 1e3,
    );
    figures.add("compress_requests", (model.asked() - asked) as f64);
    line.end().await
}
