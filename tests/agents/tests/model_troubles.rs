//! Turns of the model agent when the server, the connection or the clock fails them. Who asks how often is the client's, and tested there.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use homing_agent_openai::client::Secret;
use homing_agents_tests::{Message, Scripted, joined, runs, terminal};
use homing_ports::agent::AgentError;
use homing_ports::store::Role;
use homing_simulators::model::{Answer, Dialect};

fn model_error(answer: Result<homing_ports::agent::TurnAnswer, AgentError>) -> (String, String) {
    match answer {
        Err(AgentError::Model { plain, detail }) => (plain, detail),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn cancelling_leaves_the_model_at_once() {
    for answer in [
        Answer::silence(),
        Answer::text("a long answer").holds_after(2),
    ] {
        let scripted = Scripted::start().await.unwrap();
        scripted.server.then(answer);
        let running = scripted.stage.start(Message {
            text: "hi",
            ..Message::default()
        });
        scripted
            .until_server(|server| !server.requests().is_empty())
            .await
            .unwrap();
        scripted.stage.cancel.cancel();
        assert!(matches!(
            joined(running.answer).await,
            Err(AgentError::Cancelled)
        ));
        scripted
            .until_server(|server| server.left() == 1)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_server_that_is_down_is_one_sentence_for_people_and_everything_for_operators() {
    for (answer, sentence) in [
        (
            Answer::error(503, "x", "overloaded by 7"),
            "The model server has a problem right now.",
        ),
        (
            Answer::error(429, "x", "overloaded by 7"),
            "The model server has too much to do for us; try again in a while.",
        ),
        (
            Answer::error(401, "x", "overloaded by 7"),
            "The model server does not accept our key.",
        ),
    ] {
        let scripted = Scripted::start().await.unwrap();
        for _ in 0..3 {
            scripted.server.then(answer.clone());
        }
        let (plain, detail) = model_error(scripted.stage.say("hi").await);
        assert_eq!(plain, sentence);
        assert!(detail.contains("overloaded by 7"), "{detail}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let scripted = Scripted::with(|settings| {
        settings.client.first_token_limit = Duration::from_millis(20);
        settings.client.attempts = 2;
    })
    .await
    .unwrap();
    scripted
        .server
        .then(Answer::silence())
        .then(Answer::silence());
    let (plain, _) = model_error(scripted.stage.say("hi").await);
    assert_eq!(plain, "The model did not answer in time.");
}

#[tokio::test]
async fn what_may_pass_is_not_noticed() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(Answer::error(500, "x", "x"));
    scripted
        .server
        .then(Answer::text("a long answer").breaks_after(2));
    scripted.server.then(Answer::text("hello"));
    let running = scripted.stage.start(Message {
        text: "hi",
        ..Message::default()
    });
    let answer = joined(running.answer).await.unwrap();
    assert_eq!(answer.text, "hello");
    // What had been shown of the answer that broke off was taken back.
    assert_eq!(running.seen.borrow().text, "hello");
}

#[tokio::test]
async fn an_answer_that_breaks_off_for_good_is_shown_as_broken_off() {
    let scripted = Scripted::with(|settings| settings.client.attempts = 1)
        .await
        .unwrap();
    scripted.server.then(runs("a", "ls").saying("I look."));
    scripted
        .server
        .then(Answer::text("Two files and").breaks_after(4));
    let answer = scripted.stage.say("look").await.unwrap();
    assert!(answer.text.starts_with("I look.\n\nTwo"), "{}", answer.text);
    assert!(answer.text.contains("broke off here"), "{}", answer.text);
    // A notification is told anew by the gateway instead (OWN-68).
    scripted
        .server
        .then(Answer::text("The build is").breaks_after(2));
    let (plain, _) = model_error(scripted.stage.notify("block", "plain").await);
    assert!(plain.contains("broke off"), "{plain}");
    // Where nothing had come, there is nothing to show.
    scripted.server.then(Answer::hang_up());
    model_error(scripted.stage.say("hi").await);
}

#[tokio::test]
async fn calls_that_came_whole_before_the_break_are_carried_out() {
    let scripted = Scripted::start().await.unwrap();
    let calls =
        Answer::calls([terminal("a", "one"), terminal("b", "two")]).dialect(Dialect::Unnumbered);
    scripted.server.then(calls.breaks_after(2));
    scripted.server.then(Answer::text("done"));
    let answer = scripted.stage.say("go").await.unwrap();
    assert_eq!(answer.text, "done");
    let begun = scripted.stage.tools.begun();
    assert!(
        begun.first().is_some_and(|first| first == "one"),
        "{begun:?}"
    );
    assert_eq!(scripted.refusals(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_fails_between_two_rounds_leaves_a_readable_history() {
    let scripted = Scripted::with(|settings| settings.client.attempts = 1)
        .await
        .unwrap();
    scripted.server.then(runs("a", "make"));
    scripted.server.then(Answer::error(500, "x", "x"));
    model_error(scripted.stage.say("build").await);
    let roles: Vec<Role> = scripted
        .stage
        .tools
        .rows()
        .iter()
        .map(|row| row.role)
        .collect();
    assert_eq!(roles, [Role::Person, Role::Agent, Role::Tool]);
    scripted.server.then(Answer::text("it was built"));
    scripted.stage.say("and?").await.unwrap();
    assert_eq!(
        scripted.last_told()[1..],
        [
            "user: build",
            "assistant: <a>",
            "a: ran make",
            "assistant: Noted.",
            "user: and?"
        ]
    );
}

/// What is logged, as text.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_key_is_in_no_log_error_or_history_whatever_a_server_says() {
    const KEY: &str = "sk-canary-0123456789abcdef";
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _here = tracing::subscriber::set_default(subscriber);

    let scripted = Scripted::with(|settings| {
        settings.client.key = Some(Secret::new(KEY));
        settings.client.attempts = 2;
    })
    .await
    .unwrap();
    scripted.server.set_key(KEY);
    let echo = || Answer::error(500, "x", &format!("bad header: Bearer {KEY}"));
    let mut seen = String::new();
    scripted
        .server
        .then(echo())
        .then(runs("a", "env"))
        .then(echo())
        .then(echo());
    let running = scripted.stage.start(Message {
        text: "hi",
        ..Message::default()
    });
    let failed = joined(running.answer).await;
    seen.push_str(&format!(
        "{failed:?} {:?} {:?}",
        running.seen.borrow(),
        scripted.stage.tools.rows()
    ));
    scripted.server.then(echo()).then(echo());
    seen.push_str(&format!("{:?}", scripted.stage.summarize().await));
    seen.push_str(&format!("{:?}", scripted.stage.tools.begun()));
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        log.contains("a model is asked again"),
        "nothing was logged: {log}"
    );
    seen.push_str(&log);
    assert!(!seen.contains("canary"), "{seen}");
    // It went where it has to.
    let requests = scripted.server.requests();
    assert!(requests.iter().all(|request| request.refused.is_none()));
}
