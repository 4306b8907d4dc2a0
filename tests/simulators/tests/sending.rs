//! Sends over real HTTP: what is taken, what is refused, and what the adapter makes of it.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use homing_domain::ids::OutboxId;
use homing_domain::key::ChatType;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::split::{Limit, Unit};
use homing_ports::platform::{Landed, Outgoing, OutgoingKind, Platform as _, Repeats, SendError};
use homing_simulators::wire::LandedAt;
use homing_simulators::{Place, Server, Settings, SimulatedPlatform, Which, client};

fn account() -> AccountName {
    AccountName {
        profile: "main".into(),
        platform: "telegram".into(),
        account: Some("a/b:c d".into()),
    }
}

fn outgoing(number: u64, text: &str) -> Outgoing {
    let origin = Origin {
        profile: "main".into(),
        platform: "telegram".into(),
        account: account().account,
        chat_type: ChatType::Group,
        chat: "-100".into(),
        thread: Some("42".into()),
        user: Some("u1".into()),
        anchor: None,
    };
    let kind = OutgoingKind::Background;
    Outgoing {
        id: OutboxId::from_number(number),
        attempt: 1,
        origin,
        window: None,
        kind,
        text: text.into(),
        may_repeat: false,
        extras: Default::default(),
    }
}

async fn platform() -> (Server, SimulatedPlatform) {
    with(Settings::default()).await
}

async fn with(settings: Settings) -> (Server, SimulatedPlatform) {
    let server = Server::start().await.unwrap();
    let platform =
        SimulatedPlatform::new(&server.url(), account(), settings, client().unwrap()).unwrap();
    (server, platform)
}

fn everyone() -> Which {
    Which::Platform("telegram".into())
}

#[tokio::test]
async fn a_message_is_kept_as_it_was_sent_and_the_receipt_says_where_it_landed() {
    let (server, platform) = platform().await;
    let receipt = platform.send(outgoing(1, "hello")).await.unwrap();
    assert_eq!(
        receipt.landed,
        Some(Landed {
            chat: "-100".into(),
            thread: Some("42".into())
        })
    );
    let sent = server.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(
        (sent[0].kind, sent[0].body.text.as_str()),
        (OutgoingKind::Background, "hello")
    );
    assert_eq!(sent[0].origin(), outgoing(1, "").origin);
    assert_eq!(receipt.message.as_ref(), Some(&sent[0].message));
}

#[tokio::test]
async fn an_id_is_one_message_however_often_it_is_sent() {
    let (server, platform) = platform().await;
    let first = platform.send(outgoing(1, "hello")).await.unwrap();
    let again = platform
        .send(Outgoing {
            attempt: 2,
            ..outgoing(1, "hello")
        })
        .await
        .unwrap();
    assert_eq!(first, again);
    assert_eq!((server.sent_count(), server.repeats()), (1, 1));
    let another = platform.send(outgoing(1, "something else")).await;
    assert!(matches!(another, Err(SendError::Refused(text)) if text.contains("another message")));
}

#[tokio::test]
async fn a_platform_without_protection_takes_it_twice() {
    let (server, platform) = with(Settings {
        repeats: Repeats::Unprotected,
        ..Settings::default()
    })
    .await;
    platform.send(outgoing(1, "hello")).await.unwrap();
    platform.send(outgoing(1, "hello")).await.unwrap();
    assert_eq!((server.sent_count(), server.repeats()), (2, 0));
}

#[tokio::test]
async fn a_bad_body_is_refused_and_not_kept() {
    let (server, platform) = platform().await;
    server.set_limit(
        everyone(),
        Limit {
            unit: Unit::Utf16,
            max: 4,
        },
    );
    for text in ["", "  \n", "hello", "🦀🦀🦀"] {
        let outcome = platform.send(outgoing(1, text)).await;
        assert!(
            matches!(outcome, Err(SendError::Refused(_))),
            "{text:?}: {outcome:?}"
        );
    }
    assert!(
        platform
            .send(Outgoing {
                attempt: 0,
                ..outgoing(1, "ok")
            })
            .await
            .is_err()
    );
    assert_eq!(server.sent_count(), 0);
    platform.send(outgoing(1, "🦀🦀")).await.unwrap();
}

