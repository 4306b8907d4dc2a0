//! Messages through the whole line over Telegram: simulator, long poll, adapter, store, turn, outbox, `sendMessage`.
//!
//! First one message at a time, which is how soon an answer comes; then a person in every topic, who writes again once answered, which is how many
//! messages go through. The adapter's budgets are opened: Telegram's limits are not what is measured. Every request is checked by the simulator
//! as always, on a thread of its own, whose share of the CPU is told.
//!
//! **Invariant:** an answer that is out of order, missing, in another topic or there twice fails the bench; it is not a figure.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use homing_domain::origin::AccountName;
use homing_gateway::{Gateway, Parts, Settings};
use homing_ports::{Clock, FixedDirectory, IdSource, SystemClock};
use homing_processes::ShimProcesses;
use homing_simulators::telegram::{
    Bot, NewBot, Place as Topic, Sent, Server, Settings as Simulated, Standing, UserId,
};
use homing_store_sqlite::SqliteStore;
use homing_telegram::{
    Budgets, ChatRule, Mode, Pace, Rate, ServeError, Telegram, TelegramSettings, Token,
};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::throughput::Echo;
use crate::line::{PATIENCE, PROFILE, STORE_FILE};
use crate::machine::{self, Cpu};
use crate::place::Place;
use crate::report::Figures;
use crate::samples::Samples;

const TOPICS: usize = 50;
/// Of each topic.
const WARM_UP: usize = 4;
const ONE_BY_ONE: usize = 400;
const EACH: usize = 40;
/// How long is listened for answers that nobody expects.
const AFTERWARDS: Duration = Duration::from_millis(300);

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let line = Line::start(folder.path()).await?;
    let mut people = People::new(&line);
    people = line.talk(people, WARM_UP * TOPICS, TOPICS).await?;

    people.answered = Samples::default();
    people = line.talk(people, ONE_BY_ONE, 1).await?;
    let alone = std::mem::take(&mut people.answered);

    let (requests, cpu, begun) = (line.server.requests().len(), Cpu::now()?, Instant::now());
    people = line.talk(people, EACH * TOPICS, TOPICS).await?;
    let (span, cpu) = (begun.elapsed(), Cpu::now()?.since(cpu));
    let requests = line.server.requests().len() - requests;

    tokio::time::sleep(AFTERWARDS).await;
    let surplus = line.server.sent_since(people.seen).len();
    ensure!(surplus == 0, "{surplus} answers came that nobody expected");
    let violations = line.server.violations();
    ensure!(
        violations.is_empty(),
        "no correct client does this: {violations:?}"
    );
    line.end().await?;

    let messages = people.answered.count() as f64;
    let mut figures = Figures::default();
    figures.add("ms_in_to_out_p50", alone.median_ms());
    figures.add("ms_in_to_out_p99", alone.p99_ms());
    figures.add("messages_per_s", messages / span.as_secs_f64());
    figures.add("loaded_p50_ms", people.answered.median_ms());
    figures.add("loaded_p99_ms", people.answered.p99_ms());
    figures.add("messages", messages);
    figures.add("requests_per_message", requests as f64 / messages);
    figures.add("gateway_cpu_us", cpu.gateway / messages);
    figures.add("writer_cpu_us", cpu.writer / messages);
    figures.add("readers_cpu_us", cpu.readers / messages);
    figures.add("simulator_cpu_us", cpu.simulator / messages);
    Ok(figures)
}

struct Line {
    server: Arc<Server>,
    person: UserId,
    topics: Vec<Topic>,
    gateway: Gateway,
    store: SqliteStore,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), ServeError>>,
    simulator: Runtime,
}

impl Line {
    async fn start(folder: &Path) -> anyhow::Result<Line> {
        let simulator = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(machine::SIMULATOR)
            .enable_all()
            .build()
            .context("starting the simulator's runtime")?;
        let server = simulator
            .spawn(Server::start(Simulated::default()))
            .await?
            .context("starting the simulated Telegram")?;
        let bot = server.bot(NewBot::named("bench_bot").reading_all());
        let person = server.user("Person");
        let forum = server.forum("Forum", &[person]);
        server.admit(forum, bot.id, Standing::Member)?;
        let topics: Vec<Topic> = (0..TOPICS)
            .map(|number| server.topic(person, forum, &format!("Topic {number}")))
            .collect::<Result<_, _>>()?;

        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ids = IdSource::new(Arc::clone(&clock));
        let store = SqliteStore::open(&folder.join(STORE_FILE), ids.clone())
            .await
            .context("opening the store")?;
        let processes =
            ShimProcesses::open(folder, Arc::clone(&clock)).context("preparing processes")?;
        let settings = settings(&server, &bot, person, forum.id.0, folder)?;
        let telegram = Telegram::new(settings, Arc::clone(&clock)).context("making the bot")?;
        let directory = FixedDirectory {
            agents: [(PROFILE.to_owned(), Arc::new(Echo) as _)].into(),
            platforms: [(telegram.account().clone(), telegram.platform())].into(),
        };
        let gateway = Gateway::start(Parts {
            store: Arc::new(store.clone()),
            processes: Arc::new(processes),
            directory: Arc::new(directory),
            clock,
            ids,
            settings: Settings {
                workspace: folder.to_owned(),
                files: folder.join("files"),
                ..Settings::default()
            },
        })
        .await
        .context("starting the gateway")?;
        let shutdown = CancellationToken::new();
        let (inbox, token) = (gateway.inbox(), shutdown.clone());
        let serving = tokio::spawn(async move { telegram.serve(inbox, token).await });
        Ok(Line {
            server: Arc::new(server),
            person,
            topics,
            gateway,
            store,
            shutdown,
            serving,
            simulator,
        })
    }

