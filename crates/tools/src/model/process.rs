//! `process`: what was started in the background, of this conversation only (OWN-44, 50).

use std::time::Duration;

use homing_domain::ids::ProcessId;
use homing_domain::redact::redact;
use homing_domain::time::Span;
use homing_ports::agent::{LogFrom, ProcessView, ToolAnswer};

use super::arguments::{Arguments, Kind, optional, required};
use super::{Called, Failure, Tool, text};
use crate::SessionTools;

/// Seconds of a `wait`.
const WAIT: u64 = 60;
const LONGEST_WAIT: u64 = 600;
/// Bytes of a `log`.
const LOG: usize = 16 * 1024;
/// Characters of a command in a list.
const COMMAND: usize = 120;
/// Bytes of one `write`.
const INPUT: usize = 64 * 1024;

pub(super) const TOOL: Tool = Tool {
    name: "process",
    description: "Looks after background processes of this conversation. `list` shows them; `poll` shows one; `log` reads output (the end, or from `offset`); \
                  `wait` waits for the end; `write` and `close` feed the standard input of one that was started with `input`; `kill` ends it with all that \
                  it started. What is written to a shell is looked at as a command is, and may first be shown to the person. The end of a process is told by itself unless `wait` saw it or `log` read to it.",
    fields: &[
        required(
            "action",
            Kind::Choice(&["list", "poll", "log", "wait", "write", "close", "kill"]),
            "What to do.",
        ),
        optional(
            "process",
            Kind::Text,
            "The process id; for everything but `list`.",
        ),
        optional(
            "text",
            Kind::Text,
            "For `write`: what to write, line ends included.",
        ),
        optional(
            "offset",
            Kind::Number {
                least: 0,
                most: u64::MAX >> 12,
            },
            "For `log`: the first byte to read. Without it the end is read.",
        ),
        optional(
            "limit",
            Kind::Number {
                least: 1,
                most: LONGEST_WAIT,
            },
            "For `wait`: seconds; 60 unless given.",
        ),
    ],
};

impl SessionTools {
    pub(super) async fn model_process(&self, arguments: &Arguments) -> Called {
        let action = arguments.the_text("action");
        misplaced(action, arguments)?;
        if action == "list" {
            return match self.list().await? {
                ToolAnswer::List(views) if views.is_empty() => {
                    Ok("no processes were started in this conversation".to_owned())
                }
                ToolAnswer::List(views) => {
                    let lines: Vec<String> = views.iter().map(|view| self.line(view)).collect();
                    Ok(lines.join("\n"))
                }
                other => Ok(format!("{other:?}")),
            };
        }
        let process = self.named_process(arguments.text("process")).await?;
        let answer = match action {
            "poll" => self.poll(process).await?,
            "log" => {
                let from = arguments
                    .number("offset")
                    .map_or(LogFrom::Tail, LogFrom::Offset);
                self.log(process, from, LOG).await?
            }
            "wait" => {
                let limit = Duration::from_secs(arguments.number("limit").unwrap_or(WAIT));
                self.wait(process, limit).await?
            }
            "write" => {
                let given = arguments
                    .text("text")
                    .ok_or_else(|| "`write` needs `text`".to_owned())?;
                if given.len() > INPUT {
                    return Err(format!(
                        "`text` has {} bytes, at most {INPUT} are written at once",
                        given.len()
                    )
                    .into());
                }
                self.write_looked_at(process, given).await?
            }
            "close" => self.close_input(process).await?,
            _ => return self.model_kill(process).await,
        };
        Ok(self.said(answer))
    }

    async fn model_kill(&self, process: ProcessId) -> Called {
        let told = match self.takes_results_of(&self.row(process).await?) {
            true => "nothing more is told of it",
            false => "its end is told to the conversation",
        };
        Ok(match self.kill(process).await? {
            ToolAnswer::KillAsked { process } => format!("{process} was asked to end; {told}"),
            other => self.said(other),
        })
    }

    /// By its id, or by the last characters of it.
    async fn named_process(&self, given: Option<&str>) -> Result<ProcessId, Failure> {
        let Some(given) = given.map(str::trim).filter(|given| !given.is_empty()) else {
            return Err("which process? Give its id as `process`; `list` shows them"
                .to_owned()
                .into());
        };
        if let Ok(id) = given.parse() {
            return Ok(id);
        }
        let ending = given.rsplit('_').next().unwrap_or(given);
        let found = self
            .workshop
            .store
            .find_process(Some(self.owner.conversation), ending)
            .await
            .map_err(|error| Failure::Turn(error.into()))?;
        match found.as_slice() {
            [one] => Ok(*one),
            [] => Err(format!(
                "there is no process `{}` in this conversation; `list` shows them",
                given.chars().take(60).collect::<String>()
            )
            .into()),
            _ => Err(format!("`{given}` fits several processes; give the whole id").into()),
        }
    }

    fn said(&self, answer: ToolAnswer) -> String {
        match answer {
            ToolAnswer::Process(view) | ToolAnswer::AlreadyEnded(view) => self.line(&view),
            ToolAnswer::StillRunning(view) => format!("not ended yet: {}", self.line(&view)),
            ToolAnswer::Log {
                from,
                bytes,
                total,
                ended,
            } => {
                let to = from + bytes.len() as u64;
                let state = match ended {
                    true => "has ended",
                    false => "runs",
                };
                let more = match to < total {
                    true => format!(", {} more after it", total - to),
                    false => String::new(),
                };
                let shown = text::output(&[], &bytes, bytes.len() as u64);
                format!("bytes {from} to {to} of {total}{more}; it {state}\n{shown}")
            }
            ToolAnswer::Done => "done".to_owned(),
            other => format!("{other:?}"),
        }
    }

    fn line(&self, view: &ProcessView) -> String {
        let now = self.workshop.clock.now();
        let line: String = redact(&view.command.replace(['\n', '\r'], " "))
            .chars()
            .take(COMMAND)
            .collect();
        let state = match (view.ending, view.ended_at) {
            (Some(ending), Some(at)) => format!("{ending}, {} ago", Span(now.since(at))),
            (Some(ending), None) => ending.to_string(),
            (None, _) if view.state.is_live() => {
                format!("running for {}", Span(now.since(view.started_at)))
            }
            (None, _) => view.state.name().to_owned(),
        };
        format!("{} – {state} – {line}", view.process)
    }
}

/// An argument that means nothing for this action was meant for another one.
fn misplaced(action: &str, arguments: &Arguments) -> Result<(), Failure> {
    let only = |given: bool, name: &str, of: &str| match given && action != of {
        true => Err(Failure::Answer(format!(
            "`{name}` is for the action `{of}`, not for `{action}`"
        ))),
        false => Ok(()),
    };
    only(arguments.text("text").is_some(), "text", "write")?;
    only(arguments.number("offset").is_some(), "offset", "log")?;
    only(arguments.number("limit").is_some(), "limit", "wait")
}