#[tokio::test]
async fn unknown_fields_and_foreign_ids_are_refused() {
    let server = Server::start().await.unwrap();
    let post = |body: serde_json::Value| {
        client()
            .unwrap()
            .post(format!("{}/v1/telegram/main/send", server.url()))
            .json(&body)
            .send()
    };
    let good = serde_json::json!({
        "id": OutboxId::from_number(7).to_string(), "deduplicate": true, "attempt": 1, "kind": "answer",
        "profile": "main", "chat_type": "dm", "chat": "5", "text": "hello",
    });
    let with = |name: &str, value: serde_json::Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    assert_eq!(
        post(with("sesion", "s1".into())).await.unwrap().status(),
        400
    );
    assert_eq!(
        post(with("chat_type", "forum".into()))
            .await
            .unwrap()
            .status(),
        400
    );
    assert_eq!(
        post(with("id", "ses_0000000000001".into()))
            .await
            .unwrap()
            .status(),
        422
    );
    assert_eq!(
        post(with("kind", "shout".into())).await.unwrap().status(),
        422
    );
    assert_eq!(
        post(with("profile", "ops".into())).await.unwrap().status(),
        422
    );
    assert_eq!(post(with("thread", "".into())).await.unwrap().status(), 422);
    assert_eq!(server.sent_count(), 0);
    assert_eq!(post(good.clone()).await.unwrap().status(), 200);
}

#[tokio::test]
async fn down_is_away_and_up_is_not() {
    let (server, platform) = platform().await;
    server.down(everyone());
    assert!(matches!(
        platform.send(outgoing(1, "hello")).await,
        Err(SendError::Away(_))
    ));
    server.up(&everyone());
    platform.send(outgoing(1, "hello")).await.unwrap();
    assert_eq!(server.sent_count(), 1);
}

#[tokio::test]
async fn nobody_there_is_away() {
    let (server, platform) = platform().await;
    drop(server);
    tokio::task::yield_now().await;
    assert!(matches!(
        platform.send(outgoing(1, "hello")).await,
        Err(SendError::Away(_))
    ));
}

#[tokio::test]
async fn slow_strikes_once_and_says_how_long() {
    let (server, platform) = platform().await;
    server.slow_next(everyone(), Duration::from_secs(3));
    assert_eq!(
        platform.send(outgoing(1, "hello")).await,
        Err(SendError::RateLimited(Duration::from_secs(3)))
    );
    platform.send(outgoing(1, "hello")).await.unwrap();
}

#[tokio::test]
async fn a_deleted_thread_is_refused_and_its_parent_is_not() {
    let (server, platform) = platform().await;
    server.gone(Place {
        account: account(),
        chat: "-100".into(),
        thread: Some("42".into()),
    });
    assert!(
        matches!(platform.send(outgoing(1, "hello")).await, Err(SendError::Refused(text)) if text.contains("thread not found"))
    );
    let mut parent = outgoing(2, "hello");
    parent.origin.thread = None;
    platform.send(parent).await.unwrap();
    server.gone(Place {
        account: account(),
        chat: "-100".into(),
        thread: None,
    });
    let mut other = outgoing(3, "hello");
    other.origin.thread = Some("43".into());
    assert!(platform.send(other).await.is_err());
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_message_was_taken_is_uncertain() {
    let (server, platform) = platform().await;
    server.drop_next(everyone());
    assert!(matches!(
        platform.send(outgoing(1, "hello")).await,
        Err(SendError::Uncertain(_))
    ));
    assert_eq!(server.sent_count(), 1);
    let found = platform.look_up(&outgoing(1, "hello")).await.unwrap();
    assert_eq!(
        found.and_then(|receipt| receipt.message),
        Some(server.sent()[0].message.clone())
    );
    assert_eq!(platform.look_up(&outgoing(2, "hello")).await, Ok(None));
    platform.send(outgoing(1, "hello")).await.unwrap();
    assert_eq!((server.sent_count(), server.repeats()), (1, 1));
}

#[tokio::test]
async fn a_misplaced_message_says_so_and_can_be_taken_back() {
    let (server, platform) = platform().await;
    server.misplace_next(
        everyone(),
        LandedAt {
            chat: "-100".into(),
            thread: None,
        },
    );
    let receipt = platform.send(outgoing(1, "hello")).await.unwrap();
    assert_eq!(
        receipt.landed,
        Some(Landed {
            chat: "-100".into(),
            thread: None
        })
    );
    platform.take_back(&receipt).await.unwrap();
    assert!(server.sent()[0].taken_back);
}

#[tokio::test]
async fn many_at_once_are_all_taken() {
    let (server, platform) = platform().await;
    let platform = std::sync::Arc::new(platform);
    let sends = (1..=500).map(|number| {
        let platform = std::sync::Arc::clone(&platform);
        tokio::spawn(async move { platform.send(outgoing(number, "hello")).await })
    });
    for send in sends.collect::<Vec<_>>() {
        send.await.unwrap().unwrap();
    }
    assert_eq!(server.sent_count(), 500);
}
