//! What becomes of answers, in every form that servers send them.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use homing_agent_openai::client::{
    ChatError, ChatMessage, ChatRequest, Event, Finish, ToolSpec, Usage,
};
use homing_agents_tests::{Talk, user};
use homing_simulators::model::{Answer, Call, Dialect, Step};
use serde_json::json;

fn calls() -> Vec<Call> {
    vec![
        Call::new(
            "call_a",
            "run",
            &json!({"command": "wc -l", "notify": true}),
        ),
        Call::new("call_b", "run", &json!({"command": "ls"})),
    ]
}

fn with_tools(mut request: ChatRequest) -> ChatRequest {
    request.tools = vec![ToolSpec {
        name: "run".into(),
        description: "Runs a command.".into(),
        parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}),
    }];
    request
}

#[tokio::test]
async fn a_streamed_answer_is_heard_in_pieces_and_returned_whole() {
    let talk = Talk::start().await.unwrap();
    talk.server.then(
        Answer::text("Grüße, 世界 🦀!")
            .thinking("hm, hm")
            .pieces(2, Duration::ZERO),
    );
    let completion = talk.ask(&user("hello")).await.unwrap();
    assert_eq!(completion.text, "Grüße, 世界 🦀!");
    assert_eq!(talk.text_heard(), completion.text);
    assert!(talk.heard().contains(&Event::Reasoning("hm".into())));
    assert_eq!(completion.reasoning.unwrap().text, "hm, hm");
    assert_eq!(
        (
            completion.finish,
            completion.model.as_str(),
            completion.timings.attempts
        ),
        (Finish::Stop, "simulated", 1)
    );
    let usage = completion.usage.unwrap();
    assert!(usage.prompt > 0 && usage.completion > 0 && usage.cached == Some(0));
    assert!(completion.timings.first_token.unwrap() <= completion.timings.total);
}

#[tokio::test]
async fn bytes_may_be_split_anywhere() {
    let body = "\u{feff}: hello\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"日本 🦀\"}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":\r\ndata: {},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]";
    let bytes = body.bytes().map(|byte| Step::Bytes(vec![byte])).collect();
    let talk = Talk::start().await.unwrap();
    talk.server.then(Answer::steps(bytes));
    assert_eq!(talk.ask(&user("hello")).await.unwrap().text, "日本 🦀");
}

#[tokio::test]
async fn calls_are_the_same_in_every_dialect_streamed_or_not() {
    let talk = Talk::start().await.unwrap();
    for dialect in [
        Dialect::Pieces,
        Dialect::AllAtZero,
        Dialect::Unnumbered,
        Dialect::Bare,
    ] {
        let answer = Answer::calls(calls()).dialect(dialect).saying("I look.");
        for answer in [
            answer.clone(),
            answer.clone().whole(),
            answer.finish("stop"),
        ] {
            talk.server.then(answer);
            let completion = talk.ask(&with_tools(user("look"))).await.unwrap();
            assert_eq!(
                (completion.text.as_str(), &completion.finish),
                ("I look.", &Finish::ToolCalls)
            );
            assert_eq!(completion.tool_calls.len(), 2, "{dialect:?}");
            for (call, wanted) in completion.tool_calls.iter().zip(calls()) {
                assert_eq!(call.name, "run");
                let arguments = serde_json::to_string(&call.arguments().unwrap()).unwrap();
                assert_eq!(arguments, wanted.arguments);
                assert!(
                    call.id == wanted.id
                        || dialect == Dialect::Bare && call.id.starts_with("call_")
                );
            }
            assert_ne!(completion.tool_calls[0].id, completion.tool_calls[1].id);
        }
    }
    let started = talk
        .heard()
        .into_iter()
        .filter(|event| matches!(event, Event::ToolCallStarted { name } if name == "run"));
    assert_eq!(started.count(), 4 * 3 * 2);
}

#[tokio::test]
async fn a_round_with_tools_is_taken_by_a_strict_server_and_its_beginning_stays_the_same() {
    let talk = Talk::start().await.unwrap();
    talk.server
        .then(Answer::calls(calls()).thinking("two at once"));
    talk.server.then(Answer::text("Three lines."));
    let mut request = with_tools(user("how many?"));
    request
        .messages
        .insert(0, ChatMessage::System("Be brief.".into()));
    let completion = talk.ask(&request).await.unwrap();
    request.messages.push(completion.message().unwrap());
    for call in &completion.tool_calls {
        request.messages.push(ChatMessage::ToolResult {
            call: call.id.clone(),
            text: "3".into(),
        });
    }
    let completion = talk.ask(&request).await.unwrap();
    assert_eq!(completion.text, "Three lines.");
    let requests = talk.server.requests();
    assert!(
        requests.iter().all(|request| request.refused.is_none()),
        "{requests:?}"
    );
    assert_eq!(requests[1].prefix_hits, 2);
    assert_eq!(
        requests[1].messages()[2]["reasoning_content"],
        "two at once"
    );
    assert_eq!(
        completion.usage.unwrap().cached,
        Some(requests[1].cached_tokens)
    );
    assert!(requests[1].cached_tokens > 0);
}

