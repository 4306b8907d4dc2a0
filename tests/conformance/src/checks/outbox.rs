//! The outbox's rows (OWN-66, 73, 94).

use homing_domain::ids::*;
use homing_domain::notification::State;
use homing_domain::time::Timestamp;
use homing_ports::store::*;

use crate::{Place, Scene};

const LATER: Timestamp = Timestamp(9_000_000);

fn sent(outbox: OutboxId, attempt: u32) -> Change {
    Change::Sent {
        outbox,
        attempt,
        platform_message: Some("m1".into()),
    }
}

fn again(outbox: OutboxId, attempt: u32) -> Change {
    Change::SendAgain {
        outbox,
        attempt,
        not_before: LATER,
        reason: "rate limited".into(),
    }
}

fn uncertain(outbox: OutboxId, attempt: u32) -> Change {
    Change::SendUncertain {
        outbox,
        attempt,
        not_before: LATER,
        reason: "the connection broke".into(),
    }
}

fn dead(outbox: OutboxId, attempt: u32) -> Change {
    Change::SendDead {
        outbox,
        attempt,
        reason: "the thread was deleted".into(),
    }
}

pub async fn items_wait_in_the_order_they_were_queued(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    let turn: TurnId = scene.id();
    let parts: Vec<_> = ["1", "2", "3"]
        .map(|text| NewOutgoing {
            turn: Some(turn),
            ..scene.outgoing(text)
        })
        .into();
    other.queued("theirs").await;
    scene
        .done(parts.iter().cloned().map(Change::Enqueue).collect())
        .await;
    let command = NewOutgoing {
        lineage: None,
        ..scene.outgoing("4")
    };
    scene.done(vec![Change::Enqueue(command.clone())]).await;
    let texts = |rows: &[OutboxRow]| rows.iter().map(|row| row.text.clone()).collect::<Vec<_>>();
    let waiting = scene
        .store
        .outbox_waiting(scene.conversation, 10)
        .await
        .unwrap();
    assert_eq!(texts(&waiting), ["1", "2", "3", "4"]);
    assert_eq!(
        (waiting[0].lineage, waiting[0].turn, waiting[0].attempt),
        (Some(scene.current.lineage), Some(turn), 0)
    );
    assert_eq!(
        (&waiting[0].origin, waiting[3].lineage, waiting[3].turn),
        (&scene.origin, None, None)
    );
    assert_eq!(
        texts(&scene.store.outbox_of_turn(turn).await.unwrap()),
        ["1", "2", "3"]
    );
    let first = parts[0].id;
    scene
        .done(vec![Change::Sending {
            outbox: first,
            attempt: 1,
        }])
        .await;
    assert_eq!(
        scene
            .store
            .outbox_waiting(scene.conversation, 1)
            .await
            .unwrap()[0]
            .state,
        OutboxState::Sending
    );
    scene.done(vec![sent(first, 1)]).await;
    assert_eq!(
        texts(
            &scene
                .store
                .outbox_waiting(scene.conversation, 2)
                .await
                .unwrap()
        ),
        ["2", "3"]
    );
    assert_eq!(
        texts(&scene.store.outbox(scene.conversation, 3).await.unwrap()),
        ["4", "3", "2"]
    );
    assert_eq!(
        scene.item(first).await.platform_message.as_deref(),
        Some("m1")
    );
}

pub async fn an_attempt_is_fenced_by_its_number(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let outbox = scene.queued("hello").await;
    for attempt in [0, 2, u32::MAX] {
        scene.unmet(Change::Sending { outbox, attempt }).await;
    }
    scene
        .done(vec![Change::Sending { outbox, attempt: 1 }])
        .await;
    scene.unmet(Change::Sending { outbox, attempt: 1 }).await;
    scene.unmet(Change::Sending { outbox, attempt: 2 }).await;
    scene.done(vec![again(outbox, 1)]).await;
    let item = scene.item(outbox).await;
    assert_eq!(
        (
            item.state,
            item.attempt,
            item.not_before,
            item.reason.as_deref()
        ),
        (OutboxState::Queued, 1, LATER, Some("rate limited"))
    );
    scene.unmet(Change::Sending { outbox, attempt: 1 }).await;
    scene
        .done(vec![Change::Sending { outbox, attempt: 2 }])
        .await;
}

