//! What the gateway obeys. Values are checked where they are parsed (`homing-config`); nothing here can be impossible.

use std::path::PathBuf;
use std::time::Duration;

use homing_domain::key::{KeySettings, SessionKey};
use homing_domain::verdict::Policy;
use homing_tools::ControlAccess;
use homing_watcher::Limits;

#[derive(Debug, Clone)]
pub struct Settings {
    pub keys: KeySettings,
    /// OWN-32, 36, 39, 41.
    pub verdict: Policy,
    /// The operator's home conversation, for what nobody owns (OWN-39).
    pub home: Option<SessionKey>,
    /// `processes.on_reset` (OWN-100).
    pub on_reset: OnReset,
    /// Between SIGTERM and SIGKILL.
    pub kill_grace: Duration,
    /// Where commands run.
    pub workspace: PathBuf,
    /// The gateway's own folder, as it is called without links: closed to tools for files.
    pub data: Option<PathBuf>,
    /// Variables given to every child, beside the session context (OWN-22).
    pub child_environment: Vec<(String, String)>,
    /// How children reach this gateway (OWN-22).
    pub control: Option<ControlAccess>,
    /// A conversation's task is let go after this long without work.
    pub idle_after: Duration,
    /// How many processes may live, and how long.
    pub limits: Limits,
    /// Sub-agents that may run for one session at a time.
    pub delegations_at_once: usize,
    /// What a message does that comes while a person's turn runs.
    pub busy: Busy,
    /// A question to a person is refused after this long without an answer.
    pub approve_within: Duration,
    /// What background turns and sub-agents do that want to run something dangerous (OWN-67).
    pub approve_in_background: AskInBackground,
    /// Automatic resets (OWN-15).
    pub reset: AutoReset,
    pub keepalive_max_age: Duration,
    /// How long the output of an ended process is kept, from its end.
    pub keep_output_for: Duration,
    /// The gateway's own copies of files, in a folder for each conversation. They are kept as long as output is.
    pub files: PathBuf,
    /// Files of one message that are taken.
    pub attachments_at_most: usize,
    /// Bytes of one file that are taken.
    pub attachment_bytes: u64,
    /// How long records of sends and of handled messages are kept; `None` is for ever.
    pub keep_records_for: Option<Duration>,
    /// Characters of an answer to a person that is sent again although it may have arrived, where the platform recognises no repeat. A longer
    /// one becomes a dead letter instead: at most once. Results of background work are always sent again, marked.
    pub repeat_answers_up_to: usize,
    /// First wait before a failed send or verdict is tried again; doubles up to `retry_longest`.
    pub retry_first: Duration,
    pub retry_longest: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnReset {
    #[default]
    Keep,
    Kill,
}

/// What a message does that comes while a person's turn runs. Background turns are not touched (OWN-62).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Busy {
    /// It waits, and is answered next.
    #[default]
    Queue,
    /// The turn may take it up; otherwise it is answered next.
    Steer,
    /// The turn ends, and it is answered.
    Interrupt,
}

/// What background work does that needs a person's leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AskInBackground {
    /// Nobody is asked, and it is not run.
    #[default]
    Refuse,
    /// Whoever had the work started is asked, where it comes home.
    Ask,
}

/// When a session ends by itself (OWN-15).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AutoReset {
    #[default]
    Off,
    /// After this long without activity.
    Idle { after: Duration },
    /// At this hour of the zone's day.
    Daily { hour: u8, zone: jiff::tz::TimeZone },
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            keys: KeySettings::default(),
            verdict: Policy::default(),
            home: None,
            on_reset: OnReset::default(),
            kill_grace: Duration::from_secs(5),
            workspace: PathBuf::from("."),
            data: None,
            child_environment: Vec::new(),
            control: None,
            idle_after: Duration::from_secs(60),
            limits: Limits::default(),
            delegations_at_once: 4,
            busy: Busy::default(),
            approve_within: Duration::from_secs(300),
            approve_in_background: AskInBackground::default(),
            reset: AutoReset::default(),
            keepalive_max_age: Duration::from_secs(86_400),
            keep_output_for: Duration::from_secs(7 * 86_400),
            files: PathBuf::from("files"),
            attachments_at_most: 10,
            attachment_bytes: 20 * 1024 * 1024,
            keep_records_for: None,
            repeat_answers_up_to: 1_000,
            retry_first: Duration::from_millis(250),
            retry_longest: Duration::from_secs(60),
        }
    }
}
