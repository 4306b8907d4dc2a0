//! Whether memory grows: the release binary under many messages and many processes, looked at after a warm-up and at the end.
//!
//! **Invariant:** what is compared is anonymous memory. Pages of the store's file that the kernel maps are not the gateway's.

use std::io::BufRead as _;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::start::Gateway;
use crate::machine::Memory;
use crate::place::Place;
use crate::report::Figures;

const CONVERSATIONS: usize = 50;
const MESSAGES: usize = 100_000;
const PROCESSES: usize = 10_000;
/// The part of the work before memory is looked at first.
const WARM_UP: f64 = 0.2;
/// Requests under way at once.
const AT_ONCE: usize = 16;
/// Processes that run at once, at most about so many: each round waits for its own.
const ROUND: usize = 200;
/// How long the end of a part is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn run(place: &Place, scale: f64) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let mut gateway = Gateway::start(place.binary()?, &folder.path().join("data"))?;
    let person = Person::log_in(&mut gateway).await?;
    let (messages, processes) = (
        (MESSAGES as f64 * scale) as usize,
        (PROCESSES as f64 * scale) as usize,
    );
    let warm = |all: usize| (all as f64 * WARM_UP) as usize;
    let mut sent = Work {
        person: &person,
        messages: 0,
        processes: 0,
    };
    sent.until(warm(messages), warm(processes)).await?;
    let before = memory(&gateway).await?;
    sent.until(messages, processes).await?;
    let after = memory(&gateway).await?;
    let mut figures = Figures::default();
    figures.add("growth_percent", (after - before) / before * 100.0);
    figures.add("anon_mb_after_warm_up", before);
    figures.add("anon_mb_at_the_end", after);
    figures.add("messages", sent.messages as f64);
    figures.add("processes", sent.processes as f64);
    gateway.stop()?;
    Ok(figures)
}

/// Anonymous memory in megabytes, after a rest.
async fn memory(gateway: &Gateway) -> anyhow::Result<f64> {
    tokio::time::sleep(Duration::from_secs(3)).await;
    Memory::of(gateway.pid())?.mb("RssAnon")
}

struct Work<'a> {
    person: &'a Person,
    messages: usize,
    processes: usize,
}

impl Work<'_> {
    /// Messages and processes in turns, until so many of each are done.
    async fn until(&mut self, messages: usize, processes: usize) -> anyhow::Result<()> {
        while self.messages < messages || self.processes < processes {
            let some = (messages - self.messages).min(ROUND * 10);
            self.say(some, "hello").await?;
            self.messages += some;
            let some = (processes - self.processes).min(ROUND);
            self.say(some, "!bg true").await?;
            self.processes += some;
            self.person
                .wait_for_quiet(self.messages + self.processes, self.processes)
                .await?;
        }
        Ok(())
    }

    async fn say(&self, count: usize, text: &str) -> anyhow::Result<()> {
        let from = self.messages + self.processes;
        let mut under_way = tokio::task::JoinSet::new();
        for number in from..from + count {
            if under_way.len() >= AT_ONCE {
                under_way
                    .join_next()
                    .await
                    .context("nothing is under way")???;
            }
            let (person, text) = (self.person.clone(), text.to_owned());
            under_way.spawn(async move { person.say(number, &text).await });
        }
        while let Some(said) = under_way.join_next().await {
            said??;
        }
        Ok(())
    }
}

/// Someone at the console.
#[derive(Clone)]
struct Person {
    client: reqwest::Client,
    base: String,
    cookie: String,
}

impl Person {
    async fn log_in(gateway: &mut Gateway) -> anyhow::Result<Person> {
        let mut line = String::new();
        gateway
            .said()?
            .read_line(&mut line)
            .context("reading the link")?;
        let link = line
            .trim()
            .strip_prefix("console: ")
            .context("it printed no link")?
            .to_owned();
        let base = link.split("/login").next().unwrap_or_default().to_owned();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let answer = client.get(&link).send().await?;
        let cookie = answer
            .headers()
            .get("set-cookie")
            .context("the link logs nobody in")?
            .to_str()?;
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        Ok(Person {
            client,
            base,
            cookie,
        })
    }

    async fn say(&self, number: usize, text: &str) -> anyhow::Result<()> {
        let path = format!(
            "{}/api/v1/conversations/agent:main:console:dm:local:t{}/messages",
            self.base,
            number % CONVERSATIONS
        );
        let body = json!({"text": text, "id": format!("m{number}")});
        let request = self
            .client
            .post(path)
            .header("cookie", &self.cookie)
            .header("origin", &self.base)
            .json(&body);
        let status = request.send().await?.status();
        ensure!(status.is_success(), "a message was answered with {status}");
        Ok(())
    }

    /// Until every message is answered, and every result told.
    async fn wait_for_quiet(&self, answers: usize, results: usize) -> anyhow::Result<()> {
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            let text = self
                .client
                .get(format!("{}/metrics", self.base))
                .send()
                .await?
                .text()
                .await?;
            let settled = |state: &str| number(&text, "homing_notifications", state);
            let told = settled("delivered") + settled("noticed") + settled("consumed");
            let sent = number(&text, "homing_outbox", "sent");
            // Results that wait together are told in one message.
            if told >= results && sent >= answers && number(&text, "homing_outbox", "queued") == 0 {
                return Ok(());
            }
            ensure!(
                tokio::time::Instant::now() < end,
                "after {answers} messages: {sent} sent, {told} of {results} results told"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The number of a state in the metrics' text; 0 if it is not there.
fn number(text: &str, name: &str, state: &str) -> usize {
    let line = text
        .lines()
        .find(|line| line.starts_with(name) && line.contains(&format!("state=\"{state}\"")));
    line.and_then(|line| line.rsplit(' ').next())
        .and_then(|number| number.parse::<f64>().ok())
        .map_or(0, |number| number as usize)
}
