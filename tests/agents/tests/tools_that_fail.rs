//! What real tools cannot be made to show on request: a store that does not answer, and a turn that was ended while its tool ran. Both agents.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use homing_agent_shell::ShellAgent;
use homing_agents_tests::scripted::obeys;
use homing_agents_tests::{Does, Scripted, Stage};
use homing_ports::agent::{AgentError, ToolError};

/// Each agent, and what makes it run `build`.
async fn both() -> [(Stage, Option<Scripted>, &'static str); 2] {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.rule(obeys);
    let model = Stage::new(scripted.stage.agent.clone()).unwrap();
    [
        (Stage::new(Arc::new(ShellAgent)).unwrap(), None, "! build"),
        (model, Some(scripted), "run: build"),
    ]
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_an_error_of_the_turn_and_the_next_one_works() {
    for (stage, _server, asking) in both().await {
        stage.tools.on("build", Does::StoreIsAway);
        let answer = stage.say(asking).await;
        assert!(
            matches!(answer, Err(AgentError::Tool(ToolError::Store(_)))),
            "{answer:?}"
        );
        stage.tools.on("build", Does::Says("it is built".into()));
        let answer = stage.say(asking).await.unwrap();
        assert!(answer.text.contains("it is built"), "{}", answer.text);
        assert_eq!(stage.tools.begun(), ["build", "build"]);
    }
}

#[tokio::test]
async fn a_turn_that_was_ended_fails() {
    for (stage, _server, asking) in both().await {
        stage.tools.on("build", Does::EndsTheTurn);
        let answer = stage.say(asking).await;
        assert!(
            matches!(answer, Err(AgentError::Tool(ToolError::SessionEnded))),
            "{answer:?}"
        );
    }
}
