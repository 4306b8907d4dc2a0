//! Processes and delegations (OWN-20, 24, 44, 91).

use homing_domain::ids::*;
use homing_domain::notification::Kind;
use homing_domain::process::{Consumption, Ending, LostReason, ProcessState};
use homing_domain::session::Current;
use homing_domain::time::Timestamp;
use homing_ports::store::*;

use crate::scene::says;
use crate::{Place, Scene};

/// OWN-20
pub async fn a_process_keeps_its_owner_and_every_setting(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let mut new = scene.new_process();
    new.owner.window = Some(scene.id());
    new.owner.delegation = Some(scene.id());
    new.owner.origin.thread = Some("42".into());
    new.turn = Some(scene.id());
    new.kind = ProcessKind::Service;
    new.notify = false;
    scene.done(vec![Change::AddProcess(new.clone())]).await;
    let row = scene.store.process(new.id).await.unwrap().unwrap();
    assert_eq!(
        (&row.owner, row.kind, &row.command, &row.directory),
        (&new.owner, new.kind, &new.command, &new.directory)
    );
    assert_eq!(
        (row.notify, &row.watch, row.state, row.ending),
        (false, &new.watch, ProcessState::Starting, None)
    );
    assert_eq!(
        (row.consumed, row.watched, row.output_total, row.ended_at),
        (None, Watched::default(), 0, None)
    );
    let watched = Watched {
        scanned: 1 << 40,
        limiter: homing_domain::watch::Limiter {
            window: Some(Timestamp(7)),
            waiting: 9,
            full_windows: 2,
            told: 3,
            switched_off: true,
        },
        lines: vec!["a line".into(), "{\"odd\": ['one']}".into()],
    };
    scene
        .done(vec![Change::Watched {
            process: new.id,
            watched: watched.clone(),
        }])
        .await;
    assert_eq!(
        scene.store.process(new.id).await.unwrap().unwrap().watched,
        watched
    );
}

pub async fn a_process_starts_once_fails_once_and_ends_once(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let process = scene.process().await;
    scene.unmet(Change::ProcessStarted { process }).await;
    scene
        .unmet(Change::ProcessFailed {
            process,
            failure: "late".into(),
        })
        .await;
    scene
        .done(vec![scene.ended(process, Ending::Signal(15))])
        .await;
    scene.unmet(scene.ended(process, Ending::Code(0))).await;
    scene.unmet(Change::ProcessStarted { process }).await;
    let row = scene.store.process(process).await.unwrap().unwrap();
    assert_eq!(
        (row.state, row.ending, row.output_total),
        (ProcessState::Exited, Some(Ending::Signal(15)), 7)
    );
    assert_eq!(row.output_tail, b"all\xffok");

    // Short programs end before anyone says that they started.
    let short = scene.new_process();
    scene
        .done(vec![
            Change::AddProcess(short.clone()),
            scene.ended(short.id, Ending::Code(-1)),
        ])
        .await;
    scene
        .unmet(Change::ProcessStarted { process: short.id })
        .await;
    assert_eq!(
        scene.store.process(short.id).await.unwrap().unwrap().ending,
        Some(Ending::Code(-1))
    );

    let broken = scene.new_process();
    scene
        .done(vec![
            Change::AddProcess(broken.clone()),
            Change::ProcessFailed {
                process: broken.id,
                failure: "no such file".into(),
            },
        ])
        .await;
    scene.unmet(scene.ended(broken.id, Ending::Code(0))).await;
    let row = scene.store.process(broken.id).await.unwrap().unwrap();
    assert_eq!(
        (row.state, row.ending, row.failure.as_deref()),
        (ProcessState::Failed, None, Some("no such file"))
    );
    assert!(row.ended_at.is_some());
}

/// OWN-91
pub async fn an_unknown_ending_stays_unknown(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for reason in LostReason::ALL {
        let process = scene.process().await;
        scene
            .done(vec![scene.ended(process, Ending::Lost(reason))])
            .await;
        let row = scene.store.process(process).await.unwrap().unwrap();
        assert_eq!(
            (row.state, row.ending),
            (ProcessState::Lost, Some(Ending::Lost(reason)))
        );
    }
}

