//! Notifications (OWN-39, 43, 60, 65, 68).

use homing_domain::ids::*;
use homing_domain::notification::{Kind, State};
use homing_domain::process::Consumption;
use homing_domain::session::{Boundary, Current};
use homing_ports::store::*;

use crate::{Place, Scene};

/// OWN-60, OWN-84
pub async fn a_notification_is_unique_by_source_kind_and_sequence(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (process, first) = scene.notification().await;
    let source = Source::Process(process);
    let add = |kind, sequence| Change::AddNotification {
        notification: scene.id(),
        source,
        kind,
        sequence,
        content: "again".into(),
        more: 0,
    };
    scene.unmet(add(Kind::Completed, 0)).await;
    scene
        .done(vec![
            add(Kind::Matched, 0),
            add(Kind::Matched, 1),
            add(Kind::WatchOff, 0),
        ])
        .await;
    scene.unmet(add(Kind::Matched, 1)).await;
    assert_eq!(scene.store.notifications_of(source).await.unwrap().len(), 4);
    let row = scene.store.notification(first).await.unwrap().unwrap();
    assert_eq!(
        (row.source, row.kind, row.sequence, row.state, row.reason),
        (source, Kind::Completed, 0, State::Pending, None)
    );
    assert_eq!(
        (
            row.conversation,
            row.held_since,
            row.attempts,
            row.turn,
            row.session
        ),
        (scene.conversation, None, 0, None, None)
    );
    scene
        .unmet(Change::AddNotification {
            notification: first,
            source,
            kind: Kind::Lost,
            sequence: 7,
            content: String::new(),
            more: 0,
        })
        .await;
}

/// OWN-43
pub async fn a_decision_moves_only_from_the_state_it_saw_and_is_recorded(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, id) = scene.notification().await;
    scene
        .unmet(scene.decide(id, State::Held, State::Pending))
        .await;
    scene
        .unmet(scene.decide(scene.id(), State::Pending, State::Consumed))
        .await;
    let moves = [
        (State::Pending, State::Held),
        (State::Held, State::Pending),
        (State::Pending, State::Claimed),
        (State::Claimed, State::Consumed),
    ];
    for (from, to) in moves {
        scene.done(vec![scene.decide(id, from, to)]).await;
        assert_eq!(scene.state(id).await, to);
        scene.unmet(scene.decide(id, from, to)).await;
        let settled = scene
            .store
            .notification(id)
            .await
            .unwrap()
            .unwrap()
            .settled_at;
        assert_eq!(settled.is_some(), to.is_final());
    }
    let decisions = scene.store.decisions(id).await.unwrap();
    assert_eq!(
        decisions
            .iter()
            .map(|row| (row.from, row.to))
            .collect::<Vec<_>>(),
        moves
    );
    assert_eq!(
        (decisions[0].reason.as_deref(), decisions[0].facts.as_str()),
        (Some("because"), "pending to held")
    );
    assert!(decisions.is_sorted_by_key(|row| row.at));
    // A hold and a drop say why; a claim says whose.
    let (_, second) = scene.notification().await;
    for to in [State::Held, State::Dropped, State::Claimed] {
        let Change::Decide(mut decision) = scene.decide(second, State::Pending, to) else {
            panic!("a decision")
        };
        (decision.reason, decision.turn) = (None, None);
        scene.unmet(Change::Decide(decision)).await;
    }
}

/// OWN-41
pub async fn a_hold_keeps_its_age_until_it_settles(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, id) = scene.notification().await;
    let since = async || {
        scene
            .store
            .notification(id)
            .await
            .unwrap()
            .unwrap()
            .held_since
    };
    assert_eq!(since().await, None);
    scene
        .done(vec![scene.decide(id, State::Pending, State::Held)])
        .await;
    let first = since().await;
    assert!(first.is_some());
    for (from, to) in [
        (State::Held, State::Pending),
        (State::Pending, State::Held),
        (State::Held, State::Held),
        (State::Held, State::Pending),
        (State::Pending, State::Claimed),
        (State::Claimed, State::Pending),
    ] {
        scene.done(vec![scene.decide(id, from, to)]).await;
        assert_eq!(since().await, first, "{from:?} to {to:?}");
    }
    scene
        .done(vec![scene.decide(id, State::Pending, State::Dropped)])
        .await;
    assert_eq!(since().await, None);
}

