//! `terminal`: a command to its end, or in the background.

use std::time::Duration;

use homing_domain::danger;
use homing_domain::ids::ProcessId;
use homing_domain::time::Span;
use homing_ports::agent::{StartCall, ToolAnswer};

use super::arguments::{Arguments, Kind, optional, required};
use super::{Called, Tool, text};
use crate::SessionTools;

/// Seconds that a foreground command is waited for unless the call says otherwise.
const LIMIT: u64 = 120;
const MOST: u64 = 3_600;

pub(super) const TOOL: Tool = Tool {
    name: "terminal",
    description: "Runs a shell command (/bin/sh -c) in the workspace and answers with its exit code and output. A command that runs longer than `limit` \
                  goes on in the background, and its end is told to this conversation by itself. With `background` it is started and not waited for: \
                  use that for builds, servers and everything long. Never poll for the end of a background process: it is told. \
                  A dangerous command is first shown to the person, who may refuse it.",
    fields: &[
        required("command", Kind::Text, "The command, as for /bin/sh -c."),
        optional(
            "limit",
            Kind::Number {
                least: 1,
                most: MOST,
            },
            "Seconds to wait for its end; 120 unless given. In the foreground only.",
        ),
        optional(
            "background",
            Kind::Flag,
            "Start it and go on. The answer is its process id.",
        ),
        optional(
            "notify",
            Kind::Flag,
            "In the background: tell when it ends. True unless given; never for a service.",
        ),
        optional(
            "watch",
            Kind::Texts { most: 20 },
            "In the background: tell when a line of output holds one of these texts, or matches `re:REGEX`.",
        ),
        optional(
            "pty",
            Kind::Flag,
            "In the background: give it a terminal, for programs that want one.",
        ),
        optional(
            "input",
            Kind::Flag,
            "In the background: keep its standard input open for the tool `process`, action `write`.",
        ),
        optional(
            "service",
            Kind::Flag,
            "In the background: it runs until it is stopped, such as a server.",
        ),
    ],
};

/// Arguments that mean nothing in the foreground.
const BACKGROUND_ONLY: [&str; 4] = ["notify", "pty", "input", "service"];

impl SessionTools {
    pub(super) async fn model_terminal(&self, arguments: &Arguments) -> Called {
        let command = arguments.the_text("command").to_owned();
        let background = arguments.flag("background").unwrap_or(false);
        let watch = arguments.texts("watch");
        if !background {
            let flag = BACKGROUND_ONLY
                .into_iter()
                .find(|name| arguments.flag(name) == Some(true));
            if let Some(name) = flag.or((!watch.is_empty()).then_some("watch")) {
                return Err(format!(
                    "`{name}` is for a command in the background; add \"background\": true, or leave it out"
                )
                .into());
            }
        } else if arguments.number("limit").is_some() {
            return Err(
                "a command in the background is not waited for; leave out `limit`"
                    .to_owned()
                    .into(),
            );
        }
        self.ask_if_dangerous(&command).await?;
        if background {
            let service = arguments.flag("service").unwrap_or(false);
            let terminal = arguments.flag("pty").unwrap_or(false);
            let input = danger::Input::of(&command, terminal);
            let started = self
                .start(StartCall {
                    command,
                    notify: arguments.flag("notify").unwrap_or(!service) && !service,
                    watch,
                    window: None,
                    service,
                    input: arguments.flag("input").unwrap_or(false),
                    terminal,
                })
                .await?;
            return Ok(match started {
                ToolAnswer::Started { process } => {
                    self.workshop.inputs.begin(process, input);
                    format!("started in the background as {process}")
                }
                other => format!("started: {other:?}"),
            });
        }
        let limit = Duration::from_secs(arguments.number("limit").unwrap_or(LIMIT));
        match self.run(command, Some(limit)).await? {
            ToolAnswer::Ran {
                process,
                ending,
                output,
                output_total,
                ran_for,
            } => {
                let head = self.head(process, output.len() as u64, output_total).await;
                Ok(format!(
                    "{ending} after {}\n{}",
                    Span(ran_for),
                    text::output(&head, &output, output_total)
                ))
            }
            ToolAnswer::Moved { process } => Ok(format!(
                "still running after {}; it goes on in the background as {process}, and its end is told here by itself",
                Span(limit)
            )),
            other => Ok(format!("{other:?}")),
        }
    }

    /// The beginning of an output of which only the end was answered. One that cannot be read is left out: the end says what matters.
    async fn head(&self, process: ProcessId, answered: u64, total: u64) -> Vec<u8> {
        if answered >= total {
            return Vec::new();
        }
        let before = usize::try_from(total - answered).unwrap_or(usize::MAX);
        match self
            .workshop
            .processes
            .output(process, 0, before.min(text::HEAD))
            .await
        {
            Ok(chunk) if chunk.from == 0 => chunk.bytes,
            Ok(_) | Err(_) => Vec::new(),
        }
    }
}
