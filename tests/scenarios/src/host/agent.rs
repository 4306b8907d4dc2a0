//! The scripted agent: says something to everyone, and stays running where it is told to.
//!
//! **Invariant:** a background turn is reported to the runner before it is answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use homing_domain::ids::DelegationId;
use homing_domain::key::SessionKey;
use homing_ports::agent::{
    AboutItem, Agent, AgentError, Summary, SummaryRequest, Toolbox, TurnAbout, TurnAnswer,
    TurnRequest,
};
use homing_ports::store::Source;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::acting::{Acting, Called, Who};
use super::direct::Tools;
use super::script::{Lingers, Script, cut};
use super::words;
use crate::protocol::{BackgroundTurn, Call, Line};

/// Models that it has.
pub const MODELS: [&str; 2] = ["large", "small"];

#[derive(Debug)]
pub struct ScriptedAgent {
    script: Script,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    turns: HashMap<SessionKey, HeldTurn>,
    /// Sub-agents that run until they are told how to end.
    delegated: HashMap<DelegationId, HeldDelegation>,
}

#[derive(Debug)]
struct HeldTurn {
    tools: Arc<dyn Toolbox>,
    release: CancellationToken,
    _lingers: Lingers,
}

#[derive(Debug)]
struct HeldDelegation {
    tools: Arc<dyn Toolbox>,
    end: oneshot::Sender<Result<String, String>>,
    _lingers: Lingers,
}