/// OWN-42
pub async fn what_was_told_never_moves_and_a_drop_can_be_taken_back(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for told in [State::Delivered, State::Noticed] {
        let (_, id) = scene.notification().await;
        scene
            .done(vec![
                scene.enters(id),
                scene.decide(id, State::Pending, told),
            ])
            .await;
        for to in State::ALL {
            scene.unmet(scene.decide(id, told, to)).await;
        }
    }
    for settled in [State::Dropped, State::Consumed] {
        let (_, id) = scene.notification().await;
        scene
            .done(vec![scene.decide(id, State::Pending, settled)])
            .await;
        for to in [State::Noticed, State::Consumed, State::Dropped] {
            scene.unmet(scene.decide(id, settled, to)).await;
        }
        scene
            .done(vec![scene.decide(id, settled, State::Pending)])
            .await;
        let row = scene.store.notification(id).await.unwrap().unwrap();
        assert_eq!((row.state, row.settled_at), (State::Pending, None));
    }
}

/// OWN-65
pub async fn a_notification_enters_a_lineages_history_once(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, id) = scene.notification().await;
    scene.done(vec![scene.enters(id)]).await;
    assert_eq!(
        scene.store.notification(id).await.unwrap().unwrap().session,
        Some(scene.current.session)
    );
    scene.unmet(scene.enters(id)).await;
    // Compression makes it no other history.
    let Current { session, lineage } = scene.current;
    let next: SessionId = scene.id();
    scene
        .done(vec![Change::Continue {
            lineage,
            from: session,
            session: next,
            summary: String::new(),
            kept_from: None,
        }])
        .await;
    scene
        .unmet(Change::EnterHistory {
            lineage,
            session: next,
            notification: id,
        })
        .await;
    scene
        .unmet(Change::EnterHistory {
            lineage: scene.id(),
            session: next,
            notification: id,
        })
        .await;
    // What was dropped has no place in a history any more.
    let (_, dropped) = scene.notification().await;
    scene
        .done(vec![scene.decide(dropped, State::Pending, State::Dropped)])
        .await;
    scene.unmet(scene.enters(dropped)).await;
    scene.unmet(scene.enters(scene.id())).await;
}

/// OWN-65
pub async fn concurrent_entries_into_history_are_one(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for _ in 0..20 {
        let (_, id) = scene.notification().await;
        let before = scene.history().await.len();
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let scene = scene.clone();
                tokio::spawn(async move {
                    scene
                        .commit(vec![scene.message("told"), scene.enters(id)])
                        .await
                        == Committed::Done
                })
            })
            .collect();
        let mut entered = 0;
        for task in tasks {
            entered += usize::from(task.await.unwrap());
        }
        assert_eq!((entered, scene.history().await.len()), (1, before + 1));
    }
}

/// OWN-65: never a false `delivered`.
pub async fn nothing_is_delivered_that_is_not_in_a_history(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, id) = scene.notification().await;
    scene
        .unmet(scene.decide(id, State::Pending, State::Delivered))
        .await;
    scene
        .done(vec![
            scene.enters(id),
            scene.decide(id, State::Pending, State::Delivered),
        ])
        .await;
}

/// OWN-68
pub async fn a_failed_turn_counts_an_attempt(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, id) = scene.notification().await;
    for attempt in 1..=3 {
        let claim = scene.decide(id, State::Pending, State::Claimed);
        let Change::Decide(Decision { turn, .. }) = &claim else {
            panic!("a decision")
        };
        let turn = *turn;
        scene.done(vec![claim]).await;
        assert_eq!(
            scene.store.notification(id).await.unwrap().unwrap().turn,
            turn
        );
        let Change::Decide(mut failed) = scene.decide(id, State::Claimed, State::Pending) else {
            panic!("a decision")
        };
        failed.failed_attempt = true;
        scene.done(vec![Change::Decide(failed)]).await;
        let row = scene.store.notification(id).await.unwrap().unwrap();
        assert_eq!((row.attempts, row.turn), (attempt, None));
    }
    scene
        .done(vec![
            scene.decide(id, State::Pending, State::Claimed),
            scene.enters(id),
            scene.decide(id, State::Claimed, State::Delivered),
        ])
        .await;
    let row = scene.store.notification(id).await.unwrap().unwrap();
    assert!(row.turn.is_some(), "the turn that delivered it");
}

