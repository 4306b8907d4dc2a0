//! What the runner and the process that hosts the gateway say to each other: JSON lines over its standard input and output.
//!
//! **Invariant:** an event is in the pipe before what it reports goes on, so a SIGKILL right after loses none.

use std::path::PathBuf;
use std::time::Duration;

use homing_domain::ids::{DelegationId, ProcessId, SessionId, TurnId, WindowId};
use homing_domain::key::{KeySettings, SessionKey};
use homing_domain::origin::Origin;
use homing_ports::platform::OutgoingKind;
use serde::{Deserialize, Serialize};

use crate::model::AutoResetReason;

/// The first line to a host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// The gateway's data folder.
    pub data: PathBuf,
    /// Where commands run.
    pub workspace: PathBuf,
    pub agent: WhichAgent,
    /// The simulated platforms.
    pub simulator: String,
    pub accounts: Vec<Account>,
    /// Those that the real adapter serves.
    pub telegram: Vec<TelegramBot>,
    pub per_user_in_groups: bool,
    pub per_user_in_threads: bool,
    /// The `config` step's object.
    pub config: serde_json::Value,
    /// How far the clock is ahead of the machine's.
    pub clock_ahead: Duration,
    pub store_fails: bool,
    /// What the runner calls processes.
    pub labels: Vec<(ProcessId, String)>,
}

impl Setup {
    pub fn keys(&self) -> KeySettings {
        KeySettings {
            per_user_in_groups: self.per_user_in_groups,
            per_user_in_threads: self.per_user_in_threads,
        }
    }
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
pub enum WhichAgent {
    /// One that does what the scenario says, without a model.
    #[default]
    Scripted,
    /// The real agent of OpenAI-compatible servers; its server does what the scenario says.
    #[value(name = "openai")]
    OpenAi,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub profile: String,
    pub platform: String,
    pub account: Option<String>,
}

/// A bot of the simulated Telegram.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TelegramBot {
    pub account: Account,
    pub token: String,
    pub api_url: String,
    /// Who may speak.
    pub people: Vec<i64>,
    /// Where, and whether a message must be addressed to the bot there.
    pub groups: Vec<(i64, bool)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ask {
    pub number: u64,
    pub request: Request,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    /// The foreground turn that answers this text stays running.
    Hold {
        at: SessionKey,
        text: String,
    },
    Release {
        at: SessionKey,
    },
    Tool {
        at: SessionKey,
        /// Called by this sub-agent.
        under: Option<DelegationId>,
        call: Call,
    },
    /// A sub-agent ends with a summary or an error.
    Finish {
        delegation: DelegationId,
        result: Result<String, String>,
    },
    Compress {
        at: SessionKey,
        times: u32,
    },
    AutoReset {
        at: SessionKey,
        why: AutoResetReason,
    },
    OpenWindow {
        window: WindowId,
        at: SessionKey,
    },
    TouchWindow {
        window: WindowId,
    },
    CloseWindow {
        window: WindowId,
    },
    StoreFails(bool),
    Advance {
        by: Duration,
        until: Quiet,
    },
    Settle(Quiet),
    /// Which of these run.
    Alive(Vec<ProcessId>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Call {
    Start {
        label: String,
        command: String,
        notify: bool,
        watch: Vec<String>,
        window: Option<WindowId>,
    },
    Delegate {
        task: String,
        window: Option<WindowId>,
    },
    Wait(ProcessId),
    Log(ProcessId),
    Poll(ProcessId),
    List,
    Kill(ProcessId),
}

/// What must be so, beside an idle gateway, before the next step.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Quiet {
    /// Accounts that cannot be reached: as many adapters must know it.
    pub down: Vec<Account>,
    /// Processes that have ended: the store must know it.
    pub ended: Vec<ProcessId>,
    /// What was written: it must have been kept, and read where it is watched.
    pub written: Vec<Written>,
    /// A turn must be held here.
    pub held: Option<SessionKey>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Written {
    pub process: ProcessId,
    pub bytes: u64,
    pub watched: bool,
}

/// A line from the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Line {
    /// The gateway has started.
    Ready,
    /// It could not be started.
    Refused(String),
    Answer {
        number: u64,
        answer: Result<Answer, String>,
    },
    Turn(BackgroundTurn),
    Handed(Handed),
}

/// The real adapter of a platform is about to be given this message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Handed {
    pub origin: Origin,
    #[serde(with = "kind")]
    pub kind: OutgoingKind,
    pub text: String,
}

mod kind {
    use homing_ports::platform::OutgoingKind;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(kind: &OutgoingKind, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(kind.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<OutgoingKind, D::Error> {
        let name = String::deserialize(from)?;
        OutgoingKind::parse(&name).ok_or_else(|| de::Error::custom("not a kind of message"))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Answer {
    Done,
    Started(StartedProcess),
    Delegated(DelegationId),
    /// What a tool said, refusals included.
    Said(String),
    Clock {
        ahead: Duration,
    },
    Alive(Vec<ProcessId>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartedProcess {
    pub process: ProcessId,
    pub supervisor: Pid,
    pub program: Pid,
}

/// A pid is recycled, a pid with its start time is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pid {
    pub pid: i32,
    pub start_time: u64,
}

/// The agent was asked for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BackgroundTurn {
    pub turn: TurnId,
    pub at: SessionKey,
    pub session: SessionId,
    /// Process and delegation ids.
    pub about: Vec<String>,
}
