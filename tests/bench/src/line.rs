//! The whole line in one process: people on a simulated platform, its adapter, a gateway over a store and shims.
//!
//! The platform runs on threads of its own, named so, that its share of the CPU can be told from the gateway's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use homing_domain::key::ChatType;
use homing_domain::origin::{AccountName, Origin};
use homing_gateway::{Gateway, Parts, Settings};
use homing_ports::agent::Agent;
use homing_ports::platform::Platform;
use homing_ports::processes::Processes;
use homing_ports::{Clock, FixedDirectory, IdSource, SystemClock};
use homing_processes::ShimProcesses;
use homing_simulators::{Post, Sent, Server, SimulatedPlatform};
use homing_store_sqlite::SqliteStore;
use tokio::runtime::Runtime;

use crate::journal::Journal;
use crate::machine;

/// The store's file in a folder, as the real gateway names it.
pub const STORE_FILE: &str = "homing.db";
pub const PROFILE: &str = "main";
pub const PLATFORM: &str = "simulated";
/// How long anything may take before a bench says that it is stuck.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Line {
    pub server: Arc<Server>,
    pub journal: Arc<Journal>,
    pub gateway: Gateway,
    pub processes: Arc<dyn Processes>,
    store: SqliteStore,
    platform: Arc<SimulatedPlatform>,
    simulator: Option<Runtime>,
}

impl Line {
    /// Starts it over what is in the folder.
    pub async fn start(folder: &Path, agent: Arc<dyn Agent>) -> anyhow::Result<Line> {
        let simulator = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(machine::SIMULATOR)
            .enable_all()
            .build()
            .context("starting the simulator's runtime")?;
        let server = simulator
            .spawn(Server::start())
            .await?
            .context("starting the simulated platform")?;
        let account = account();
        let platform = SimulatedPlatform::new(
            &server.url(),
            account.clone(),
            Default::default(),
            homing_simulators::client()?,
        )?;
        let platform = Arc::new(platform);

        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ids = IdSource::new(clock.clone());
        let store = SqliteStore::open(&folder.join(STORE_FILE), ids.clone())
            .await
            .context("opening the store")?;
        let journal = Journal::new(store.clone());
        homing_processes::raise_open_files_limit().context("raising the limit of open files")?;
        let processes: Arc<dyn Processes> =
            Arc::new(ShimProcesses::open(folder, clock.clone()).context("preparing processes")?);
        let directory = FixedDirectory {
            agents: [(PROFILE.to_owned(), agent)].into(),
            platforms: [(account, platform.clone() as Arc<dyn Platform>)].into(),
        };
        let gateway = Gateway::start(Parts {
            store: journal.clone(),
            processes: processes.clone(),
            directory: Arc::new(directory),
            clock,
            ids,
            settings: Settings {
                workspace: folder.to_owned(),
                ..Settings::default()
            },
        })
        .await
        .context("starting the gateway")?;
        platform.open(gateway.inbox());
        Ok(Line {
            server: Arc::new(server),
            journal,
            gateway,
            processes,
            store,
            platform,
            simulator: Some(simulator),
        })
    }

    /// Where what belongs to the platform runs.
    pub fn simulator(&self) -> anyhow::Result<&Runtime> {
        self.simulator.as_ref().context("the line has ended")
    }

    /// Returns once nothing is under way, so that the start is not measured as work.
    pub async fn quiet(&self) -> anyhow::Result<()> {
        let quiet = async {
            while !(self.gateway.activity().idle() && self.platform.connected()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, quiet)
            .await
            .context("the gateway does not come to rest")
    }

    pub async fn end(mut self) -> anyhow::Result<()> {
        let stopped = self.gateway.stop(PATIENCE).await;
        self.platform.close();
        self.store.close().await.context("closing the store")?;
        if let Some(simulator) = self.simulator.take() {
            simulator.shutdown_background();
        }
        if !stopped.left.idle() {
            bail!("the gateway did not finish its work: {:?}", stopped.left);
        }
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.platform.close();
        if let Some(simulator) = self.simulator.take() {
            simulator.shutdown_background();
        }
    }
}

pub fn account() -> AccountName {
    AccountName {
        profile: PROFILE.into(),
        platform: PLATFORM.into(),
        account: None,
    }
}

/// A place where one person and the agent talk: a topic of one group, as teams have them.
pub fn topic(number: usize) -> Origin {
    Origin {
        profile: PROFILE.into(),
        platform: PLATFORM.into(),
        account: None,
        chat_type: ChatType::Group,
        chat: "-100200300".into(),
        thread: Some(format!("{}", 1_000 + number)),
        user: Some("4711".into()),
        anchor: None,
    }
}

/// The topic a message went to.
pub fn topic_of(sent: &Sent) -> Option<usize> {
    sent.body
        .thread
        .as_ref()?
        .parse::<usize>()
        .ok()?
        .checked_sub(1_000)
}

/// A person writes in a topic.
pub fn write(server: &Server, number: usize, text: impl Into<String>) {
    server.post(&account(), Post::new(&topic(number), text));
}

/// The messages as they are taken, each once.
pub struct Reader {
    server: Arc<Server>,
    changes: tokio::sync::watch::Receiver<u64>,
    seen: usize,
}

impl Reader {
    /// Begins behind what was taken before.
    pub fn new(server: &Arc<Server>) -> Reader {
        Reader {
            changes: server.changes(),
            seen: server.sent_count(),
            server: server.clone(),
        }
    }

    /// What was taken since the last call, at least one message; nothing if none comes for so long.
    pub async fn next(&mut self, patience: Duration) -> anyhow::Result<Vec<Sent>> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let sent = self.server.sent_since(self.seen);
            if !sent.is_empty() {
                self.seen += sent.len();
                return Ok(sent);
            }
            match tokio::time::timeout_at(deadline, self.changes.changed()).await {
                Ok(changed) => changed.context("the simulated platform has gone")?,
                Err(_) => return Ok(Vec::new()),
            }
        }
    }
}
