//! The process that is killed: a real gateway with a real store and real processes, simulated platforms of every kind and a scripted agent.
//!
//! **Invariant:** nothing of a gateway lives outside this process. When its parent is gone, so is it.
//! **Absent on purpose:** expectations, and everything that is remembered across a crash but the store and the run folders.

mod agent;
mod bad_inbox;
mod bad_platform;
mod bad_processes;
mod bad_store;
pub mod clock;
mod operated;

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use homing_domain::time::Timestamp;
use homing_gateway::{AutoReset, Gateway, Parts, Settings};
use homing_ports::inbox::Inbox;
use homing_ports::platform::Platform;
use homing_ports::processes::Processes;
use homing_ports::store::Store;
use homing_ports::{Clock, FixedDirectory, IdSource, SystemClock, crash};
use homing_processes::ShimProcesses;
use homing_simulators::SimulatedPlatform;
use homing_store_sqlite::SqliteStore;
use rustix::process::{Signal, getpid, kill_process};

use crate::accounts::{KINDS, account};
use crate::planted::Planted;
use crate::programs::JOURNAL;
use agent::ScriptedAgent;
use clock::{Hurried, TIMES};
use operated::Operated;

/// The store's file below the data folder.
pub const STORE_FILE: &str = "homing.db";
/// What a host says once its adapter is open.
pub const READY: &str = "ready";

const RETRY: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));
const KILL_GRACE: Duration = Duration::from_millis(200);
/// Short, so that conversations are let go and loaded again while the loop runs.
const IDLE_AFTER: Duration = Duration::from_millis(150);
/// How long a `wait` of the agent waits.
const WAIT: Duration = Duration::from_millis(400);
/// A conversation that is left alone for this long loses its session, unless something lives in it that is younger than [`KEEPALIVE`].
const RESET_AFTER: Duration = Duration::from_millis(400);
pub const KEEPALIVE: Duration = Duration::from_millis(1_000);

/// How a gateway is started. The parent writes it as arguments, the child reads it.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[arg(long)]
    pub data: PathBuf,
    #[arg(long)]
    pub simulator: String,
    /// The journal of runs.
    #[arg(long)]
    pub journal: PathBuf,
    /// Where a hurried clock began, in milliseconds; without it the machine's clock is used, and no session ends by itself.
    #[arg(long)]
    pub hurried_from: Option<i64>,
    /// The crash point to die at.
    #[arg(long)]
    pub point: Option<String>,
    /// And at which hit of it.
    #[arg(long, default_value_t = 1)]
    pub hit: u32,
    /// What never ends, so that a kill finds it under way.
    #[arg(long)]
    pub stall: Option<Stall>,
    /// What is wrong with this gateway on purpose.
    #[arg(long)]
    pub planted: Option<Planted>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Stall {
    /// Turns that answer people.
    Foreground,
    /// Turns that tell notifications.
    Background,
    Sends,
}

impl Options {
    pub fn arguments(&self) -> Vec<String> {
        use clap::ValueEnum as _;
        let named = |name: &str, value: String| vec![format!("--{name}"), value];
        let value = |value: Option<clap::builder::PossibleValue>| {
            value.map(|value| value.get_name().to_owned())
        };
        let stall = value(self.stall.and_then(|stall| stall.to_possible_value()));
        let planted = value(self.planted.and_then(|planted| planted.to_possible_value()));
        [
            named("data", self.data.display().to_string()),
            named("simulator", self.simulator.clone()),
            named("journal", self.journal.display().to_string()),
            named("hit", self.hit.to_string()),
            self.hurried_from
                .map_or_else(Vec::new, |from| named("hurried-from", from.to_string())),
            self.point
                .clone()
                .map_or_else(Vec::new, |point| named("point", point)),
            stall.map_or_else(Vec::new, |stall| named("stall", stall)),
            planted.map_or_else(Vec::new, |planted| named("planted", planted)),
        ]
        .concat()
    }
}

impl Options {
    fn clock(&self) -> Arc<dyn Clock> {
        match self.hurried_from {
            Some(from) => Arc::new(Hurried {
                from: Timestamp(from),
            }),
            None => Arc::new(SystemClock),
        }
    }

    /// A span of the machine's clock, by the gateway's.
    fn span(&self, span: Duration) -> Duration {
        let times = self.hurried_from.map_or(1, |_| TIMES.unsigned_abs());
        span * u32::try_from(times).unwrap_or(1)
    }
}

/// Runs until it is killed, or until its parent closes the standard input.
pub fn main(options: Options) -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into()),
        )
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    if let Some(point) = &options.point {
        crash::arm(point, options.hit)?;
    }
    std::thread::spawn(end_with_the_parent);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(serve(options))
}

