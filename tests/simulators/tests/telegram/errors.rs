//! The texts of refusals are the real ones, letter by letter.

use homing_simulators::telegram::{Effect, Fault, Trouble};
use serde_json::{Value, json};

use crate::samples::sample;
use crate::stage::Stage;

/// Those that the rules of the world produce are shown in the other tests. Here each listed error is asked for, and arrives whole.
#[tokio::test]
async fn every_listed_error_can_be_produced() {
    let Some(listed) = sample("telegram_errors.json") else {
        return;
    };
    let stage = Stage::new().await;
    let chat = stage.private().id;
    for error in listed["errors"].as_array().expect("a list") {
        let (status, body) = (&error["status"], &error["body"]);
        let text = body["description"].as_str().expect("a text");
        let Some(trouble) = trouble(text, body) else {
            assert!(shown_elsewhere(text), "nothing produces {text:?}");
            continue;
        };
        stage.server.fault(Fault::new(trouble));
        let answer = stage
            .api
            .call("sendMessage", json!({"chat_id": chat, "text": "hi"}))
            .await;
        assert_eq!((&json!(answer.status), &answer.body), (status, body));
    }
}

fn trouble(text: &str, body: &Value) -> Option<Trouble> {
    if let Some(retry_after) = body["parameters"]["retry_after"].as_u64() {
        return Some(Trouble::TooManyRequests { retry_after });
    }
    if body.get("parameters").is_some() {
        return None;
    }
    match text.split_once(": ") {
        Some(("Bad Request", text)) => Some(Trouble::BadRequest(text.to_owned())),
        Some(("Forbidden", text)) => Some(Trouble::Forbidden(text.to_owned())),
        Some(("Conflict", text)) if text.contains("other getUpdates") => Some(Trouble::Conflict),
        Some(("Internal Server Error", _)) => Some(Trouble::InternalError(Effect::None)),
        None if text == "Unauthorized" => Some(Trouble::Unauthorized),
        _ => None,
    }
}

/// By the world itself: in `chats`, `sending`, `polling`, `files`. A proxy's 502 is a page, in `faults`.
fn shown_elsewhere(text: &str) -> bool {
    [
        "Bad Request: group chat was upgraded to a supergroup chat",
        "Not Found: method not found",
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        "Conflict: terminated by setWebhook request",
        "Request Entity Too Large",
        "Bad Gateway",
    ]
    .contains(&text)
}

#[tokio::test]
async fn a_wrong_token_is_unauthorized_and_other_paths_are_not_found() {
    let stage = Stage::new().await;
    for (path, status) in [
        ("/bot1:wrong/getMe", 401),
        ("/getMe", 404),
        ("/_control/help", 404),
        ("/bot", 404),
    ] {
        let url = format!("{}{path}", stage.server.url());
        let response = stage.api.client.get(url).send().await.expect("an answer");
        assert_eq!(response.status(), status, "{path}");
        let body: Value = response.json().await.expect("JSON");
        assert_eq!(body["error_code"], status);
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_refused() {
    let stage = Stage::new().await;
    let request = stage
        .api
        .client
        .post(stage.api.url("getMe"))
        .header("content-type", "application/json")
        .body("{");
    let answer = crate::stage::read(request.send().await.expect("an answer"))
        .await
        .expect("JSON");
    assert_eq!(answer.status, 400);
}
