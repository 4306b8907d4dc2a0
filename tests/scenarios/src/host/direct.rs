//! Calls without a model: by the tools of a turn, or by those of a conversation's current session.

use std::sync::Arc;

use homing_domain::ids::ProcessId;
use homing_domain::key::SessionKey;
use homing_gateway::Gateway;
use homing_ports::agent::{LogFrom, ToolAnswer, ToolCall, ToolError, Toolbox};

use super::acting::{Called, LOG_BYTES, tool_call};
use super::requests::chain;
use crate::protocol::Call;

#[derive(Debug)]
pub enum Tools<'a> {
    Turn(Arc<dyn Toolbox>),
    Session(&'a Gateway, &'a SessionKey),
}

impl Tools<'_> {
    pub async fn carry_out(&self, call: &Call) -> Result<Called, String> {
        let answer = match call {
            Call::Log(process) => self.log(*process).await,
            call => self.call(tool_call(call.clone())).await,
        };
        answer.map(Called::from).map_err(|error| chain(&error))
    }

    /// Reads from the first byte until there is no more.
    async fn log(&self, process: ProcessId) -> Result<ToolAnswer, ToolError> {
        let mut offset = 0;
        loop {
            let answer = self
                .call(ToolCall::Log {
                    process,
                    from: LogFrom::Offset(offset),
                    limit: LOG_BYTES,
                })
                .await?;
            match &answer {
                ToolAnswer::Log {
                    from, bytes, total, ..
                } if !bytes.is_empty() && from + (bytes.len() as u64) < *total => {
                    offset = from + bytes.len() as u64;
                }
                _ => return Ok(answer),
            }
        }
    }

    async fn call(&self, call: ToolCall) -> Result<ToolAnswer, ToolError> {
        match self {
            Tools::Turn(tools) => tools.call(call).await,
            Tools::Session(gateway, at) => gateway.tool(at, call).await,
        }
    }
}
