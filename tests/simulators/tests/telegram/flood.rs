//! Those who send too much are told to wait.

use std::time::Duration;

use homing_simulators::telegram::{Budget, Flood, NewBot, Settings};
use serde_json::json;

use crate::stage::Stage;

fn budget(messages: usize) -> Option<Budget> {
    Some(Budget {
        messages,
        per: Duration::from_secs(3600),
    })
}

async fn with(flood: Flood) -> Stage {
    let settings = Settings {
        flood: Some(flood),
        ..Settings::default()
    };
    Stage::with(settings, NewBot::named("test_bot")).await
}

#[tokio::test]
async fn a_chat_that_is_full_says_in_whole_seconds_how_long_to_wait() {
    let stage = with(Flood {
        per_chat: budget(2),
        per_group: None,
        overall: None,
    })
    .await;
    let chat = stage.private();
    let send = json!({"chat_id": chat.id, "text": "hi"});
    for _ in 0..2 {
        stage.ok("sendMessage", send.clone()).await;
    }
    let answer = stage.api.call("sendMessage", send).await;
    assert_eq!(answer.status, 429);
    let wait = answer.body["parameters"]["retry_after"]
        .as_u64()
        .expect("seconds");
    assert!((3590..=3600).contains(&wait), "{wait}");
    assert_eq!(
        answer.description(),
        format!("Too Many Requests: retry after {wait}")
    );
    // Other chats and other requests go on.
    let forum = stage.forum();
    stage
        .ok("sendMessage", json!({"chat_id": forum.id, "text": "hi"}))
        .await;
    stage
        .ok(
            "sendChatAction",
            json!({"chat_id": chat.id, "action": "typing"}),
        )
        .await;
    assert_eq!(stage.server.sent().len(), 3);
    stage.server.set_flood(None);
    stage
        .ok("sendMessage", json!({"chat_id": chat.id, "text": "hi"}))
        .await;
}

#[tokio::test]
async fn groups_and_the_whole_bot_have_budgets_of_their_own() {
    let stage = with(Flood {
        per_chat: None,
        per_group: budget(1),
        overall: budget(3),
    })
    .await;
    let (chat, forum) = (stage.private(), stage.forum());
    let send = |chat: homing_simulators::telegram::Chat| {
        let api = stage.api.clone();
        async move {
            api.call("sendMessage", json!({"chat_id": chat.id, "text": "hi"}))
                .await
                .status
        }
    };
    assert_eq!(send(forum).await, 200);
    assert_eq!(send(forum).await, 429);
    assert_eq!(send(chat).await, 200);
    assert_eq!(send(chat).await, 200);
    assert_eq!(send(chat).await, 429);
}

#[tokio::test]
async fn a_budget_of_the_past_does_not_count() {
    let stage = with(Flood {
        per_chat: Some(Budget {
            messages: 1,
            per: Duration::from_nanos(1),
        }),
        per_group: None,
        overall: None,
    })
    .await;
    let chat = stage.private();
    for _ in 0..3 {
        stage
            .ok("sendMessage", json!({"chat_id": chat.id, "text": "hi"}))
            .await;
    }
}
