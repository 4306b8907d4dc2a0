//! Troubles on request: what the client sees, and what became of its request.

use homing_simulators::telegram::{Effect, Fault, Outcome, TopicEvent, Trouble};
use serde_json::{Value, json};

use crate::stage::{LIMIT, Stage};

async fn hi(stage: &Stage) -> Value {
    json!({"chat_id": stage.private().id, "text": "hi"})
}

#[tokio::test]
async fn a_fault_strikes_as_often_as_it_was_told_and_only_what_fits() {
    let stage = Stage::new().await;
    let send = hi(&stage).await;
    stage.server.fault(
        Fault::new(Trouble::TooManyRequests { retry_after: 7 })
            .method("sendMessage")
            .times(2),
    );
    stage.ok("getMe", json!({})).await;
    for _ in 0..2 {
        let answer = stage.api.call("sendMessage", send.clone()).await;
        assert_eq!(
            (answer.status, &answer.body["parameters"]["retry_after"]),
            (429, &json!(7))
        );
    }
    stage.ok("sendMessage", send.clone()).await;
    stage
        .server
        .fault(Fault::new(Trouble::BadRequest("no".into())).every(2));
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(stage.api.call("sendMessage", send.clone()).await.status);
    }
    assert_eq!(statuses, [200, 400, 200, 400]);
    stage.server.clear_faults();
    stage.ok("sendMessage", send).await;
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_fault_of_a_chat_leaves_other_chats_alone() {
    let stage = Stage::new().await;
    let forum = stage.forum();
    stage
        .server
        .fault(Fault::new(Trouble::Forbidden("user is deactivated".into())).chat(forum.id));
    stage.ok("sendMessage", hi(&stage).await).await;
    let refused = stage
        .refused("sendMessage", json!({"chat_id": forum.id, "text": "hi"}))
        .await;
    assert_eq!(refused, (403, "Forbidden: user is deactivated".into()));
}

#[tokio::test]
async fn a_request_whose_answer_was_lost_was_carried_out_or_not_as_the_test_wants() {
    let stage = Stage::new().await;
    let send = hi(&stage).await;
    for trouble in [Trouble::Reset, Trouble::InternalError, Trouble::BadGateway] {
        for (effect, messages) in [(Effect::None, 0), (Effect::Taken, 1)] {
            let before = stage.server.sent().len();
            stage.server.fault(Fault::new(trouble(effect)));
            let answer = stage.api.try_call("sendMessage", send.clone()).await;
            assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status == 500));
            assert_eq!(stage.server.sent().len() - before, messages);
            let last = stage.server.requests().pop().expect("a request");
            assert_eq!(
                last.outcome,
                Outcome::Unanswered {
                    taken: messages == 1
                }
            );
        }
    }
}

#[tokio::test]
async fn a_gateway_in_between_answers_in_html() {
    let stage = Stage::new().await;
    stage
        .server
        .fault(Fault::new(Trouble::BadGateway(Effect::None)));
    let response = stage
        .api
        .client
        .post(stage.api.url("getMe"))
        .send()
        .await
        .expect("an answer");
    assert_eq!(response.status(), 502);
    assert!(response.text().await.expect("a page").starts_with("<html>"));
}

#[tokio::test]
async fn silence_is_no_answer_and_ends_when_the_client_goes_away() {
    let stage = Stage::new().await;
    let send = hi(&stage).await;
    for (effect, taken) in [(Effect::None, false), (Effect::Taken, true)] {
        stage.server.fault(Fault::new(Trouble::Silence(effect)));
        let (api, params) = (stage.api.clone(), send.clone());
        let waiting = tokio::spawn(async move { api.try_call("sendMessage", params).await });
        let unanswered = |server: &homing_simulators::telegram::Server| {
            let last = server.requests().pop()?;
            (last.outcome == Outcome::Unanswered { taken }).then_some(())
        };
        stage
            .server
            .wait_for(LIMIT, unanswered)
            .await
            .expect("it is taken in");
        assert!(!waiting.is_finished());
        waiting.abort();
    }
    assert_eq!(stage.server.sent().len(), 1);
    stage.ok("sendMessage", send).await;
}

