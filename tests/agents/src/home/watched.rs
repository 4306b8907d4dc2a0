//! An agent with a look at what becomes of its turns. It decides nothing.

use std::fmt;
use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use homing_ports::agent::{
    Agent, AgentError, Summary, SummaryRequest, Toolbox, TurnAnswer, TurnRequest,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::LONG;

pub struct Watched {
    agent: Arc<dyn Agent>,
    held: watch::Sender<bool>,
    seen: watch::Sender<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    begun: usize,
    outcomes: Vec<Outcome>,
}

/// How a turn ended for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Answered(String),
    Cancelled,
    Failed(String),
}

impl fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Watched");
        shown.field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Watched {
    pub(super) fn new(agent: Arc<dyn Agent>) -> Watched {
        Watched {
            agent,
            held: watch::Sender::default(),
            seen: watch::Sender::default(),
        }
    }

    /// From now on the agent hears of no turn until it is released.
    pub fn hold(&self) {
        self.held.send_replace(true);
    }

    pub fn release(&self) {
        self.held.send_replace(false);
    }

    /// Returns when the gateway has begun so many turns.
    pub async fn begun(&self, count: usize) -> anyhow::Result<()> {
        let mut seen = self.seen.subscribe();
        let wait = seen.wait_for(|seen| seen.begun >= count);
        let seen = tokio::time::timeout(LONG, wait).await;
        seen.with_context(|| format!("{count} turns never began"))??;
        Ok(())
    }

    /// How the turns ended, once so many have.
    pub async fn outcomes(&self, count: usize) -> anyhow::Result<Vec<Outcome>> {
        let mut seen = self.seen.subscribe();
        let wait = seen.wait_for(|seen| seen.outcomes.len() >= count);
        let seen = tokio::time::timeout(LONG, wait).await;
        let seen = seen.with_context(|| format!("{count} turns never ended"))??;
        Ok(seen.outcomes.clone())
    }
}

#[async_trait]
impl Agent for Watched {
    async fn turn(
        &self,
        request: TurnRequest,
        tools: Arc<dyn Toolbox>,
        cancel: CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        self.seen.send_modify(|seen| seen.begun += 1);
        // Its sender is here as well: it cannot be gone.
        drop(self.held.subscribe().wait_for(|held| !held).await);
        let result = self.agent.turn(request, tools, cancel).await;
        let outcome = match &result {
            Ok(answer) => Outcome::Answered(answer.text.clone()),
            Err(AgentError::Cancelled) => Outcome::Cancelled,
            Err(error) => Outcome::Failed(error.to_string()),
        };
        self.seen.send_modify(|seen| seen.outcomes.push(outcome));
        result
    }

    async fn summarize(&self, request: SummaryRequest) -> Result<Summary, AgentError> {
        self.agent.summarize(request).await
    }

    fn models(&self) -> Vec<String> {
        self.agent.models()
    }
}
