//! The process that a scenario kills and starts: a real gateway with a real store and real processes, simulated platforms, and an agent
//! that plays the script: by itself, or the real one whose server does.
//!
//! **Invariant:** nothing of a gateway lives outside this process, so SIGKILL to it is a crash of the gateway. When the runner is gone, so is it.
//! **Absent on purpose:** expectations. It does what it is asked and says what happened.

mod acting;
mod agent;
mod clock;
mod direct;
mod openai;
mod processes;
mod quiet;
mod requests;
mod script;
mod store;
mod telegram;
mod words;

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use homing_domain::origin::AccountName;
use homing_gateway::{Gateway, Parts, Settings};
use homing_ports::{Clock, FixedDirectory, IdSource};
use homing_processes::ShimProcesses;
use homing_simulators::SimulatedPlatform;
use homing_store_sqlite::SqliteStore;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::signal::unix::{SignalKind, signal};

use crate::model::{Config, Configured};
use crate::protocol::{Account, Ask, Line, Setup, WhichAgent};
use acting::Acting;
use agent::ScriptedAgent;
use clock::ShiftedClock;
use openai::ServedAgent;
use processes::Recorded;
use script::Script;
use store::Fallible;
use telegram::ServedBot;

/// The store's file below the data folder.
pub const STORE_FILE: &str = "homing.db";
/// First and longest wait before something is tried again: a scenario does not want to wait for production's.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How long a planned stop waits for what is under way. A held turn is under way for as long as this lasts.
const STOP_LIMIT: Duration = Duration::from_millis(700);

/// What answers requests.
struct Host {
    gateway: Gateway,
    store: Arc<Fallible>,
    processes: Arc<Recorded>,
    clock: Arc<ShiftedClock>,
    agent: Arc<dyn Acting>,
    platforms: Vec<Arc<SimulatedPlatform>>,
    bots: Vec<ServedBot>,
}

/// Runs until SIGTERM, or until the runner closes the standard input.
pub fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()),
        )
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(serve());
    // Reading the standard input holds a thread that nothing can end.
    runtime.shutdown_background();
    outcome
}

async fn serve() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let first = lines
        .next_line()
        .await?
        .context("no setup on the standard input")?;
    let host = match start(serde_json::from_str(&first)?).await {
        Ok(host) => Arc::new(host),
        Err(error) => return say(&Line::Refused(format!("{error:#}"))),
    };
    say(&Line::Ready)?;
    loop {
        tokio::select! {
            _ = terminate.recv() => return host.stop().await,
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(()) };
                let ask: Ask = serde_json::from_str(&line)?;
                let host = Arc::clone(&host);
                tokio::spawn(async move {
                    let answer = host.answer(ask.request).await;
                    say(&Line::Answer { number: ask.number, answer })
                });
            }
        }
    }
}

/// Written and flushed before it returns.
fn say(line: &Line) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    Ok(out.flush()?)
}

async fn start(setup: Setup) -> anyhow::Result<Host> {
    let config: Config = serde_json::from_value(setup.config.clone())?;
    let Configured {
        mut gateway,
        slow_background_turns,
        slow_turns,
        background_call,
        refused_kills,
        ..
    } = config
        .apply(base_settings(&setup))
        .map_err(anyhow::Error::msg)?;
    gateway.keys = setup.keys();
    let clock = Arc::new(ShiftedClock::new(setup.clock_ahead));
    let ids = IdSource::new(Arc::clone(&clock) as Arc<dyn Clock>);
    let store = SqliteStore::open(&setup.data.join(STORE_FILE), ids.clone())
        .await
        .context("opening the store")?;
    let store = Arc::new(Fallible::new(store, setup.store_fails));
    let processes = ShimProcesses::open(&setup.data, Arc::clone(&clock) as Arc<dyn Clock>)
        .context("opening the processes")?;
    let processes = Arc::new(Recorded::new(processes, refused_kills));
    let script = Script::new(
        slow_background_turns,
        slow_turns,
        background_call,
        setup.labels,
    );
    let agent: Arc<dyn Acting> = match setup.agent {
        WhichAgent::Scripted => Arc::new(ScriptedAgent::new(script)),
        WhichAgent::OpenAi => Arc::new(ServedAgent::new(script).await?),
    };
    let platforms = platforms(&setup.simulator, setup.accounts)?;
    let bots = setup
        .telegram
        .into_iter()
        .map(|bot| ServedBot::new(bot, &setup.data, Arc::clone(&clock) as Arc<dyn Clock>))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut directory = directory(&agent, &platforms);
    for bot in &bots {
        bot.register(&mut directory, &agent);
    }
    let parts = Parts {
        store: Arc::clone(&store) as _,
        processes: Arc::clone(&processes) as _,
        directory: Arc::new(directory),
        clock: Arc::clone(&clock) as _,
        ids,
        settings: gateway,
    };
    let gateway = Gateway::start(parts)
        .await
        .context("starting the gateway")?;
    for platform in &platforms {
        platform.open(gateway.inbox());
    }
    for bot in &bots {
        bot.open(gateway.inbox());
    }
    Ok(Host {
        gateway,
        store,
        processes,
        clock,
        agent,
        platforms,
        bots,
    })
}

fn base_settings(setup: &Setup) -> Settings {
    Settings {
        workspace: setup.workspace.clone(),
        files: setup.data.join("files"),
        retry_first: RETRY.0,
        retry_longest: RETRY.1,
        ..Settings::default()
    }
}

fn platforms(
    simulator: &str,
    accounts: Vec<Account>,
) -> anyhow::Result<Vec<Arc<SimulatedPlatform>>> {
    let client = homing_simulators::client()?;
    let platform = |account: Account| {
        let made = SimulatedPlatform::new(
            simulator,
            account.into(),
            homing_simulators::Settings::default(),
            client.clone(),
        );
        Ok(Arc::new(made?))
    };
    accounts.into_iter().map(platform).collect()
}

/// Profiles and accounts exist as soon as a key names them.
fn directory(agent: &Arc<dyn Acting>, platforms: &[Arc<SimulatedPlatform>]) -> FixedDirectory {
    let mut directory = FixedDirectory::default();
    for platform in platforms {
        let account = platform.account();
        directory
            .agents
            .insert(account.profile.clone(), Arc::clone(agent) as _);
        directory
            .platforms
            .insert(account.clone(), Arc::clone(platform) as _);
    }
    directory
}

impl From<Account> for AccountName {
    fn from(account: Account) -> AccountName {
        AccountName {
            profile: account.profile,
            platform: account.platform,
            account: account.account,
        }
    }
}

impl From<&AccountName> for Account {
    fn from(account: &AccountName) -> Account {
        let AccountName {
            profile,
            platform,
            account,
        } = account.clone();
        Account {
            profile,
            platform,
            account,
        }
    }
}

impl Host {
    async fn stop(&self) -> anyhow::Result<()> {
        self.platforms.iter().for_each(|platform| platform.close());
        self.bots.iter().for_each(ServedBot::close);
        let stopped = self.gateway.stop(STOP_LIMIT).await;
        tracing::info!(left = ?stopped.left, "stopped");
        self.store.close().await.context("closing the store")
    }
}

/// The store below a data folder.
pub fn store_file(data: &Path) -> std::path::PathBuf {
    data.join(STORE_FILE)
}
