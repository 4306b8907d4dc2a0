//! The scripted agent: does what a message says, and answers with the message's label, its own session and the processes it speaks of.
//!
//! **Invariant:** every text of it begins with `answer <label> [<session>]` or `told [<session>] <source>=<notification>…`, so that whoever reads
//! what was posted knows whose it is without asking the gateway.

use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{ProcessId, SessionId};
use homing_ports::agent::{
    AboutItem, Agent, AgentError, LogFrom, StartCall, Summary, SummaryRequest, ToolAnswer,
    ToolCall, ToolError, Toolbox, TurnAbout, TurnAnswer, TurnRequest,
};
use homing_ports::store::Source;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use super::Stall;
use crate::programs::{Program, label_in};

const LOGGED: usize = 64 * 1024;

#[derive(Debug)]
pub struct ScriptedAgent {
    stall: Option<Stall>,
    /// How long a `wait` waits, by the gateway's clock.
    wait: Duration,
}

impl ScriptedAgent {
    pub fn new(stall: Option<Stall>, wait: Duration) -> ScriptedAgent {
        ScriptedAgent { stall, wait }
    }

    async fn person(
        &self,
        text: &str,
        session: SessionId,
        tools: &dyn Toolbox,
    ) -> Result<TurnAnswer, AgentError> {
        let mut words = text.splitn(3, ' ');
        let (verb, label, rest) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        let done = match verb {
            "start" | "watch" => start(rest, tools).await.map(|(_, said)| said),
            "both" => self.start_and_wait(rest, tools).await,
            "delegate-run" => delegate("run", rest, tools).await,
            "delegate-start" => delegate("start", rest, tools).await,
            "wait" | "kill" | "log" => self.use_one(verb, rest, tools).await,
            _ => Ok("said".to_owned()),
        };
        let said = done.unwrap_or_else(|error| format!("refused: {error}"));
        Ok(TurnAnswer::from(format!(
            "answer {label} [{session}] {said}"
        )))
    }

    async fn start_and_wait(&self, words: &str, tools: &dyn Toolbox) -> Result<String, ToolError> {
        let (process, said) = start(words, tools).await?;
        let waited = self.wait_for(process, tools).await?;
        Ok(format!("{said}, {waited}"))
    }

    async fn wait_for(&self, process: ProcessId, tools: &dyn Toolbox) -> Result<String, ToolError> {
        let limit = self.wait;
        let view = match tools.call(ToolCall::Wait { process, limit }).await? {
            ToolAnswer::Process(view) | ToolAnswer::StillRunning(view) => view,
            other => return Err(unexpected(&other)),
        };
        Ok(match view.ending {
            Some(ending) => format!("waited for {process}: {ending}"),
            None => format!("{process} still runs"),
        })
    }

    async fn use_one(
        &self,
        verb: &str,
        label: &str,
        tools: &dyn Toolbox,
    ) -> Result<String, ToolError> {
        let Some(process) = find(label, tools).await? else {
            return Ok(format!("there is no {label}"));
        };
        match verb {
            "wait" => self.wait_for(process, tools).await,
            "kill" => {
                tools.call(ToolCall::Kill { process }).await?;
                Ok(format!("killed {process}"))
            }
            _ => {
                let (from, limit) = (LogFrom::Tail, LOGGED);
                tools
                    .call(ToolCall::Log {
                        process,
                        from,
                        limit,
                    })
                    .await?;
                Ok(format!("read {process}"))
            }
        }
    }
}

async fn start(words: &str, tools: &dyn Toolbox) -> Result<(ProcessId, String), ToolError> {
    let program = program(words)?;
    let call = StartCall {
        command: program.command(),
        notify: true,
        watch: match program.matches {
            0 => Vec::new(),
            _ => vec![program.pattern()],
        },
        ..StartCall::default()
    };
    match tools.call(ToolCall::Start(call)).await? {
        ToolAnswer::Started { process } => {
            Ok((process, format!("started {} {process}", program.label())))
        }
        other => Err(unexpected(&other)),
    }
}

