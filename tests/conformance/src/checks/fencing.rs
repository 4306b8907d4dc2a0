//! Epochs: of all gateways that ever started, the last one writes.

use homing_domain::time::Timestamp;
use homing_ports::store::*;

use crate::scene::key;
use crate::{Place, Scene};

pub async fn a_second_take_over_fences_the_first_everywhere(place: &dyn Place) {
    let scene = Scene::at(place).await;
    scene.done(vec![scene.message("before")]).await;
    let settled = scene.queued("old").await;
    scene
        .done(vec![
            Change::Sending {
                outbox: settled,
                attempt: 1,
            },
            Change::Sent {
                outbox: settled,
                attempt: 1,
                platform_message: None,
            },
        ])
        .await;
    let second = place.open().await;
    assert_eq!(second.take_over(Timestamp(2)).await.unwrap(), 2);
    let fenced = StoreError::Fenced { ours: 1, now: 2 };
    assert_eq!(scene.append("after").await.unwrap_err(), fenced);
    assert_eq!(
        scene
            .store
            .accept(scene.inbound("7"), scene.key.clone(), scene.now())
            .await
            .unwrap_err(),
        fenced
    );
    assert_eq!(
        scene
            .store
            .open_conversation(&key("new"), &scene.origin, scene.now())
            .await
            .unwrap_err(),
        fenced
    );
    let ever = Timestamp(homing_domain::ids::ID_EPOCH_MS * 2);
    assert_eq!(scene.store.clean(ever, 100).await.unwrap_err(), fenced);
    assert_eq!(scene.history().await, ["before"]);
    assert_eq!(scene.item(settled).await.state, OutboxState::Sent);
    let heir = Scene {
        store: second,
        ..scene.clone()
    };
    heir.done(vec![heir.message("by the heir")]).await;
    // It may come back, as a newer one.
    assert_eq!(scene.store.take_over(Timestamp(3)).await.unwrap(), 3);
    scene.done(vec![scene.message("again")]).await;
    assert_eq!(
        heir.append("late").await.unwrap_err(),
        StoreError::Fenced { ours: 2, now: 3 }
    );
    assert_eq!(scene.history().await, ["before", "by the heir", "again"]);
}

/// Fails closed: a handle that never took over is not the gateway.
pub async fn a_store_that_had_a_gateway_wants_a_take_over(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let bystander = Scene {
        store: place.open().await,
        ..scene.clone()
    };
    assert_eq!(
        bystander.append("never").await.unwrap_err(),
        StoreError::Fenced { ours: 0, now: 1 }
    );
    scene.done(vec![scene.message("certainly")]).await;
    assert_eq!(bystander.history().await, ["certainly"]);
}

pub async fn only_one_of_two_gateways_writes_at_any_moment(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let rival = Scene {
        store: place.open().await,
        ..scene.clone()
    };
    let writing = |scene: Scene, name: &'static str| {
        tokio::spawn(async move {
            let mut written = Vec::new();
            for number in 0..60 {
                if number % 20 == 0 {
                    scene.store.take_over(scene.now()).await.unwrap();
                }
                let text = format!("{name}-{number}");
                match scene.append(&text).await {
                    Ok(Committed::Done) => written.push(text),
                    Ok(Committed::Unmet { what, .. }) => panic!("{what}"),
                    Err(StoreError::Fenced { ours, now }) => assert!(ours < now),
                    Err(StoreError::Unavailable(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            written
        })
    };
    let (one, two) = (writing(scene.clone(), "one"), writing(rival, "two"));
    let mut acknowledged = [one.await.unwrap(), two.await.unwrap()].concat();
    let mut history = scene.history().await;
    acknowledged.sort();
    history.sort();
    assert_eq!(
        acknowledged, history,
        "what a fenced gateway was told, and what is there"
    );
}
