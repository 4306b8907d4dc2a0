//! Real and constructed payloads: each can be pushed as an update, and arrives as it is.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::stage::{Stage, skipped};

pub fn sample(name: &str) -> Option<Value> {
    let folder = match std::env::var_os("HOMING_CONTRACTS") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/contracts"),
    };
    let path = folder.join("samples").join(name);
    let Ok(text) = fs::read_to_string(&path) else {
        skipped(&format!("there is no {}", path.display()));
        return None;
    };
    Some(serde_json::from_str(&text).expect("a sample is JSON"))
}

/// As an update: as it is, or as what an update is about.
fn as_update(value: &Value) -> Value {
    let has = |field: &str| value.get(field).is_some();
    if has("new_reaction") {
        json!({"message_reaction": value})
    } else if has("chat_instance") {
        json!({"callback_query": value})
    } else if has("message_id") && has("chat") {
        json!({"message": value})
    } else {
        value.clone()
    }
}

fn updates() -> Vec<Value> {
    let mut updates = Vec::new();
    if let Some(capture) = sample("telegram_getUpdates_forum_lifecycle_real.json") {
        updates.extend(capture["result"].as_array().expect("a list").clone());
    }
    if let Some(tests) = sample("telegram_messages_teloxide_tests.json") {
        let samples = tests["samples"].as_object().expect("an object");
        updates.extend(samples.values().cloned());
    }
    if let Some(Value::Object(constructed)) = sample("telegram_updates_constructed.json") {
        let samples = constructed
            .into_iter()
            .filter(|(name, _)| name != "_source");
        updates.extend(samples.map(|(_, sample)| sample));
    }
    updates.iter().map(as_update).collect()
}

#[tokio::test]
async fn every_sample_can_be_pushed_and_arrives_in_order_as_it_is() {
    let stage = Stage::new().await;
    let pushed = updates();
    for update in &pushed {
        stage
            .server
            .push_raw(&stage.bot, update.clone())
            .expect("the bot is there");
    }
    // Some are of a newer API than the schema.
    let answer = stage.api.call("getUpdates", json!({})).await;
    let arrived = answer.body["result"].as_array().expect("a list");
    assert_eq!(arrived.len(), pushed.len());
    for (arrived, pushed) in arrived.iter().zip(&pushed) {
        for (field, value) in pushed.as_object().expect("an object") {
            if field != "update_id" {
                assert_eq!(&arrived[field], value);
            }
        }
    }
}

/// The simulator's own topic events have the fields of a real capture.
#[tokio::test]
async fn the_life_of_a_topic_looks_like_a_real_capture() {
    let Some(capture) = sample("telegram_getUpdates_forum_lifecycle_real.json") else {
        return;
    };
    let stage = Stage::new().await;
    let forum = stage.forum_with(&["can_manage_topics"]);
    let made = stage
        .ok(
            "createForumTopic",
            json!({"chat_id": forum.id, "name": "Topic one", "icon_custom_emoji_id": "1"}),
        )
        .await;
    let about = json!({"chat_id": forum.id, "message_thread_id": made["message_thread_id"]});
    let mut renamed = about.clone();
    renamed["name"] = json!("New title");
    renamed["icon_custom_emoji_id"] = json!("2");
    let general = json!({"chat_id": forum.id});
    stage.ok("closeGeneralForumTopic", general.clone()).await;
    stage.updates().await;
    for (method, params) in [
        (
            "createForumTopic",
            json!({"chat_id": forum.id, "name": "x", "icon_custom_emoji_id": "1"}),
        ),
        ("editForumTopic", renamed),
        ("reopenGeneralForumTopic", general.clone()),
        ("closeGeneralForumTopic", general.clone()),
        ("closeForumTopic", about.clone()),
        ("reopenGeneralForumTopic", general.clone()),
        ("reopenForumTopic", about),
        (
            "editGeneralForumTopic",
            json!({"chat_id": forum.id, "name": "New name"}),
        ),
        ("hideGeneralForumTopic", general.clone()),
        ("unhideGeneralForumTopic", general),
    ] {
        stage.ok(method, params).await;
    }
    let ours: Vec<Value> = stage
        .updates()
        .await
        .iter()
        .map(|update| shape(&update["message"]))
        .collect();
    let real = capture["result"].as_array().expect("a list");
    let real: Vec<Value> = real
        .iter()
        .map(|update| shape(&update["message"]))
        .collect();
    assert_eq!(ours, real);
}

/// A message with the kinds of its values instead of the values.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), shape(value)))
            .collect(),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::String(_) => json!("text"),
        Value::Number(_) => json!(0),
        other => other.clone(),
    }
}
