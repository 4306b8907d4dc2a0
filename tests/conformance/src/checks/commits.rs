//! All or none, and which change was unmet.

use std::time::Duration;

use homing_domain::ids::*;
use homing_domain::process::{Consumption, Ending};
use homing_domain::session::{Boundary, Current};
use homing_ports::store::*;

use crate::scene::{says, start};
use crate::{Place, Scene};

pub async fn a_commit_is_all_or_none_wherever_it_stops(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for before in [0, 1, 5, 11, 12, 13, 30] {
        for after in [0, 3, 20] {
            let mut changes: Vec<_> = (0..before).map(|_| scene.message("never")).collect();
            changes.push(Change::RequireGeneration(999));
            changes.extend((0..after).map(|_| scene.message("never")));
            let committed = scene.commit(changes).await;
            assert!(
                matches!(committed, Committed::Unmet { index, .. } if index == before),
                "{committed:?}"
            );
        }
    }
    assert!(scene.history().await.is_empty());
    let many: Vec<_> = (0..100)
        .map(|number| scene.message(&number.to_string()))
        .collect();
    scene.done(many).await;
    assert_eq!(scene.history().await.len(), 100);
}

pub async fn a_commit_to_no_conversation_is_unmet(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let nowhere = Commit {
        conversation: scene.id(),
        at: scene.now(),
        changes: vec![scene.message("never")],
    };
    let Committed::Unmet { index: 0, what } = scene.store.commit(nowhere.clone()).await.unwrap()
    else {
        panic!("it was done")
    };
    assert!(what.contains("no conversation"), "{what}");
    let nothing = Commit {
        changes: vec![],
        ..nowhere
    };
    assert!(matches!(
        scene.store.commit(nothing).await.unwrap(),
        Committed::Unmet { index: 0, .. }
    ));
    assert!(scene.history().await.is_empty());
}

pub async fn a_commit_of_nothing_is_done(place: &dyn Place) {
    Scene::at(place).await.done(vec![]).await;
}

pub async fn an_id_that_exists_is_unmet_and_leaves_the_first_row_alone(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let first = scene.message("first");
    let Change::Append(mut message) = first.clone() else {
        panic!("a message")
    };
    scene.done(vec![first]).await;
    message.text = "second".into();
    scene.unmet(Change::Append(message)).await;
    assert_eq!(scene.history().await, ["first"]);
    let outgoing = scene.outgoing("first");
    scene.done(vec![Change::Enqueue(outgoing.clone())]).await;
    scene.unmet(Change::Enqueue(outgoing)).await;
    let process = scene.new_process();
    scene.done(vec![Change::AddProcess(process.clone())]).await;
    scene.unmet(Change::AddProcess(process)).await;
    scene.unmet(start(scene.current)).await;
    // What names a session, lineage or source that is not there.
    let mut lost = scene.outgoing("lost");
    lost.lineage = Some(scene.id());
    scene.unmet(Change::Enqueue(lost)).await;
    scene.unmet(says(scene.id(), scene.id())).await;
    let session = scene.id();
    scene
        .unmet(Change::Append(NewMessage {
            id: scene.id(),
            session,
            turn: None,
            role: Role::Agent,
            author: None,
            text: "lost".into(),
            data: None,
        }))
        .await;
    scene
        .unmet(Change::Title {
            session,
            title: "lost".into(),
        })
        .await;
}

