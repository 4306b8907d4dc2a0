//! The console over real HTTP: who gets in, what is refused and how, what streams and windows do.

#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod support;

use std::time::Duration;

use homing_domain::ids::OutboxId;
use homing_domain::origin::Origin;
use homing_ports::inbox::INBOUND_TEXT_LIMIT;
use homing_ports::platform::{Landed, Outgoing, OutgoingKind};
use reqwest::Method;
use serde_json::json;
use support::{Fake, Served};

const OTTER: &str = "agent:main:console:dm:local:calm-otter";
const LARK: &str = "agent:main:console:dm:local:glad-lark";

fn outgoing(fake: &Fake, key: &str, window: Option<homing_domain::ids::WindowId>) -> Outgoing {
    let id: OutboxId = fake.ids.next();
    let origin = Origin::from_key(&key.parse().unwrap());
    Outgoing {
        id,
        attempt: 1,
        origin,
        window,
        kind: OutgoingKind::Background,
        text: "done".into(),
        may_repeat: false,
    }
}

// ---- getting in

#[tokio::test]
async fn a_link_logs_in_once_and_says_what_to_do_when_it_is_used() {
    let served = Served::new().await;
    let link = served.console.login_link(served.address);
    let first = reqwest::get(&link).await.unwrap();
    assert_eq!(first.status(), 200);
    let cookie = first.headers()["set-cookie"].to_str().unwrap().to_owned();
    for flag in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(flag), "{cookie}");
    }
    let second = reqwest::get(&link).await.unwrap();
    assert_eq!(second.status(), 403);
    assert!(second.headers().get("set-cookie").is_none());
    assert!(second.text().await.unwrap().contains("prints a new link"));
    let client = reqwest::Client::new();
    let again = client
        .get(&link)
        .header("cookie", cookie.split(';').next().unwrap())
        .send()
        .await
        .unwrap();
    assert_eq!(again.status(), 200, "clicked again where the login is");

    let checked = served.console.login_link(served.address);
    client.head(&checked).send().await.unwrap();
    assert_eq!(
        reqwest::get(&checked).await.unwrap().status(),
        200,
        "a link checker does not use it up"
    );
}

#[tokio::test]
async fn without_a_login_there_is_only_the_way_in() {
    let served = Served::new().await;
    let home = reqwest::get(served.url("/")).await.unwrap();
    assert_eq!(home.status(), 401);
    assert!(home.text().await.unwrap().contains("login link"));
    for path in ["/api/v1/conversations", "/api/v1/stream", "/api/v1/nowhere"] {
        let response = reqwest::get(served.url(path)).await.unwrap();
        assert_eq!(response.status(), 401, "{path}");
        let body: serde_json::Value = response.json().await.unwrap();
        assert!(
            body["error"].as_str().unwrap().contains("login link"),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_login_outlives_a_restart_and_ends_with_a_logout() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let served = served.restart().await;
    assert_eq!(browser.get("/api/v1/conversations").await.0, 200);
    assert_eq!(browser.post("/api/v1/logout", json!({})).await.0, 204);
    assert_eq!(browser.get("/api/v1/conversations").await.0, 401);
    drop(served);
}

#[tokio::test]
async fn health_and_numbers_need_no_login() {
    let served = Served::new().await;
    assert_eq!(
        reqwest::get(served.url("/healthz"))
            .await
            .unwrap()
            .text()
            .await
            .unwrap(),
        "ok"
    );
    let metrics = reqwest::get(served.url("/metrics"))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        metrics.contains("homing_notifications{state=\"held\"} 2"),
        "{metrics}"
    );
}

// ---- what is refused

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

fn browser_cookie(browser: &support::Browser) -> String {
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

// ---- conversations

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

// ---- streams and windows

/// OWN-34: history is shared, the live delivery is addressed.
#[tokio::test]
async fn a_result_alerts_only_the_window_it_is_addressed_to() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let (asked, other) = (
        browser.open_window(OTTER).await,
        browser.open_window(OTTER).await,
    );
    let mut asking = browser.stream(&[asked]).await;
    let mut looking = browser.stream(&[other]).await;

    let sent = outgoing(&served.fake, OTTER, Some(asked));
    let receipt = served.console.platform().send(sent.clone()).await.unwrap();
    assert_eq!(
        receipt.landed,
        Some(Landed {
            chat: "local".into(),
            thread: Some("calm-otter".into())
        })
    );

    let (name, data) = asking.next().await;
    assert_eq!(
        (name.as_str(), &data["id"], &data["window"]),
        ("message", &json!(sent.id), &json!(asked))
    );
    let (name, data) = looking.next().await;
    assert_eq!(
        (name.as_str(), &data["conversation"]),
        ("changed", &json!(OTTER))
    );
}

#[tokio::test]
async fn changes_reach_every_page_and_a_page_that_lags_reads_everything_again() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let mut stream = browser.stream(&[]).await;
    let conversation = served.fake.conversation(&LARK.parse().unwrap());
    served.fake.changes.send(conversation).unwrap();
    assert_eq!(
        stream.next().await,
        ("changed".into(), json!({ "conversation": conversation }))
    );
    // More than the channel keeps, without a chance to read in between.
    for _ in 0..1000 {
        served.fake.changes.send(conversation).unwrap();
    }
    let refreshed = async { while stream.next().await.0 != "refresh" {} };
    tokio::time::timeout(Duration::from_secs(10), refreshed)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_page_hears_which_of_its_windows_are_closed_and_goes_on_with_a_new_one() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let window = browser.open_window(OTTER).await;
    let ended = browser
        .request(Method::DELETE, &format!("/api/v1/windows/{window}"))
        .send()
        .await
        .unwrap();
    assert_eq!(ended.status(), 204);
    let mut stream = browser.stream(&[window]).await;
    assert_eq!(
        stream.next().await,
        ("gone".into(), json!({ "window": window }))
    );
    assert_eq!(
        browser
            .post(&format!("/api/v1/windows/{window}/touch"), json!({}))
            .await
            .0,
        410
    );
    let (status, body) = browser
        .post(
            "/api/v1/windows",
            json!({ "conversation": OTTER, "window": window }),
        )
        .await;
    assert_eq!(status, 200);
    assert_ne!(body["window"], json!(window), "OWN-42: it stays closed");
}

