//! Running commands: to their end, or in the background.

use std::time::Duration;

use homing_domain::ids::ProcessId;
use homing_domain::process::{Ending, ProcessState};
use homing_ports::agent::{StartCall, ToolAnswer, ToolError};
use homing_ports::processes::{Input, OutputKeep, Program, StartRequest, TerminalSize};
use homing_ports::store::{Change, Committed, NewProcess, ProcessKind, StoreError};

use crate::{Ended, SessionTools, environment};

/// Bytes of a foreground command's output that are answered.
const ANSWERED: usize = 8 * 1024;
/// What a program with a terminal sees.
const TERMINAL: TerminalSize = TerminalSize {
    rows: 24,
    columns: 100,
};
/// Longest command, in bytes: what one argument of a program may have on Linux, less room for the rest.
const COMMAND_LIMIT: usize = 100 * 1024;
/// Most watch patterns of one process.
const PATTERNS: usize = 20;
/// First wait before a store that did not answer is asked again, and the longest: it doubles.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LONGEST: Duration = Duration::from_secs(10);

impl SessionTools {
    /// Past its limit a command goes on in the background, and its end is told.
    pub(crate) async fn run(
        &self,
        command: String,
        limit: Option<Duration>,
    ) -> Result<ToolAnswer, ToolError> {
        let call = StartCall {
            command,
            ..StartCall::default()
        };
        let process = self.begin(call, ProcessKind::Foreground).await?;
        let waiting = async {
            let ended = self.workshop.supervision.ended(process);
            let Some(limit) = limit else {
                return Ok(ended.await);
            };
            let deadline = self.workshop.clock.now().plus(limit);
            tokio::select! {
                ended = ended => Ok(ended),
                () = self.workshop.clock.sleep_until(deadline) => self.move_to_background(process).await,
            }
        };
        match self.cancel.run_until_cancelled(waiting).await {
            // Another gateway has taken over, and the command with it.
            Some(Err(error @ ToolError::Store(StoreError::Fenced { .. }))) => return Err(error),
            // Nobody would wait for it any more.
            Some(Err(error)) => {
                self.end_tree(process).await?;
                return Err(error);
            }
            Some(Ok(Ended::Ended)) => {}
            Some(Ok(Ended::Moved)) => return Ok(ToolAnswer::Moved { process }),
            None => {
                self.end_tree(process).await?;
                return Err(ToolError::Cancelled);
            }
        }
        let row = self.row(process).await?;
        match (row.state, row.ending) {
            (ProcessState::Failed, _) => Err(ToolError::Refused(
                row.failure.unwrap_or_else(|| "cannot run it".into()),
            )),
            (_, ending) => Ok(ToolAnswer::Ran {
                process,
                ending: ending.unwrap_or(Ending::Lost(
                    homing_domain::process::LostReason::SupervisorGone,
                )),
                output: last(row.output_tail, ANSWERED),
                output_total: row.output_total,
                ran_for: row.ended_at.unwrap_or(row.created_at).since(row.created_at),
            }),
        }
    }

    /// A store that does not answer is asked again: given up, the command would run on without anybody who waits for it, and its end would
    /// never be told (OWN-60).
    async fn move_to_background(&self, process: ProcessId) -> Result<Ended, ToolError> {
        let mut pause = RETRY_FIRST;
        loop {
            match self.try_to_move(process).await {
                Err(ToolError::Store(StoreError::Unavailable(why))) => {
                    tracing::warn!(process.id = %process, why, "a command over its limit is not in the background yet; trying again");
                }
                moved => return moved,
            }
            let again_at = self.workshop.clock.now().plus(pause);
            tokio::select! {
                ended = self.workshop.supervision.ended(process) => return Ok(ended),
                () = self.workshop.clock.sleep_until(again_at) => {}
            }
            pause = (pause * 2).min(RETRY_LONGEST);
        }
    }

    async fn try_to_move(&self, process: ProcessId) -> Result<Ended, ToolError> {
        let move_it = vec![Change::MoveToBackground { process }];
        if let Committed::Unmet { .. } = self.commit(move_it).await? {
            // It has ended, which is as good: its result is the answer. Or it was moved, by a commit that was not answered.
            if self.row(process).await?.kind == ProcessKind::Foreground {
                return Ok(self.workshop.supervision.ended(process).await);
            }
        }
        self.workshop.supervision.has_moved(process);
        Ok(Ended::Moved)
    }

    pub(crate) async fn start(&self, call: StartCall) -> Result<ToolAnswer, ToolError> {
        let kind = match call.service {
            true => ProcessKind::Service,
            false => ProcessKind::Task,
        };
        let process = self.begin(call, kind).await?;
        Ok(ToolAnswer::Started { process })
    }

    async fn begin(&self, call: StartCall, kind: ProcessKind) -> Result<ProcessId, ToolError> {
        check(&call)?;
        let process = self.workshop.ids.next::<ProcessId>();
        let mut owner = self.owner.clone();
        owner.window = call.window.or(owner.window);
        let environment = environment::build(&self.workshop, &owner, &self.key, process);
        let request = StartRequest {
            process,
            program: Program::Shell(call.command.clone()),
            directory: self.workshop.workspace.clone(),
            environment,
            input: match call.input {
                true => Input::Open,
                false => Input::Empty,
            },
            terminal: call.terminal.then_some(TERMINAL),
            // Patterns are matched, and a window is shown, what is written as it is written.
            signal_output: !call.watch.is_empty() || owner.window.is_some(),
            keep: OutputKeep::default(),
        };
        let new = NewProcess {
            id: process,
            owner,
            turn: self.turn(),
            kind,
            command: call.command,
            directory: self.workshop.workspace.display().to_string(),
            notify: call.notify,
            watch: call.watch,
        };
        self.workshop
            .supervision
            .begin(new, request, self.guards())
            .await
    }
}

fn check(call: &StartCall) -> Result<(), ToolError> {
    let refused = |why: String| Err(ToolError::Refused(why));
    if call.command.trim().is_empty() {
        return refused("the command is empty".into());
    }
    if call.command.len() > COMMAND_LIMIT {
        return refused(format!(
            "the command has {} bytes, at most {COMMAND_LIMIT} are taken; put it in a script",
            call.command.len()
        ));
    }
    if call.command.contains('\0') {
        return refused("the command contains a NUL byte".into());
    }
    if call.watch.len() > PATTERNS {
        return refused(format!(
            "{} watch patterns, at most {PATTERNS} are taken; join some in one `re:a|b`",
            call.watch.len()
        ));
    }
    Ok(())
}

fn last(mut bytes: Vec<u8>, limit: usize) -> Vec<u8> {
    bytes.split_off(bytes.len().saturating_sub(limit))
}
