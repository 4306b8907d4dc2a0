//! The scripted agent: does what a message says, and answers with the message's label, its own session and the processes it speaks of.
//!
//! **Invariant:** every text of it begins with `answer <label> [<session>]` or `told [<session>] <process>…`, so that whoever reads what was
//! posted knows whose it is without asking the gateway.

use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{ProcessId, SessionId};
use homing_ports::agent::{
    AboutItem, Agent, AgentError, LogFrom, StartCall, Summary, ToolAnswer, ToolCall, ToolError,
    Toolbox, TurnAbout, TurnAnswer, TurnRequest,
};
use homing_ports::store::{Context, Source};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use super::Stall;
use crate::programs::{Program, label_in};

/// How long a `wait` waits.
const WAIT: Duration = Duration::from_millis(400);
const LOGGED: usize = 64 * 1024;

#[derive(Debug)]
pub struct ScriptedAgent {
    stall: Option<Stall>,
}

impl ScriptedAgent {
    pub fn new(stall: Option<Stall>) -> ScriptedAgent {
        ScriptedAgent { stall }
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
            "start" => start(rest, tools).await.map(|(_, said)| said),
            "both" => start_and_wait(rest, tools).await,
            "wait" | "kill" | "log" => use_one(verb, rest, tools).await,
            _ => Ok("said".to_owned()),
        };
        let said = done.unwrap_or_else(|error| format!("refused: {error}"));
        Ok(TurnAnswer::from(format!(
            "answer {label} [{session}] {said}"
        )))
    }
}

async fn start(words: &str, tools: &dyn Toolbox) -> Result<(ProcessId, String), ToolError> {
    let program = Program::parse(words)
        .ok_or_else(|| ToolError::Refused(format!("`{words}` is no program")))?;
    let call = StartCall {
        command: program.command(),
        notify: true,
        watch: Vec::new(),
        window: None,
        service: false,
        input: false,
        terminal: false,
    };
    match tools.call(ToolCall::Start(call)).await? {
        ToolAnswer::Started { process } => {
            Ok((process, format!("started {} {process}", program.label())))
        }
        other => Err(ToolError::Refused(format!("{other:?}"))),
    }
}

async fn start_and_wait(words: &str, tools: &dyn Toolbox) -> Result<String, ToolError> {
    let (process, said) = start(words, tools).await?;
    let waited = wait(process, tools).await?;
    Ok(format!("{said}, {waited}"))
}

async fn wait(process: ProcessId, tools: &dyn Toolbox) -> Result<String, ToolError> {
    let limit = WAIT;
    let view = match tools.call(ToolCall::Wait { process, limit }).await? {
        ToolAnswer::Process(view) | ToolAnswer::StillRunning(view) => view,
        other => return Err(ToolError::Refused(format!("{other:?}"))),
    };
    Ok(match view.ending {
        Some(ending) => format!("waited for {process}: {ending}"),
        None => format!("{process} still runs"),
    })
}

async fn use_one(verb: &str, label: &str, tools: &dyn Toolbox) -> Result<String, ToolError> {
    let Some(process) = find(label, tools).await? else {
        return Ok(format!("there is no {label}"));
    };
    match verb {
        "wait" => wait(process, tools).await,
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
    let about: Vec<String> = items.iter().map(|item| source(item.source)).collect();
    let mut text = format!("told [{session}] {}", about.join(" "));
    // One result fits into one message whole.
    if items.len() == 1 {
        text.push('\n');
        text.extend(plain.chars().take(1_500));
    }
    TurnAnswer::from(text)
}

fn source(source: Source) -> String {
    match source {
        Source::Process(id) => id.to_string(),
        Source::Delegation(id) => id.to_string(),
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
            TurnAbout::Delegated { .. } => Err(AgentError::Failed("nobody delegates here".into())),
        }
    }

    async fn summarize(
        &self,
        session: SessionId,
        context: &Context,
    ) -> Result<Summary, AgentError> {
        let messages = context.messages.len();
        Ok(Summary::from(format!("{messages} messages of {session}")))
    }
}
