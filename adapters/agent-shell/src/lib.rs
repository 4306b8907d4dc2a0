//! The default agent: a shell runner that needs no model.
//!
//! `!cmd` runs a command and answers with its output, `!bg cmd` starts it in the background and answers when it ends, `!watch PATTERN -- cmd`
//! tells when a line matches. Anything else gets a short explanation.
//!
//! **Invariant:** it says only what a tool answered. A result it is told in a background turn is passed on as it is.
//! **Absent on purpose:** memory. What a person wrote before changes nothing.

mod answer;
mod summary;

use std::sync::Arc;

use async_trait::async_trait;
use homing_domain::command::{self, ShellRequest};
use homing_domain::ids::DelegationId;
use homing_ports::agent::{
    Agent, AgentError, StartCall, Summary, SummaryRequest, ToolAnswer, ToolCall, ToolError,
    Toolbox, TurnAbout, TurnAnswer, TurnRequest,
};
use tokio_util::sync::CancellationToken;

/// The shell agent. It has no settings and no state.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellAgent;

#[async_trait]
impl Agent for ShellAgent {
    async fn turn(
        &self,
        request: TurnRequest,
        tools: Arc<dyn Toolbox>,
        cancel: CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let text = match request.about {
            TurnAbout::Background { plain, .. } => plain,
            TurnAbout::Delegated { task, .. } => delegated(task, tools.as_ref(), &cancel).await?,
            TurnAbout::Person { text, .. } => answer(&text, tools.as_ref(), &cancel).await?,
        };
        Ok(TurnAnswer::from(text))
    }

    async fn summarize(&self, request: SummaryRequest) -> Result<Summary, AgentError> {
        let messages = &request.context.messages;
        Ok(Summary::from(summary::of(request.session, messages)))
    }
}

async fn answer(
    text: &str,
    tools: &dyn Toolbox,
    cancel: &CancellationToken,
) -> Result<String, AgentError> {
    let call = match command::shell_request(text) {
        ShellRequest::Run(command) => run(command),
        ShellRequest::Background(command) => start(command, Vec::new()),
        ShellRequest::Watch { patterns, command } => start(command, patterns),
        ShellRequest::Delegate(task) => ToolCall::Delegate {
            tasks: vec![task],
            wait: false,
            window: None,
        },
        ShellRequest::Malformed(problem) => return Ok(format!("{problem}\n{}", answer::USAGE)),
        ShellRequest::Help | ShellRequest::NotShell => return Ok(answer::greeting()),
    };
    let watches = matches!(&call, ToolCall::Start(start) if !start.watch.is_empty());
    match tools.call(call).await {
        Ok(ToolAnswer::Started { process }) if watches => Ok(format!(
            "Started {process}. I tell you here when a line matches, and when it ends."
        )),
        Ok(ToolAnswer::Started { process }) => {
            Ok(format!("Started {process}. I tell you here when it ends."))
        }
        Ok(ToolAnswer::Delegated { delegations }) => Ok(format!(
            "{} is at it. I tell you here what it finds.",
            join(&delegations)
        )),
        Ok(ToolAnswer::Moved { process }) => Ok(format!(
            "{process} goes on in the background. I tell you here when it ends."
        )),
        Ok(ran) => Ok(answer::ran(&ran)),
        // What a person can mend is an answer; the rest is an error of the turn.
        Err(ToolError::Refused(why)) => Ok(format!("I cannot run that: {why}")),
        Err(ToolError::Cancelled) => Err(AgentError::Cancelled),
        Err(_) if cancel.is_cancelled() => Err(AgentError::Cancelled),
        Err(error) => Err(error.into()),
    }
}

/// A sub-agent's task is a command; what it prints is the result. Not fenced: whoever tells the result does that.
async fn delegated(
    task: String,
    tools: &dyn Toolbox,
    cancel: &CancellationToken,
) -> Result<String, AgentError> {
    match tools.call(run(task)).await {
        Ok(ran) => Ok(answer::printed(&ran)),
        Err(ToolError::Cancelled) => Err(AgentError::Cancelled),
        Err(_) if cancel.is_cancelled() => Err(AgentError::Cancelled),
        Err(error) => Err(error.into()),
    }
}

fn run(command: String) -> ToolCall {
    ToolCall::Run {
        command,
        limit: None,
    }
}

fn join(delegations: &[DelegationId]) -> String {
    let ids: Vec<String> = delegations.iter().map(ToString::to_string).collect();
    ids.join(", ")
}

fn start(command: String, watch: Vec<String>) -> ToolCall {
    ToolCall::Start(StartCall {
        command,
        notify: true,
        watch,
        ..StartCall::default()
    })
}