#[tokio::test]
async fn a_slow_answer_comes_after_its_effect() {
    let stage = Stage::new().await;
    stage.server.fault(Fault::new(Trouble::Slow(1)));
    let send = hi(&stage).await;
    stage.ok("sendMessage", send).await;
    assert_eq!(stage.server.sent().len(), 1);
}

#[tokio::test]
async fn an_answer_may_be_no_json_and_a_token_may_stop_to_count() {
    let stage = Stage::new().await;
    let send = hi(&stage).await;
    stage.server.fault(Fault::new(Trouble::MalformedJson));
    let answer = stage.api.try_call("sendMessage", send).await;
    assert!(answer.is_err_and(|error| error.is_decode()));
    assert_eq!(stage.server.sent().len(), 1);
    stage.server.fault(Fault::new(Trouble::Unauthorized));
    assert_eq!(
        stage.refused("getMe", json!({})).await,
        (401, "Unauthorized".into())
    );
    stage
        .server
        .fault(Fault::new(Trouble::Conflict).method("getUpdates"));
    assert_eq!(stage.refused("getUpdates", json!({})).await.0, 409);
    let new = stage.server.revoke(&stage.bot).expect("the bot is there");
    assert_eq!(
        stage.refused("getMe", json!({})).await,
        (401, "Unauthorized".into())
    );
    let api = crate::stage::Api::of(&stage.server, &new);
    assert_eq!(api.call("getMe", json!({})).await.status, 200);
}

#[tokio::test]
async fn entities_are_refused_and_plain_text_passes() {
    let stage = Stage::new().await;
    let mut send = hi(&stage).await;
    stage
        .server
        .fault(Fault::new(Trouble::EntitiesRefused).always());
    stage.ok("sendMessage", send.clone()).await;
    send["entities"] = json!([{"type": "bold", "offset": 0, "length": 2}]);
    let (status, description) = stage.refused("sendMessage", send).await;
    assert_eq!(status, 400);
    assert!(description.starts_with("Bad Request: can't parse entities: "));
}

#[tokio::test]
async fn a_message_lands_elsewhere_only_if_the_test_wants_it() {
    let stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage
        .server
        .topic(stage.alice, forum, "Plans")
        .expect("a topic");
    let other = stage
        .server
        .topic(stage.alice, forum, "Other")
        .expect("a topic");
    let params = json!({"chat_id": forum.id, "message_thread_id": topic.thread, "text": "hi"});
    stage
        .server
        .fault(Fault::new(Trouble::Misplaced(other.thread)).method("sendMessage"));
    let sent = stage.ok("sendMessage", params.clone()).await;
    assert_eq!(sent["message_thread_id"], json!(other.thread));
    stage
        .server
        .fault(Fault::new(Trouble::Misplaced(None)).method("sendMessage"));
    let sent = stage.ok("sendMessage", params.clone()).await;
    assert_eq!(sent.get("message_thread_id"), None);
    stage.ok("sendMessage", params.clone()).await;
    let logged = stage.server.sent();
    assert_eq!(
        logged.iter().map(|sent| sent.thread).collect::<Vec<_>>(),
        [other.thread, None, topic.thread]
    );
    assert!(logged.iter().all(|sent| sent.asked_thread == topic.thread));
    // What the world refuses is refused all the same.
    stage
        .server
        .topic_event(stage.alice, topic, TopicEvent::Deleted)
        .expect("it is deleted");
    stage.server.fault(Fault::new(Trouble::Misplaced(None)));
    assert_eq!(stage.refused("sendMessage", params).await.0, 400);
}

#[tokio::test]
async fn downloads_are_struck_by_the_name_of_file() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let post = homing_simulators::telegram::Post::document("a.txt", "text/plain", "hello");
    stage
        .server
        .post(stage.alice, chat, post)
        .expect("it is posted");
    let message = stage.one_message().await;
    let file = stage
        .ok(
            "getFile",
            json!({"file_id": message["document"]["file_id"]}),
        )
        .await;
    let url = format!(
        "{}/file/bot{}/{}",
        stage.api.root,
        stage.api.token,
        file["file_path"].as_str().expect("a path")
    );
    stage
        .server
        .fault(Fault::new(Trouble::BadGateway(Effect::None)).method("file"));
    let get = || async {
        stage
            .api
            .client
            .get(&url)
            .send()
            .await
            .expect("an answer")
            .status()
    };
    assert_eq!(get().await, 502);
    assert_eq!(get().await, 200);
}