/// OWN-24
pub async fn exit_and_notification_are_one_commit(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (process, notification) = scene.notification().await;
    let second = scene.process().await;
    // The notification's id is taken: the exit is not recorded either, and can be again.
    let both = vec![
        scene.ended(second, Ending::Code(0)),
        says(notification, second),
    ];
    assert!(matches!(
        scene.commit(both).await,
        Committed::Unmet { index: 1, .. }
    ));
    assert_eq!(
        scene.store.process(second).await.unwrap().unwrap().state,
        ProcessState::Running
    );
    scene
        .done(vec![
            scene.ended(second, Ending::Code(0)),
            says(scene.id(), second),
        ])
        .await;
    let of = scene
        .store
        .notifications_of(Source::Process(process))
        .await
        .unwrap();
    assert_eq!(
        of.iter().map(|row| row.id).collect::<Vec<_>>(),
        [notification]
    );
}

/// OWN-44, OWN-50
pub async fn only_the_owners_lineage_consumes_and_only_once(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let process = scene.process().await;
    let second = scene.fresh_session();
    scene.done(vec![crate::scene::start(second)]).await;
    scene
        .unmet(Change::Consume {
            process,
            lineage: second.lineage,
            how: Consumption::Waited,
        })
        .await;
    assert_eq!(
        scene
            .store
            .process(process)
            .await
            .unwrap()
            .unwrap()
            .consumed,
        None
    );
    let lineage = scene.current.lineage;
    scene
        .done(vec![Change::Consume {
            process,
            lineage,
            how: Consumption::ReadToEnd,
        }])
        .await;
    scene
        .unmet(Change::Consume {
            process,
            lineage,
            how: Consumption::Waited,
        })
        .await;
    assert_eq!(
        scene
            .store
            .process(process)
            .await
            .unwrap()
            .unwrap()
            .consumed,
        Some(Consumption::ReadToEnd)
    );
}

/// OWN-38: it lives on, so its end is news again. What the agent has read, it has read.
pub async fn a_stop_that_came_to_nothing_is_taken_back(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let lineage = scene.current.lineage;
    let marked = async |process| {
        let row = scene.store.process(process).await.unwrap();
        row.unwrap().consumed
    };
    for (how, left) in [
        (Consumption::PersonKilled, None),
        (Consumption::AgentKilled, None),
        (Consumption::ReadToEnd, Some(Consumption::ReadToEnd)),
    ] {
        let process = scene.process().await;
        let consume = Change::Consume {
            process,
            lineage,
            how,
        };
        scene.done(vec![consume]).await;
        scene.done(vec![Change::NotStopped { process }]).await;
        assert_eq!(marked(process).await, left);
    }
    let ended = scene.process().await;
    let consume = Change::Consume {
        process: ended,
        lineage,
        how: Consumption::PersonKilled,
    };
    scene
        .done(vec![consume, scene.ended(ended, Ending::Signal(15))])
        .await;
    scene.unmet(Change::NotStopped { process: ended }).await;
    assert_eq!(marked(ended).await, Some(Consumption::PersonKilled));
    let theirs = scene.neighbour("2").await.process().await;
    scene.unmet(Change::NotStopped { process: theirs }).await;
}

pub async fn live_processes_are_of_a_lineage_and_ended_ones_come_last(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    let (ended, first, second) = (
        scene.process().await,
        scene.process().await,
        scene.process().await,
    );
    let foreign = other.process().await;
    scene.done(vec![scene.ended(second, Ending::Code(0))]).await;
    scene.done(vec![scene.ended(ended, Ending::Code(0))]).await;
    let third = scene.process().await;
    let ids = |rows: Vec<ProcessRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    let store = &scene.store;
    assert_eq!(
        ids(store.live_processes(scene.current.lineage).await.unwrap()),
        [first, third]
    );
    assert_eq!(
        ids(store.processes(scene.conversation, 10).await.unwrap()),
        [third, first, second, ended]
    );
    assert_eq!(
        ids(store.processes(scene.conversation, 3).await.unwrap()),
        [third, first, second]
    );
    assert_eq!(
        ids(store.all_live_processes().await.unwrap()),
        [first, foreign, third]
    );
    assert_eq!(
        ids(store.recent_processes(2).await.unwrap()),
        [third, foreign]
    );
}

