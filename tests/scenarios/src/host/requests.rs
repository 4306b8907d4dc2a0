//! What the runner may ask of a host.

use std::time::Duration;

use homing_domain::ids::{DelegationId, ProcessId};
use homing_domain::key::SessionKey;
use homing_ports::agent::{LogFrom, StartCall, ToolAnswer, ToolCall, ToolError};
use homing_ports::processes::{Fate, Identity, Processes as _};

use super::Host;
use crate::protocol::{Answer, Call, Pid, Quiet, Request, StartedProcess};

/// How long the `wait` tool waits for a process that does not end.
const WAIT_LIMIT: Duration = Duration::from_millis(300);
/// Bytes that the `log` tool asks for at a time.
const LOG_BYTES: usize = 64 * 1024;
/// A process that is asked to end and refuses gets this long before the runner gives up on it.
const TOOL_LIMIT: Duration = Duration::from_secs(10);
/// Timers that are let run one by one when the clock moves; then it jumps.
const STAGES: usize = 64;

impl Host {
    pub(super) async fn answer(&self, request: Request) -> Result<Answer, String> {
        match request {
            Request::Hold { at, text } => self.agent.hold(at, text),
            Request::Release { at } => {
                // A turn that was cancelled meanwhile needs no release.
                let _was_held = self.agent.release(&at);
            }
            Request::Tool { at, under, call } => return self.tool(&at, under, call).await,
            Request::Finish { delegation, result } => {
                if !self.agent.finish(delegation, result) {
                    return Err(format!("{delegation} runs, seen it ended"));
                }
            }
            Request::Compress { at, times } => self.compress(&at, times).await?,
            Request::AutoReset { at, why } => {
                let reset = self.gateway.auto_reset(&at, why.boundary()).await?;
                tracing::info!(conversation.key = %at, reset, "an automatic reset came due");
            }
            Request::OpenWindow { window, at } => drop(
                self.gateway
                    .inbox()
                    .open_window(window, &at)
                    .await
                    .map_err(|error| chain(&error))?,
            ),
            Request::TouchWindow { window } => self
                .gateway
                .inbox()
                .touch_window(window)
                .await
                .map_err(|error| chain(&error))?,
            Request::CloseWindow { window } => self
                .gateway
                .inbox()
                .close_window(window)
                .await
                .map_err(|error| chain(&error))?,
            Request::StoreFails(fails) => self.store.set_failing(fails),
            Request::Advance { by, until } => return self.advance(by, &until).await,
            Request::Settle(until) => self.settle(&until).await?,
            Request::Alive(processes) => return Ok(Answer::Alive(self.alive(processes).await?)),
        }
        Ok(Answer::Done)
    }

    async fn tool(
        &self,
        at: &SessionKey,
        under: Option<DelegationId>,
        call: Call,
    ) -> Result<Answer, String> {
        let label = match &call {
            Call::Start { label, .. } => Some(label.clone()),
            Call::Delegate { .. } => None,
            Call::Wait(_) | Call::Log(_) | Call::Poll(_) | Call::List | Call::Kill(_) => None,
        };
        let delegates = matches!(call, Call::Delegate { .. });
        let called = tokio::time::timeout(TOOL_LIMIT, self.call(at, under, call)).await;
        let answer = called
            .map_err(|_| format!("an answer of the tool within {} s", TOOL_LIMIT.as_secs()))?;
        match (answer, label) {
            (Ok(ToolAnswer::Started { process }), Some(label)) => {
                self.agent.name(process, label);
                self.started(process).await
            }
            (Ok(ToolAnswer::Delegated { delegations }), _) => match delegations.first() {
                Some(delegation) => self.delegated(*delegation).await,
                None => Err("a sub-agent, seen none".into()),
            },
            (Err(error), None) if delegates => Err(format!("a sub-agent, seen {}", chain(&error))),
            (Err(error), Some(_)) => Err(format!("it cannot be started: {}", chain(&error))),
            (Ok(answer), _) => Ok(Answer::Said(format!("{answer:?}"))),
            // A refusal is an answer: some scenarios are about it.
            (Err(error), None) => Ok(Answer::Said(chain(&error))),
        }
    }

