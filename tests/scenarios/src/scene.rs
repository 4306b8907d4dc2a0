//! One scenario as it is played: its own folder, its own platforms, its own gateway process, its own steered programs.
//!
//! **Invariant:** nothing that a scenario started is left when its [`Scene`] has been struck, however it went.

mod expecting;
mod machine;
mod steps;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use homing_domain::ids::{SessionId, WindowId, compose};
use homing_domain::key::SessionKey;
use homing_store_sqlite::{SqliteReader, SqliteStore};
use tempfile::TempDir;

use crate::check::Plan;
use crate::gateway_process::{GatewayProcess, Told};
use crate::host;
use crate::model::{Config, Scenario, Step};
use crate::platforms::{Mark, Platforms};
use crate::protocol::{
    Account, Answer, Quiet, Request, Setup, StartedProcess, WhichAgent, Written,
};
use crate::steering::Steering;
use crate::telegram::{Casting, Stage};

/// How long what people wrote may take to be stored.
const LIMIT: Duration = Duration::from_secs(10);

/// Why a scenario failed: "expected …, seen …".
pub type Failure = String;

/// Where it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Counted from 1; 0 is before the first.
    pub step: usize,
    pub why: Failure,
}

/// What a run may keep for people to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    Removed,
    /// Its path is printed.
    Kept,
}

/// How a scenario is played.
#[derive(Debug, Clone)]
pub struct Staging {
    pub folder: Folder,
    /// The conversations that are on Telegram.
    pub casting: Option<Casting>,
    pub agent: WhichAgent,
}

/// Plays a scenario to its end.
pub async fn play(scenario: &Scenario, staging: &Staging) -> Result<(), Failed> {
    let Some(casting) = &staging.casting else {
        return play_on(scenario, staging, None).await;
    };
    match Stage::set(casting).await {
        Ok((stage, names)) => {
            let told = names.tell(scenario);
            let outcome = play_on(&told, staging, Some(stage)).await;
            outcome.map_err(|failed| Failed {
                why: names.back(&failed.why),
                ..failed
            })
        }
        Err(error) => Err(Failed {
            step: 0,
            why: format!("expected a stage on Telegram, seen {error:#}"),
        }),
    }
}

async fn play_on(
    scenario: &Scenario,
    staging: &Staging,
    telegram: Option<Stage>,
) -> Result<(), Failed> {
    let mut scene = match Scene::set(scenario, staging.agent, telegram).await {
        Ok(scene) => scene,
        Err(error) => {
            return Err(Failed {
                step: 0,
                why: format!("a stage to play on, seen {error:#}"),
            });
        }
    };
    let outcome = scene.run(&scenario.steps).await;
    scene.strike(staging.folder).await;
    outcome
}

struct Scene {
    plan: Plan,
    agent: WhichAgent,
    config: Config,
    folder: TempDir,
    platforms: Platforms,
    steering: Steering,
    gateway: Option<GatewayProcess>,
    told: Told,
    sessions: BTreeMap<String, SessionId>,
    processes: BTreeMap<String, StartedProcess>,
    delegations: BTreeMap<String, homing_domain::ids::DelegationId>,
    written: BTreeMap<String, Written>,
    windows: BTreeMap<String, WindowId>,
    clock_ahead: Duration,
    store_fails: bool,
    seen: Seen,
    /// Where the last command was given, and how much had been sent before it.
    last_command: Option<(SessionKey, Mark)>,
}

/// How much the last `expect` has seen.
#[derive(Debug, Default)]
struct Seen {
    sent: Mark,
    turns: usize,
}

