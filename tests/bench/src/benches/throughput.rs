//! How many messages a second go through the whole line: platform, adapter, store, turn, outbox, platform.
//!
//! Every conversation writes its next message when the last one was answered. The people run on the platform's threads.
//!
//! **Invariant:** an answer that is out of order, missing or there twice fails the bench; it is not a figure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use async_trait::async_trait;
use homing_ports::agent::{
    Agent, AgentError, Summary, SummaryRequest, Toolbox, TurnAbout, TurnAnswer, TurnRequest,
};
use homing_simulators::{Sent, Server};
use tokio_util::sync::CancellationToken;

use crate::line::{Line, PATIENCE, Reader, topic_of, write};
use crate::machine::Cpu;
use crate::place::Place;
use crate::report::Figures;
use crate::samples::Samples;

const CONVERSATIONS: usize = 100;
const WARM_UP: usize = 10;
const EACH: usize = 100;
/// How long is listened for answers that nobody expects.
const AFTERWARDS: Duration = Duration::from_millis(300);

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let line = Line::start(folder.path(), Arc::new(Echo)).await?;
    line.quiet().await?;
    let mut people = People::new(&line.server);
    people = people.write_on(&line, WARM_UP).await?;

    let (commits, reads, cpu) = (line.journal.commits(), line.journal.reads(), Cpu::now()?);
    let begun = Instant::now();
    people.answered = Samples::default();
    people = people.write_on(&line, EACH).await?;
    let span = begun.elapsed();
    let (commits, reads, cpu) = (
        line.journal.commits() - commits,
        line.journal.reads() - reads,
        Cpu::now()?.since(cpu),
    );

    let surplus = people.reader.next(AFTERWARDS).await?;
    ensure!(
        surplus.is_empty(),
        "{} answers came that nobody expected",
        surplus.len()
    );
    ensure!(
        line.server.repeats() == 0,
        "{} messages were sent twice",
        line.server.repeats()
    );
    line.end().await?;

    let messages = people.answered.count() as f64;
    let mut figures = Figures::default();
    figures.add("messages_per_s", messages / span.as_secs_f64());
    figures.add("p99_ms", people.answered.p99_ms());
    figures.add("p50_ms", people.answered.median_ms());
    figures.add("messages", messages);
    figures.add("commits_per_message", commits as f64 / messages);
    figures.add("reads_per_message", reads as f64 / messages);
    figures.add("gateway_cpu_us", cpu.gateway / messages);
    figures.add("writer_cpu_us", cpu.writer / messages);
    figures.add("readers_cpu_us", cpu.readers / messages);
    figures.add("simulator_cpu_us", cpu.simulator / messages);
    Ok(figures)
}

/// Says what it was told.
#[derive(Debug)]
pub(super) struct Echo;

#[async_trait]
impl Agent for Echo {
    async fn turn(
        &self,
        request: TurnRequest,
        _: Arc<dyn Toolbox>,
        _: CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let text = match request.about {
            TurnAbout::Person { text, .. } => text,
            TurnAbout::Delegated { task, .. } => task,
            TurnAbout::Background { plain, .. } => plain,
        };
        Ok(TurnAnswer::from(text))
    }

    async fn summarize(&self, _: SummaryRequest) -> Result<Summary, AgentError> {
        Err(AgentError::Failed("an echo keeps nothing".into()))
    }
}

/// One person in each conversation, waiting for the answer to the last message.
struct People {
    server: Arc<Server>,
    reader: Reader,
    people: Vec<Person>,
    answered: Samples,
}

#[derive(Debug, Clone, Copy)]
struct Person {
    /// Messages written, and answers received.
    written: usize,
    answered: usize,
    since: Instant,
}

impl People {
    fn new(server: &Arc<Server>) -> People {
        let person = Person {
            written: 0,
            answered: 0,
            since: Instant::now(),
        };
        People {
            server: server.clone(),
            reader: Reader::new(server),
            people: vec![person; CONVERSATIONS],
            answered: Samples::default(),
        }
    }

    /// Everyone writes so many messages more; returns when all are answered.
    async fn write_on(mut self, line: &Line, each: usize) -> anyhow::Result<People> {
        let talking = line.simulator()?.spawn(async move {
            let until = self.people.first().context("there is nobody")?.written + each;
            (0..CONVERSATIONS).for_each(|number| self.write(number));
            let mut missing = CONVERSATIONS * each;
            while missing > 0 {
                let sent = self.reader.next(PATIENCE).await?;
                ensure!(!sent.is_empty(), "{missing} answers are lost");
                for sent in sent {
                    let number = self.receive(&sent)?;
                    missing -= 1;
                    if self
                        .people
                        .get(number)
                        .is_some_and(|person| person.written < until)
                    {
                        self.write(number);
                    }
                }
            }
            anyhow::Ok(self)
        });
        talking.await?
    }

    fn write(&mut self, number: usize) {
        if let Some(person) = self.people.get_mut(number) {
            person.since = Instant::now();
            write(&self.server, number, text(number, person.written));
            person.written += 1;
        }
    }

    /// The conversation that has its answer.
    fn receive(&mut self, sent: &Sent) -> anyhow::Result<usize> {
        let number = topic_of(sent).context("an answer came to no conversation")?;
        let person = self
            .people
            .get_mut(number)
            .context("an answer came to a conversation that is not there")?;
        let expected = text(number, person.answered);
        if sent.body.text != expected || person.answered == person.written {
            bail!(
                "conversation {number} got `{}` where `{expected}` comes next",
                sent.body.text
            );
        }
        person.answered += 1;
        self.answered
            .add(sent.at.saturating_duration_since(person.since));
        Ok(number)
    }
}

fn text(conversation: usize, number: usize) -> String {
    format!(
        "message {number} of conversation {conversation}, as long as a short sentence of a person"
    )
}
