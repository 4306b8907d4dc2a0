//! What a scenario file may say.
//!
//! **Invariant:** a value that parses can be run: an unknown field, an unknown word or a half-given action has no representation here.
//! **Absent on purpose:** what depends on other steps, such as a process that was never spawned. That is [`crate::check`].

mod config;
mod expect;
mod span;

use std::path::PathBuf;
use std::time::Duration;

use homing_domain::key::SessionKey;
use homing_domain::session::Boundary;
use serde::{Deserialize, Serialize};

pub use config::{Config, Configured};
pub use expect::{
    Expect, ExpectedAnswers, ExpectedPost, ExpectedReply, ExpectedSession, ExpectedState,
    ExpectedTurn, PostKind, Wanted,
};
pub use span::parse as parse_span;

#[derive(Debug, Clone)]
pub struct Scenario {
    /// The file it stands in, as it was named.
    pub file: PathBuf,
    pub name: String,
    pub steps: Vec<Step>,
}

/// One action.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Message(Message),
    Release(At),
    Command(Command),
    Label(Label),
    Spawn(Spawn),
    Output(Output),
    Exit(Exit),
    Delegate(Delegate),
    Finish(Finish),
    Tool(Tool),
    Compress(Compress),
    AutoReset(AutoReset),
    Window(Window),
    Platform(Platform),
    Store(Store),
    Gateway(Gateway),
    Clock(Clock),
    Config(Config),
    Expect(Expect),
}

/// A person writes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub at: SessionKey,
    pub text: Option<String>,
    pub user: Option<String>,
    #[serde(default)]
    pub hold: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct At {
    pub at: SessionKey,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    pub at: SessionKey,
    pub text: String,
    pub user: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    pub at: SessionKey,
    pub session: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    pub at: SessionKey,
    pub process: String,
    #[serde(default)]
    pub notify: bool,
    #[serde(default)]
    pub watch: Vec<String>,
    pub window: Option<String>,
    pub under: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    pub process: String,
    pub text: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawExit")]
pub struct Exit {
    pub process: String,
    pub how: HowToEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowToEnd {
    Code(u8),
    Signal(i32),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    pub at: SessionKey,
    pub delegation: String,
    pub window: Option<String>,
    pub under: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawFinish")]
pub struct Finish {
    pub delegation: String,
    pub result: Result<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    pub at: SessionKey,
    pub op: ToolOp,
    /// May be left out for `list` alone.
    pub process: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOp {
    Wait,
    Log,
    Poll,
    List,
    Kill,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compress {
    pub at: SessionKey,
    #[serde(default = "once")]
    pub times: u32,
}

const fn once() -> u32 {
    1
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoReset {
    pub at: SessionKey,
    pub why: AutoResetReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoResetReason {
    Idle,
    Daily,
}

impl AutoResetReason {
    pub const fn boundary(self) -> Boundary {
        match self {
            AutoResetReason::Idle => Boundary::Idle,
            AutoResetReason::Daily => Boundary::Daily,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawWindow")]
pub enum Window {
    Open { window: String, at: Box<SessionKey> },
    Close { window: String },
    Touch { window: String },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// `slack`, or one account of it: `slack@T1`.
    pub name: String,
    pub is: PlatformIs,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlatformIs {
    Down,
    Up,
    Gone(Box<SessionKey>),
    Slow(#[serde(deserialize_with = "span::deserialize")] Duration),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    pub is: StoreIs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreIs {
    Failing,
    Ok,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    pub is: GatewayIs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayIs {
    /// SIGKILL.
    Killed,
    /// SIGTERM.
    Stopped,
    Started,
    /// Killed, and every supervisor and program with it.
    Rebooted,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    #[serde(deserialize_with = "span::deserialize")]
    pub advance: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExit {
    process: String,
    code: Option<u8>,
    signal: Option<Signal>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Signal {
    Number(i32),
    Name(String),
}

impl TryFrom<RawExit> for Exit {
    type Error = String;
    fn try_from(raw: RawExit) -> Result<Exit, String> {
        let how = match (raw.code, raw.signal) {
            (Some(code), None) => HowToEnd::Code(code),
            (None, Some(signal)) => HowToEnd::Signal(signal.number()?),
            (None, None) | (Some(_), Some(_)) => {
                return Err("an exit has either a `code` or a `signal`".into());
            }
        };
        Ok(Exit {
            process: raw.process,
            how,
        })
    }
}

/// Signals that a program may end itself by: those whose default is to end it.
const ENDING_SIGNALS: [i32; 21] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 31,
];

impl Signal {
    fn number(self) -> Result<i32, String> {
        let number = match &self {
            Signal::Number(number) => Some(*number),
            Signal::Name(name) => {
                let full = if name.starts_with("SIG") {
                    name.clone()
                } else {
                    format!("SIG{name}")
                };
                (1..=31).find(|number| {
                    homing_domain::process::signal_name(*number) == Some(full.as_str())
                })
            }
        };
        let shown = match self {
            Signal::Number(number) => number.to_string(),
            Signal::Name(name) => name,
        };
        number
            .filter(|number| ENDING_SIGNALS.contains(number))
            .ok_or_else(|| format!("signal `{shown}` does not end a program"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFinish {
    delegation: String,
    summary: Option<String>,
    error: Option<String>,
}

impl TryFrom<RawFinish> for Finish {
    type Error = String;
    fn try_from(raw: RawFinish) -> Result<Finish, String> {
        let result = match (raw.summary, raw.error) {
            (Some(summary), None) => Ok(summary),
            (None, Some(error)) => Err(error),
            (None, None) | (Some(_), Some(_)) => {
                return Err("a finish has either a `summary` or an `error`".into());
            }
        };
        Ok(Finish {
            delegation: raw.delegation,
            result,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWindow {
    open: Option<String>,
    close: Option<String>,
    touch: Option<String>,
    at: Option<Box<SessionKey>>,
}

impl TryFrom<RawWindow> for Window {
    type Error = String;
    fn try_from(raw: RawWindow) -> Result<Window, String> {
        match (raw.open, raw.close, raw.touch) {
            (Some(window), None, None) => {
                let at = raw.at.ok_or("a window is opened `at` a conversation")?;
                Ok(Window::Open { window, at })
            }
            (None, Some(window), None) => Ok(Window::Close { window }),
            (None, None, Some(window)) => Ok(Window::Touch { window }),
            _ => Err("a window step has one of `open`, `close`, `touch`".into()),
        }
    }
}
