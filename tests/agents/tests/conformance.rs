//! Both agents under the suite of every agent.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use async_trait::async_trait;
use homing_agent_shell::ShellAgent;
use homing_agents_tests::conformance::Fixture;
use homing_agents_tests::scripted::obeys;
use homing_agents_tests::{Scripted, Stage, conformance};

conformance!(the_shell_agent, super::Shell);
conformance!(the_model_agent, super::Model);

struct Shell(Stage);

#[async_trait]
impl Fixture for Shell {
    async fn start() -> anyhow::Result<Shell> {
        Ok(Shell(Stage::new(Arc::new(ShellAgent))?))
    }

    fn stage(&self) -> &Stage {
        &self.0
    }

    fn asking_for(&self, command: &str) -> String {
        format!("! {command}")
    }

    fn task_for(&self, command: &str) -> String {
        command.to_owned()
    }
}

struct Model(Scripted);

#[async_trait]
impl Fixture for Model {
    async fn start() -> anyhow::Result<Model> {
        let scripted = Scripted::start().await?;
        scripted.server.rule(obeys);
        Ok(Model(scripted))
    }

    fn stage(&self) -> &Stage {
        &self.0.stage
    }

    fn asking_for(&self, command: &str) -> String {
        format!("run: {command}")
    }

    fn task_for(&self, command: &str) -> String {
        format!("run: {command}")
    }
}
