//! Long polling: what confirms, what waits, and who is sent away.

use std::time::Duration;

use homing_simulators::telegram::{NewBot, Pace, SameOffset, Settings};
use serde_json::{Value, json};

use crate::stage::{LIMIT, Stage};

fn ids(updates: &Value) -> Vec<i64> {
    let updates = updates.as_array().expect("a list").iter();
    updates
        .filter_map(|update| update["update_id"].as_i64())
        .collect()
}

async fn with_messages(count: usize) -> Stage {
    let stage = Stage::new().await;
    let chat = stage.private();
    for number in 0..count {
        stage
            .server
            .post(stage.alice, chat, number.to_string())
            .expect("it is posted");
    }
    stage
}

/// Waits until so many polls of the bot are under way or done.
async fn polls(stage: &Stage, count: usize) {
    let polls = |server: &homing_simulators::telegram::Server| {
        let polls = server
            .requests()
            .iter()
            .filter(|request| request.method == "getUpdates")
            .count();
        (polls >= count).then_some(())
    };
    stage.server.wait_for(LIMIT, polls).await.expect("it polls");
}

#[tokio::test]
async fn an_update_comes_again_until_a_higher_offset_confirms_it() {
    let stage = with_messages(3).await;
    let first = ids(&stage.ok("getUpdates", json!({})).await);
    assert_eq!(first.len(), 3);
    assert_eq!(
        ids(&stage.ok("getUpdates", json!({"offset": first[0]})).await),
        first
    );
    assert_eq!(
        ids(&stage.ok("getUpdates", json!({"offset": first[2]})).await),
        first[2..]
    );
    assert_eq!(
        ids(&stage
            .ok("getUpdates", json!({"offset": first[2] + 1}))
            .await),
        [] as [i64; 0]
    );
    assert!(stage.server.pending_updates(&stage.bot).is_empty());
}

#[tokio::test]
async fn a_poll_gets_a_hundred_at_most_and_as_few_as_it_wants() {
    let stage = with_messages(120).await;
    assert_eq!(ids(&stage.ok("getUpdates", json!({})).await).len(), 100);
    assert_eq!(
        ids(&stage.ok("getUpdates", json!({"limit": 7})).await).len(),
        7
    );
}

#[tokio::test]
async fn a_negative_offset_forgets_all_but_the_last() {
    let stage = with_messages(5).await;
    let last = ids(&stage.ok("getUpdates", json!({"offset": -1})).await);
    assert_eq!(last.len(), 1);
    assert_eq!(ids(&stage.ok("getUpdates", json!({})).await), last);
}

#[tokio::test]
async fn a_poll_waits_and_ends_when_somebody_writes() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let api = stage.api.clone();
    let waiting = tokio::spawn(async move { api.call("getUpdates", json!({"timeout": 15})).await });
    polls(&stage, 1).await;
    stage
        .server
        .post(stage.alice, chat, "hello")
        .expect("it is posted");
    let answer = waiting.await.expect("it ends");
    assert_eq!(answer.body["result"][0]["message"]["text"], "hello");
}

#[tokio::test]
async fn a_poll_ends_empty_after_its_timeout_and_no_timeout_is_longer_than_the_servers() {
    let settings = Settings {
        pace: Pace {
            longest_poll: Duration::from_millis(20),
            ..Pace::default()
        },
        ..Settings::default()
    };
    let stage = Stage::with(settings, NewBot::named("test_bot")).await;
    // It would wait longer than the client does.
    let updates = stage.ok("getUpdates", json!({"timeout": 100_000})).await;
    assert_eq!(updates, json!([]));
}

#[tokio::test]
async fn the_later_of_two_polls_wins() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let poll = || {
        let api = stage.api.clone();
        tokio::spawn(async move { api.call("getUpdates", json!({"timeout": 15})).await })
    };
    let first = poll();
    polls(&stage, 1).await;
    let second = poll();
    let first = first.await.expect("it ends");
    assert_eq!(first.status, 409);
    assert_eq!(
        first.description(),
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    );
    stage
        .server
        .post(stage.alice, chat, "hello")
        .expect("it is posted");
    assert_eq!(second.await.expect("it ends").status, 200);
}

#[tokio::test]
async fn a_foreign_poller_sends_a_waiting_poll_away() {
    let stage = Stage::new().await;
    let api = stage.api.clone();
    let waiting = tokio::spawn(async move { api.call("getUpdates", json!({"timeout": 15})).await });
    // The log has it before it waits, so it may have to be sent away twice.
    polls(&stage, 1).await;
    while !waiting.is_finished() {
        stage
            .server
            .foreign_poller(&stage.bot)
            .expect("the bot is there");
        tokio::task::yield_now().await;
    }
    assert_eq!(waiting.await.expect("it ends").status, 409);
}

