//! What becomes of a call when the server, the connection or the clock fails it.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use homing_agent_openai::client::{ChatError, ChatRequest, Client, Event, Secret, Settings};
use homing_agents_tests::{Talk, user};
use homing_simulators::model::{Answer, Call, Step};
use serde_json::json;

fn retrying(event: &Event) -> bool {
    matches!(event, Event::Retrying { .. })
}

async fn asked(talk: &Talk) -> (String, Vec<String>) {
    let outcome = match talk.ask(&user("hello")).await {
        Ok(completion) => completion.text,
        Err(error) => error.plain(),
    };
    let requests = talk.server.requests();
    (
        outcome,
        requests
            .iter()
            .map(|request| request.model().to_owned())
            .collect(),
    )
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
        let talk = Talk::start().await.unwrap();
        talk.server.then(Answer::error(status, "x", "not now"));
        talk.server.then(Answer::text("hello"));
        let completion = talk.ask(&user("hello")).await.unwrap();
        assert_eq!(
            (completion.text.as_str(), completion.timings.attempts),
            ("hello", 2),
            "{status}"
        );
        let heard = talk.heard();
        assert_eq!(heard.iter().filter(|event| retrying(event)).count(), 1);
        // Nobody had heard anything that is void now.
        assert!(!heard.contains(&Event::Restarted));
    }
}

#[tokio::test]
async fn what_does_not_pass_is_asked_once() {
    for status in [302, 400, 401, 402, 403, 404, 413, 422] {
        let talk = Talk::start().await.unwrap();
        talk.server.then(Answer::error(status, "x", "never"));
        let error = talk.ask(&user("hello")).await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("status {status}: never")),
            "{error}"
        );
        assert_eq!(
            (talk.server.requests().len(), talk.heard()),
            (1, Vec::new()),
            "{status}"
        );
    }
}

#[tokio::test]
async fn the_wait_that_the_server_asks_for_is_kept() {
    let talk = Talk::start().await.unwrap();
    talk.server
        .then(Answer::error(429, "x", "slow down").header("retry-after-ms", "30"));
    talk.server.then(Answer::text("hello"));
    talk.ask(&user("hello")).await.unwrap();
    let waits: Vec<u128> = talk
        .heard()
        .iter()
        .filter_map(|event| match event {
            Event::Retrying { wait, .. } => Some(wait.as_millis()),
            _ => None,
        })
        .collect();
    assert!(matches!(waits[..], [30..=33]), "{waits:?}");
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_not_begun() {
    let slow = || Answer::error(429, "x", "tomorrow").header("retry-after", "86400");
    let talk = Talk::start().await.unwrap();
    talk.server.then(slow());
    let error = talk.ask(&user("hello")).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_hours(24)));
    assert!(
        error.plain().ends_with("try again in 1440 minutes."),
        "{}",
        error.plain()
    );
    assert_eq!(talk.server.requests().len(), 1);
    let talk = Talk::with(|settings| settings.fallback_models = vec!["other".into()])
        .await
        .unwrap();
    talk.server.then(slow()).then(Answer::text("hello"));
    assert_eq!(
        asked(&talk).await,
        ("hello".into(), vec!["simulated".into(), "other".into()])
    );
}

#[tokio::test]
async fn another_model_is_asked_when_the_first_is_missing_unpaid_or_down() {
    let down = || Answer::error(503, "x", "overloaded");
    for (faults, asked_before) in [
        (
            vec![Answer::error(
                404,
                "model_not_found",
                "The model does not exist.",
            )],
            1,
        ),
        (vec![Answer::error(402, "x", "Insufficient credits")], 1),
        (
            vec![Answer::error(
                429,
                "insufficient_quota",
                "You exceeded your current quota",
            )],
            1,
        ),
        (vec![down(), down(), down()], 3),
        (
            vec![
                Answer::hang_up(),
                down(),
                Answer::text("long answer").breaks_after(2),
            ],
            3,
        ),
    ] {
        let talk = Talk::with(|settings| settings.fallback_models = vec!["other".into()])
            .await
            .unwrap();
        for fault in faults {
            talk.server.then(fault);
        }
        talk.server.then(Answer::text("hello"));
        let mut models = vec!["simulated".to_owned(); asked_before];
        models.push("other".into());
        assert_eq!(asked(&talk).await, ("hello".into(), models));
        assert_eq!(talk.text_heard(), "hello");
    }
}

