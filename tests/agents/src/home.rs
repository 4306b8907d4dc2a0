//! An agent at home: a real gateway with a real store, real tools and real processes, and a simulated platform on which people write to it.
//!
//! **Invariant:** between what a person writes and what the platform takes, everything is what is shipped; only what a model says is scripted. What is
//! asked here afterwards is read from the store, from the run folders and from what the platform took.
//! **Absent on purpose:** waiting for a time. Every wait is for something that was to happen, and is bounded.

mod chat;
mod clock;
mod fifo;
mod watched;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use homing_domain::ids::ProcessId;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_gateway::{Gateway, Parts, Settings};
use homing_ports::agent::Agent;
use homing_ports::processes::Processes as _;
use homing_ports::{Clock, FixedDirectory, IdSource, SystemClock};
use homing_processes::ShimProcesses;
use homing_shim::folder::Folder;
use homing_simulators::{Server, SimulatedPlatform};
use homing_store_sqlite::SqliteStore;

pub use chat::Chat;
pub use clock::StillClock;
pub use fifo::Fifo;
pub use watched::{Outcome, Watched};

/// Longer than anything here takes: reaching it is a failure.
const LONG: Duration = Duration::from_secs(20);
/// Between two looks, where no signal comes.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// First and longest wait before something is tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// Bytes of an output that are read at once.
const READ: usize = 256 * 1024;

pub struct Home {
    pub gateway: Gateway,
    pub store: SqliteStore,
    /// The agent, with what became of its turns.
    pub agent: Arc<Watched>,
    processes: Arc<ShimProcesses>,
    server: Server,
    platform: Arc<SimulatedPlatform>,
    folder: tempfile::TempDir,
    patience: Duration,
}

impl fmt::Debug for Home {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Home");
        shown.field("gateway", &self.gateway);
        shown.field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Home {
    pub async fn of(agent: Arc<dyn Agent>) -> anyhow::Result<Home> {
        Home::with(agent, Arc::new(SystemClock)).await
    }

    pub async fn with(agent: Arc<dyn Agent>, clock: Arc<dyn Clock>) -> anyhow::Result<Home> {
        let folder = tempfile::tempdir().context("making a folder")?;
        let (data, workspace) = (folder.path().join("data"), folder.path().join("workspace"));
        for path in [&data, &workspace] {
            std::fs::create_dir(path).context("making a folder")?;
        }
        let ids = IdSource::new(Arc::clone(&clock));
        let store = SqliteStore::open(&data.join("homing.db"), ids.clone())
            .await
            .context("opening the store")?;
        let processes =
            ShimProcesses::open(&data, Arc::clone(&clock)).context("opening the processes")?;
        let processes = Arc::new(processes);
        let server = Server::start().await.context("starting the platform")?;
        let platform = Arc::new(SimulatedPlatform::new(
            &server.url(),
            account(),
            homing_simulators::Settings::default(),
            homing_simulators::client()?,
        )?);
        let agent = Arc::new(Watched::new(agent));
        let mut directory = FixedDirectory::default();
        let (profile, name) = (account().profile, account());
        directory.agents.insert(profile, Arc::clone(&agent) as _);
        directory.platforms.insert(name, Arc::clone(&platform) as _);
        let gateway = Gateway::start(Parts {
            store: Arc::new(store.clone()),
            processes: Arc::clone(&processes) as _,
            directory: Arc::new(directory),
            clock,
            ids,
            settings: Settings {
                child_environment: std::env::var("PATH")
                    .map(|path| ("PATH".to_owned(), path))
                    .into_iter()
                    .collect(),
                files: data.join("files"),
                workspace,
                retry_first: RETRY.0,
                retry_longest: RETRY.1,
                ..Settings::default()
            },
        })
        .await
        .context("starting the gateway")?;
        platform.open(gateway.inbox());
        Ok(Home {
            gateway,
            store,
            agent,
            processes,
            server,
            platform,
            folder,
            patience: LONG,
        })
    }

    /// For a model that takes its time.
    #[must_use]
    pub fn patient(mut self, patience: Duration) -> Home {
        self.patience = patience;
        self
    }

    /// A person's private chat.
    pub fn chat(&self, person: &str) -> anyhow::Result<Chat<'_>> {
        let key: SessionKey = format!("agent:main:chat:dm:{person}").parse()?;
        Ok(Chat::new(self, key, person))
    }

    /// Where commands run.
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// A FIFO in the workspace.
    pub fn fifo(&self, name: &str) -> anyhow::Result<Fifo> {
        Fifo::make(&self.workspace().join(name))
    }

    /// All that is kept of what a process wrote, from its first byte.
    pub async fn output(&self, process: ProcessId) -> anyhow::Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let from = all.len() as u64;
            let chunk = self.processes.output(process, from, READ).await?;
            if chunk.from != from || chunk.bytes.is_empty() {
                return Ok(all);
            }
            all.extend(chunk.bytes);
        }
    }

    /// Returns when nothing happens any more by itself: everything written is taken, no turn runs, nothing is being sent or recorded.
    pub async fn quiet(&self) -> anyhow::Result<()> {
        let is_quiet = || self.server.unconfirmed() == 0 && self.gateway.activity().idle();
        let mut times = 0;
        self.until("everything is done", async || {
            times = if is_quiet() { times + 1 } else { 0 };
            // Twice: between two numbers, work can pass from one to the other unseen.
            Ok((times > 1).then_some(()))
        })
        .await
    }

    /// Looks until there is what is looked for.
    pub async fn until<T>(
        &self,
        what: &str,
        mut look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        let end = tokio::time::Instant::now() + self.patience;
        loop {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            if tokio::time::Instant::now() > end {
                let (activity, sent) = (self.gateway.activity(), self.server.sent());
                let sent: Vec<String> = sent.into_iter().map(|sent| sent.body.text).collect();
                let agent = &self.agent;
                bail!("waited in vain until {what}; {activity:?}, {agent:?}, posted: {sent:?}");
            }
            let changed = self.gateway.activity_changed();
            let _look_again = tokio::time::timeout(LOOK_AGAIN, changed).await;
        }
    }

    fn server(&self) -> &Server {
        &self.server
    }
}

impl Drop for Home {
    /// What still runs was started here: its supervisors see its end.
    fn drop(&mut self) {
        self.platform.close();
        for program in live_programs(&self.folder.path().join("data/run")) {
            let _ended_meanwhile = std::process::Command::new("kill")
                .args(["-KILL", &program])
                .stderr(Stdio::null())
                .status();
        }
    }
}

fn live_programs(run: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(run).into_iter().flatten().flatten();
    let folders = folders.map(|entry| Folder::new(entry.path()));
    let live = folders.filter(|folder| matches!(folder.exit(), Ok(None)));
    live.filter_map(|folder| folder.started().ok().flatten())
        .map(|started| started.program.pid.to_string())
        .collect()
}

fn account() -> AccountName {
    AccountName {
        profile: "main".into(),
        platform: "chat".into(),
        account: None,
    }
}

/// The person is named, as platforms do.
fn origin(key: &SessionKey, person: &str) -> Origin {
    Origin {
        user: Some(person.to_owned()),
        ..Origin::from_key(key)
    }
}
