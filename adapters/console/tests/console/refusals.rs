//! What is refused, and how it says so.

use homing_ports::inbox::INBOUND_TEXT_LIMIT;
use reqwest::Method;
use serde_json::json;

use crate::OTTER;
use crate::browser::{Browser, Served};

#[tokio::test]
async fn only_our_own_names_and_our_own_page_are_answered() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let list = || browser.request(Method::GET, "/api/v1/conversations");
    let status =
        async |request: reqwest::RequestBuilder| request.send().await.unwrap().status().as_u16();

    let client = reqwest::Client::new();
    let rebound = client
        .get(served.url("/healthz"))
        .header("host", "evil.example:80")
        .send()
        .await
        .unwrap();
    assert_eq!(rebound.status(), 403);
    assert!(
        rebound
            .text()
            .await
            .unwrap()
            .contains("answers only to 127.0.0.1")
    );

    let port = served.address.port();
    let local = client
        .get(served.url("/healthz"))
        .header("host", format!("LocalHost:{port}"));
    assert_eq!(status(local).await, 200);
    assert_eq!(status(list()).await, 200);
    assert_eq!(
        status(list().header("sec-fetch-site", "same-site")).await,
        403,
        "another port of this host"
    );

    let cookie_only = |path: &str, origin: Option<&str>| {
        let request = client
            .post(served.url(path))
            .header("cookie", browser_cookie(&browser))
            .json(&json!({}));
        origin
            .into_iter()
            .fold(request, |request, origin| request.header("origin", origin))
    };
    assert_eq!(
        status(cookie_only("/api/v1/conversations", None)).await,
        403
    );
    assert_eq!(
        status(cookie_only("/api/v1/conversations", Some("null"))).await,
        403
    );
    assert_eq!(
        status(cookie_only(
            "/api/v1/conversations",
            Some("http://evil.example")
        ))
        .await,
        403
    );
    assert_eq!(
        status(cookie_only("/api/v1/conversations", Some(&served.url("")))).await,
        200
    );
    let stream = client
        .get(served.url("/api/v1/stream"))
        .header("cookie", browser_cookie(&browser))
        .header("origin", "http://evil.example");
    assert_eq!(status(stream).await, 403);
}

