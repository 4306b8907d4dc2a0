//! Console windows (OWN-16, 34…36, 42, 101).

use homing_domain::ids::WindowId;
use homing_ports::store::Change;

use crate::{Place, Scene};

/// OWN-42
pub async fn a_window_opens_once_is_touched_while_open_and_closes_for_good(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    let (first, second): (WindowId, WindowId) = (scene.id(), scene.id());
    scene.unmet(Change::TouchWindow { window: first }).await;
    scene.unmet(Change::CloseWindow { window: first }).await;
    scene.done(vec![Change::OpenWindow { window: first }]).await;
    scene
        .done(vec![Change::OpenWindow { window: second }])
        .await;
    let open = async || {
        scene
            .store
            .open_windows(scene.conversation)
            .await
            .unwrap()
            .into_iter()
            .map(|row| row.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(open().await, [second, first]);
    scene
        .done(vec![Change::TouchWindow { window: first }])
        .await;
    assert_eq!(open().await, [first, second]);
    scene
        .done(vec![Change::OpenWindow { window: second }])
        .await;
    assert_eq!(open().await, [second, first]);
    other.unmet(Change::OpenWindow { window: first }).await;
    scene
        .done(vec![Change::CloseWindow { window: first }])
        .await;
    assert_eq!(open().await, [second]);
    for change in [
        Change::OpenWindow { window: first },
        Change::TouchWindow { window: first },
        Change::CloseWindow { window: first },
    ] {
        scene.unmet(change).await;
    }
    let row = scene.store.window(first).await.unwrap().unwrap();
    assert_eq!(
        (row.conversation, row.closed_at.is_some()),
        (scene.conversation, true)
    );
    assert!(row.active_at > row.opened_at);
    assert_eq!(scene.store.window(scene.id()).await.unwrap(), None);
}
