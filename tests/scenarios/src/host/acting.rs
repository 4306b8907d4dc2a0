//! What a scenario asks of the agent that plays in it.

use async_trait::async_trait;
use homing_domain::ids::{DelegationId, ProcessId};
use homing_domain::key::SessionKey;
use homing_ports::agent::{Agent, LogFrom, StartCall, ToolAnswer, ToolCall};

use super::script::Script;
use crate::protocol::Call;

/// An agent whose turns stay where they are told to, and there do what they are told.
#[async_trait]
pub trait Acting: Agent {
    fn script(&self) -> &Script;

    /// `false` if nothing is held, or about to be.
    fn release(&self, at: &SessionKey) -> bool;

    fn holds(&self, at: &SessionKey) -> bool;

    /// A summary, or an error. `false` if it does not run any more.
    fn finish(&self, delegation: DelegationId, result: Result<String, String>) -> bool;

    /// Whether it runs until it is told how to end.
    fn delegates(&self, delegation: DelegationId) -> bool;

    /// By the turn that is held, or by the sub-agent that runs. `None` if there is none.
    async fn call(&self, who: &Who, call: &Call) -> Option<Result<Called, String>>;
}

/// Who is to call a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    Turn(SessionKey),
    SubAgent(DelegationId),
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    Started(ProcessId),
    Delegated(DelegationId),
    /// What the tool said, refusals included.
    Said(String),
}

impl From<ToolAnswer> for Called {
    fn from(answer: ToolAnswer) -> Called {
        match &answer {
            ToolAnswer::Started { process } => Called::Started(*process),
            ToolAnswer::Delegated { delegations } => match delegations.first() {
                Some(delegation) => Called::Delegated(*delegation),
                None => Called::Said("no sub-agent".into()),
            },
            _ => Called::Said(format!("{answer:?}")),
        }
    }
}

/// How long the `wait` tool waits for a process that does not end.
const WAIT_LIMIT: std::time::Duration = std::time::Duration::from_millis(300);
/// Bytes that the `log` tool asks for at a time.
pub const LOG_BYTES: usize = 64 * 1024;

pub fn tool_call(call: Call) -> ToolCall {
    match call {
        Call::Start {
            command,
            notify,
            watch,
            window,
            ..
        } => ToolCall::Start(StartCall {
            command,
            notify,
            watch,
            window,
            ..StartCall::default()
        }),
        Call::Delegate { task, window } => ToolCall::Delegate {
            tasks: vec![task],
            wait: false,
            window,
        },
        Call::Wait(process) => ToolCall::Wait {
            process,
            limit: WAIT_LIMIT,
        },
        Call::Log(process) => ToolCall::Log {
            process,
            from: LogFrom::Offset(0),
            limit: LOG_BYTES,
        },
        Call::Poll(process) => ToolCall::Poll { process },
        Call::List => ToolCall::List,
        Call::Kill(process) => ToolCall::Kill { process },
    }
}