fn browser_cookie(browser: &Browser) -> String {
    let request = browser.request(Method::GET, "/").build().unwrap();
    request.headers()["cookie"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_answer_carries_the_policy_and_the_page_has_nothing_inline() {
    let served = Served::new().await;
    let browser = served.browser().await;
    for path in [
        "/",
        "/api/v1/conversations",
        "/healthz",
        "/nowhere",
        "/assets/app.js",
    ] {
        let response = browser.request(Method::GET, path).send().await.unwrap();
        let policy = response.headers()["content-security-policy"]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(
            policy.contains("default-src 'none'")
                && policy.contains("script-src 'self'")
                && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    }
    let page = browser
        .request(Method::GET, "/")
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    for inline in ["<style", "style=", "onclick", "<script>", "javascript:"] {
        assert!(!page.contains(inline), "{inline}");
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "nothing is loaded from elsewhere"
    );
}

#[tokio::test]
async fn every_file_that_the_page_asks_for_is_there() {
    let served = Served::new().await;
    let names = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/assets"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in names {
        let response = reqwest::get(served.url(&format!("/assets/{name}")))
            .await
            .unwrap();
        assert_eq!(response.status(), 200, "{name}");
        let tag = response.headers()["etag"].to_str().unwrap().to_owned();
        let again = reqwest::Client::new()
            .get(served.url(&format!("/assets/{name}")))
            .header("if-none-match", tag)
            .send()
            .await
            .unwrap();
        assert_eq!(again.status(), 304, "{name}");
    }
}

#[tokio::test]
async fn what_does_not_read_is_refused_with_the_part_that_is_wrong() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let cases = [
        (
            "conversations/agent:main:console:pub:local/messages",
            400,
            "chat_type",
        ),
        (
            "conversations/agent:main:console/messages",
            400,
            "slot is missing",
        ),
        (
            "conversations/prc_0000000000000",
            400,
            "must begin with `cnv_`",
        ),
        ("conversations/cnv_short", 400, "13 characters"),
        ("conversations/cnv_0000000000000", 404, "no conversation"),
        ("conversations/%FF", 400, "path does not read"),
        (
            "processes/ntf_0000000000000/log",
            400,
            "must begin with `prc_`",
        ),
        (
            "processes/prc_0000000000000/log?from=-1",
            400,
            "query does not read",
        ),
        ("processes/prc_0000000000000/log", 404, "no process"),
        (
            "notifications/prc_0000000000000",
            400,
            "must begin with `ntf_`",
        ),
        ("notifications", 400, "which conversation"),
        ("delegations", 400, "which conversation"),
        (
            "delegations?conversation=cnv_0000000000000",
            404,
            "no conversation",
        ),
        ("stream?window=win_nonsense", 400, "13 characters"),
        ("nowhere", 404, "no such path"),
    ];
    for (path, status, part) in cases {
        let (found, body) = browser.get(&format!("/api/v1/{path}")).await;
        assert_eq!(found, status, "{path}: {body}");
        assert!(
            body["error"]
                .as_str()
                .is_some_and(|sentence| sentence.contains(part)),
            "{path}: {body}"
        );
    }
    let (status, body) = browser.get("/api/v1/windows").await;
    assert_eq!(status, 405, "{body}");
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_with_the_limit() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let path = format!("/api/v1/conversations/{OTTER}/messages");
    for length in [INBOUND_TEXT_LIMIT + 1, 10 * INBOUND_TEXT_LIMIT] {
        let (status, body) = browser
            .post(&path, json!({ "id": "a", "text": "x".repeat(length) }))
            .await;
        assert_eq!(status, 413, "{body}");
        assert!(
            body["error"]
                .as_str()
                .unwrap()
                .contains(&INBOUND_TEXT_LIMIT.to_string()),
            "{body}"
        );
    }
    // As long as may be, in the form that takes most room.
    let (status, body) = browser
        .post(
            &path,
            json!({ "id": "a", "text": "\u{1}".repeat(INBOUND_TEXT_LIMIT) }),
        )
        .await;
    assert_eq!(status, 202, "{body}");
}

#[tokio::test]
async fn a_message_is_taken_once_and_only_where_one_can_write() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let window = browser.open_window(OTTER).await;
    let path = format!("/api/v1/conversations/{OTTER}/messages");
    let message = json!({ "id": "m-1", "text": "!bg sleep 5; echo done", "window": window });
    assert_eq!(
        browser.post(&path, message.clone()).await.1["repeat"],
        false
    );
    assert_eq!(browser.post(&path, message).await.1["repeat"], true);
    {
        let rows = served.fake.rows();
        assert_eq!(rows.inbound.len(), 1);
        assert_eq!(rows.inbound[0].window, Some(window));
        assert_eq!(
            rows.inbound[0].origin.key(Default::default()).to_string(),
            OTTER
        );
    }
    let refused = [
        (json!({ "id": "m-2", "text": "  " }), 400, "empty"),
        (json!({ "id": "m 2", "text": "hello" }), 400, "1 to 64"),
        (
            json!({ "id": "m-2", "text": "hello", "window": "ses_0000000000000" }),
            400,
            "must begin with `win_`",
        ),
        (json!({ "text": "hello" }), 400, "missing field `id`"),
    ];
    for (body, status, part) in refused {
        let (found, answer) = browser.post(&path, body).await;
        assert_eq!(found, status, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(part), "{answer}");
    }
    let (status, body) = browser
        .post(
            "/api/v1/conversations/agent:main:telegram:group:-100:42/messages",
            json!({ "id": "m-3", "text": "hello" }),
        )
        .await;
    assert_eq!(status, 403);
    assert!(
        body["error"]
            .as_str()
            .unwrap()
            .contains("only be read here"),
        "{body}"
    );
}

/// OWN-10
#[tokio::test]
async fn a_new_conversation_is_a_name_until_somebody_is_there() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let (_, body) = browser
        .post(
            "/api/v1/conversations",
            json!({ "name": "Deploy: staging" }),
        )
        .await;
    assert_eq!(
        body["conversation"]["key"],
        "agent:main:console:dm:local:deploy-staging"
    );
    let (_, body) = browser.post("/api/v1/conversations", json!({})).await;
    let key = body["conversation"]["key"].as_str().unwrap();
    assert!(served.fake.rows().conversations.is_empty());
    let (status, body) = browser
        .get(&format!("/api/v1/conversations/{key}/messages"))
        .await;
    assert_eq!(
        (status, body["messages"].as_array().unwrap().len()),
        (200, 0)
    );
    browser.open_window(key).await;
    let (_, body) = browser.get("/api/v1/conversations").await;
    assert_eq!(body["conversations"][0]["key"], key);
    assert_eq!(body["conversations"][0]["session"], serde_json::Value::Null);
}
