//! The scripted agent: says something to everyone, and stays running where it is told to.
//!
//! **Invariant:** a background turn is reported to the runner before it is answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{DelegationId, ProcessId, SessionId};
use homing_domain::key::SessionKey;
use homing_ports::agent::{
    AboutItem, Agent, AgentError, Summary, Toolbox, TurnAbout, TurnAnswer, TurnRequest,
};
use homing_ports::store::{Context, Source};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::words;
use crate::protocol::{BackgroundTurn, Line};

/// Characters of a text that an answer repeats.
const REPEATED: usize = 1_500;
const LINGERS_AT_MOST: Duration = Duration::from_secs(8);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub struct ScriptedAgent {
    slow_background_turns: bool,
    slow_turns: bool,
    /// What every background turn does.
    background_call: Option<String>,
    script: Mutex<Script>,
    /// Turns that stay running because they were told to.
    lingering: Mutex<Vec<SessionKey>>,
}

#[derive(Debug, Default)]
struct Script {
    /// Messages whose turn is to be held.
    to_hold: HashMap<SessionKey, Vec<String>>,
    held: HashMap<SessionKey, HeldTurn>,
    /// Sub-agents that run until they are told how to end.
    delegated: HashMap<DelegationId, HeldDelegation>,
    labels: HashMap<ProcessId, String>,
}

#[derive(Debug, Clone)]
struct HeldTurn {
    tools: Arc<dyn Toolbox>,
    release: CancellationToken,
}

#[derive(Debug)]
struct HeldDelegation {
    tools: Arc<dyn Toolbox>,
    end: oneshot::Sender<Result<String, String>>,
}

impl ScriptedAgent {
    pub fn new(
        slow_background_turns: bool,
        slow_turns: bool,
        background_call: Option<String>,
        labels: Vec<(ProcessId, String)>,
    ) -> ScriptedAgent {
        let script = Script {
            labels: labels.into_iter().collect(),
            ..Script::default()
        };
        ScriptedAgent {
            slow_background_turns,
            slow_turns,
            background_call,
            script: Mutex::new(script),
            lingering: Mutex::default(),
        }
    }

    /// The turn that answers this text at `at` stays running until it is released or cancelled.
    pub fn hold(&self, at: SessionKey, text: String) {
        self.lock().to_hold.entry(at).or_default().push(text);
    }

    /// `false` if nothing is held, or about to be.
    pub fn release(&self, at: &SessionKey) -> bool {
        let mut script = self.lock();
        match script.held.remove(at) {
            Some(held) => {
                held.release.cancel();
                true
            }
            None => script.to_hold.remove(at).is_some(),
        }
    }

    /// The tools of the turn that is held here.
    pub fn tools(&self, at: &SessionKey) -> Option<Arc<dyn Toolbox>> {
        self.lock().held.get(at).map(|held| Arc::clone(&held.tools))
    }

    /// The tools of a sub-agent that runs.
    pub fn tools_of(&self, delegation: DelegationId) -> Option<Arc<dyn Toolbox>> {
        self.lock()
            .delegated
            .get(&delegation)
            .map(|held| Arc::clone(&held.tools))
    }

    /// A summary, or an error. `false` if it does not run any more.
    pub fn finish(&self, delegation: DelegationId, result: Result<String, String>) -> bool {
        let held = self.lock().delegated.remove(&delegation);
        held.is_some_and(|held| held.end.send(result).is_ok())
    }

    pub fn delegates(&self, delegation: DelegationId) -> bool {
        self.lock().delegated.contains_key(&delegation)
    }

    pub fn holds(&self, at: &SessionKey) -> bool {
        self.lock().held.contains_key(at)
    }

    pub fn lingering(&self) -> usize {
        all(&self.lingering).len() + self.lock().delegated.len()
    }

    /// Whether a turn stays running here, held or slow.
    pub fn lingers_at(&self, at: &SessionKey) -> bool {
        all(&self.lingering).contains(at)
    }

    pub fn name(&self, process: ProcessId, label: String) {
        self.lock().labels.insert(process, label);
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_to_be_held(&self, at: &SessionKey, text: &str) -> bool {
        let mut script = self.lock();
        let Some(texts) = script.to_hold.get_mut(at) else {
            return false;
        };
        let Some(index) = texts.iter().position(|wanted| wanted.trim() == text.trim()) else {
            return false;
        };
        texts.remove(index);
        true
    }

    /// Stays until released. What it says of a cancelled turn is not sent.
    async fn stay(
        &self,
        at: &SessionKey,
        tools: Arc<dyn Toolbox>,
        cancel: &CancellationToken,
    ) -> Result<(), AgentError> {
        let release = CancellationToken::new();
        self.lock().held.insert(
            at.clone(),
            HeldTurn {
                tools,
                release: release.clone(),
            },
        );
        let _lingers = Lingers::new(&self.lingering, at);
        tokio::select! {
            () = release.cancelled() => Ok(()),
            () = cancel.cancelled() => {
                self.lock().held.remove(at);
                Err(AgentError::Cancelled)
            }
        }
    }

    /// What a text asks for takes until the scenario ends it: its turn does not keep anybody waiting.
    fn lingers_over(&self, text: &str, at: &SessionKey) -> Option<Lingers<'_>> {
        text.contains("lingers")
            .then(|| Lingers::new(&self.lingering, at))
    }

