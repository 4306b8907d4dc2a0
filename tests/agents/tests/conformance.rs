//! Both agents under the suite of every agent, at home: in a real gateway, with real tools.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use async_trait::async_trait;
use homing_agent_shell::ShellAgent;
use homing_agents_tests::conformance::Fixture;
use homing_agents_tests::scripted::obeys;
use homing_agents_tests::{AtHome, Home, conformance};

conformance!(the_shell_agent, super::Shell);
conformance!(the_model_agent, super::Model);

struct Shell(Home);

#[async_trait]
impl Fixture for Shell {
    async fn start() -> anyhow::Result<Shell> {
        Ok(Shell(Home::of(Arc::new(ShellAgent)).await?))
    }

    fn home(&self) -> &Home {
        &self.0
    }

    fn asking_for(&self, command: &str) -> String {
        format!("! {command}")
    }

    fn starting(&self, command: &str) -> String {
        format!("!bg {command}")
    }

    fn delegating(&self, command: &str) -> String {
        format!("!delegate {command}")
    }
}

struct Model(AtHome);

#[async_trait]
impl Fixture for Model {
    async fn start() -> anyhow::Result<Model> {
        let scripted = AtHome::with(|settings| settings.context_tokens = 200_000).await?;
        scripted.server.rule(obeys);
        Ok(Model(scripted))
    }

    fn home(&self) -> &Home {
        &self.0.home
    }

    fn asking_for(&self, command: &str) -> String {
        format!("run: {command}")
    }

    fn starting(&self, command: &str) -> String {
        format!("start: {command}")
    }

    fn delegating(&self, command: &str) -> String {
        format!("delegate: run: {command}")
    }

    fn misbehaviour(&self) -> Vec<String> {
        self.0.refusals()
    }
}
