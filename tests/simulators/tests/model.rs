//! The model server's player: answers that are made when somebody wants them.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use homing_simulators::model::{Answer, ModelServer};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

const LONG: Duration = Duration::from_secs(20);

/// Asks; what comes back is its text.
async fn ask(url: String, text: &str) -> Result<String, String> {
    let client = homing_simulators::client().map_err(|error| error.to_string())?;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    let answer = client
        .post(format!("{url}/chat/completions"))
        .json(&body)
        .send()
        .await
        .map_err(|error| error.to_string())?;
    answer.text().await.map_err(|error| error.to_string())
}

/// Ends with what holds it.
struct Told(Option<oneshot::Sender<()>>);

impl Drop for Told {
    fn drop(&mut self) {
        if let Some(told) = self.0.take() {
            let _nobody_waits = told.send(());
        }
    }
}

#[tokio::test]
async fn a_player_answers_when_it_likes_after_scripts_and_rules_and_in_any_order() {
    let server = ModelServer::start().await.unwrap();
    let (asked, mut asking) = mpsc::unbounded_channel();
    server.rule(|body| {
        let is_ruled = body["messages"][0]["content"] == "ruled";
        is_ruled.then(|| Answer::text("by the rule"))
    });
    server.player(move |recorded| {
        let (answer, answered) = oneshot::channel::<String>();
        let text = recorded.messages()[0]["content"]
            .as_str()
            .unwrap_or("")
            .to_owned();
        asked.send((text, answer)).unwrap();
        async move { Answer::text(&answered.await.unwrap_or_default()) }
    });
    let first = tokio::spawn(ask(server.url(), "first"));
    let (text, first_answer) = asking.recv().await.unwrap();
    assert_eq!(text, "first");
    let second = tokio::spawn(ask(server.url(), "second"));
    let (_, second_answer) = asking.recv().await.unwrap();
    second_answer.send("said second".into()).unwrap();
    assert!(second.await.unwrap().unwrap().contains("said second"));
    let ruled = ask(server.url(), "ruled").await.unwrap();
    assert!(ruled.contains("by the rule"), "{ruled}");
    first_answer.send("said first".into()).unwrap();
    assert!(first.await.unwrap().unwrap().contains("said first"));
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_client_that_leaves_ends_what_the_player_does() {
    let server = ModelServer::start().await.unwrap();
    let (begun, beginning) = oneshot::channel();
    let (ended, ending) = oneshot::channel();
    let signals = Arc::new(Mutex::new(Some((begun, Told(Some(ended))))));
    server.player(move |_| {
        let signals = signals.lock().unwrap().take();
        async move {
            let (begun, _told) = signals.unwrap();
            begun.send(()).unwrap();
            std::future::pending().await
        }
    });
    let asking = tokio::spawn(ask(server.url(), "hello"));
    beginning.await.unwrap();
    asking.abort();
    tokio::time::timeout(LONG, ending).await.unwrap().unwrap();
    let mut changes = server.changes();
    let left = changes.wait_for(|_| server.left() == 1);
    tokio::time::timeout(LONG, left).await.unwrap().unwrap();
}