impl ScriptedAgent {
    pub fn new(script: Script) -> ScriptedAgent {
        ScriptedAgent {
            script,
            held: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stays until released. What it says of a cancelled turn is not sent.
    async fn stay(
        &self,
        at: &SessionKey,
        tools: Arc<dyn Toolbox>,
        cancel: &CancellationToken,
    ) -> Result<(), AgentError> {
        let release = CancellationToken::new();
        let held = HeldTurn {
            tools,
            release: release.clone(),
            _lingers: self.script.lingers(Some(at)),
        };
        self.lock().turns.insert(at.clone(), held);
        tokio::select! {
            () = release.cancelled() => Ok(()),
            () = cancel.cancelled() => {
                self.lock().turns.remove(at);
                Err(AgentError::Cancelled)
            }
        }
    }

    async fn delegated(
        &self,
        delegation: DelegationId,
        tools: Arc<dyn Toolbox>,
        cancel: &CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let (end, ended) = oneshot::channel();
        let held = HeldDelegation {
            tools,
            end,
            _lingers: self.script.lingers(None),
        };
        self.lock().delegated.insert(delegation, held);
        tokio::select! {
            result = ended => match result {
                Ok(Ok(text)) => Ok(TurnAnswer::from(text)),
                Ok(Err(error)) => Err(AgentError::Failed(error)),
                Err(_) => Err(AgentError::Cancelled),
            },
            () = cancel.cancelled() => {
                self.lock().delegated.remove(&delegation);
                Err(AgentError::Cancelled)
            }
        }
    }

    async fn background(
        &self,
        request: &TurnRequest,
        items: &[AboutItem],
        plain: &str,
        tools: &Arc<dyn Toolbox>,
        cancel: &CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        report(request, items)?;
        if self.script.slow_background_turns {
            return self.never_end(&request.key, cancel).await;
        }
        if let Some(call) = &self.script.background_call
            && let Some(done) = words::obey(call, tools, &request.used, cancel).await
        {
            return done;
        }
        let names: Vec<String> = items
            .iter()
            .map(|item| self.script.named(&source(item.source)))
            .collect();
        let text = format!("About {}:\n{}", names.join(", "), cut(plain));
        Ok(TurnAnswer::from(text))
    }

    async fn never_end(
        &self,
        at: &SessionKey,
        cancel: &CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let _lingers = self.script.lingers(Some(at));
        cancel.cancelled().await;
        Err(AgentError::Cancelled)
    }
}

/// Tells the runner what an agent was asked about.
pub fn report(request: &TurnRequest, items: &[AboutItem]) -> Result<(), AgentError> {
    let report = BackgroundTurn {
        turn: request.turn,
        at: request.key.clone(),
        session: request.session,
        about: items.iter().map(|item| source(item.source)).collect(),
    };
    super::say(&Line::Turn(report)).map_err(|error| AgentError::Failed(error.to_string()))
}

pub fn source(source: Source) -> String {
    match source {
        Source::Process(id) => id.to_string(),
        Source::Delegation(id) => id.to_string(),
    }
}

#[async_trait]
impl Acting for ScriptedAgent {
    fn script(&self) -> &Script {
        &self.script
    }

    fn release(&self, at: &SessionKey) -> bool {
        match self.lock().turns.remove(at) {
            Some(held) => {
                held.release.cancel();
                true
            }
            None => self.script.hold_no_more(at),
        }
    }

    fn holds(&self, at: &SessionKey) -> bool {
        self.lock().turns.contains_key(at)
    }

    fn finish(&self, delegation: DelegationId, result: Result<String, String>) -> bool {
        let held = self.lock().delegated.remove(&delegation);
        held.is_some_and(|held| held.end.send(result).is_ok())
    }

    fn delegates(&self, delegation: DelegationId) -> bool {
        self.lock().delegated.contains_key(&delegation)
    }

    async fn call(&self, who: &Who, call: &Call) -> Option<Result<Called, String>> {
        let tools = {
            let held = self.lock();
            match who {
                Who::Turn(at) => held.turns.get(at).map(|held| Arc::clone(&held.tools)),
                Who::SubAgent(id) => held.delegated.get(id).map(|held| Arc::clone(&held.tools)),
            }
        };
        Some(Tools::Turn(tools?).carry_out(call).await)
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
        match &request.about {
            TurnAbout::Person { text, .. } => {
                let mut meanwhile = String::new();
                if self.script.is_to_be_held(&request.key, text) {
                    self.stay(&request.key, Arc::clone(&tools), &cancel).await?;
                    meanwhile = words::meanwhile(&tools).await?;
                } else if self.script.slow_turns {
                    return self.never_end(&request.key, &cancel).await;
                }
                if text == "until nothing lingers" {
                    self.script.until_nothing_lingers().await;
                }
                let _lingers = self.script.lingers_over(text, &request.key);
                if let Some(done) = words::obey(text, &tools, &request.used, &cancel).await {
                    return done;
                }
                let model = request
                    .model
                    .map_or_else(String::new, |model| format!(" ({model})"));
                Ok(TurnAnswer::from(format!(
                    "You said: {}{meanwhile}{model}",
                    cut(text)
                )))
            }
            TurnAbout::Delegated { delegation, task } => {
                let _lingers = self.script.lingers_over(task, &request.key);
                match words::obey(task, &tools, &request.used, &cancel).await {
                    Some(done) => done,
                    None => self.delegated(*delegation, tools, &cancel).await,
                }
            }
            TurnAbout::Background { items, plain, .. } => {
                self.background(&request, items, plain, &tools, &cancel)
                    .await
            }
        }
    }

    async fn summarize(&self, request: SummaryRequest) -> Result<Summary, AgentError> {
        let messages = &request.context.messages;
        // Told to keep something, it keeps everything from there on word for word.
        let kept_from = messages
            .iter()
            .find(|message| message.text == "keep from here")
            .map(|message| message.id);
        if messages
            .iter()
            .any(|message| message.text == "no summary of this")
        {
            return Err(AgentError::Failed("it cannot be summarized".into()));
        }
        Ok(Summary {
            kept_from,
            ..Summary::from(format!(
                "{} messages of {}",
                messages.len(),
                request.session
            ))
        })
    }

    fn models(&self) -> Vec<String> {
        MODELS.map(str::to_owned).to_vec()
    }
}
