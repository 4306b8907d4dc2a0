//! What models used is counted, whatever becomes of the turn or the summary that it was used for.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use homing_agents_tests::{Does, Message, Scripted, joined, runs};
use homing_ports::agent::AgentError;
use homing_ports::store::Role;
use homing_simulators::model::Answer;

/// A server that counts along, and is gone in the middle.
fn broken(text: &str, prompt: u64, completion: u64) -> Answer {
    let chunk = serde_json::json!({
        "choices": [{"index": 0, "delta": {"content": text}}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion},
    });
    Answer::raw(200, "text/event-stream", &format!("data: {chunk}\n\n"))
}

async fn asked_twice() -> Scripted {
    Scripted::with(|settings| settings.client.attempts = 2)
        .await
        .unwrap()
}

#[tokio::test]
async fn an_answer_that_broke_off_was_paid_for_also_one_that_was_asked_for_again() {
    let scripted = asked_twice().await;
    scripted.server.then(broken("half", 100, 1));
    scripted.server.then(
        Answer::text("whole")
            .usage(serde_json::json!({"prompt_tokens": 100, "completion_tokens": 2})),
    );
    assert_eq!(scripted.stage.say("hi").await.unwrap().text, "whole");
    let used = scripted.stage.used();
    assert_eq!(
        (used.requests, used.prompt_tokens, used.completion_tokens),
        (2, 200, 3)
    );
    // And where it never becomes whole.
    scripted
        .server
        .then(broken("half", 100, 1))
        .then(broken("half", 100, 1));
    let answer = scripted.stage.say("hi").await.unwrap();
    assert!(answer.text.starts_with("half"), "{}", answer.text);
    let used = scripted.stage.used();
    assert_eq!((used.requests, used.completion_tokens), (2, 2));
    // Where the server did not come to counting, what was heard is.
    scripted
        .server
        .then(Answer::text("a long answer").breaks_after(2));
    scripted.server.then(Answer::error(400, "x", "x"));
    let answer = scripted.stage.say("hi").await.unwrap();
    assert!(answer.text.contains("broke off"), "{}", answer.text);
    let used = scripted.stage.used();
    assert_eq!(used.requests, 1);
    assert!(
        used.prompt_tokens > 0 && used.completion_tokens > 0,
        "{used:?}"
    );
}

#[tokio::test]
async fn an_answer_that_is_left_in_the_middle_is_counted_as_far_as_it_was_heard() {
    let scripted = asked_twice().await;
    // So that it is known how this model counts.
    scripted.server.then(Answer::text("whole"));
    scripted.stage.say("hi").await.unwrap();
    let counted = scripted.stage.used();
    scripted
        .server
        .then(Answer::text("a long answer to that").holds_after(3));
    let mut running = scripted.stage.start(Message {
        text: "hi",
        ..Message::default()
    });
    let begun = running.seen.wait_for(|seen| !seen.text.is_empty());
    let begun = tokio::time::timeout(Duration::from_secs(20), begun).await;
    assert!(begun.is_ok_and(|seen| seen.is_ok()), "nothing came");
    scripted.stage.cancel.cancel();
    let cancelled = joined(running.answer).await;
    assert!(matches!(cancelled, Err(AgentError::Cancelled)));
    let used = scripted.stage.used();
    assert_eq!(used.requests, 1);
    let about = counted.prompt_tokens / 2..counted.prompt_tokens * 4;
    assert!(about.contains(&used.prompt_tokens), "{used:?} {counted:?}");
    assert!((1..10).contains(&used.completion_tokens), "{used:?}");
}

#[tokio::test]
async fn a_request_that_nobody_began_to_answer_has_used_nothing() {
    let scripted = asked_twice().await;
    scripted.server.then(Answer::silence());
    let running = scripted.stage.start(Message {
        text: "hi",
        ..Message::default()
    });
    scripted
        .until_server(|server| !server.requests().is_empty())
        .await
        .unwrap();
    scripted.stage.cancel.cancel();
    let cancelled = joined(running.answer).await;
    assert!(matches!(cancelled, Err(AgentError::Cancelled)));
    assert_eq!(scripted.stage.used().requests, 0);
}