/// Nothing is ever written to our standard input; it ends when nobody holds its other end any more.
fn end_with_the_parent() {
    let _until_the_end = io::stdin().read(&mut [0]);
    // As a crash, without the core file that an abort leaves.
    let _does_not_return = kill_process(getpid(), Signal::KILL);
}

async fn serve(options: Options) -> anyhow::Result<()> {
    let clock = options.clock();
    let ids = IdSource::new(Arc::clone(&clock));
    let store = SqliteStore::open(&options.data.join(STORE_FILE), ids.clone())
        .await
        .context("opening the store")?;
    let processes =
        ShimProcesses::open(&options.data, Arc::clone(&clock)).context("opening the processes")?;
    let platforms = platforms(&options)?;
    let gateway = Gateway::start(Parts {
        store: bad_store(store, &ids, options.planted),
        processes: bad_processes(processes, &options),
        directory: Arc::new(directory(&platforms, &options)),
        clock,
        ids,
        settings: settings(&options),
    })
    .await
    .context("starting the gateway")?;
    gateway.keep_up();
    for platform in platforms {
        platform.open(inbox(&gateway, &options));
    }
    // A parent that is not listening any more has killed us, or is about to.
    let _unheard = writeln!(io::stdout(), "{READY}");
    gateway.stopping().cancelled().await;
    anyhow::bail!("the gateway has stopped by itself")
}

fn platforms(options: &Options) -> anyhow::Result<Vec<Arc<SimulatedPlatform>>> {
    let client = homing_simulators::client()?;
    let platform = |repeats| {
        let settings = homing_simulators::Settings {
            repeats,
            ..homing_simulators::Settings::default()
        };
        let platform = SimulatedPlatform::new(
            &options.simulator,
            account(repeats),
            settings,
            client.clone(),
        );
        Ok(Arc::new(platform?))
    };
    KINDS.into_iter().map(platform).collect()
}

fn inbox(gateway: &Gateway, options: &Options) -> Arc<dyn Inbox> {
    let inner = match options.planted {
        Some(Planted::AckBeforeAccept) => Arc::new(bad_inbox::Hasty(gateway.inbox())),
        _ => gateway.inbox(),
    };
    Arc::new(Operated {
        gateway: gateway.clone(),
        inner,
    })
}

fn settings(options: &Options) -> Settings {
    let journal = options.journal.display().to_string();
    let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
    Settings {
        workspace: options.data.clone(),
        child_environment: vec![(JOURNAL.to_owned(), journal), ("PATH".to_owned(), path)],
        kill_grace: KILL_GRACE,
        idle_after: IDLE_AFTER,
        reset: match options.hurried_from {
            Some(_) => AutoReset::Idle {
                after: options.span(RESET_AFTER),
            },
            None => AutoReset::Off,
        },
        keepalive_max_age: options.span(KEEPALIVE),
        retry_first: options.span(RETRY.0),
        retry_longest: options.span(RETRY.1),
        ..Settings::default()
    }
}

fn directory(platforms: &[Arc<SimulatedPlatform>], options: &Options) -> FixedDirectory {
    let mut directory = FixedDirectory::default();
    let agent: Arc<ScriptedAgent> = Arc::new(ScriptedAgent::new(options.stall, options.span(WAIT)));
    for platform in platforms {
        let account = platform.account().clone();
        directory
            .agents
            .insert(account.profile.clone(), Arc::clone(&agent) as _);
        let honest = Arc::clone(platform) as Arc<dyn Platform>;
        let shown = match (options.planted, options.stall) {
            (_, Some(Stall::Sends)) => Arc::new(bad_platform::Stalled(honest)) as _,
            (Some(planted), _) if bad_platform::concerns(planted) => {
                Arc::new(bad_platform::Bad::new(honest, planted)) as _
            }
            _ => honest,
        };
        directory.platforms.insert(account, shown);
    }
    directory
}

fn bad_store(store: SqliteStore, ids: &IdSource, planted: Option<Planted>) -> Arc<dyn Store> {
    match planted.filter(|planted| bad_store::concerns(*planted)) {
        Some(planted) => Arc::new(bad_store::Bad::new(store, ids.clone(), planted)),
        None => Arc::new(store),
    }
}

fn bad_processes(processes: ShimProcesses, options: &Options) -> Arc<dyn Processes> {
    match options
        .planted
        .filter(|planted| bad_processes::concerns(*planted))
    {
        Some(planted) => Arc::new(bad_processes::Bad::new(
            processes,
            options.data.join("run"),
            planted,
        )),
        None => Arc::new(processes),
    }
}