#[tokio::test]
async fn no_other_model_is_asked_for_what_is_wrong_with_the_request_or_the_key() {
    for (status, code) in [
        (400, "x"),
        (401, "invalid_api_key"),
        (422, "x"),
        (400, "context_length_exceeded"),
    ] {
        let talk = Talk::with(|settings| settings.fallback_models = vec!["other".into()])
            .await
            .unwrap();
        talk.server.then(Answer::error(status, code, "no"));
        assert_eq!(asked(&talk).await.1, ["simulated"], "{status} {code}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_says_the_limit() {
    let talk = Talk::start().await.unwrap();
    talk.server.set_context(100);
    let error = talk.ask(&user(&"word ".repeat(200))).await.unwrap_err();
    assert!(
        matches!(
            &error,
            ChatError::ContextTooLong {
                limit: Some(100),
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(
        error.plain(),
        "The conversation has become too long for the model."
    );
}

#[tokio::test]
async fn a_stream_that_breaks_is_begun_anew_and_what_was_heard_is_void() {
    for fault in [
        Answer::text("half an answer").breaks_after(3),
        Answer::text("half an answer").without_finish().without_done().without_usage(),
        Answer::text("half an answer").finish("abort"),
        Answer::steps(vec![
            Step::Bytes(b"data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n".to_vec()),
            Step::Bytes(b"data: {\"error\":{\"code\":502,\"message\":\"gone\"},\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n".to_vec()),
        ]),
    ] {
        let talk = Talk::start().await.unwrap();
        talk.server.then(fault).then(Answer::text("whole"));
        let completion = talk.ask(&user("hello")).await.unwrap();
        assert_eq!((completion.text.as_str(), completion.timings.attempts), ("whole", 2));
        assert_eq!(talk.text_heard(), "whole");
        assert!(talk.heard().contains(&Event::Restarted));
    }
}

#[tokio::test]
async fn an_answer_that_always_breaks_off_is_never_taken_for_a_whole_one() {
    let talk = Talk::start().await.unwrap();
    talk.server
        .rule(|_| Some(Answer::text("half an answer").breaks_after(3)));
    let error = talk.ask(&user("hello")).await.unwrap_err();
    let ChatError::BrokenOff { partial, .. } = &error else {
        unreachable!("{error:?}");
    };
    // The role, and two pieces of four letters.
    assert_eq!(partial.text, "half an ");
    assert_eq!(talk.server.requests().len(), 3);
    assert_eq!(error.plain(), "The model's answer broke off in the middle.");
}

#[tokio::test]
async fn calls_that_came_whole_before_the_break_are_handed_over_as_what_they_are() {
    let calls = [
        Call::new("a", "run", &json!({"command": "ls"})),
        Call::new("b", "run", &json!({"command": "wc"})),
    ];
    let talk = Talk::start().await.unwrap();
    let whole = Answer::calls(calls.clone()).pieces(0, Duration::ZERO);
    // The role, the first call's beginning and arguments, the second one's beginning.
    talk.server.then(whole.breaks_after(4));
    let error = talk.ask(&user("hello")).await.unwrap_err();
    let ChatError::BrokenOff { partial, .. } = error else {
        unreachable!("{error:?}");
    };
    let ids: Vec<&str> = partial.tool_calls.iter().map(|call| &*call.id).collect();
    assert_eq!((ids, talk.server.requests().len()), (vec!["a"], 1));
    // A call that was cut is none: it is asked for again.
    talk.server.then(Answer::calls(calls).breaks_after(4));
    talk.server.then(Answer::text("whole"));
    assert_eq!(talk.ask(&user("hello")).await.unwrap().text, "whole");
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_given_up() {
    let talk = Talk::with(|settings| {
        settings.idle_limit = Duration::from_millis(100);
        settings.attempts = 2;
    })
    .await
    .unwrap();
    talk.server
        .rule(|_| Some(Answer::text("half an answer").holds_after(2)));
    let error = talk.ask(&user("hello")).await.unwrap_err();
    assert!(
        matches!(&error, ChatError::BrokenOff { partial, why } if partial.text == "half" && why == "nothing more came within 0.1 s"),
        "{error:?}"
    );
    talk.until_server(|server| server.left() == 2)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_server_that_says_nothing_is_late() {
    let talk = Talk::with(|settings| {
        settings.first_token_limit = Duration::from_millis(100);
        settings.attempts = 2;
    })
    .await
    .unwrap();
    // Without a head; then with a head, a comment and a role.
    talk.server
        .then(Answer::silence())
        .then(Answer::text("x").holds_after(1));
    let error = talk.ask(&user("hello")).await.unwrap_err();
    assert!(
        matches!(&error, ChatError::Late(limit) if limit.as_millis() == 100),
        "{error:?}"
    );
    talk.until_server(|server| server.left() == 2)
        .await
        .unwrap();
}

#[tokio::test]
async fn the_time_for_the_whole_call_ends_it_wherever_it_is() {
    let slow = |settings: &mut Settings| settings.total_limit = Duration::from_millis(300);
    let talk = Talk::with(slow).await.unwrap();
    talk.server.then(Answer::silence());
    let error = talk.ask(&user("hello")).await.unwrap_err();
    assert!(
        matches!(&error, ChatError::Late(limit) if limit.as_millis() == 300),
        "{error:?}"
    );
    let talk = Talk::with(slow).await.unwrap();
    talk.server
        .then(Answer::text("half an answer").holds_after(2));
    let error = talk.ask(&user("hello")).await.unwrap_err();
    assert!(
        matches!(&error, ChatError::BrokenOff { partial, why } if partial.text == "half" && why == "the time for the whole call was over"),
        "{error:?}"
    );
    assert_eq!(talk.server.requests().len(), 1);
}

#[tokio::test]
async fn a_comment_is_no_answer_but_a_sign_of_life() {
    let talk = Talk::with(|settings| settings.idle_limit = Duration::from_secs(1))
        .await
        .unwrap();
    let mut steps = vec![Step::Bytes(
        b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n".to_vec(),
    )];
    for _ in 0..6 {
        steps.push(Step::Wait(Duration::from_millis(250)));
        steps.push(Step::Bytes(b": PROCESSING\n\n".to_vec()));
    }
    steps.push(Step::Bytes(b"data: [DONE]\n\n".to_vec()));
    talk.server.then(Answer::steps(steps));
    let completion = talk.ask(&user("hello")).await.unwrap();
    assert_eq!(
        (completion.text.as_str(), completion.timings.attempts),
        ("a", 1)
    );
}

#[tokio::test]
async fn cancelling_ends_the_request_at_once_and_the_server_sees_it() {
    for (answer, piece) in [
        (Answer::silence(), false),
        (Answer::text("half an answer").holds_after(2), true),
    ] {
        let talk = Talk::start().await.unwrap();
        talk.server.then(answer);
        let request = user("hello");
        let (outcome, ()) = tokio::join!(talk.ask(&request), async {
            if piece {
                talk.until_heard(|event| matches!(event, Event::Text(_)))
                    .await
                    .unwrap();
            } else {
                talk.until_server(|server| server.requests().len() == 1)
                    .await
                    .unwrap();
            }
            talk.cancel.cancel();
        });
        assert!(matches!(outcome, Err(ChatError::Cancelled)), "{outcome:?}");
        talk.until_server(|server| server.left() == 1)
            .await
            .unwrap();
        assert_eq!(talk.server.requests().len(), 1);
    }
}

#[tokio::test]
async fn cancelling_ends_a_wait_too_and_a_cancelled_call_asks_nobody() {
    let talk = Talk::with(|settings| settings.total_limit = Duration::from_hours(1))
        .await
        .unwrap();
    talk.server
        .then(Answer::error(429, "x", "slow down").header("retry-after", "1800"));
    let request = user("hello");
    let (outcome, ()) = tokio::join!(talk.ask(&request), async {
        talk.until_heard(retrying).await.unwrap();
        talk.cancel.cancel();
    });
    assert!(matches!(outcome, Err(ChatError::Cancelled)), "{outcome:?}");
    assert!(matches!(
        talk.ask(&request).await,
        Err(ChatError::Cancelled)
    ));
    assert_eq!(talk.server.requests().len(), 1);
}

#[tokio::test]
async fn the_key_is_sent_and_never_told_whatever_the_server_echoes() {
    const KEY: &str = "plain-words-as-a-key";
    let talk = Talk::with(|settings| settings.key = Some(Secret::new(KEY)))
        .await
        .unwrap();
    talk.server.set_key(KEY);
    let echo = format!("Incorrect API key provided: {KEY}");
    let steps =
        |data: &str| Answer::steps(vec![Step::Bytes(format!("data: {data}\n\n").into_bytes())]);
    talk.server
        .then(Answer::error(401, "invalid_api_key", &echo).header("x-request-id", KEY));
    talk.server.then(Answer::raw(403, "text/html", &echo));
    talk.server.then(steps(
        &json!({"error": {"code": 401, "message": echo}}).to_string(),
    ));
    for _ in 0..3 {
        talk.server.then(steps(&echo));
    }
    for _ in 0..3 {
        talk.server.then(Answer::raw(200, "text/html", &echo));
    }
    for _ in 0..5 {
        let error = talk.ask(&user("hello")).await.unwrap_err();
        let told = format!("{error} {error:?} {} {:?}", error.plain(), talk.heard());
        assert!(!told.contains(KEY), "{told}");
        assert!(told.contains("[redacted]"), "{told}");
    }
    assert_eq!(talk.server.unasked(), 0);
    assert!(!format!("{:?}", talk.client).contains(KEY));
    let authorization = talk.server.requests()[0].authorization.clone();
    assert_eq!(authorization, Some(format!("Bearer {KEY}")));
}

#[tokio::test]
async fn the_key_does_not_follow_a_redirect() {
    let elsewhere = Talk::start().await.unwrap();
    let talk = Talk::with(|settings| settings.key = Some(Secret::new("plain-words-as-a-key")))
        .await
        .unwrap();
    for status in [301, 307, 308] {
        let to = format!("{}/chat/completions", elsewhere.server.url());
        talk.server
            .then(Answer::raw(status, "text/plain", "moved").header("location", &to));
        let error = talk.ask(&user("hello")).await.unwrap_err();
        assert!(
            matches!(&error, ChatError::Refused(refusal) if refusal.status == Some(status)),
            "{error:?}"
        );
    }
    assert!(elsewhere.server.requests().is_empty());
}

#[tokio::test]
async fn nobody_there_is_tried_again_and_told() {
    let gone = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let talk = Talk::with(|settings| {
        settings.base_url = gone;
        settings.fallback_models = vec!["other".into()];
    })
    .await
    .unwrap();
    let error = talk.ask(&user("hello")).await.unwrap_err();
    assert!(matches!(error, ChatError::Unreachable(_)), "{error:?}");
    assert_eq!(
        talk.heard().len(),
        2,
        "the other model lives at the same address"
    );
}

#[tokio::test]
async fn a_call_without_a_word_is_not_sent() {
    let talk = Talk::start().await.unwrap();
    let outcome = talk.ask(&ChatRequest::default()).await;
    assert!(matches!(outcome, Err(ChatError::NoMessages)));
    assert!(talk.server.requests().is_empty());
}

#[tokio::test]
async fn the_same_chance_makes_the_same_ids() {
    let talk = Talk::start().await.unwrap();
    let client = Client::new(talk.client.settings().clone())
        .unwrap()
        .with_random(|| 7);
    talk.server
        .rule(|_| Some(Answer::calls([Call::new("", "run", &json!({}))])));
    for _ in 0..2 {
        let completion = client
            .chat(&user("hello"), |_| {}, &talk.cancel)
            .await
            .unwrap();
        assert_eq!(completion.tool_calls[0].id, "call_0000000000000007_0");
    }
}