    /// So many messages, of at most so many people at a time; returns when all are answered. The people live on the simulator's threads.
    async fn talk(
        &self,
        mut people: People,
        count: usize,
        at_once: usize,
    ) -> anyhow::Result<People> {
        let talking = self.simulator.spawn(async move {
            people.talk(count, at_once).await?;
            anyhow::Ok(people)
        });
        talking.await?
    }

    async fn end(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        self.serving.await??;
        let stopped = self.gateway.stop(PATIENCE).await;
        self.store.close().await.context("closing the store")?;
        self.simulator.shutdown_background();
        if !stopped.left.idle() {
            bail!("the gateway did not finish its work: {:?}", stopped.left);
        }
        Ok(())
    }
}

fn settings(
    server: &Server,
    bot: &Bot,
    person: UserId,
    forum: i64,
    folder: &Path,
) -> anyhow::Result<TelegramSettings> {
    let open = Rate {
        messages: 1_000_000,
        per: Duration::from_millis(1),
    };
    Ok(TelegramSettings {
        account: AccountName {
            profile: PROFILE.into(),
            platform: "telegram".into(),
            account: None,
        },
        token: Token::new(bot.token.clone())?,
        api_url: server.url().parse().context("the simulator's address")?,
        mode: Mode::Polling,
        people: vec![person.0],
        chats: vec![ChatRule {
            chat: forum,
            topic: None,
            require_mention: None,
        }],
        require_mention: false,
        commands: Vec::new(),
        budgets: Budgets {
            per_chat: open,
            per_group: open,
            overall: open,
        },
        state: folder.join("telegram"),
        previews: true,
        pace: Pace::default(),
    })
}

/// One person in each topic, waiting for the answer to the last message.
struct People {
    server: Arc<Server>,
    person: UserId,
    talks: Vec<Talk>,
    /// Messages of the bot that were looked at.
    seen: usize,
    answered: Samples,
}

struct Talk {
    topic: Topic,
    written: usize,
    answered: usize,
    since: Instant,
}

impl People {
    fn new(line: &Line) -> People {
        let talk = |topic: &Topic| Talk {
            topic: *topic,
            written: 0,
            answered: 0,
            since: Instant::now(),
        };
        People {
            server: Arc::clone(&line.server),
            person: line.person,
            talks: line.topics.iter().map(talk).collect(),
            seen: 0,
            answered: Samples::default(),
        }
    }

    async fn talk(&mut self, count: usize, at_once: usize) -> anyhow::Result<()> {
        let (mut written, mut missing) = (0, count);
        while written < count.min(at_once) {
            self.write(written)?;
            written += 1;
        }
        while missing > 0 {
            for sent in self.next().await? {
                let number = self.receive(&sent)?;
                missing -= 1;
                if written < count {
                    // One at a time, they take turns; otherwise everybody goes on by themselves.
                    let next = if at_once == 1 {
                        written % TOPICS
                    } else {
                        number
                    };
                    self.write(next)?;
                    written += 1;
                }
            }
        }
        Ok(())
    }

    async fn next(&mut self) -> anyhow::Result<Vec<Sent>> {
        let seen = self.seen;
        let new = |server: &Server| Some(server.sent_since(seen)).filter(|sent| !sent.is_empty());
        let sent = self
            .server
            .wait_for(PATIENCE, new)
            .await
            .context("answers are lost")?;
        self.seen += sent.len();
        Ok(sent)
    }

    fn write(&mut self, number: usize) -> anyhow::Result<()> {
        let talk = self.talks.get_mut(number).context("nobody is there")?;
        talk.since = Instant::now();
        self.server
            .post(self.person, talk.topic, text(number, talk.written))?;
        talk.written += 1;
        Ok(())
    }

    /// The topic that has its answer.
    fn receive(&mut self, sent: &Sent) -> anyhow::Result<usize> {
        let here = |talk: &Talk| talk.topic.thread == sent.thread;
        let number = self
            .talks
            .iter()
            .position(here)
            .context("an answer came to no topic")?;
        let talk = self.talks.get_mut(number).context("nobody is there")?;
        let expected = text(number, talk.answered);
        if sent.text != expected || talk.answered == talk.written {
            bail!(
                "topic {number} got `{}` where `{expected}` comes next",
                sent.text
            );
        }
        talk.answered += 1;
        self.answered
            .add(sent.at.saturating_duration_since(talk.since));
        Ok(number)
    }
}

fn text(topic: usize, number: usize) -> String {
    format!("message {number} of topic {topic}, as long as a short sentence of a person")
}