#[tokio::test]
async fn a_history_with_garbled_arguments_can_be_sent_again() {
    let talk = Talk::start().await.unwrap();
    let mut garbled = calls().remove(0);
    garbled.arguments = "{\"command\": \"wc".into();
    talk.server.then(Answer::calls([garbled]));
    talk.server.then(Answer::text("Sorry."));
    let mut request = with_tools(user("count"));
    let completion = talk.ask(&request).await.unwrap();
    let problem = completion.tool_calls[0]
        .arguments()
        .unwrap_err()
        .to_string();
    assert!(
        problem.starts_with("the arguments of run are no JSON object: "),
        "{problem}"
    );
    request.messages.push(completion.message().unwrap());
    request.messages.push(ChatMessage::ToolResult {
        call: completion.tool_calls[0].id.clone(),
        text: problem,
    });
    assert_eq!(talk.ask(&request).await.unwrap().text, "Sorry.");
}

#[tokio::test]
async fn an_answer_is_whole_with_either_of_its_two_ends_and_without_its_usage() {
    let talk = Talk::start().await.unwrap();
    talk.server.then(Answer::text("one").without_done());
    talk.server.then(Answer::text("two").without_finish());
    talk.server
        .then(Answer::text("three").without_usage().finish("length"));
    talk.server
        .then(Answer::text("four").whole().without_finish());
    for (text, finish) in [
        ("one", Finish::Stop),
        ("two", Finish::Stop),
        ("three", Finish::Length),
        ("four", Finish::Stop),
    ] {
        let completion = talk.ask(&user("hello")).await.unwrap();
        assert_eq!(
            (completion.text.as_str(), completion.finish),
            (text, finish)
        );
        assert_eq!(completion.usage.is_none(), text == "three");
    }
}

#[tokio::test]
async fn what_happens_to_the_connection_after_the_end_is_no_matter() {
    let talk = Talk::with(|settings| settings.idle_limit = Duration::from_millis(100))
        .await
        .unwrap();
    // The role, one piece, the reason of the end; then no usage comes.
    let answer = Answer::text("hello").pieces(0, Duration::ZERO);
    for answer in [answer.clone().breaks_after(3), answer.holds_after(3)] {
        talk.server.then(answer);
        let completion = talk.ask(&user("hello")).await.unwrap();
        assert_eq!(
            (completion.text.as_str(), completion.usage),
            ("hello", None)
        );
        assert_eq!(completion.timings.attempts, 1);
    }
}

#[tokio::test]
async fn the_servers_own_count_is_taken_over() {
    let talk = Talk::start().await.unwrap();
    talk.server.then(
        Answer::text("x").usage(
            json!({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 8}),
        ),
    );
    let wanted = Usage {
        prompt: 9,
        completion: 1,
        cached: Some(8),
        reasoning: None,
    };
    assert_eq!(talk.ask(&user("hello")).await.unwrap().usage, Some(wanted));
}

#[tokio::test]
async fn a_long_answer_comes_whole() {
    let talk = Talk::start().await.unwrap();
    talk.server.then(Answer::flood(2 * 1024 * 1024));
    talk.server.then(Answer::flood(2 * 1024 * 1024).whole());
    for _ in 0..2 {
        assert_eq!(
            talk.ask(&user("hello")).await.unwrap().text.len(),
            2 * 1024 * 1024
        );
    }
}

#[tokio::test]
async fn many_calls_at_once_get_each_their_own_answer() {
    let talk = Talk::start().await.unwrap();
    talk.server
        .rule(|body| Some(Answer::text(body["messages"][0]["content"].as_str()?)));
    let asked: Vec<ChatRequest> = (0..50)
        .map(|number| user(&format!("number {number}")))
        .collect();
    let talk = std::sync::Arc::new(talk);
    let answers: Vec<_> = asked
        .into_iter()
        .map(|request| {
            let talk = std::sync::Arc::clone(&talk);
            tokio::spawn(async move { talk.ask(&request).await.unwrap().text })
        })
        .collect();
    for (number, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.await.unwrap(), format!("number {number}"));
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_asked_for_again_and_then_told() {
    let talk = Talk::start().await.unwrap();
    for (content_type, body, told) in [
        (
            "text/event-stream",
            "data: {\"choices\": [{\n\n",
            "a piece cannot be read",
        ),
        (
            "text/event-stream",
            "nothing of a stream\n\n",
            "no choice; it begins with \"nothing of a stream",
        ),
        (
            "text/html",
            "<html>Sign in</html>",
            "no choice; it begins with \"<html>Sign in",
        ),
        ("application/json", "{\"choices\": [", "it cannot be read"),
        ("application/json", "{}", "no choice"),
        ("application/json", "[]", "no choice"),
        ("text/event-stream", "", "no choice"),
    ] {
        let before = talk.server.requests().len();
        for _ in 0..3 {
            talk.server.then(Answer::raw(200, content_type, body));
        }
        let error = talk.ask(&user("hello")).await.unwrap_err();
        assert!(
            matches!(&error, ChatError::Unreadable(_)),
            "{body}: {error:?}"
        );
        assert!(error.to_string().contains(told), "{error}");
        assert_eq!(talk.server.requests().len() - before, 3, "{body}");
    }
    // The type is wrong, and the answer is right.
    let right = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n";
    talk.server
        .then(Answer::raw(200, "application/json", right));
    assert_eq!(talk.ask(&user("hello")).await.unwrap().text, "x");
}
