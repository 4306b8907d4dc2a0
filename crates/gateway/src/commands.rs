//! Slash commands: one file each, found by name.
//!
//! **Invariant:** a command only reads and decides. What it wants changed is returned as a [`Step`] and committed together with its answer,
//! so nobody sees an answer to something that did not happen, or the other way round.
//! **Absent on purpose:** sending, and everything that waits.

use futures_util::future::BoxFuture;
use homing_domain::command::Invocation;
use homing_domain::ids::{
    ApprovalId, ConversationId, DelegationId, InboundId, OutboxId, ProcessId, SessionId, TurnId,
};
use homing_domain::process::ProcessState;
use homing_domain::time::Span;
use homing_ports::platform::Button;
use homing_ports::store::{
    Change, ConversationRow, InboundRow, ProcessRow, SessionRow, StoreError,
};

use homing_tools::Approval;

use crate::inside::Inside;

mod adopt;
mod approve;
mod background;
mod boundary;
mod branch;
mod compress;
mod deadletters;
mod delete;
mod deny;
mod explain;
mod help;
mod kill;
mod log;
mod model;
mod new;
mod ps;
mod queue;
mod reset;
mod resume;
mod retry;
mod sessions;
mod status;
mod steer;
mod stop;
mod title;
mod undo;
mod whoami;

/// One command, as `/help` and the platforms' command lists know it.
#[derive(Clone, Copy)]
pub struct Command {
    pub name: &'static str,
    /// Arguments, as they are shown: `PROCESS [BYTES]`.
    pub usage: &'static str,
    /// One line.
    pub summary: &'static str,
    pub(crate) run: for<'a> fn(&'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>>,
}

/// All commands, in the order in which `/help` shows them.
pub const COMMANDS: &[Command] = &[
    help::COMMAND,
    new::COMMAND,
    reset::COMMAND,
    sessions::COMMAND,
    resume::COMMAND,
    branch::COMMAND,
    title::COMMAND,
    delete::COMMAND,
    compress::COMMAND,
    ps::COMMAND,
    log::COMMAND,
    kill::COMMAND,
    adopt::COMMAND,
    stop::COMMAND,
    retry::COMMAND,
    undo::COMMAND,
    queue::COMMAND,
    steer::COMMAND,
    approve::COMMAND,
    deny::COMMAND,
    model::COMMAND,
    background::COMMAND,
    status::COMMAND,
    explain::COMMAND,
    deadletters::COMMAND,
    whoami::COMMAND,
];

pub(crate) fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

pub(crate) fn names() -> Vec<&'static str> {
    COMMANDS.iter().map(|command| command.name).collect()
}

impl Command {
    /// `/kill PROCESS`
    pub fn line(&self) -> String {
        match self.usage {
            "" => format!("/{}", self.name),
            usage => format!("/{} {usage}", self.name),
        }
    }
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.line())
    }
}

/// What a command is called with.
pub(crate) struct Call<'a> {
    pub inside: &'a Inside,
    pub row: &'a ConversationRow,
    pub inbound: &'a InboundRow,
    pub invocation: &'a Invocation,
    pub command: &'static Command,
    pub running: Option<Running>,
    /// Messages that wait and are older than the command.
    pub waiting: Vec<InboundId>,
    pub compressing: bool,
}

/// The turn that runs, with what would end it.
pub(crate) enum Running {
    Foreground {
        turn: TurnId,
    },
    Background {
        turn: TurnId,
        drop: Vec<Change>,
        release: Vec<Change>,
        /// As `release`, until the person writes again.
        stop: Vec<Change>,
    },
}

pub(crate) enum Outcome {
    Step(Step),
    /// An answer that can itself be answered with a click.
    Choice(Choice),
    /// Answered when the summary is ready.
    Compress,
}

/// What is said, and what can be chosen: a label, and the command that choosing it is as good as.
pub(crate) struct Choice {
    pub reply: String,
    pub options: Vec<(String, String)>,
}

/// More would be a keyboard.
const OPTIONS: usize = 8;
/// What a platform takes along with a button, in bytes (Telegram's `callback_data`).
const OPTION_BYTES: usize = 64;

impl Choice {
    /// A row for each. What does not fit is still in the text.
    pub fn buttons(&self) -> Vec<Vec<Button>> {
        let fitting = self
            .options
            .iter()
            .filter(|(_, says)| says.len() <= OPTION_BYTES);
        let button = |(label, says): &(String, String)| {
            vec![Button {
                label: label.clone(),
                says: says.clone(),
            }]
        };
        fitting.take(OPTIONS).map(button).collect()
    }
}

pub(crate) struct Step {
    pub reply: String,
    pub changes: Vec<Change>,
    /// Carried out after the commit.
    pub effects: Vec<Effect>,
}