#[tokio::test]
async fn a_tab_that_vanishes_loses_its_windows_after_a_while_and_one_that_stays_does_not() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let (vanishing, staying) = (
        browser.open_window(OTTER).await,
        browser.open_window(LARK).await,
    );
    let vanished = browser.stream(&[vanishing]).await;
    let _stayed = browser.stream(&[staying]).await;
    served.clock.advance(Duration::from_secs(3600));
    drop(vanished);
    // When its end is noticed is the network's business: move time until the close comes.
    let closed = async {
        loop {
            served.clock.advance(Duration::from_secs(31));
            if tokio::time::timeout(
                Duration::from_millis(50),
                served.fake.until_closed(vanishing),
            )
            .await
            .is_ok()
            {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), closed)
        .await
        .unwrap();
    assert_eq!(*served.fake.closed.borrow(), vec![vanishing]);
}

#[tokio::test]
async fn a_closing_tab_says_goodbye_and_a_reload_comes_back_in_time() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let (closing, reloading) = (
        browser.open_window(OTTER).await,
        browser.open_window(LARK).await,
    );
    for window in [closing, reloading] {
        // As a beacon sends it: no body, no JSON.
        let beacon = browser
            .request(Method::POST, &format!("/api/v1/windows/{window}/close"))
            .send()
            .await
            .unwrap();
        assert_eq!(beacon.status(), 202);
    }
    let _back = browser.stream(&[reloading]).await;
    served.clock.advance(Duration::from_secs(4));
    served.fake.until_closed(closing).await;
    assert_eq!(*served.fake.closed.borrow(), vec![closing]);
}

/// OWN-16: the restart itself closes nothing.
#[tokio::test]
async fn after_a_restart_windows_have_a_minute_to_reconnect() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let (left, kept) = (
        browser.open_window(OTTER).await,
        browser.open_window(LARK).await,
    );
    let served = served.restart().await;
    let _back = browser.stream(&[kept]).await;
    served.clock.advance(Duration::from_secs(59));
    assert_eq!(
        browser
            .post(&format!("/api/v1/windows/{left}/touch"), json!({}))
            .await
            .0,
        204
    );
    served.clock.advance(Duration::from_secs(2));
    served.fake.until_closed(left).await;
    assert_eq!(*served.fake.closed.borrow(), vec![left]);
}

#[tokio::test]
async fn stopping_ends_open_streams() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let _stream = browser.stream(&[]).await;
    tokio::time::timeout(Duration::from_secs(2), served.stop())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_listener_that_others_could_reach_is_refused() {
    let clock = support::HandClock::new();
    let fake = Fake::new(clock.clone());
    let folder = tempfile::tempdir().unwrap();
    let login = homing_console::Login::open(folder.path().join("s")).unwrap();
    let console = homing_console::Console::new(Default::default(), clock, fake.ids.clone(), login);
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let inside = homing_console::Inside {
        inbox: fake.clone(),
        queries: fake.clone(),
        processes: fake,
    };
    let refusal = console
        .serve(listener, inside, tokio_util::sync::CancellationToken::new())
        .await
        .unwrap_err();
    assert!(refusal.to_string().contains("loopback"), "{refusal}");
}