pub async fn only_the_attempt_under_way_settles(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let outbox = scene.queued("hello").await;
    for early in [
        sent(outbox, 0),
        sent(outbox, 1),
        again(outbox, 0),
        uncertain(outbox, 0),
    ] {
        scene.unmet(early).await;
    }
    scene
        .done(vec![
            Change::Sending { outbox, attempt: 1 },
            again(outbox, 1),
            Change::Sending { outbox, attempt: 2 },
        ])
        .await;
    // The first attempt comes back late.
    for late in [
        sent(outbox, 1),
        again(outbox, 1),
        uncertain(outbox, 1),
        dead(outbox, 1),
        sent(outbox, 3),
    ] {
        scene.unmet(late).await;
    }
    scene.done(vec![sent(outbox, 2)]).await;
    for late in [
        sent(outbox, 2),
        again(outbox, 2),
        uncertain(outbox, 2),
        dead(outbox, 2),
        Change::Sending { outbox, attempt: 3 },
    ] {
        scene.unmet(late).await;
    }
    let item = scene.item(outbox).await;
    assert_eq!(
        (item.state, item.settled_at.is_some()),
        (OutboxState::Sent, true)
    );
}

/// OWN-94
pub async fn an_uncertain_send_is_looked_up_sent_again_or_given_up(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for (settle, state) in [
        (sent as fn(OutboxId, u32) -> Change, OutboxState::Sent),
        (again, OutboxState::Queued),
        (uncertain, OutboxState::Uncertain),
        (dead, OutboxState::Dead),
        (
            |outbox, attempt| Change::Sending {
                outbox,
                attempt: attempt + 1,
            },
            OutboxState::Sending,
        ),
    ] {
        let outbox = scene.queued("hello").await;
        scene
            .done(vec![
                Change::Sending { outbox, attempt: 1 },
                uncertain(outbox, 1),
            ])
            .await;
        let item = scene.item(outbox).await;
        assert_eq!(
            (item.state, item.attempt, item.settled_at),
            (OutboxState::Uncertain, 1, None)
        );
        scene.done(vec![settle(outbox, 1)]).await;
        assert_eq!(scene.item(outbox).await.state, state);
    }
}

pub async fn cancelling_takes_what_has_not_left_of_one_lineage(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let second = scene.fresh_session();
    scene.done(vec![crate::scene::start(second)]).await;
    let (gone, leaving, unsure, queued) = (
        scene.queued("1").await,
        scene.queued("2").await,
        scene.queued("3").await,
        scene.queued("4").await,
    );
    let reply = NewOutgoing {
        lineage: None,
        ..scene.outgoing("5")
    };
    let parallel = NewOutgoing {
        lineage: Some(second.lineage),
        ..scene.outgoing("6")
    };
    scene
        .done(vec![
            Change::Enqueue(reply.clone()),
            Change::Enqueue(parallel.clone()),
        ])
        .await;
    scene
        .done(vec![
            Change::Sending {
                outbox: gone,
                attempt: 1,
            },
            sent(gone, 1),
            Change::Sending {
                outbox: leaving,
                attempt: 1,
            },
            Change::Sending {
                outbox: unsure,
                attempt: 1,
            },
            uncertain(unsure, 1),
        ])
        .await;
    let cancel = Change::CancelQueued {
        lineage: scene.current.lineage,
        reason: "reset".into(),
    };
    scene.done(vec![cancel.clone()]).await;
    let state = async |id| scene.item(id).await.state;
    assert_eq!(state(gone).await, OutboxState::Sent);
    assert_eq!(state(leaving).await, OutboxState::Sending);
    assert_eq!(state(unsure).await, OutboxState::Cancelled);
    assert_eq!(state(queued).await, OutboxState::Cancelled);
    assert_eq!(state(reply.id).await, OutboxState::Queued);
    assert_eq!(state(parallel.id).await, OutboxState::Queued);
    assert_eq!(scene.item(queued).await.reason.as_deref(), Some("reset"));
    scene
        .done(vec![sent(leaving, 1), cancel.clone(), cancel])
        .await;
}

/// OWN-64: a send that was under way when its lineage was closed, and did not arrive.
pub async fn a_send_that_did_not_arrive_is_cancelled_by_its_own_attempt(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let outbox = scene.queued("old").await;
    let cancelled = |attempt| Change::SendCancelled {
        outbox,
        attempt,
        reason: "reset".into(),
    };
    scene.unmet(cancelled(0)).await;
    scene
        .done(vec![Change::Sending { outbox, attempt: 1 }])
        .await;
    scene.unmet(cancelled(2)).await;
    scene.done(vec![cancelled(1)]).await;
    scene.unmet(cancelled(1)).await;
    let item = scene.item(outbox).await;
    assert_eq!(
        (item.state, item.reason.as_deref()),
        (OutboxState::Cancelled, Some("reset"))
    );
    let unsure = scene.queued("old").await;
    let cancel = Change::SendCancelled {
        outbox: unsure,
        attempt: 1,
        reason: "reset".into(),
    };
    scene
        .done(vec![
            Change::Sending {
                outbox: unsure,
                attempt: 1,
            },
            uncertain(unsure, 1),
            cancel,
        ])
        .await;
    assert_eq!(scene.item(unsure).await.state, OutboxState::Cancelled);
}

