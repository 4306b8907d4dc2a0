//! What the runner may ask of a host.

use std::time::Duration;

use homing_domain::ids::{DelegationId, ProcessId};
use homing_domain::key::SessionKey;
use homing_ports::agent::ToolError;
use homing_ports::processes::{Fate, Identity, Processes as _};

use super::Host;
use super::acting::{Called, Who};
use super::direct::Tools;
use crate::protocol::{Answer, Call, Pid, Quiet, Request, StartedProcess};

/// A process that is asked to end and refuses gets this long before the runner gives up on it.
const TOOL_LIMIT: Duration = Duration::from_secs(10);
/// Timers that are let run one by one when the clock moves; then it jumps.
const STAGES: usize = 64;

impl Host {
    pub(super) async fn answer(&self, request: Request) -> Result<Answer, String> {
        match request {
            Request::Hold { at, text } => self.agent.script().hold(at, text),
            Request::Release { at } => {
                // A turn that was cancelled meanwhile needs no release.
                let _was_held = self.agent.release(&at);
            }
            Request::Tool { at, under, call } => return self.tool(at, under, call).await,
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
        at: SessionKey,
        under: Option<DelegationId>,
        call: Call,
    ) -> Result<Answer, String> {
        let called = tokio::time::timeout(TOOL_LIMIT, self.call(&at, under, &call)).await;
        let called = called
            .map_err(|_| format!("an answer of the tool within {} s", TOOL_LIMIT.as_secs()))?;
        match (call, called) {
            (Call::Start { label, .. }, Ok(Called::Started(process))) => {
                self.agent.script().name(process, label);
                self.started(process).await
            }
            (Call::Start { .. }, Ok(Called::Said(said)) | Err(said)) => {
                Err(format!("it cannot be started: {said}"))
            }
            (Call::Delegate { .. }, Ok(Called::Delegated(delegation))) => {
                self.delegated(delegation).await
            }
            (Call::Delegate { .. }, Ok(Called::Said(said)) | Err(said)) => {
                Err(format!("a sub-agent, seen {said}"))
            }
            // A refusal is an answer: some scenarios are about it.
            (_, Ok(Called::Said(said)) | Err(said)) => Ok(Answer::Said(said)),
            (call, Ok(other)) => Err(format!("an answer to {call:?}, seen {other:?}")),
        }
    }

    /// By the held turn if there is one, else with the tools of the current session.
    async fn call(
        &self,
        at: &SessionKey,
        under: Option<DelegationId>,
        call: &Call,
    ) -> Result<Called, String> {
        let who = under.map_or_else(|| Who::Turn(at.clone()), Who::SubAgent);
        match (self.agent.call(&who, call).await, who) {
            (Some(called), _) => called,
            (None, Who::Turn(_)) => Tools::Session(&self.gateway, at).carry_out(call).await,
            (None, Who::SubAgent(_)) => Err(chain(&ToolError::SessionEnded)),
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

fn pid(identity: Identity) -> Pid {
    Pid {
        pid: identity.pid,
        start_time: identity.start_time,
    }
}

/// An error with its reasons, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}