fn program(words: &str) -> Result<Program, ToolError> {
    Program::parse(words).ok_or_else(|| ToolError::Refused(format!("`{words}` is no program")))
}

fn unexpected(answer: &ToolAnswer) -> ToolError {
    ToolError::Refused(format!("{answer:?}"))
}

/// The task says how, and what.
async fn delegate(how: &str, words: &str, tools: &dyn Toolbox) -> Result<String, ToolError> {
    let program = program(words)?;
    let task = format!("{how} {words}");
    match tools
        .call(ToolCall::Delegate {
            tasks: vec![task],
            wait: false,
            window: None,
        })
        .await?
    {
        ToolAnswer::Delegated { delegations } => {
            let ids: Vec<String> = delegations.iter().map(ToString::to_string).collect();
            Ok(format!("delegated {} {}", program.label(), ids.join(" ")))
        }
        other => Err(unexpected(&other)),
    }
}

/// What a sub-agent does, and its result.
async fn delegated(task: &str, tools: &dyn Toolbox) -> Result<String, ToolError> {
    let (how, words) = task.split_once(' ').unwrap_or((task, ""));
    if how == "start" {
        return start(words, tools).await.map(|(_, said)| said);
    }
    let program = program(words)?;
    let command = program.command();
    match tools
        .call(ToolCall::Run {
            command,
            limit: None,
        })
        .await?
    {
        ToolAnswer::Ran { ending, .. } => Ok(format!("ran {}: {ending}", program.label())),
        other => Err(unexpected(&other)),
    }
}

async fn find(label: &str, tools: &dyn Toolbox) -> Result<Option<ProcessId>, ToolError> {
    let ToolAnswer::List(views) = tools.call(ToolCall::List).await? else {
        return Ok(None);
    };
    let found = views
        .iter()
        .find(|view| label_in(&view.command) == Some(label));
    Ok(found.map(|view| view.process))
}

fn background(session: SessionId, items: &[AboutItem], plain: &str) -> TurnAnswer {
    let about: Vec<String> = items.iter().map(about).collect();
    let mut text = format!("told [{session}] {}", about.join(" "));
    // One result fits into one message whole.
    if items.len() == 1 {
        text.push('\n');
        text.extend(plain.chars().take(3_000));
    }
    TurnAnswer::from(text)
}

fn about(item: &AboutItem) -> String {
    match item.source {
        Source::Process(id) => format!("{id}={}", item.notification),
        Source::Delegation(id) => format!("{id}={}", item.notification),
    }
}

#[async_trait]
impl Agent for ScriptedAgent {
    async fn turn(
        &self,
        request: TurnRequest,
        tools: Arc<dyn Toolbox>,
        cancel: CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let stalls = match &request.about {
            TurnAbout::Person { .. } => Stall::Foreground,
            TurnAbout::Background { .. } | TurnAbout::Delegated { .. } => Stall::Background,
        };
        if self.stall == Some(stalls) {
            cancel.cancelled().await;
            return Err(AgentError::Cancelled);
        }
        match &request.about {
            TurnAbout::Person { text, .. } => {
                let answer = self.person(text, request.session, &*tools);
                cancel
                    .run_until_cancelled(answer)
                    .await
                    .unwrap_or(Err(AgentError::Cancelled))
            }
            TurnAbout::Background { items, plain, .. } => {
                Ok(background(request.session, items, plain))
            }
            TurnAbout::Delegated { task, .. } => {
                Ok(TurnAnswer::from(delegated(task, &*tools).await?))
            }
        }
    }

    async fn summarize(&self, request: SummaryRequest) -> Result<Summary, AgentError> {
        let (messages, session) = (request.context.messages.len(), request.session);
        Ok(Summary::from(format!("{messages} messages of {session}")))
    }
}
