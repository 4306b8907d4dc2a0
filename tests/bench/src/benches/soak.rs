//! Whether memory grows: the release binary under many messages and many processes, looked at after every hundredth of the work.
//!
//! **Warm-up:** the first fifth. In it the gateway fills what has a limit: the page caches and the prepared statements of four connections to the store,
//! and the threads that wait for the disk. What is added afterwards counts as growth, whatever it is.
//! **Invariant:** what is compared is anonymous memory, as the kernel counts it, when everything said is answered and every result told. Pages of the
//! store's file that the kernel maps are not the gateway's.

use std::io::BufRead as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::start::Gateway;
use crate::machine::Memory;
use crate::place::Place;
use crate::report::Figures;

const CONVERSATIONS: usize = 50;
const MESSAGES: usize = 100_000;
const PROCESSES: usize = 10_000;
/// Parts of the work, memory being looked at after each.
const ROUNDS: usize = 100;
/// How many of them are the warm-up.
const WARM_UP: usize = 20;
/// Every so many of the looks are told.
const TOLD: usize = 10;
/// Requests under way at once.
const AT_ONCE: usize = 16;
/// How long the end of a part is waited for.
const PATIENCE: Duration = Duration::from_secs(120);
/// Before the two looks that are compared.
const REST: Duration = Duration::from_secs(3);

pub async fn run(place: &Place, scale: f64) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let mut gateway = Gateway::start(place.binary()?, &folder.path().join("data"))?;
    let person = Person::log_in(&mut gateway).await?;
    let mut work = Work {
        person: &person,
        messages: 0,
        processes: 0,
    };
    let (messages, processes) = (
        (MESSAGES as f64 * scale) as usize,
        (PROCESSES as f64 * scale) as usize,
    );
    let begun = Instant::now();
    let (mut start, mut end) = (f64::NAN, f64::NAN);
    let mut samples = Figures::default();
    for round in 1..=ROUNDS {
        work.until(messages * round / ROUNDS, processes * round / ROUNDS)
            .await?;
        if round == WARM_UP || round == ROUNDS {
            tokio::time::sleep(REST).await;
        }
        let anonymous = Memory::of(gateway.pid())?.mb("RssAnon")?;
        match round {
            WARM_UP => start = anonymous,
            ROUNDS => end = anonymous,
            _ => {}
        }
        if round % TOLD == 0 {
            samples.add(format!("anon_mb_{}", work.messages), anonymous);
        }
    }
    let mut figures = Figures::default();
    figures.add("growth_percent", (end - start) / start * 100.0);
    figures.add("anon_mb_start", start);
    figures.add("anon_mb_end", end);
    figures.add("messages", work.messages as f64);
    figures.add("processes", work.processes as f64);
    figures.add("seconds", begun.elapsed().as_secs_f64());
    figures.append(samples);
    gateway.stop()?;
    Ok(figures)
}

struct Work<'a> {
    person: &'a Person,
    messages: usize,
    processes: usize,
}

impl Work<'_> {
    /// On to so many messages and so many processes in all, and until it is quiet.
    async fn until(&mut self, messages: usize, processes: usize) -> anyhow::Result<()> {
        self.say(messages - self.messages, "hello").await?;
        self.messages = messages;
        self.say(processes - self.processes, "!bg true").await?;
        self.processes = processes;
        self.person
            .wait_for_quiet(self.messages + self.processes, self.processes)
            .await
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
