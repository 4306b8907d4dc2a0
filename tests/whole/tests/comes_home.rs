//! Work that a model started comes home: through compressions, and though the gateway was killed.
#![allow(clippy::unwrap_used, reason = "tests")]

use homing_simulators::model::{Answer, Call, ModelServer};
use homing_whole::{Running, TestFolder, until};
use serde_json::{Value, json};

/// What a key must never be found in.
const CANARY: &str = "sk-canary-3f9d1c77e0b84a52";

fn arguments(settings: &[String; 2]) -> [&str; 2] {
    [&settings[0], &settings[1]]
}

fn model_settings(folder: &TestFolder, server: &ModelServer) -> [String; 2] {
    let key = folder.secret("key", CANARY);
    folder.settings(&format!(
        "[agent]\nkind = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\nkey = {{ file = {:?} }}\n",
        server.url(),
        key.display().to_string()
    ))
}

fn last(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let content = &messages.last().unwrap()["content"];
    content.as_str().unwrap_or_default().to_owned()
}

/// A model that starts a build when it is asked to, summarises when it is asked to, and otherwise says what it was told.
fn model(server: &ModelServer) {
    server.set_key(CANARY);
    server.rule(|request| {
        let text = last(request);
        let is_summary = request["tools"].as_array().is_none_or(Vec::is_empty);
        if text.contains("start the build") && !is_summary {
            let arguments = json!({"command": "sleep 6; echo built-$((40+2))", "background": true, "notify": true});
            return Some(Answer::calls([Call::new("call-1", "terminal", &arguments)]));
        }
        if is_summary && !text.contains("built-42") {
            return Some(Answer::text("Goal: a build. It runs in the background."));
        }
        Some(Answer::text(&format!("I heard: {}", text.lines().last().unwrap_or_default())))
    });
}

/// OWN-11, 30, 90, and the keys of a model server in nothing that is kept or shown.
#[tokio::test]
async fn a_build_that_a_model_started_comes_home_to_the_tip_after_two_compressions_and_a_kill() {
    let server = ModelServer::start().await.unwrap();
    model(&server);
    let folder = TestFolder::new();
    let settings = model_settings(&folder, &server);
    let mut running = Running::start_with(&folder, &arguments(&settings)).await;
    let thread = running.thread("build");
    running.say(&thread, "please start the build").await;
    until("the build runs", async || {
        let path = format!("/api/v1/processes?conversation={thread}&limit=10");
        running.get(&path).await.to_string().contains("sleep 6")
    })
    .await;
    for round in 1..=2 {
        running.say(&thread, &format!("round {round}")).await;
        running
            .wait_for_text(&thread, &format!("I heard: round {round}"))
            .await;
        running.say(&thread, "/compress").await;
        until("it is compressed", async || {
            let done = running.texts(&thread).await;
            let done = done.iter().filter(|text| text.starts_with("Compressed"));
            done.count() == round
        })
        .await;
    }
    let before = sessions(&running, &thread).await;
    running.kill();
    let running = Running::start_with(&folder, &arguments(&settings)).await;
    let told = running.wait_for_text(&thread, "built-42").await;
    assert!(!told.is_empty());
    until("the model was told, and answered", async || {
        let messages = running.messages(&thread).await;
        messages.iter().any(|message| message["background"] == true)
    })
    .await;
    let messages = running.messages(&thread).await;
    let answers: Vec<&Value> = messages
        .iter()
        .filter(|message| message["background"] == true)
        .collect();
    assert_eq!(answers.len(), 1, "told once: {answers:?}");
    assert_eq!(
        answers[0]["session"].as_str(),
        before.last().map(String::as_str),
        "it is told in the tip"
    );
    assert_eq!(before.len(), 3, "two compressions make three sessions");
    running.stop().await;
    nothing_holds_the_key(&folder);
}

/// Sessions of a thread, oldest first.
async fn sessions(running: &Running, thread: &str) -> Vec<String> {
    running.say(thread, "/sessions").await;
    running.wait_for_text(thread, "ses_").await;
    let found = running
        .get(&format!("/api/v1/conversations/{thread}"))
        .await["conversation"]["session"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut all: Vec<String> = Vec::new();
    for message in running.messages(thread).await {
        if let Some(session) = message["session"].as_str()
            && all.iter().all(|known| known != session)
        {
            all.push(session.to_owned());
        }
    }
    if all.last() != Some(&found) {
        all.push(found);
    }
    all
}

/// Neither the store, nor a run folder, nor a log, nor anything else of the data folder.
fn nothing_holds_the_key(folder: &TestFolder) {
    assert!(!folder.log().contains(CANARY), "the log holds the key");
    let mut folders = vec![folder.data()];
    let mut looked_at = 0;
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                let found = bytes
                    .windows(CANARY.len())
                    .any(|window| window == CANARY.as_bytes());
                assert!(!found, "{} holds the key", path.display());
                looked_at += 1;
            }
        }
    }
    assert!(looked_at >= 3, "there was nothing to look at");
}