pub async fn an_id_is_found_by_its_last_characters(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    let process = scene.process().await;
    let (_, notification) = scene.notification().await;
    let session = scene.current.session;
    let whole = process.to_string();
    for characters in [13, 12, 8, 5, 4, 3] {
        let ending = &whole[whole.len() - characters..];
        for ending in [ending.to_owned(), ending.to_uppercase()] {
            assert!(
                scene
                    .store
                    .find_process(Some(scene.conversation), &ending)
                    .await
                    .unwrap()
                    .contains(&process),
                "{ending}"
            );
            assert!(
                scene
                    .store
                    .find_process(None, &ending)
                    .await
                    .unwrap()
                    .contains(&process),
                "{ending}"
            );
            assert!(
                scene
                    .store
                    .find_process(Some(other.conversation), &ending)
                    .await
                    .unwrap()
                    .is_empty(),
                "{ending}"
            );
        }
        let text = notification.to_string();
        assert!(
            scene
                .store
                .find_notification(&text[text.len() - characters..])
                .await
                .unwrap()
                .contains(&notification)
        );
        let text = session.to_string();
        assert!(
            scene
                .store
                .find_session(scene.conversation, &text[text.len() - characters..])
                .await
                .unwrap()
                .contains(&session)
        );
    }
    assert_eq!(
        scene.store.find_process(None, &whole).await.unwrap(),
        [process]
    );
    for nothing in [
        "",
        "prc_",
        "ilou",
        "0123456789abcdefgh",
        "🦉",
        "zzzzzzzzzzzzz",
    ] {
        assert!(
            scene
                .store
                .find_process(None, nothing)
                .await
                .unwrap()
                .is_empty(),
            "{nothing}"
        );
        assert!(
            scene
                .store
                .find_notification(nothing)
                .await
                .unwrap()
                .is_empty(),
            "{nothing}"
        );
    }
    // Two are enough to say that it is ambiguous.
    let number = process.number();
    for step in 1..=3_u64 {
        let mut same = scene.new_process();
        same.id = ProcessId::from_number(number - (step << 20));
        scene.done(vec![Change::AddProcess(same)]).await;
    }
    for (ending, least) in [
        (&whole[whole.len() - 4..], 2),
        (&whole[whole.len() - 2..], 2),
        (&whole[whole.len() - 13..], 1),
    ] {
        assert_eq!(
            scene
                .store
                .find_process(Some(scene.conversation), ending)
                .await
                .unwrap()
                .len(),
            least,
            "{ending}"
        );
    }
}

pub async fn a_delegation_ends_once(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let delegation: DelegationId = scene.id();
    let (session, lineage): (SessionId, LineageId) = (scene.id(), scene.id());
    let parent = Some(scene.owner().session);
    let new = |task: &str| {
        Change::AddDelegation(NewDelegation {
            id: delegation,
            owner: scene.owner(),
            session,
            lineage,
            task: task.into(),
            batch: None,
        })
    };
    let own = Change::StartLineage {
        lineage,
        session,
        parent,
        title: None,
    };
    scene.unmet(Change::RequireDelegation(delegation)).await;
    scene.done(vec![own, new("look it up")]).await;
    scene.unmet(new("again")).await;
    scene
        .done(vec![Change::RequireDelegation(delegation)])
        .await;
    let running = scene
        .store
        .running_delegations(scene.owner().lineage)
        .await
        .unwrap();
    assert_eq!(
        running.iter().map(|row| row.id).collect::<Vec<_>>(),
        [delegation]
    );
    assert_eq!((running[0].session, running[0].lineage), (session, lineage));
    let end = |state: DelegationState| Change::EndDelegation {
        delegation,
        state,
        result: "found".into(),
    };
    scene.unmet(end(DelegationState::Running)).await;
    let notification: NotificationId = scene.id();
    let source = Source::Delegation(delegation);
    let says = Change::AddNotification {
        notification,
        source,
        kind: Kind::Delegation,
        sequence: 0,
        content: "found".into(),
        more: 0,
    };
    scene.done(vec![end(DelegationState::Finished), says]).await;
    scene.unmet(end(DelegationState::Failed)).await;
    let row = scene
        .store
        .delegations(scene.conversation, 10)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        (row.id, row.owner.clone(), row.task.as_str()),
        (delegation, scene.owner(), "look it up")
    );
    assert_eq!(
        (row.state, row.result.as_deref()),
        (DelegationState::Finished, Some("found"))
    );
    assert!(row.ended_at > Some(Timestamp(0)));
    scene.unmet(Change::RequireDelegation(delegation)).await;
    let open = scene
        .store
        .open_notifications(scene.conversation)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        (open.owner, open.process, open.delegation),
        (Some(scene.owner()), None, Some(row))
    );
    assert_eq!(
        scene.store.notifications_of(source).await.unwrap()[0].id,
        notification
    );
    let Current { lineage, .. } = scene.current;
    assert_eq!(open.lineage.unwrap().id, lineage);
}
