//! The control API, as a program in another language uses it.

use homing_simulators::telegram::{Server, Settings};
use serde_json::{Value, json};

async fn ask(server: &Server, verb: &str, body: Value) -> Value {
    let url = format!("{}/_control/{verb}", server.url());
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let response = client
        .post(url)
        .json(&body)
        .send()
        .await
        .expect("an answer");
    response.json().await.expect("JSON")
}

#[tokio::test]
async fn a_conversation_is_held_through_it() {
    let settings = Settings {
        control: true,
        ..Settings::default()
    };
    let server = Server::start(settings).await.expect("it starts");
    let make = async |verb: &str, body: Value| {
        let answer = ask(&server, verb, body).await;
        assert_eq!(answer["ok"], true, "{verb}: {answer}");
        answer["result"].clone()
    };
    let bot = make("bot", json!({"username": "test_bot", "topics": true})).await;
    let alice = make("user", json!({"first_name": "Alice"})).await;
    let forum = make(
        "chat",
        json!({"kind": "forum", "title": "Forum", "members": [alice]}),
    )
    .await;
    make("admit", json!({"chat": forum, "who": bot["id"], "standing": {"administrator": ["can_manage_topics"]}})).await;
    let thread = make(
        "topic",
        json!({"by": alice, "chat": forum, "name": "Plans"}),
    )
    .await;
    let said = make(
        "post",
        json!({"by": alice, "chat": forum, "thread": thread, "text": "hello"}),
    )
    .await;
    let url = format!(
        "{}/bot{}/sendMessage",
        server.url(),
        bot["token"].as_str().expect("a token")
    );
    let params = json!({"chat_id": forum, "text": "hi", "reply_parameters": {"message_id": said}});
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    client
        .post(url)
        .json(&params)
        .send()
        .await
        .expect("an answer");
    make("wait", json!({"sent": 1, "limit_ms": 5000})).await;
    let sent = make("sent", json!({})).await;
    assert_eq!(
        (&sent[0]["text"], &sent[0]["thread"]),
        (&json!("hi"), &thread)
    );
    let messages = make("messages", json!({"chat": forum, "thread": thread})).await;
    assert_eq!(messages.as_array().map(Vec::len), Some(3));
    make(
        "topic_event",
        json!({"by": alice, "chat": forum, "thread": thread, "event": "closed"}),
    )
    .await;
    make("fault", json!({"trouble": {"too_many_requests": {"retry_after": 1}}, "method": "getMe", "which": {"next": 2}})).await;
    assert_eq!(make("violations", json!({})).await, json!([]));
}

#[tokio::test]
async fn troubles_with_updates_are_made_through_it() {
    let settings = Settings {
        control: true,
        ..Settings::default()
    };
    let server = Server::start(settings).await.expect("it starts");
    let bot = ask(&server, "bot", json!({"username": "test_bot"})).await["result"].clone();
    let alice = ask(&server, "user", json!({"first_name": "Alice"})).await["result"].clone();
    let about = json!({"bot": bot["id"], "person": alice});
    ask(&server, "private_chat", about).await;
    for (verb, body) in [
        (
            "push_raw",
            json!({"bot": bot["id"], "update": {"news": {}}}),
        ),
        ("repeat_updates", json!({"bot": bot["id"], "count": 1})),
        ("reorder_updates", json!({"bot": bot["id"], "polls": 1})),
        ("foreign_poller", json!({"bot": bot["id"]})),
        ("block", json!({"bot": bot["id"], "chat": alice})),
        ("unblock", json!({"bot": bot["id"], "chat": alice})),
        ("expire_callbacks", json!({})),
        ("clear_faults", json!({})),
        ("deactivate", json!({"person": alice})),
    ] {
        let answer = ask(&server, verb, body).await;
        assert_eq!(answer["ok"], true, "{verb}: {answer}");
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_a_reason() {
    let settings = Settings {
        control: true,
        ..Settings::default()
    };
    let server = Server::start(settings).await.expect("it starts");
    for (verb, body) in [
        ("fly", json!({})),
        ("post", json!({"by": 1, "chat": 2, "text": "hi"})),
        ("user", json!({"name": "Alice"})),
        ("wait", json!({"sent": 1, "limit_ms": 1})),
    ] {
        let answer = ask(&server, verb, body).await;
        assert_eq!(answer["ok"], false, "{verb}");
        assert!(
            answer["error"]
                .as_str()
                .is_some_and(|error| !error.is_empty())
        );
    }
    let url = format!("{}/_control/help", server.url());
    assert!(reqwest::get(url).await.is_ok());
}