    /// With the held turn's tools if there is one, else with those of the current session.
    async fn call(
        &self,
        at: &SessionKey,
        under: Option<DelegationId>,
        call: Call,
    ) -> Result<ToolAnswer, ToolError> {
        if let Call::Log(process) = call {
            return self.log(at, process).await;
        }
        match under {
            None => self.call_once(at, tool_call(call)).await,
            Some(delegation) => match self.agent.tools_of(delegation) {
                Some(tools) => tools.call(tool_call(call)).await,
                None => Err(ToolError::SessionEnded),
            },
        }
    }

    async fn call_once(&self, at: &SessionKey, call: ToolCall) -> Result<ToolAnswer, ToolError> {
        match self.agent.tools(at) {
            Some(tools) => tools.call(call).await,
            None => self.gateway.tool(at, call).await,
        }
    }

    /// Reads from the first byte until there is no more.
    async fn log(&self, at: &SessionKey, process: ProcessId) -> Result<ToolAnswer, ToolError> {
        let mut offset = 0;
        loop {
            let answer = self
                .call_once(
                    at,
                    ToolCall::Log {
                        process,
                        from: LogFrom::Offset(offset),
                        limit: LOG_BYTES,
                    },
                )
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

    /// The sub-agent has begun.
    async fn delegated(&self, delegation: DelegationId) -> Result<Answer, String> {
        let end = tokio::time::Instant::now() + TOOL_LIMIT;
        while !self.agent.delegates(delegation) {
            if tokio::time::Instant::now() > end {
                return Err(format!("{delegation} begins, seen nothing"));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(Answer::Delegated(delegation))
    }

    async fn started(&self, process: ProcessId) -> Result<Answer, String> {
        match self
            .processes
            .fate(process)
            .await
            .map_err(|error| chain(&error))?
        {
            Fate::Running(started) => {
                let [supervisor, program] = [started.supervisor, started.program].map(pid);
                Ok(Answer::Started(StartedProcess {
                    process,
                    supervisor,
                    program,
                }))
            }
            other => Err(format!("it was started, but {other:?}")),
        }
    }

    async fn compress(&self, at: &SessionKey, times: u32) -> Result<(), String> {
        if self.agent.holds(at) {
            // It waits for the turn to end, and so must not be waited for.
            let (gateway, at) = (self.gateway.clone(), at.clone());
            tokio::spawn(async move {
                let compressed = gateway.compress(&at).await;
                tracing::info!(conversation.key = %at, ?compressed, "compressed after the turn");
            });
            return Ok(());
        }
        for _ in 0..times {
            self.gateway.compress(at).await?;
        }
        Ok(())
    }

    /// Lets the timers on the way run at their moments, as they would if the time really passed.
    async fn advance(&self, by: Duration, until: &Quiet) -> Result<Answer, String> {
        let target = self.clock.shown().plus(by);
        for _ in 0..STAGES {
            let Some(next) = self.clock.next_waking(target) else {
                break;
            };
            self.clock.move_to(next);
            self.settle(until).await?;
        }
        self.clock.move_to(target);
        self.settle(until).await?;
        Ok(Answer::Clock {
            ahead: self.clock.ahead(),
        })
    }

    async fn alive(&self, processes: Vec<ProcessId>) -> Result<Vec<ProcessId>, String> {
        let mut alive = Vec::new();
        for process in processes {
            match self.processes.fate(process).await {
                Ok(Fate::Running(_)) => alive.push(process),
                Ok(Fate::Ended(_) | Fate::NeverRan(_)) => {}
                Err(error) => tracing::debug!(%process, %error, "no fate"),
            }
        }
        Ok(alive)
    }
}

fn tool_call(call: Call) -> ToolCall {
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

fn pid(identity: Identity) -> Pid {
    Pid {
        pid: identity.pid,
        start_time: identity.start_time,
    }
}

/// An error with its reasons, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}