/// OWN-68
pub async fn a_claim_that_is_released_takes_back_what_its_turn_has_read(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for (how, stays) in [
        (Consumption::Waited, false),
        (Consumption::ReadToEnd, false),
        (Consumption::PersonKilled, true),
    ] {
        let (process, id) = scene.notification().await;
        let (other, _) = scene.notification().await;
        let consume = |process| Change::Consume {
            process,
            lineage: scene.current.lineage,
            how,
        };
        scene
            .done(vec![
                scene.decide(id, State::Pending, State::Claimed),
                consume(process),
                consume(other),
            ])
            .await;
        scene
            .done(vec![scene.decide(id, State::Claimed, State::Pending)])
            .await;
        let consumed = async |process| {
            let row = scene.store.process(process).await.unwrap().unwrap();
            row.consumed
        };
        assert_eq!(consumed(process).await, stays.then_some(how), "{how:?}");
        assert_eq!(consumed(other).await, Some(how), "of another one");
    }
}

pub async fn an_open_notification_comes_with_its_owner_lineage_and_process(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    other.notification().await;
    let (process, id) = scene.notification().await;
    let (_, claimed) = scene.notification().await;
    let (_, settled) = scene.notification().await;
    scene
        .done(vec![
            scene.decide(claimed, State::Pending, State::Claimed),
            scene.decide(settled, State::Pending, State::Consumed),
        ])
        .await;
    let open = scene
        .store
        .open_notifications(scene.conversation)
        .await
        .unwrap();
    assert_eq!(
        open.iter()
            .map(|one| one.notification.id)
            .collect::<Vec<_>>(),
        [id, claimed]
    );
    let one = &open[0];
    assert_eq!(one.owner, Some(scene.owner()));
    assert_eq!(one.process, scene.store.process(process).await.unwrap());
    assert_eq!(
        one.lineage,
        scene.store.lineage(scene.current.lineage).await.unwrap()
    );
    assert_eq!(
        one.notification,
        scene.store.notification(id).await.unwrap().unwrap()
    );
    assert_eq!(one.delegation, None);
    // A closed lineage is told with its boundary: the verdict needs it.
    scene
        .done(vec![Change::CloseLineage {
            lineage: scene.current.lineage,
            boundary: Boundary::Deleted,
        }])
        .await;
    let open = scene
        .store
        .open_notifications(scene.conversation)
        .await
        .unwrap();
    assert_eq!(
        open[0].lineage.as_ref().unwrap().closed.unwrap().0,
        Boundary::Deleted
    );
    assert_eq!(open[0].owner, Some(scene.owner()));
}

/// OWN-39
pub async fn an_owner_that_names_nothing_is_no_owner(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let second = scene.fresh_session();
    scene.done(vec![crate::scene::start(second)]).await;
    let wrong = [
        Current {
            session: scene.id(),
            ..scene.current
        },
        Current {
            lineage: scene.id(),
            ..scene.current
        },
        Current {
            lineage: second.lineage,
            ..scene.current
        },
    ];
    for Current { session, lineage } in wrong {
        let mut process = scene.new_process();
        (process.owner.session, process.owner.lineage) = (session, lineage);
        let id: NotificationId = scene.id();
        scene
            .done(vec![
                Change::AddProcess(process.clone()),
                crate::scene::says(id, process.id),
            ])
            .await;
        let open = scene
            .store
            .open_notifications(scene.conversation)
            .await
            .unwrap();
        let one = open.iter().find(|one| one.notification.id == id).unwrap();
        assert_eq!(one.owner, None);
        assert_eq!(one.process.as_ref().unwrap().id, process.id);
    }
}

/// OWN-11: ownership compares lineage ids, however deep the chain.
pub async fn an_open_notification_finds_its_lineage_at_any_depth(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, id) = scene.notification().await;
    let Current { session, lineage } = scene.current;
    let mut tip = session;
    for _ in 0..40 {
        let next = scene.id();
        scene
            .done(vec![
                Change::Continue {
                    lineage,
                    from: tip,
                    session: next,
                    summary: String::new(),
                    kept_from: None,
                },
                Change::Point(Some(Current {
                    session: next,
                    lineage,
                })),
            ])
            .await;
        tip = next;
    }
    let open = scene
        .store
        .open_notifications(scene.conversation)
        .await
        .unwrap();
    assert_eq!(open[0].notification.id, id);
    assert_eq!(open[0].lineage.as_ref().unwrap().tip, tip);
    assert_eq!(open[0].owner, Some(scene.owner()));
    scene
        .done(vec![
            Change::EnterHistory {
                lineage,
                session: tip,
                notification: id,
            },
            scene.decide(id, State::Pending, State::Delivered),
        ])
        .await;
}