impl Scene {
    async fn set(
        scenario: &Scenario,
        agent: WhichAgent,
        telegram: Option<Stage>,
    ) -> anyhow::Result<Scene> {
        let folder = tempfile::Builder::new().prefix("homing-").tempdir()?;
        for name in ["data", "work"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        let config = match scenario.steps.first() {
            Some(Step::Config(config)) => config.clone(),
            _ => Config::default(),
        };
        let mut scene = Scene {
            plan: Plan::of(scenario),
            agent,
            config,
            platforms: Platforms::start(telegram).await?,
            steering: Steering::start(folder.path()).context("listening for steered programs")?,
            folder,
            gateway: None,
            told: Told::default(),
            sessions: BTreeMap::new(),
            processes: BTreeMap::new(),
            delegations: BTreeMap::new(),
            written: BTreeMap::new(),
            windows: BTreeMap::new(),
            clock_ahead: Duration::ZERO,
            store_fails: false,
            seen: Seen::default(),
            last_command: None,
        };
        scene.start_gateway().await?;
        Ok(scene)
    }

    async fn run(&mut self, steps: &[Step]) -> Result<(), Failed> {
        let at = |index: usize| {
            move |why: Failure| Failed {
                step: index + 1,
                why,
            }
        };
        self.settle(None).await.map_err(|why| Failed {
            step: 0,
            why: format!("expected {why}"),
        })?;
        for (index, step) in steps.iter().enumerate() {
            self.take(index + 1, step).await.map_err(at(index))?;
        }
        Ok(())
    }

    /// Ends everything.
    async fn strike(mut self, folder: Folder) {
        if let Some(gateway) = self.gateway.take()
            && let Err(error) = gateway.kill().await
        {
            tracing::warn!(%error, "the gateway's process may be left");
        }
        // Programs end when they lose their connection; then their supervisors do. Those that do not are ended by their pids.
        let Scene {
            steering,
            processes,
            folder: directory,
            ..
        } = self;
        drop(steering);
        machine::end_left_over(processes.into_values()).await;
        match folder {
            Folder::Kept => tracing::info!(folder = %directory.keep().display(), "kept"),
            Folder::Removed => drop(directory),
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    async fn start_gateway(&mut self) -> anyhow::Result<()> {
        let setup = Setup {
            data: self.data(),
            workspace: self.folder.path().join("work"),
            agent: self.agent,
            simulator: self.platforms.url(),
            accounts: self
                .plan
                .accounts
                .iter()
                .filter(|account| !self.platforms.is_of_telegram(account))
                .map(Account::from)
                .collect(),
            telegram: self.platforms.telegram_bots(),
            per_user_in_groups: self.plan.keys.per_user_in_groups,
            per_user_in_threads: self.plan.keys.per_user_in_threads,
            config: self.config.to_json(),
            clock_ahead: self.clock_ahead,
            store_fails: self.store_fails,
            labels: self
                .processes
                .iter()
                .map(|(label, process)| (process.process, label.clone()))
                .collect(),
        };
        let log = self.folder.path().join("gateway.log");
        self.gateway = Some(GatewayProcess::start(&setup, &log, self.told.clone()).await?);
        Ok(())
    }

    async fn ask(&mut self, request: Request) -> Result<Answer, Failure> {
        let gateway = self
            .gateway
            .as_mut()
            .ok_or("expected a running gateway, seen none")?;
        gateway.ask(request).await
    }

    /// Waits until nothing happens any more by itself. `held` is where a turn has to be held.
    async fn settle(&mut self, held: Option<SessionKey>) -> Result<(), Failure> {
        if self.gateway.is_none() {
            return Ok(());
        }
        self.stored().await?;
        let quiet = self.quiet(held);
        self.ask(Request::Settle(quiet)).await?;
        Ok(())
    }

    /// What people wrote is with the gateway, where it can be.
    async fn stored(&self) -> Result<(), Failure> {
        if self.store_fails {
            return Ok(());
        }
        self.platforms.stored(LIMIT).await.map_err(|left| {
            format!(
                "every message stored within {} s, seen {left} that were not",
                LIMIT.as_secs()
            )
        })
    }

    fn quiet(&self, held: Option<SessionKey>) -> Quiet {
        let ended = self
            .processes
            .iter()
            .filter(|(label, _)| !self.steering.runs(label));
        Quiet {
            down: self
                .plan
                .accounts
                .iter()
                .filter(|account| self.platforms.is_down(account))
                .map(Account::from)
                .collect(),
            ended: ended.map(|(_, process)| process.process).collect(),
            written: self.written.values().copied().collect(),
            held,
        }
    }

    /// The store as it is on disk, read beside the gateway: it can be asked while the gateway is down, or is shown a failing store.
    async fn store(&self) -> Result<SqliteReader, Failure> {
        let file = host::store_file(&self.data());
        SqliteStore::open_read_only(&file)
            .await
            .map_err(|error| format!("a store that can be read, seen {error}"))
    }

    fn window_id(&mut self, label: &str) -> WindowId {
        let fresh = self.windows.len() as u64;
        *self.windows.entry(label.to_owned()).or_insert_with(|| {
            let now = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default();
            WindowId::from_number(compose(
                now.as_millis().try_into().unwrap_or(i64::MAX),
                fresh,
            ))
        })
    }

    /// `${label}` becomes the id of a session or a process, `${approval:2}` that of the second question that was asked, `${process:2}` that of the
    /// second process that people read of.
    fn filled(&self, text: &str) -> String {
        let mut parts = text.split("${");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap_or((part, ""));
            match (self.sessions.get(name), self.processes.get(name)) {
                (Some(session), _) => filled.push_str(&session.to_string()),
                (None, Some(process)) => filled.push_str(&process.process.to_string()),
                (None, None) => match name.split_once(':') {
                    Some((kind, number)) => {
                        filled.push_str(&self.seen(kind, number).unwrap_or_default());
                    }
                    None => filled.push_str(name),
                },
            }
            filled.push_str(rest);
        }
        filled
    }

    /// Questions and processes are numbered from 1, in the order in which people saw them.
    fn seen(&self, kind: &str, number: &str) -> Option<String> {
        let begins = match kind {
            "approval" => "apr_",
            _ => "prc_",
        };
        let number: usize = number.parse().ok()?;
        let mut seen: Vec<String> = Vec::new();
        for sent in self
            .platforms
            .posted_since(Mark::default(), &self.told.handed())
        {
            let words = sent
                .text
                .split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            for word in words.filter(|word| word.starts_with(begins)) {
                if !seen.iter().any(|one| one == word) {
                    seen.push(word.to_owned());
                }
            }
        }
        seen.into_iter().nth(number.checked_sub(1)?)
    }

    /// The label of an id, or the id.
    fn name_of(&self, id: &str) -> String {
        let process = self
            .processes
            .iter()
            .find(|(_, process)| process.process.to_string() == id)
            .map(|(label, _)| label.clone());
        let delegation = || {
            let mut all = self.delegations.iter();
            all.find(|(_, delegation)| delegation.to_string() == id)
                .map(|(label, _)| label.clone())
        };
        process.or_else(delegation).unwrap_or_else(|| id.to_owned())
    }
}

/// The folder of a process below the data folder.
fn run_folder(data: &Path, process: &StartedProcess) -> PathBuf {
    data.join("run").join(process.process.to_string())
}