#[tokio::test]
async fn a_webhook_ends_a_poll_and_forbids_others() {
    let stage = Stage::new().await;
    let api = stage.api.clone();
    let waiting = tokio::spawn(async move { api.call("getUpdates", json!({"timeout": 15})).await });
    polls(&stage, 1).await;
    // A poll that comes late is refused at once; either is a conflict.
    stage
        .ok("setWebhook", json!({"url": "http://127.0.0.1:9/"}))
        .await;
    assert_eq!(waiting.await.expect("it ends").status, 409);
    let refused = stage.refused("getUpdates", json!({})).await;
    assert_eq!(
        refused.1,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
    );
    stage.ok("deleteWebhook", json!({})).await;
    stage.ok("getUpdates", json!({})).await;
}

#[tokio::test]
async fn kinds_that_were_not_asked_for_do_not_come() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let said = stage
        .server
        .post(stage.alice, chat, "one")
        .expect("it is posted");
    stage
        .server
        .react(stage.alice, chat, said, &["👍"])
        .expect("it is there");
    assert_eq!(
        stage.updates().await.len(),
        1,
        "reactions are none of the default kinds"
    );
    stage
        .ok(
            "getUpdates",
            json!({"allowed_updates": ["message_reaction"]}),
        )
        .await;
    stage
        .server
        .post(stage.alice, chat, "two")
        .expect("it is posted");
    stage
        .server
        .react(stage.alice, chat, said, &[])
        .expect("it is there");
    let updates = stage.updates().await;
    assert_eq!(updates.len(), 1);
    assert_eq!(
        updates[0]["message_reaction"]["old_reaction"][0]["emoji"],
        "👍"
    );
    // The list is remembered until another comes; an empty one means the default.
    stage.ok("getUpdates", json!({"allowed_updates": []})).await;
    stage
        .server
        .post(stage.alice, chat, "three")
        .expect("it is posted");
    assert_eq!(stage.one_message().await["text"], "three");
}

#[tokio::test]
async fn polls_that_repeat_an_offset_get_one_update_at_a_time() {
    let settings = Settings {
        pace: Pace {
            same_offset: Some(SameOffset {
                waits_within: Duration::ZERO,
                single_within: LIMIT,
            }),
            ..Pace::default()
        },
        ..Settings::default()
    };
    let stage = Stage::with(settings, NewBot::named("test_bot")).await;
    let chat = stage.private();
    for text in ["one", "two"] {
        stage
            .server
            .post(stage.alice, chat, text)
            .expect("it is posted");
    }
    assert_eq!(ids(&stage.ok("getUpdates", json!({})).await).len(), 2);
    assert_eq!(ids(&stage.ok("getUpdates", json!({})).await).len(), 1);
}

#[tokio::test]
async fn numbers_of_updates_may_jump() {
    let stage = with_messages(1).await;
    let before = ids(&stage.ok("getUpdates", json!({})).await)[0];
    stage.ok("getUpdates", json!({"offset": before + 1})).await;
    stage
        .server
        .next_update_id(&stage.bot, 1000)
        .expect("the bot is there");
    stage
        .server
        .post(stage.alice, stage.private(), "a week later")
        .expect("it is posted");
    assert_eq!(ids(&stage.ok("getUpdates", json!({})).await), [1000]);
}

#[tokio::test]
async fn updates_are_repeated_and_reordered_on_request() {
    let stage = with_messages(2).await;
    let first = ids(&stage.ok("getUpdates", json!({})).await);
    stage
        .server
        .repeat_updates(&stage.bot, 1)
        .expect("the bot is there");
    let confirming = json!({"offset": first[1]});
    assert_eq!(
        ids(&stage.ok("getUpdates", confirming.clone()).await),
        first
    );
    stage
        .server
        .repeat_updates(&stage.bot, 1)
        .expect("the bot is there");
    stage
        .server
        .reorder_updates(&stage.bot, 1)
        .expect("the bot is there");
    assert_eq!(
        ids(&stage.ok("getUpdates", confirming).await),
        [first[1], first[0]]
    );
}

#[tokio::test]
async fn bots_of_one_server_hear_only_what_is_theirs() {
    let stage = Stage::new().await;
    let other = stage.server.bot(NewBot::named("other_bot"));
    let theirs = stage.server.private_chat(&other, stage.alice);
    stage.private();
    stage
        .server
        .post(stage.alice, theirs, "for the other")
        .expect("it is posted");
    assert!(stage.updates().await.is_empty());
    assert_eq!(stage.server.pending_updates(&other).len(), 1);
}