/// House plan: nothing but its own task writes a conversation's rows.
pub async fn another_conversations_rows_cannot_be_touched(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    let (process, notification) = other.notification().await;
    let running = other.process().await;
    let outbox = other.queued("theirs").await;
    let turn: TurnId = other.id();
    let window: WindowId = other.id();
    let Current { session, lineage } = other.current;
    other
        .done(vec![
            Change::StartTurn {
                turn,
                session,
                lineage,
                kind: TurnKind::Foreground,
            },
            Change::OpenWindow { window },
        ])
        .await;
    let before = (
        other.row().await,
        other
            .store
            .open_notifications(other.conversation)
            .await
            .unwrap(),
    );
    let mut foreign = scene.new_process();
    foreign.owner = other.owner();
    for change in [
        Change::Continue {
            lineage,
            from: session,
            session: scene.id(),
            summary: String::new(),
            kept_from: None,
        },
        Change::CloseLineage {
            lineage,
            boundary: Boundary::Reset,
        },
        Change::Point(Some(other.current)),
        Change::Title {
            session,
            title: "mine".into(),
        },
        Change::Append(NewMessage {
            id: scene.id(),
            session,
            turn: None,
            role: Role::Agent,
            author: None,
            text: "mine".into(),
            data: None,
        }),
        Change::EnterHistory {
            lineage,
            session,
            notification,
        },
        Change::EnterHistory {
            lineage: scene.current.lineage,
            session: scene.current.session,
            notification,
        },
        Change::StartTurn {
            turn: scene.id(),
            session,
            lineage,
            kind: TurnKind::Background,
        },
        Change::CountTool { turn },
        Change::EndTurn {
            turn,
            end: TurnEnd::Cancelled,
            error: None,
        },
        Change::AddProcess(foreign),
        scene.ended(running, Ending::Code(0)),
        Change::Consume {
            process,
            lineage,
            how: Consumption::Waited,
        },
        Change::Watched {
            process,
            watched: Watched::default(),
        },
        scene.decide(
            notification,
            homing_domain::notification::State::Pending,
            homing_domain::notification::State::Dropped,
        ),
        Change::Sending { outbox, attempt: 1 },
        Change::SendDead {
            outbox,
            attempt: 0,
            reason: "mine".into(),
        },
        Change::SendCancelled {
            outbox,
            attempt: 0,
            reason: "mine".into(),
        },
        Change::OpenWindow { window },
        Change::TouchWindow { window },
        Change::CloseWindow { window },
        Change::Adopt {
            process,
            owner: other.owner(),
        },
    ] {
        scene.unmet(change).await;
    }
    // Cancelling is no claim about rows: there may be none.
    scene
        .done(vec![Change::CancelQueued {
            lineage,
            reason: "mine".into(),
        }])
        .await;
    assert_eq!(other.item(outbox).await.state, OutboxState::Queued);
    assert_eq!(
        (
            other.row().await,
            other
                .store
                .open_notifications(other.conversation)
                .await
                .unwrap()
        ),
        before
    );
}

/// House plan, three counters: `generation` grows with each move of the pointer.
pub async fn a_stale_generation_is_unmet_after_reset_resume_and_compression(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let mut generation = scene.row().await.generation;
    let next = scene.fresh_session();
    let back = Change::Point(Some(next));
    let compressed: SessionId = scene.id();
    let continued = Change::Continue {
        lineage: next.lineage,
        from: next.session,
        session: compressed,
        summary: "so far".into(),
        kept_from: None,
    };
    let moved = Change::Point(Some(Current {
        session: compressed,
        ..next
    }));
    for moves in [
        scene.reset(next),
        vec![Change::Point(None)],
        vec![back],
        vec![continued, moved],
    ] {
        let before = generation;
        scene
            .done([vec![Change::RequireGeneration(before)], moves].concat())
            .await;
        generation = scene.row().await.generation;
        assert_eq!(generation, before + 1);
        scene.unmet(Change::RequireGeneration(before)).await;
        scene
            .done(vec![Change::RequireGeneration(generation)])
            .await;
    }
    // A later change sees the earlier ones.
    let again = vec![
        Change::Point(None),
        Change::RequireGeneration(generation + 1),
    ];
    scene.done(again).await;
}

/// One commit's trouble is nobody else's.
pub async fn a_batch_with_unmet_commits_does_the_others_and_says_which(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for round in 0..10 {
        let tasks: Vec<_> = (0..64)
            .map(|number| {
                let scene = scene.clone();
                tokio::spawn(async move {
                    let mut changes = vec![scene.message(&format!("{round}-{number}"))];
                    // Unmet in two ways: by a condition, and by a constraint.
                    match number % 4 {
                        1 => changes.push(Change::RequireGeneration(999)),
                        3 => changes.push(changes[0].clone()),
                        _ => {}
                    }
                    (number, scene.commit(changes).await)
                })
            })
            .collect();
        for task in tasks {
            match task.await.unwrap() {
                (number, Committed::Done) => assert_eq!(number % 2, 0),
                (number, Committed::Unmet { index, .. }) => assert_eq!((number % 2, index), (1, 1)),
            }
        }
        let history = scene.history().await;
        assert_eq!(history.len(), 32 * (round + 1));
        assert!(
            history
                .iter()
                .all(|text| text.ends_with(['0', '2', '4', '6', '8'])),
            "{history:?}"
        );
    }
}

pub async fn a_caller_that_goes_away_neither_loses_nor_blocks_anything(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for number in 0..200_u64 {
        let gone = scene.commit(vec![scene.message("perhaps"), scene.message("perhaps")]);
        // Sometimes before it was asked, sometimes while it is written, sometimes after.
        let _ = tokio::time::timeout(Duration::from_micros(number * 7), gone).await;
        if number % 20 == 0 {
            scene.done(vec![scene.message("certainly")]).await;
        }
    }
    let history = scene.history().await;
    assert_eq!(
        history.iter().filter(|text| *text == "certainly").count(),
        10
    );
    assert_eq!(
        history.iter().filter(|text| *text == "perhaps").count() % 2,
        0,
        "half of a commit"
    );
}
