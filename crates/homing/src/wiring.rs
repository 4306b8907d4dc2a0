//! Which adapter goes where: the one place that knows them all.

mod agent;
pub mod telegram;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use homing_config::{AskInBackground, Busy, Config, OnReset, Reset};
use homing_console::{Console, ConsoleSettings, Login};
use homing_gateway::{AutoReset, ControlAccess, Gateway, Limits, Parts, Settings};
use homing_ports::agent::Agent;
use homing_ports::platform::Platform;
use homing_ports::processes::Processes;
use homing_ports::{Clock, FixedDirectory, IdSource, SystemClock};
use homing_processes::{ShimProcesses, TreeLimits};
use homing_store_sqlite::SqliteStore;
use homing_telegram::Telegram;

use crate::data;

/// The profile that is there without settings.
pub const PROFILE: &str = "main";

/// A gateway with everything it is made of.
pub struct Wired {
    pub gateway: Gateway,
    pub console: Console,
    /// Registered, and not connected yet.
    pub telegram: Option<Arc<Telegram>>,
    pub store: SqliteStore,
    pub processes: Arc<dyn Processes>,
}

/// Opens store and processes, recovers, and starts the gateway. Nothing listens yet.
pub async fn wire(config: &Config, folder: &Path, control: ControlAccess) -> anyhow::Result<Wired> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let ids = IdSource::new(clock.clone());
    let store_path = data::store_path(folder);
    let store = SqliteStore::open(&store_path, ids.clone())
        .await
        .with_context(|| format!("opening the store {}", store_path.display()))?;
    let limit =
        homing_processes::raise_open_files_limit().context("raising the limit of open files")?;
    let processes =
        ShimProcesses::open(folder, clock.clone()).context("preparing background processes")?;
    let tree_limits = tree_limits(config);
    let processes = processes
        .with_open_files_of_programs(limit.before)
        .with_limits(tree_limits);
    if let Some(why) = processes.trees().not_enforced(tree_limits) {
        tracing::warn!("{why}");
    }
    let processes: Arc<dyn Processes> = Arc::new(processes);
    let login_path = folder.join("console-sessions");
    let login =
        Login::open(&login_path).with_context(|| format!("reading {}", login_path.display()))?;
    let console = Console::new(
        ConsoleSettings {
            profile: PROFILE.into(),
            shell: config.agent.kind == homing_config::AgentKind::Shell,
        },
        clock.clone(),
        ids.clone(),
        login,
    );
    let agents: HashMap<String, Arc<dyn Agent>> =
        HashMap::from([(PROFILE.to_owned(), agent::agent(config)?)]);
    let mut platforms: HashMap<_, Arc<dyn Platform>> =
        HashMap::from([(console.account(), console.platform())]);
    let telegram = config
        .telegram
        .as_ref()
        .map(|settings| telegram::telegram(settings, folder, clock.clone()))
        .transpose()?;
    if let Some(telegram) = &telegram {
        platforms.insert(telegram.account().clone(), telegram.platform());
    }
    let gateway = Gateway::start(Parts {
        store: Arc::new(store.clone()),
        processes: processes.clone(),
        directory: Arc::new(FixedDirectory { agents, platforms }),
        clock,
        ids,
        settings: settings(config, folder, control)?,
    })
    .await
    .context("starting the gateway")?;
    Ok(Wired {
        gateway,
        console,
        telegram,
        store,
        processes,
    })
}

/// What one process may use together with everything it starts.
pub fn tree_limits(config: &Config) -> TreeLimits {
    TreeLimits {
        memory_max: config.processes.memory_max,
        pids_max: config.processes.pids_max,
    }
}

fn settings(config: &Config, folder: &Path, control: ControlAccess) -> anyhow::Result<Settings> {
    let data = folder
        .canonicalize()
        .with_context(|| format!("finding the data folder {}", folder.display()))?;
    Ok(Settings {
        keys: config.keys(),
        verdict: config.verdict(),
        home: config.notifications.home.clone(),
        on_reset: match config.processes.on_reset {
            OnReset::Keep => homing_gateway::OnReset::Keep,
            OnReset::Kill => homing_gateway::OnReset::Kill,
        },
        kill_grace: config.processes.kill_grace,
        workspace: existing(workspace(config)?)?,
        data: Some(data),
        child_environment: allowed(&config.processes.environment),
        control: Some(control),
        reset: auto_reset(config)?,
        keepalive_max_age: config.sessions.keepalive_max_age,
        keep_output_for: config.processes.keep_output_for,
        keep_records_for: config.gateway.keep_records_for,
        repeat_answers_up_to: config.gateway.repeat_answers_up_to,
        busy: match config.agent.busy {
            Busy::Queue => homing_gateway::Busy::Queue,
            Busy::Steer => homing_gateway::Busy::Steer,
            Busy::Interrupt => homing_gateway::Busy::Interrupt,
        },
        approve_within: config.agent.approve_within,
        approve_in_background: match config.agent.approve_in_background {
            AskInBackground::Refuse => homing_gateway::AskInBackground::Refuse,
            AskInBackground::Ask => homing_gateway::AskInBackground::Ask,
        },
        files: folder.join("files"),
        delegations_at_once: config.processes.delegations_at_once,
        limits: Limits {
            per_conversation: config.processes.per_conversation,
            in_all: config.processes.in_all,
            run_for: config.processes.run_for,
        },
        ..Settings::default()
    })
}

/// Where commands run, as the settings name it; without settings here.
pub fn workspace(config: &Config) -> anyhow::Result<PathBuf> {
    match &config.processes.workspace {
        Some(path) => Ok(path.clone()),
        None => std::env::current_dir().context("finding the current directory"),
    }
}

fn auto_reset(config: &Config) -> anyhow::Result<AutoReset> {
    let sessions = &config.sessions;
    Ok(match sessions.reset {
        Reset::Off => AutoReset::Off,
        Reset::Idle => AutoReset::Idle {
            after: sessions.idle_after,
        },
        Reset::Daily => AutoReset::Daily {
            hour: sessions.daily_at,
            zone: jiff::tz::TimeZone::get(&sessions.time_zone)
                .with_context(|| format!("`sessions.time_zone`: {}", sessions.time_zone))?,
        },
    })
}

fn existing(workspace: PathBuf) -> anyhow::Result<PathBuf> {
    workspace.canonicalize().with_context(|| {
        format!(
            "`processes.workspace`: there is no folder {}; make it, or name another",
            workspace.display()
        )
    })
}

/// The variables that children may see, as this gateway has them.
fn allowed(names: &[String]) -> Vec<(String, String)> {
    names
        .iter()
        .filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)))
        .collect()
}
