//! The agent: its models, what is known of each, and the port.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use homing_ports::agent::{
    Agent, AgentError, Summary, SummaryRequest, Toolbox, TurnAnswer, TurnRequest,
};
use tokio_util::sync::CancellationToken;

use super::client::{ChatError, ChatRequest, Client};
use super::room::{self, Known, Room};
use super::settings::{AgentSettings, SettingsError};
use super::summary;
use super::turn::Turn;

/// Any number of turns may run at the same time.
#[derive(Debug)]
pub struct OpenAiAgent {
    settings: AgentSettings,
    /// The profile's own first.
    models: Vec<Model>,
}

/// A model to ask, with those that stand in for it.
#[derive(Debug)]
pub(crate) struct Model {
    pub name: String,
    pub client: Client,
    known: Arc<Mutex<Known>>,
    /// Of all models of the profile, by name: a fallback that stands in for this one has its own window, and its own way to count.
    all: Arc<HashMap<String, Arc<Mutex<Known>>>>,
}

impl OpenAiAgent {
    pub fn new(settings: AgentSettings) -> Result<OpenAiAgent, SettingsError> {
        settings.check()?;
        let client = Client::new(settings.client.clone())?;
        let mut models: Vec<Model> = Vec::new();
        let names =
            || std::iter::once(&settings.client.model).chain(&settings.client.fallback_models);
        let all = names().map(|name| (name.clone(), Arc::default()));
        let all: Arc<HashMap<String, Arc<Mutex<Known>>>> = Arc::new(all.collect());
        for name in names() {
            if models.iter().all(|model| model.name != *name) {
                models.push(Model {
                    name: name.clone(),
                    client: client.for_model(name),
                    known: all.get(name).cloned().unwrap_or_default(),
                    all: Arc::clone(&all),
                });
            }
        }
        Ok(OpenAiAgent { settings, models })
    }

    fn model(&self, chosen: Option<&str>) -> Result<&Model, AgentError> {
        let is_it = |model: &&Model| chosen.is_none_or(|chosen| model.name == chosen);
        self.models.iter().find(is_it).ok_or_else(|| {
            let (chosen, names) = (chosen.unwrap_or_default(), self.models().join(", "));
            AgentError::Model {
                plain: format!("There is no model {chosen} here; choose one of {names} with /model."),
                detail: format!(
                    "a conversation has chosen the model {chosen:?}, which is neither `model` nor in `fallback_models`: {names}"
                ),
            }
        })
    }
}

#[async_trait]
impl Agent for OpenAiAgent {
    async fn turn(
        &self,
        request: TurnRequest,
        tools: Arc<dyn Toolbox>,
        cancel: CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let model = self.model(request.model.as_deref())?;
        let turn = async {
            let turn = Turn::begin(&self.settings, model, request, tools, cancel.clone()).await?;
            turn.run().await
        };
        // Boxed: a turn's future is large, and the caller's would hold it.
        let answer = Box::pin(turn).await;
        // Whatever it failed with then, it failed because it was cancelled.
        match cancel.is_cancelled() {
            true => Err(AgentError::Cancelled),
            false => answer,
        }
    }

    /// By the model that reads it afterwards.
    async fn summarize(&self, request: SummaryRequest) -> Result<Summary, AgentError> {
        let model = self.model(request.model.as_deref())?;
        summary::summarize(&self.settings, model, &request.context, &request.used).await
    }

    fn models(&self) -> Vec<String> {
        self.models.iter().map(|model| model.name.clone()).collect()
    }
}

impl Model {
    /// Nothing is awaited while it is held; after a panic elsewhere what is known is as good as before.
    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same of a model that may stand in for this one.
    pub fn known_of(&self, name: &str) -> Option<MutexGuard<'_, Known>> {
        let known = self.all.get(name)?;
        Some(known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A server refused this request as too long for the model of that name: what there is room for there.
    pub fn refused(
        &self,
        settings: &AgentSettings,
        name: &str,
        limit: Option<u64>,
        request: &ChatRequest,
    ) -> Room {
        let mut unknown = Known::default();
        let mut known = self.known_of(name);
        let known = known.as_deref_mut().unwrap_or(&mut unknown);
        known.refused(limit, room::tokens(request, known));
        Room::of(settings.context_tokens, settings.output_tokens, known)
    }

    pub fn room(&self, settings: &AgentSettings) -> Room {
        Room::of(
            settings.context_tokens,
            settings.output_tokens,
            &self.known(),
        )
    }
}

pub(crate) fn failed(error: &ChatError) -> AgentError {
    match error {
        ChatError::Cancelled => AgentError::Cancelled,
        error => AgentError::Model {
            plain: error.plain(),
            detail: error.full(),
        },
    }
}