pub(crate) enum Effect {
    CancelTurn,
    /// A question is settled: the tool that waits for it goes on.
    Answered(ApprovalId, Approval),
    /// The command is a message now, and waits for its turn whatever the setting says.
    Queue(InboundId),
    /// The command is a message now, and is offered to the turn that runs.
    Steer(InboundId),
    /// What waits to be told waits for the person's next message.
    PauseBackground,
    AbandonCompression,
    Kill(ProcessId),
    CancelDelegation(DelegationId),
    /// A process is in the background from now on, and its end is told.
    Moved(ProcessId),
    /// Another conversation's dead letter is told once more, there.
    TellAgain {
        conversation: ConversationId,
        outbox: OutboxId,
    },
}

impl Step {
    pub fn reply(reply: impl Into<String>) -> Self {
        Self {
            reply: reply.into(),
            changes: Vec::new(),
            effects: Vec::new(),
        }
    }
}

impl Outcome {
    pub fn reply(reply: impl Into<String>) -> Self {
        Outcome::Step(Step::reply(reply))
    }
}

impl Call<'_> {
    pub fn arguments(&self) -> &[String] {
        &self.invocation.arguments
    }

    /// The usage, for wrong arguments.
    pub fn usage(&self, problem: &str) -> Outcome {
        Outcome::reply(format!(
            "{problem}\nUsage: {} – {}",
            self.command.line(),
            self.command.summary
        ))
    }

    /// A process of this conversation by its id or the id's last characters; else the sentence that says what is wrong.
    pub async fn find_process(&self, text: &str) -> Result<Result<ProcessRow, String>, StoreError> {
        let id = match text.parse::<ProcessId>() {
            Ok(id) => id,
            Err(_) => match self
                .inside
                .store
                .find_process(Some(self.row.id), ending(text))
                .await?
                .as_slice()
            {
                [id] => *id,
                [] => {
                    return Ok(Err(format!(
                        "There is no process `{text}` in this conversation. /ps lists those that are there."
                    )));
                }
                _ => {
                    return Ok(Err(format!(
                        "`{text}` fits several processes; give more of the id. /ps shows them."
                    )));
                }
            },
        };
        let row = self.inside.store.process(id).await?;
        // OWN-44: another conversation's process is not told about either.
        Ok(row
            .filter(|row| row.owner.conversation == self.row.id)
            .ok_or_else(|| format!("There is no process `{text}` in this conversation. /ps lists those that are there.")))
    }

    /// A session of this conversation by its id, the id's last characters, or its title.
    pub async fn find_session(&self, text: &str) -> Result<Result<SessionRow, String>, StoreError> {
        let missing = || {
            format!(
                "There is no session `{text}` in this conversation. /sessions lists those that are there."
            )
        };
        let id = match text.parse::<SessionId>() {
            Ok(id) => Some(id),
            Err(_) => match self
                .inside
                .store
                .find_session(self.row.id, ending(text))
                .await?
                .as_slice()
            {
                [id] => Some(*id),
                _ => None,
            },
        };
        if let Some(id) = id {
            let row = self.inside.store.session(id).await?;
            return Ok(row
                .filter(|row| row.conversation == self.row.id)
                .ok_or_else(missing));
        }
        let sessions = self.inside.store.sessions(self.row.id, 1_000).await?;
        let mut titled = sessions
            .into_iter()
            .filter(|session| session.title.as_deref() == Some(text));
        match (titled.next(), titled.next()) {
            (Some(one), None) => Ok(Ok(one)),
            (Some(_), Some(_)) => Ok(Err(format!(
                "Several sessions are titled `{text}`; give an id. /sessions shows them."
            ))),
            (None, _) => Ok(Err(missing())),
        }
    }

    /// A process in one line of a list.
    pub fn process_line(&self, process: &ProcessRow) -> String {
        let now = self.inside.now();
        let state = match (process.state, process.ending) {
            (ProcessState::Starting, _) => "starting".to_owned(),
            (ProcessState::Running, _) => {
                format!("running for {}", Span(now.since(process.created_at)))
            }
            (ProcessState::Failed, _) => format!(
                "could not be run: {}",
                process.failure.as_deref().unwrap_or("unknown")
            ),
            (ProcessState::Exited | ProcessState::Lost, Some(ending)) => {
                format!(
                    "{ending}, {} ago",
                    Span(now.since(process.ended_at.unwrap_or(process.created_at)))
                )
            }
            (ProcessState::Exited | ProcessState::Lost, None) => "ended".to_owned(),
        };
        format!(
            "• {} – {} – {state}",
            process.id,
            inline_code(&process.command)
        )
    }
}

/// The last characters of an id: what people type instead of all of it.
fn ending(text: &str) -> &str {
    text.rsplit('_')
        .next()
        .unwrap_or(text)
        .trim_start_matches('…')
}

/// A command between backticks, bounded and on one line.
pub(crate) fn inline_code(text: &str) -> String {
    const SHOWN: usize = 120;
    let line: String = text
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect();
    let redacted = homing_domain::redact::redact(&line).replace('`', "'");
    let short: String = redacted.chars().take(SHOWN).collect();
    match redacted.chars().count() > SHOWN {
        true => format!("`{short}…`"),
        false => format!("`{short}`"),
    }
}