#[tokio::test]
async fn a_server_that_does_not_count_is_counted_by_estimate() {
    let scripted = asked_twice().await;
    scripted.server.then(runs("a", "make").without_usage());
    scripted.server.then(Answer::text("done").without_usage());
    scripted.stage.say("build").await.unwrap();
    let used = scripted.stage.used();
    assert_eq!(used.requests, 2);
    assert!(
        used.prompt_tokens > 100 && used.completion_tokens > 5,
        "{used:?}"
    );
}

#[tokio::test]
async fn a_turn_that_fails_or_is_cancelled_after_an_answer_has_used_it() {
    let scripted = Scripted::with(|settings| settings.client.attempts = 1)
        .await
        .unwrap();
    scripted.server.then(runs("a", "make"));
    scripted.server.then(Answer::error(500, "x", "x"));
    assert!(scripted.stage.say("build").await.is_err());
    let used = scripted.stage.used();
    assert!(
        used.requests == 1 && used.prompt_tokens > 0 && used.completion_tokens > 0,
        "{used:?}"
    );

    scripted.stage.tools.on("wait", Does::Waits);
    scripted.server.then(runs("b", "wait"));
    let running = scripted.stage.start(Message {
        text: "wait",
        ..Message::default()
    });
    scripted.stage.tools.until_begun("wait").await.unwrap();
    scripted.stage.cancel.cancel();
    let cancelled = joined(running.answer).await;
    assert!(matches!(cancelled, Err(AgentError::Cancelled)));
    assert_eq!(scripted.stage.used().requests, 1);
}

/// Of which a summary is made in pieces.
fn with_a_history(scripted: &Scripted) {
    let words = "one two three ".repeat(200);
    for _ in 0..40 {
        scripted.stage.tools.add(Role::Person, &words);
        scripted.stage.tools.add(Role::Agent, "fine");
    }
}

#[tokio::test]
async fn a_summary_that_fails_has_used_what_its_pieces_took() {
    let scripted = Scripted::with(|settings| {
        settings.context_tokens = 4_000;
        settings.output_tokens = 500;
        settings.client.attempts = 1;
    })
    .await
    .unwrap();
    with_a_history(&scripted);
    scripted.server.then(Answer::text("a piece"));
    scripted.server.then(broken("another", 50, 1));
    assert!(scripted.stage.summarize().await.is_err());
    let used = scripted.stage.used();
    assert!(used.requests == 2 && used.prompt_tokens > 1_000, "{used:?}");
}

#[tokio::test]
async fn a_summary_is_the_chosen_models_and_fits_its_window() {
    let mut scripted = Scripted::with(|settings| {
        settings.client.fallback_models = vec!["small".into()];
        settings.context_tokens = 100_000;
        settings.client.attempts = 1;
    })
    .await
    .unwrap();
    with_a_history(&scripted);
    scripted.stage.model = Some("small".into());
    // It holds less than the profile's own; who learns that are the turns.
    let refusal = "This model's maximum context length is 8192 tokens.";
    scripted
        .server
        .then(Answer::error(400, "context_length_exceeded", refusal));
    let too_long = scripted.stage.say("hi").await;
    assert!(matches!(too_long, Err(AgentError::TooLong)), "{too_long:?}");
    scripted.server.rule(|_| Some(Answer::text("a summary")));
    scripted.stage.summarize().await.unwrap();
    let requests = scripted.server.requests();
    let summaries = &requests[1..];
    assert!(summaries.len() > 2, "{}", summaries.len());
    for request in summaries {
        assert_eq!(request.model(), "small");
        assert!(request.prompt_tokens < 8_192, "{}", request.prompt_tokens);
    }
    // Nobody chose the profile's own any more: that is said, as for a turn.
    scripted.stage.model = Some("gone".into());
    let error = scripted.stage.summarize().await.unwrap_err();
    assert!(error.to_string().contains("no model gone"), "{error}");
}
