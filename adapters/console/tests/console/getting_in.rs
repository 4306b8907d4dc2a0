//! Who gets in, and how often.

use serde_json::json;

use crate::browser::Served;

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
