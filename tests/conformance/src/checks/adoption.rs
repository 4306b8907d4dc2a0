//! `/adopt`: work with another owner (OWN-42).

use homing_domain::ids::*;
use homing_domain::notification::{Kind, State};
use homing_domain::process::{Consumption, Ending};
use homing_ports::store::*;

use crate::{Place, Scene};

/// OWN-42
pub async fn adoption_changes_the_owner_clears_consumption_and_takes_what_was_not_told(
    place: &dyn Place,
) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    let (process, dropped) = scene.notification().await;
    let add = |id, kind, sequence| Change::AddNotification {
        notification: id,
        source: Source::Process(process),
        kind,
        sequence,
        content: String::new(),
        more: 0,
    };
    let (held, told): (NotificationId, NotificationId) = (scene.id(), scene.id());
    let lineage = scene.current.lineage;
    scene
        .done(vec![
            add(held, Kind::Matched, 0),
            add(told, Kind::Matched, 1),
            scene.decide(held, State::Pending, State::Held),
            scene.decide(told, State::Pending, State::Noticed),
            scene.decide(dropped, State::Pending, State::Dropped),
            Change::Consume {
                process,
                lineage,
                how: Consumption::Waited,
            },
        ])
        .await;
    other
        .unmet(Change::Adopt {
            process: scene.id(),
            owner: other.owner(),
        })
        .await;
    other
        .unmet(Change::Adopt {
            process,
            owner: scene.owner(),
        })
        .await;
    other
        .done(vec![
            Change::Adopt {
                process,
                owner: other.owner(),
            },
            other.decide(dropped, State::Dropped, State::Pending),
        ])
        .await;
    let row = scene.store.process(process).await.unwrap().unwrap();
    assert_eq!((row.owner, row.consumed), (other.owner(), None));
    let open = scene
        .store
        .open_notifications(other.conversation)
        .await
        .unwrap();
    assert_eq!(
        open.iter()
            .map(|one| one.notification.id)
            .collect::<Vec<_>>(),
        [dropped, held]
    );
    assert!(open.iter().all(|one| one.owner == Some(other.owner())));
    assert!(
        scene
            .store
            .open_notifications(scene.conversation)
            .await
            .unwrap()
            .is_empty()
    );
    // What was told stays where it was told.
    let stays = scene
        .store
        .notifications(scene.conversation, 10)
        .await
        .unwrap();
    assert_eq!(stays.iter().map(|row| row.id).collect::<Vec<_>>(), [told]);
    // The old owner is a stranger now.
    scene
        .unmet(Change::Consume {
            process,
            lineage,
            how: Consumption::Waited,
        })
        .await;
    assert_eq!(other.state(dropped).await, State::Pending);
}

/// OWN-42. Its end is told whatever it was started with, and a command that lives has nobody left who waits for it.
pub async fn what_is_adopted_tells_its_end_and_is_in_the_background(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    for (kind, lives, then) in [
        (ProcessKind::Foreground, true, ProcessKind::Task),
        (ProcessKind::Foreground, false, ProcessKind::Foreground),
        (ProcessKind::Task, true, ProcessKind::Task),
        (ProcessKind::Service, true, ProcessKind::Service),
    ] {
        let mut new = scene.new_process();
        (new.kind, new.notify) = (kind, false);
        let process = new.id;
        scene
            .done(vec![
                Change::AddProcess(new),
                Change::ProcessStarted { process },
            ])
            .await;
        if !lives {
            scene
                .done(vec![scene.ended(process, Ending::Code(0))])
                .await;
        }
        let owner = other.owner();
        other.done(vec![Change::Adopt { process, owner }]).await;
        let row = scene.store.process(process).await.unwrap().unwrap();
        assert_eq!((row.kind, row.notify), (then, true), "{kind:?} {lives}");
    }
}
