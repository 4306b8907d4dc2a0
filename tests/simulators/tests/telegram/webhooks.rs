//! Webhooks: order, secrets, failures, and answers that are requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::stage::{LIMIT, Stage};

/// The secret that came along, and the update.
type Delivery = (Option<String>, Value);

/// A webhook that says what it is told to say.
#[derive(Clone, Default)]
struct Hook {
    heard: Arc<Mutex<Vec<Delivery>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    news: Arc<Notify>,
}

#[derive(Clone)]
enum Reply {
    Status(u16),
    RetryAfter(u16, u64),
    Json(Value),
}

impl Hook {
    async fn start(replies: Vec<Reply>) -> (Hook, String) {
        let hook = Hook::default();
        hook.replies.lock().expect("unpoisoned").extend(replies);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let router = Router::new().fallback(hear).with_state(hook.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (hook, url)
    }

    /// Waits for so many deliveries.
    async fn heard(&self, count: usize) -> Vec<Delivery> {
        let enough = async {
            loop {
                let news = self.news.notified();
                let heard = self.heard.lock().expect("unpoisoned").clone();
                if heard.len() >= count {
                    return heard;
                }
                news.await;
            }
        };
        tokio::time::timeout(LIMIT, enough)
            .await
            .expect("it is delivered")
    }
}

async fn hear(State(hook): State<Hook>, headers: HeaderMap, body: String) -> Response {
    let secret = headers.get("x-telegram-bot-api-secret-token");
    let secret = secret
        .and_then(|secret| secret.to_str().ok())
        .map(str::to_owned);
    let update = serde_json::from_str(&body).expect("an update is JSON");
    hook.heard
        .lock()
        .expect("unpoisoned")
        .push((secret, update));
    let reply = hook.replies.lock().expect("unpoisoned").pop_front();
    // Both a waiter and the next one must hear it.
    hook.news.notify_one();
    let status = |status: u16| StatusCode::from_u16(status).expect("a status");
    match reply.unwrap_or(Reply::Status(200)) {
        Reply::Status(code) => status(code).into_response(),
        Reply::RetryAfter(code, seconds) => {
            (status(code), [("retry-after", seconds.to_string())]).into_response()
        }
        Reply::Json(body) => axum::Json(body).into_response(),
    }
}

fn texts(heard: &[Delivery]) -> Vec<&str> {
    heard
        .iter()
        .filter_map(|(_, update)| update["message"]["text"].as_str())
        .collect()
}

#[tokio::test]
async fn updates_come_with_the_secret_in_order_and_leave_the_queue() {
    let stage = Stage::new().await;
    let (hook, url) = Hook::start(Vec::new()).await;
    let chat = stage.private();
    stage
        .server
        .post(stage.alice, chat, "before")
        .expect("it is posted");
    stage
        .ok(
            "setWebhook",
            json!({"url": url, "secret_token": "s3cret-_"}),
        )
        .await;
    stage
        .server
        .post(stage.alice, chat, "after")
        .expect("it is posted");
    let heard = hook.heard(2).await;
    assert_eq!(texts(&heard), ["before", "after"]);
    assert!(
        heard
            .iter()
            .all(|(secret, _)| secret.as_deref() == Some("s3cret-_"))
    );
    let gone = |server: &homing_simulators::telegram::Server| {
        server.pending_updates(&stage.bot).is_empty().then_some(())
    };
    stage
        .server
        .wait_for(LIMIT, gone)
        .await
        .expect("both are taken");
    let info = stage.ok("getWebhookInfo", json!({})).await;
    assert_eq!(
        (&info["url"], &info["pending_update_count"]),
        (&json!(url), &json!(0))
    );
}

#[tokio::test]
async fn a_failed_delivery_is_repeated_before_anything_else_of_its_chat() {
    let stage = Stage::new().await;
    let (hook, url) = Hook::start(vec![
        Reply::Status(500),
        Reply::Status(503),
        Reply::RetryAfter(429, 0),
    ])
    .await;
    stage.ok("setWebhook", json!({"url": url})).await;
    let chat = stage.private();
    for text in ["one", "two"] {
        stage
            .server
            .post(stage.alice, chat, text)
            .expect("it is posted");
    }
    let heard = hook.heard(5).await;
    assert_eq!(texts(&heard), ["one", "one", "one", "one", "two"]);
    let info = stage.ok("getWebhookInfo", json!({})).await;
    assert_eq!(
        info["last_error_message"],
        "Wrong response from the webhook: 429 Too Many Requests"
    );
}

#[tokio::test]
async fn a_chat_that_is_told_to_wait_does_not_hold_up_others() {
    let stage = Stage::new().await;
    let (hook, url) = Hook::start(vec![Reply::RetryAfter(429, 3600)]).await;
    stage.ok("setWebhook", json!({"url": url})).await;
    let chat = stage.private();
    stage
        .server
        .post(stage.alice, chat, "held up")
        .expect("it is posted");
    hook.heard(1).await;
    let bob = stage.server.user("Bob");
    let other = stage.server.private_chat(&stage.bot, bob);
    stage
        .server
        .post(bob, other, "goes on")
        .expect("it is posted");
    assert_eq!(texts(&hook.heard(2).await), ["held up", "goes on"]);
    let one_left = |server: &homing_simulators::telegram::Server| {
        (server.pending_updates(&stage.bot).len() == 1).then_some(())
    };
    stage
        .server
        .wait_for(LIMIT, one_left)
        .await
        .expect("one is taken");
    let info = stage.ok("getWebhookInfo", json!({})).await;
    assert_eq!(info["pending_update_count"], 1);
}

#[tokio::test]
async fn the_answer_to_an_update_may_be_a_request() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let reply = json!({"method": "sendMessage", "chat_id": chat.id, "text": "at once"});
    let (_hook, url) = Hook::start(vec![Reply::Json(reply)]).await;
    stage.ok("setWebhook", json!({"url": url})).await;
    stage
        .server
        .post(stage.alice, chat, "hello")
        .expect("it is posted");
    let sent = stage
        .server
        .wait_for_sent(1, LIMIT)
        .await
        .expect("it is sent");
    assert_eq!(sent[0].text, "at once");
}

#[tokio::test]
async fn a_webhook_that_is_not_there_is_an_error_to_read() {
    let stage = Stage::new().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", closed.local_addr().expect("an address"));
    drop(closed);
    stage.ok("setWebhook", json!({"url": url})).await;
    stage
        .server
        .post(stage.alice, stage.private(), "hello")
        .expect("it is posted");
    loop {
        let info = stage.ok("getWebhookInfo", json!({})).await;
        if info["last_error_message"] == "Connection refused" {
            break;
        }
        tokio::task::yield_now().await;
    }
    stage
        .ok("deleteWebhook", json!({"drop_pending_updates": true}))
        .await;
    assert!(stage.updates().await.is_empty());
}

#[tokio::test]
async fn only_loopback_and_good_secrets_are_taken() {
    let stage = Stage::new().await;
    for params in [
        json!({"url": "https://example.org/hook"}),
        json!({"url": "http://192.0.2.1/hook"}),
        json!({"url": "nonsense"}),
        json!({"url": "http://127.0.0.1:9/", "secret_token": "not good"}),
    ] {
        assert_eq!(stage.refused("setWebhook", params).await.0, 400);
    }
}
