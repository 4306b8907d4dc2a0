//! Updates that Telegram brings.

use homing_telegram::{Mode, Secret};
use homing_telegram_tests::{Call, LIMIT, Stage};
use serde_json::json;

const SECRET: &str = "s3cret-Word";

/// The stage, and the address where the webhook is served.
async fn stage() -> (Stage, String) {
    let mut stage = Stage::new().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = free.local_addr().unwrap();
    drop(free);
    let url = format!("http://{listen}/telegram/hook");
    stage.set(|settings| {
        settings.mode = Mode::Webhook {
            public_url: url.parse().unwrap(),
            listen,
            secret: Secret(SECRET.into()),
        };
    });
    stage.serve();
    stage
        .inbox
        .until("a connection", |inbox| {
            inbox.calls().contains(&Call::Ready).then_some(())
        })
        .await;
    (stage, url)
}

// OWN-70
#[tokio::test]
async fn what_cannot_be_stored_is_brought_again() {
    let (mut stage, _) = stage().await;
    let private = stage.private();
    stage.inbox.fail(3);
    for text in ["one", "two", "three"] {
        stage.writes(private, text);
    }
    stage.inbox.messages(3).await;
    assert_eq!(stage.inbox.texts(), ["one", "two", "three"]);
    let confirmed = |server: &homing_simulators::telegram::Server| {
        server.pending_updates(&stage.bot).is_empty().then_some(())
    };
    stage.server.wait_for(LIMIT, confirmed).await.unwrap();
    stage.server.repeat_updates(&stage.bot, 2).unwrap();
    stage.writes(private, "four");
    stage.inbox.messages(4).await;
    assert_eq!(stage.inbox.texts(), ["one", "two", "three", "four"]);
    stage.restart().await;
    stage.writes(private, "five");
    stage.inbox.messages(5).await;
    stage.end().await;
}

#[tokio::test]
async fn whoever_is_not_telegram_is_turned_away() {
    let (stage, url) = stage().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let private = stage.private();
    let update = json!({"update_id": 5, "message": {"message_id": 1, "date": 1, "text": "forged",
        "from": {"id": stage.alice, "is_bot": false, "first_name": "Alice"},
        "chat": {"id": private.id, "type": "private", "first_name": "Alice"}}});
    let header = "X-Telegram-Bot-Api-Secret-Token";
    let elsewhere = url.replace("/hook", "/other");
    let big = "x".repeat(4 * 1024 * 1024 + 1);
    for (request, status) in [
        (client.post(&url).json(&update), 403),
        (
            client
                .post(&url)
                .header(header, "s3cret-Wore")
                .json(&update),
            403,
        ),
        (client.post(&url).header(header, "").json(&update), 403),
        (client.get(&url).header(header, SECRET), 404),
        (
            client.post(&elsewhere).header(header, SECRET).json(&update),
            404,
        ),
        (client.post(&url).header(header, SECRET).body(big), 413),
        (client.post(&url).header(header, SECRET).body("{"), 200),
    ] {
        assert_eq!(request.send().await.unwrap().status(), status);
    }
    assert_eq!(stage.inbox.texts(), Vec::<String>::new());
    let kept = std::fs::read_to_string(stage.state().join("unreadable.jsonl")).unwrap();
    assert_eq!(
        kept.lines().count(),
        1,
        "what is no JSON does not come for ever"
    );
    let genuine = client
        .post(&url)
        .header(header, SECRET)
        .json(&update)
        .send()
        .await
        .unwrap();
    assert_eq!(genuine.status(), 200);
    assert_eq!(stage.inbox.texts(), ["forged"]);
    stage.end().await;
}

#[tokio::test]
async fn a_bot_that_polls_again_removes_its_webhook() {
    let (mut stage, _) = stage().await;
    let private = stage.private();
    stage.set(|settings| settings.mode = Mode::Polling);
    stage.writes(private, "one");
    stage.inbox.messages(1).await;
    stage.restart().await;
    stage.writes(private, "two");
    stage.inbox.messages(2).await;
    assert_eq!(stage.inbox.told(), Vec::<String>::new());
    stage.end().await;
}