/// OWN-73
pub async fn a_dead_letter_keeps_its_content_and_reason(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let outbox = scene.queued("precious").await;
    scene
        .done(vec![
            Change::Sending { outbox, attempt: 1 },
            dead(outbox, 1),
        ])
        .await;
    let item = scene.item(outbox).await;
    assert_eq!(
        (item.state, item.text.as_str(), item.reason.as_deref()),
        (
            OutboxState::Dead,
            "precious",
            Some("the thread was deleted")
        )
    );
    assert!(
        scene
            .store
            .outbox_waiting(scene.conversation, 10)
            .await
            .unwrap()
            .is_empty()
    );
    // Its account was taken out of the configuration before it was tried.
    let never = scene.queued("also precious").await;
    scene.done(vec![dead(never, 0)]).await;
    assert_eq!(scene.item(never).await.state, OutboxState::Dead);
}

/// The sum closes: recorded = delivered + noticed + consumed + dropped + open.
pub async fn totals_add_up(place: &dyn Place) {
    let scene = Scene::at(place).await;
    scene.neighbour("2").await;
    let count = |counts: &[(String, u64)], state: &str| {
        counts
            .iter()
            .find(|(name, _)| name == state)
            .map_or(0, |(_, count)| *count)
    };
    let mut notifications = Vec::new();
    for _ in 0..7 {
        notifications.push(scene.notification().await.1);
    }
    let running = scene.process().await;
    scene
        .done(vec![
            scene.enters(notifications[0]),
            scene.decide(notifications[0], State::Pending, State::Delivered),
            scene.decide(notifications[1], State::Pending, State::Noticed),
            scene.decide(notifications[2], State::Pending, State::Consumed),
            scene.decide(notifications[3], State::Pending, State::Dropped),
            scene.decide(notifications[4], State::Pending, State::Dropped),
            scene.decide(notifications[4], State::Dropped, State::Pending),
            scene.decide(notifications[5], State::Pending, State::Held),
        ])
        .await;
    // What was undone is not counted.
    scene
        .unmet(scene.decide(notifications[0], State::Pending, State::Dropped))
        .await;
    let batch = vec![
        scene.decide(notifications[6], State::Pending, State::Dropped),
        Change::RequireGeneration(999),
    ];
    assert!(matches!(
        scene.commit(batch).await,
        Committed::Unmet { index: 1, .. }
    ));
    let outbox = scene.queued("1").await;
    scene.queued("2").await;
    scene
        .done(vec![
            Change::Sending { outbox, attempt: 1 },
            sent(outbox, 1),
        ])
        .await;
    let totals = scene.store.totals().await.unwrap();
    assert_eq!((totals.conversations, totals.live_processes), (2, 1));
    let states = [
        "pending",
        "claimed",
        "held",
        "delivered",
        "noticed",
        "consumed",
        "dropped",
    ];
    let found = states.map(|state| count(&totals.notifications, state));
    assert_eq!(found, [2, 0, 1, 1, 1, 1, 1]);
    assert_eq!(found.iter().sum::<u64>(), 7);
    assert_eq!(
        ["queued", "sending", "sent", "dead"].map(|state| count(&totals.outbox, state)),
        [1, 0, 1, 0]
    );
    assert_eq!(
        scene.store.all_live_processes().await.unwrap()[0].id,
        running
    );
}

pub async fn old_records_are_removed_and_what_waits_stays(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (gone, waits) = (scene.queued("gone").await, scene.queued("waits").await);
    scene
        .done(vec![
            Change::Sending {
                outbox: gone,
                attempt: 1,
            },
            sent(gone, 1),
        ])
        .await;
    let left = async || -> Vec<OutboxId> {
        let rows = scene.store.outbox(scene.conversation, 10).await.unwrap();
        rows.iter().map(|row| row.id).collect()
    };
    assert_eq!(scene.store.clean(Timestamp(0), 100).await.unwrap(), 0);
    assert_eq!(left().await, [waits, gone]);
    let later = Timestamp(homing_domain::ids::ID_EPOCH_MS * 2);
    assert!(scene.store.clean(later, 100).await.unwrap() >= 1);
    assert_eq!(left().await, [waits]);
    assert_eq!(scene.store.clean(later, 100).await.unwrap(), 0);
    scene
        .done(vec![Change::Sending {
            outbox: waits,
            attempt: 1,
        }])
        .await;
}
