//! The real agent of OpenAI-compatible servers, whose server plays the script.
//!
//! What is answered goes through the real client, over HTTP, and is made from what a request holds: [`heard`] reads it as a model does, [`player`] says what
//! comes back, [`stage`] knows which turns run. What a turn does is asked for in tool calls, which the real turn carries out.
//!
//! **Invariant:** a request that does not say which running turn it is of, or lacks a result of a call, is refused, and its turn fails.
//! **Absent on purpose:** a way for an answer around the server. Calls from a console's window are no model's: no tool has an argument for it.

mod heard;
mod orders;
mod player;
mod stage;
mod tools;

use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use homing_agent_openai::client::Settings;
use homing_agent_openai::{AgentSettings, OpenAiAgent};
use homing_domain::ids::DelegationId;
use homing_domain::key::SessionKey;
use homing_ports::agent::{
    Agent, AgentError, Summary, SummaryRequest, Toolbox, TurnAbout, TurnAnswer, TurnRequest,
};
use homing_simulators::model::ModelServer;
use tokio_util::sync::CancellationToken;

use super::acting::{Acting, Called, Who};
use super::agent::{MODELS, report, source};
use super::direct::Tools;
use super::script::Script;
use crate::protocol::Call;
use player::Player;
use stage::{Order, Role, Stage};
use tools::Watched;

#[derive(Debug)]
pub struct ServedAgent {
    agent: OpenAiAgent,
    script: Arc<Script>,
    stage: Arc<Stage>,
    /// Ends with it.
    _server: ModelServer,
}

impl ServedAgent {
    pub async fn new(script: Script) -> anyhow::Result<ServedAgent> {
        let server = ModelServer::start()
            .await
            .context("starting the model server")?;
        server.set_models(&MODELS);
        let [model, others @ ..] = MODELS;
        let mut client = Settings::new(server.url(), model);
        client.fallback_models = others.map(str::to_owned).to_vec();
        let agent = OpenAiAgent::new(AgentSettings::new(client)).context("making the agent")?;
        let (script, stage) = (Arc::new(script), Arc::new(Stage::default()));
        let player = Arc::new(Player::new(Arc::clone(&script), Arc::clone(&stage)));
        server.player(move |asked| {
            let player = Arc::clone(&player);
            async move { player.answer(&asked).await }
        });
        Ok(ServedAgent {
            agent,
            script,
            stage,
            _server: server,
        })
    }
}

#[async_trait]
impl Agent for ServedAgent {
    async fn turn(
        &self,
        request: TurnRequest,
        tools: Arc<dyn Toolbox>,
        cancel: CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let role = match &request.about {
            TurnAbout::Person { .. } => Role::Person,
            TurnAbout::Delegated { delegation, task } => Role::SubAgent {
                id: *delegation,
                task: task.clone(),
            },
            TurnAbout::Background { items, .. } => {
                report(&request, items)?;
                Role::Background(items.iter().map(|item| source(item.source)).collect())
            }
        };
        let at = request.key.clone();
        let tools = Arc::new(Watched::new(tools, at.clone(), Arc::clone(&self.script)));
        let _on_stage = self.stage.enter(request.turn, at, role, Arc::clone(&tools));
        self.agent.turn(request, tools, cancel).await
    }

    async fn summarize(&self, request: SummaryRequest) -> Result<Summary, AgentError> {
        self.agent.summarize(request).await
    }

    fn models(&self) -> Vec<String> {
        self.agent.models()
    }
}

#[async_trait]
impl Acting for ServedAgent {
    fn script(&self) -> &Script {
        &self.script
    }

    fn release(&self, at: &SessionKey) -> bool {
        match self.stage.held(&Who::Turn(at.clone())) {
            Some(turn) => turn.end(Order::Release),
            None => self.script.hold_no_more(at),
        }
    }

    fn holds(&self, at: &SessionKey) -> bool {
        self.stage.held(&Who::Turn(at.clone())).is_some()
    }

    fn finish(&self, delegation: DelegationId, result: Result<String, String>) -> bool {
        let turn = self.stage.held(&Who::SubAgent(delegation));
        turn.is_some_and(|turn| turn.end(Order::Finish(result)))
    }

    fn delegates(&self, delegation: DelegationId) -> bool {
        self.stage.held(&Who::SubAgent(delegation)).is_some()
    }

    async fn call(&self, who: &Who, call: &Call) -> Option<Result<Called, String>> {
        let turn = self.stage.held(who)?;
        Some(match call {
            Call::Start {
                window: Some(_), ..
            }
            | Call::Delegate {
                window: Some(_), ..
            } => Tools::Turn(turn.tools.beneath()).carry_out(call).await,
            call => orders::carry_out(&turn, call).await,
        })
    }
}
