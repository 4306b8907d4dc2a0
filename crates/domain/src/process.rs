//! What a process is to the rules: how it ended, what was asked of it, whether the agent already knows.

use std::fmt;

/// How a program ended. Unknown is a value of its own and is never shown as 0 (OWN-91).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    Code(i32),
    Signal(i32),
    Lost(LostReason),
}

/// Why nobody can say how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LostReason {
    /// Its supervisor was killed.
    SupervisorGone,
    /// The machine was restarted: another boot id.
    MachineRestarted,
    /// The run folder is unreadable or incomplete.
    FolderDamaged,
    /// The run folder is not there.
    FolderMissing,
}

impl LostReason {
    pub const ALL: [LostReason; 4] = [
        LostReason::SupervisorGone,
        LostReason::MachineRestarted,
        LostReason::FolderDamaged,
        LostReason::FolderMissing,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            LostReason::SupervisorGone => "supervisor_gone",
            LostReason::MachineRestarted => "machine_restarted",
            LostReason::FolderDamaged => "folder_damaged",
            LostReason::FolderMissing => "folder_missing",
        }
    }
    pub fn parse(text: &str) -> Option<LostReason> {
        LostReason::ALL
            .into_iter()
            .find(|reason| reason.name() == text)
    }
    pub const fn sentence(self) -> &'static str {
        match self {
            LostReason::SupervisorGone => "its supervisor was killed",
            LostReason::MachineRestarted => "the machine was restarted",
            LostReason::FolderDamaged => "its run folder is damaged",
            LostReason::FolderMissing => "its run folder is missing",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Code(code) => write!(f, "exit code {code}"),
            Ending::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "ended by signal {signal} ({name})"),
                None => write!(f, "ended by signal {signal}"),
            },
            Ending::Lost(reason) => write!(f, "exit code unknown: {}", reason.sentence()),
        }
    }
}

/// The common names of Linux signals.
pub const fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

/// How the agent, or a person, came to know of an ending before it was told (OWN-38, 50). A stored mark, never remembered only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consumption {
    /// `wait` saw the exit.
    Waited,
    /// `log` reached the end of a finished process.
    ReadToEnd,
    /// The agent stopped it.
    AgentKilled,
    /// A person stopped it, or `/new` did under `on_reset = "kill"`.
    PersonKilled,
    /// A foreground command: its answer was the result.
    Foreground,
}

impl Consumption {
    pub const ALL: [Consumption; 5] = [
        Consumption::Waited,
        Consumption::ReadToEnd,
        Consumption::AgentKilled,
        Consumption::PersonKilled,
        Consumption::Foreground,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            Consumption::Waited => "waited",
            Consumption::ReadToEnd => "read_to_end",
            Consumption::AgentKilled => "agent_killed",
            Consumption::PersonKilled => "person_killed",
            Consumption::Foreground => "foreground",
        }
    }
    pub fn parse(text: &str) -> Option<Consumption> {
        Consumption::ALL.into_iter().find(|one| one.name() == text)
    }
}

/// Where a process stands. `starting` is committed before the program is executed (OWN-20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessState {
    Starting,
    Running,
    /// It ended by itself or by a signal; how is known.
    Exited,
    /// It ended, or may have; how is unknown.
    Lost,
    /// The program could not be executed.
    Failed,
}

impl ProcessState {
    pub const ALL: [ProcessState; 5] = [
        ProcessState::Starting,
        ProcessState::Running,
        ProcessState::Exited,
        ProcessState::Lost,
        ProcessState::Failed,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            ProcessState::Starting => "starting",
            ProcessState::Running => "running",
            ProcessState::Exited => "exited",
            ProcessState::Lost => "lost",
            ProcessState::Failed => "failed",
        }
    }
    pub fn parse(text: &str) -> Option<ProcessState> {
        ProcessState::ALL
            .into_iter()
            .find(|state| state.name() == text)
    }
    /// Still to end, as far as the store knows.
    pub const fn is_live(self) -> bool {
        matches!(self, ProcessState::Starting | ProcessState::Running)
    }
}