    /// Bounded: a scenario whose turn lingers for good fails by what it expects next.
    async fn until_nothing_lingers(&self) {
        let end = Instant::now() + LINGERS_AT_MOST;
        while self.lingering() > 0 && Instant::now() < end {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn delegated(
        &self,
        delegation: DelegationId,
        tools: Arc<dyn Toolbox>,
        cancel: &CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let (end, ended) = oneshot::channel();
        self.lock()
            .delegated
            .insert(delegation, HeldDelegation { tools, end });
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
        let about = items.iter().map(|item| source(item.source)).collect();
        let report = BackgroundTurn {
            turn: request.turn,
            at: request.key.clone(),
            session: request.session,
            about,
        };
        super::say(&Line::Turn(report)).map_err(|error| AgentError::Failed(error.to_string()))?;
        if self.slow_background_turns {
            return self.never_end(&request.key, cancel).await;
        }
        if let Some(call) = &self.background_call
            && let Some(done) = words::obey(call, tools, cancel).await
        {
            return done;
        }
        let names: Vec<String> = items.iter().map(|item| self.named(item.source)).collect();
        let text = format!("About {}:\n{}", names.join(", "), cut(plain));
        Ok(TurnAnswer::from(text))
    }

    async fn never_end(
        &self,
        at: &SessionKey,
        cancel: &CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let _lingers = Lingers::new(&self.lingering, at);
        cancel.cancelled().await;
        Err(AgentError::Cancelled)
    }

    fn named(&self, one: Source) -> String {
        let label = match one {
            Source::Process(process) => self.lock().labels.get(&process).cloned(),
            Source::Delegation(_) => None,
        };
        label.map_or_else(|| source(one), |label| format!("{label} ({})", source(one)))
    }
}

fn source(source: Source) -> String {
    match source {
        Source::Process(id) => id.to_string(),
        Source::Delegation(id) => id.to_string(),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(REPEATED).collect()
}

/// A turn that stays, for as long as it does.
struct Lingers<'a> {
    all: &'a Mutex<Vec<SessionKey>>,
    at: SessionKey,
}

impl<'a> Lingers<'a> {
    fn new(lingering: &'a Mutex<Vec<SessionKey>>, at: &SessionKey) -> Lingers<'a> {
        all(lingering).push(at.clone());
        Lingers {
            all: lingering,
            at: at.clone(),
        }
    }
}

impl Drop for Lingers<'_> {
    fn drop(&mut self) {
        let mut lingering = all(self.all);
        if let Some(index) = lingering.iter().position(|at| *at == self.at) {
            lingering.swap_remove(index);
        }
    }
}

fn all(lingering: &Mutex<Vec<SessionKey>>) -> MutexGuard<'_, Vec<SessionKey>> {
    lingering.lock().unwrap_or_else(PoisonError::into_inner)
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
                if self.is_to_be_held(&request.key, text) {
                    self.stay(&request.key, Arc::clone(&tools), &cancel).await?;
                    meanwhile = words::meanwhile(&tools).await?;
                } else if self.slow_turns {
                    return self.never_end(&request.key, &cancel).await;
                }
                if text == "until nothing lingers" {
                    self.until_nothing_lingers().await;
                }
                let _lingers = self.lingers_over(text, &request.key);
                if let Some(done) = words::obey(text, &tools, &cancel).await {
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
                let _lingers = self.lingers_over(task, &request.key);
                match words::obey(task, &tools, &cancel).await {
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

    async fn summarize(
        &self,
        session: SessionId,
        context: &Context,
    ) -> Result<Summary, AgentError> {
        let messages = context.messages.len();
        // Told to keep something, it keeps everything from there on word for word.
        let kept_from = context
            .messages
            .iter()
            .find(|message| message.text == "keep from here")
            .map(|message| message.id);
        if context
            .messages
            .iter()
            .any(|message| message.text == "no summary of this")
        {
            return Err(AgentError::Failed("it cannot be summarized".into()));
        }
        Ok(Summary {
            kept_from,
            ..Summary::from(format!("{messages} messages of {session}"))
        })
    }

    fn models(&self) -> Vec<String> {
        ["large", "small"].map(str::to_owned).to_vec()
    }
}
