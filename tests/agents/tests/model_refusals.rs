//! What servers refuse, and what stands in for it: a strict template, a smaller window, an answer that cannot be gone on with.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use homing_agent_openai::client::Secret;
use homing_agents_tests::{Does, Message, Scripted, Talk, joined, runs, user};
use homing_ports::agent::AgentError;
use homing_ports::store::Role;
use homing_simulators::model::{Answer, Step};
use serde_json::{Value, json};

fn words(count: usize) -> String {
    "word ".repeat(count)
}

/// With a second model, each asked once.
async fn with_a_smaller_one() -> Scripted {
    Scripted::with(|settings| {
        settings.client.fallback_models = vec!["small".into()];
        settings.client.attempts = 1;
        settings.context_tokens = 8_000;
        settings.output_tokens = 1_000;
    })
    .await
    .unwrap()
}

fn down() -> Answer {
    Answer::error(503, "x", "overloaded")
}

fn holds(tokens: u64) -> Answer {
    let words = format!("This model's maximum context length is {tokens} tokens.");
    Answer::error(400, "context_length_exceeded", &words)
}

fn event(data: &Value) -> Step {
    Step::Bytes(format!("data: {data}\n\n").into_bytes())
}

fn said(text: &str) -> Step {
    event(&json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
}

/// Templates of Mistral take nothing but an answer after a result.
#[tokio::test]
async fn nobody_speaks_right_after_a_result_in_a_turn_or_in_the_next_one() {
    let scripted = Scripted::with(|settings| settings.rounds = 1)
        .await
        .unwrap();
    // Written meanwhile; then rounds are over, which is told as well.
    scripted.server.then(runs("a", "ls"));
    scripted.server.then(Answer::text("zwei"));
    scripted.stage.tools.steer(None, "in German, please");
    scripted.stage.say("look").await.unwrap();
    assert_eq!(scripted.refusals(), Vec::<String>::new());
    let during = scripted.last_told();
    assert!(during[4].starts_with("assistant: "), "{during:?}");

    // Failed between a result and the answer.
    scripted.server.then(runs("b", "make"));
    scripted.server.then(Answer::error(400, "x", "x"));
    assert!(scripted.stage.say("build").await.is_err());
    scripted.server.then(Answer::text("built"));
    scripted.stage.say("and?").await.unwrap();
    assert_eq!(scripted.refusals(), Vec::<String>::new());
    assert_eq!(scripted.last_told()[..5], during[..5]);
}

#[tokio::test]
async fn a_window_that_another_model_has_is_that_models_alone() {
    let mut scripted = with_a_smaller_one().await;
    scripted.server.then(down()).then(holds(2_000));
    let long = words(2_000);
    assert!(scripted.stage.say(&long).await.is_err());
    scripted.stage.tools.compress("nothing yet".into(), None);
    scripted.server.then(Answer::text("fine"));
    let answer = scripted.stage.say(&long).await;
    assert_eq!(answer.unwrap().text, "fine");
    // Who chooses the other one is not sent there again.
    scripted.stage.tools.compress("nothing yet".into(), None);
    scripted.stage.model = Some("small".into());
    let asked = scripted.server.requests().len();
    assert!(scripted.stage.say(&long).await.is_err());
    assert_eq!(scripted.server.requests().len(), asked);
}

#[tokio::test]
async fn results_make_room_for_the_model_that_refuses_them() {
    let scripted = with_a_smaller_one().await;
    scripted.stage.tools.on("one", Does::Says(words(2_000)));
    scripted.server.then(runs("a", "one"));
    scripted.server.then(down()).then(holds(3_000));
    scripted.server.then(down()).then(Answer::text("done"));
    assert_eq!(scripted.stage.say("go").await.unwrap().text, "done");
    assert!(scripted.last_told()[3].contains("was taken out"));
}

#[tokio::test]
async fn how_another_model_counts_is_not_how_the_own_one_does() {
    let scripted = with_a_smaller_one().await;
    for _ in 0..6 {
        let usage = json!({"prompt_tokens": 1_000_000, "completion_tokens": 1});
        scripted
            .server
            .then(down())
            .then(Answer::text("hello").usage(usage));
        scripted.stage.say("hi").await.unwrap();
    }
    scripted.server.then(Answer::text("fine"));
    let answer = scripted.stage.say(&words(3_000)).await;
    assert_eq!(answer.unwrap().text, "fine");
}

/// As vLLM does: the answer's limit is a part of what has to fit.
#[tokio::test]
async fn where_a_shorter_answer_makes_it_fit_nothing_else_is_left_out() {
    let counts_the_answer = |body: &Value| {
        let limit = ["max_tokens", "max_completion_tokens"]
            .iter()
            .find_map(|name| body[*name].as_u64())?;
        (limit > 3_000).then(|| holds(6_000))
    };
    let start = || {
        Scripted::with(|settings| {
            settings.context_tokens = 8_000;
            settings.output_tokens = 4_000;
        })
    };
    let scripted = start().await.unwrap();
    scripted.server.rule(counts_the_answer);
    scripted.server.rule(|_| Some(Answer::text("fine")));
    let answer = scripted.stage.say(&words(500)).await;
    assert_eq!(answer.unwrap().text, "fine");
    assert_eq!(scripted.server.requests().len(), 2);

    let scripted = start().await.unwrap();
    scripted.stage.tools.on("one", Does::Says(words(500)));
    scripted.server.then(runs("a", "one"));
    scripted.server.then(holds(6_000));
    scripted.server.then(Answer::text("done"));
    assert_eq!(scripted.stage.say("go").await.unwrap().text, "done");
    let told = scripted.last_told();
    assert!(!told[3].contains("was taken out"), "{told:?}");
}

#[tokio::test]
async fn what_was_shown_is_taken_back_when_the_rest_of_it_does_not_fit() {
    let scripted = Scripted::start().await.unwrap();
    scripted.stage.tools.on("one", Does::Says(words(2_000)));
    scripted.server.then(runs("a", "one"));
    let error = json!({"error": {"code": "context_length_exceeded", "message": "too long"}});
    scripted
        .server
        .then(Answer::steps(vec![said("half"), event(&error)]))
        .then(Answer::text("done"));
    let running = scripted.stage.start(Message {
        text: "go",
        ..Message::default()
    });
    let answer = joined(running.answer).await.unwrap();
    assert_eq!(answer.text, "done");
    assert_eq!(running.seen.borrow().text, "done");
}

#[tokio::test]
async fn calls_of_an_answer_that_broke_off_can_be_told_apart() {
    let scripted = Scripted::start().await.unwrap();
    let call = |command: &str| json!({"function": {"name": "terminal", "arguments": {"command": command}}});
    let chunk =
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [call("one"), call("two")]}}]});
    for _ in 0..2 {
        scripted
            .server
            .then(Answer::steps(vec![event(&chunk)]))
            .then(Answer::text("done"));
        assert_eq!(scripted.stage.say("go").await.unwrap().text, "done");
    }
    assert_eq!(scripted.refusals(), Vec::<String>::new());
    assert_eq!(scripted.stage.tools.begun(), ["one", "two", "one", "two"]);
    let requests = scripted.server.requests();
    let told = requests.last().unwrap().messages();
    let mut ids: Vec<&str> = told
        .iter()
        .filter_map(|message| message["tool_call_id"].as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{ids:?}");
}

