//! Streams, and when windows are closed.

use std::time::Duration;

use homing_domain::ids::{OutboxId, WindowId};
use homing_domain::origin::Origin;
use homing_ports::platform::{Landed, Outgoing, OutgoingKind};
use reqwest::Method;
use serde_json::json;

use crate::browser::Served;
use crate::fake::{Fake, HandClock};
use crate::{LARK, OTTER};

fn outgoing(fake: &Fake, key: &str, window: Option<WindowId>) -> Outgoing {
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
        extras: Default::default(),
    }
}

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
    let clock = HandClock::new();
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