#[tokio::test]
async fn what_an_answer_said_stays_when_its_server_is_gone_afterwards() {
    let scripted = Scripted::start().await.unwrap();
    scripted
        .server
        .then(Answer::text("Two files and").breaks_after(4))
        .then(Answer::text("Only").breaks_after(2))
        .then(Answer::hang_up());
    let answer = scripted.stage.say("look").await.unwrap();
    assert!(answer.text.starts_with("Two files"), "{}", answer.text);
    assert!(answer.text.contains("broke off here"), "{}", answer.text);

    // Where it is the next answer that does not fit, there is more to do than to show the half.
    scripted
        .server
        .then(Answer::text("Two files and").breaks_after(4))
        .then(holds(500));
    let error = scripted.stage.say("look").await.unwrap_err();
    assert!(!matches!(error, AgentError::Model { .. }), "{error:?}");
}

#[tokio::test]
async fn a_call_that_is_left_in_the_middle_is_counted() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(runs("a", "make").holds_after(3));
    let mut running = scripted.stage.start(Message {
        text: "build",
        ..Message::default()
    });
    let begun = running.seen.wait_for(|seen| seen.doing.is_some());
    let begun = tokio::time::timeout(Duration::from_secs(20), begun).await;
    assert!(begun.is_ok_and(|seen| seen.is_ok()), "nothing came");
    scripted.stage.cancel.cancel();
    let cancelled = joined(running.answer).await;
    assert!(matches!(cancelled, Err(AgentError::Cancelled)));
    let used = scripted.stage.used();
    assert!(used.requests == 1 && used.prompt_tokens > 0, "{used:?}");
    let roles: Vec<Role> = scripted
        .stage
        .tools
        .rows()
        .iter()
        .map(|row| row.role)
        .collect();
    assert_eq!(roles, [Role::Person]);
}

#[tokio::test]
async fn a_wait_of_ages_is_not_begun() {
    let talk = Talk::start().await.unwrap();
    talk.server
        .then(Answer::error(429, "x", "never").header("retry-after", "18000000000000000000"));
    let client = talk.client;
    let client = client.with_random(|| u64::MAX);
    let error = client.chat(&user("hello"), |_| {}, &talk.cancel).await;
    assert!(error.unwrap_err().retry_after().is_some());
    assert_eq!(talk.server.requests().len(), 1);
}

/// Half a key looks like nothing, and is half a key.
#[tokio::test]
async fn no_part_of_a_key_is_told_where_a_text_is_cut() {
    const KEY: &str = "plain-words-as-a-key";
    let talk = Talk::with(|settings| {
        settings.key = Some(Secret::new(KEY));
        settings.attempts = 1;
    })
    .await
    .unwrap();
    let long = format!("{} {KEY} {}", "y".repeat(288), "y".repeat(300));
    for body in [
        format!("data: {long}\n\n"),
        format!("event: error\ndata: {long}\n\n"),
        format!("{{{long}"),
        format!("<{long}"),
    ] {
        talk.server.then(Answer::raw(200, "text/html", &body));
        let error = talk.ask(&user("hello")).await.unwrap_err();
        let told = format!("{error} {error:?} {}", error.full());
        assert!(told.contains("yyy") && !told.contains("plain"), "{told}");
    }
}
