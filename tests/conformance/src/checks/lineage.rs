//! Sessions and lineages (OWN-10…14).

use homing_domain::ids::*;
use homing_domain::session::{Boundary, Current, EndReason};
use homing_ports::store::*;

use crate::{Place, Scene};

/// OWN-13
pub async fn the_first_end_reason_wins(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let Current { session, lineage } = scene.current;
    scene
        .done(vec![Change::CloseLineage {
            lineage,
            boundary: Boundary::Idle,
        }])
        .await;
    let closed = scene.store.lineage(lineage).await.unwrap().unwrap();
    for boundary in Boundary::ALL {
        assert!(matches!(
            scene
                .commit(vec![Change::CloseLineage { lineage, boundary }])
                .await,
            Committed::Unmet { index: 0, .. }
        ));
    }
    assert_eq!(scene.store.lineage(lineage).await.unwrap().unwrap(), closed);
    let (boundary, at) = closed.closed.unwrap();
    assert_eq!(boundary, Boundary::Idle);
    assert_eq!(
        scene.store.session(session).await.unwrap().unwrap().ended,
        Some((EndReason::Idle, at))
    );
    // Of two at once, one.
    for round in 0..10 {
        let other = scene.neighbour(&format!("both-{round}")).await;
        let lineage = other.current.lineage;
        let close = |boundary| {
            let other = other.clone();
            tokio::spawn(async move {
                other
                    .commit(vec![Change::CloseLineage { lineage, boundary }])
                    .await
                    == Committed::Done
            })
        };
        let (reset, daily) = (close(Boundary::Reset), close(Boundary::Daily));
        let won = (reset.await.unwrap(), daily.await.unwrap());
        let stored = scene
            .store
            .lineage(lineage)
            .await
            .unwrap()
            .unwrap()
            .closed
            .unwrap()
            .0;
        assert!(
            matches!(
                (won, stored),
                ((true, false), Boundary::Reset) | ((false, true), Boundary::Daily)
            ),
            "{won:?} {stored:?}"
        );
    }
}

fn continued(lineage: LineageId, from: SessionId, session: SessionId) -> Change {
    Change::Continue {
        lineage,
        from,
        session,
        summary: "so far".into(),
        kept_from: None,
    }
}

/// OWN-11
pub async fn a_session_has_one_continuation(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let Current { session, lineage } = scene.current;
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let scene = scene.clone();
            tokio::spawn(async move {
                let next = scene.id();
                let point = Change::Point(Some(Current {
                    session: next,
                    lineage,
                }));
                (
                    next,
                    scene
                        .commit(vec![continued(lineage, session, next), point])
                        .await,
                )
            })
        })
        .collect();
    let mut won = Vec::new();
    for task in tasks {
        if let (next, Committed::Done) = task.await.unwrap() {
            won.push(next);
        }
    }
    assert_eq!(won.len(), 1);
    let tip = scene.store.session(won[0]).await.unwrap().unwrap();
    assert_eq!(
        (
            tip.continues,
            tip.lineage,
            tip.parent,
            tip.summary.as_deref()
        ),
        (Some(session), lineage, None, Some("so far"))
    );
    assert_eq!(
        scene
            .store
            .session(session)
            .await
            .unwrap()
            .unwrap()
            .ended
            .unwrap()
            .0,
        EndReason::Compressed
    );
    assert_eq!(
        scene.store.lineage(lineage).await.unwrap().unwrap().tip,
        won[0]
    );
    assert_eq!(
        scene.row().await.current,
        Some(Current {
            session: won[0],
            lineage
        })
    );
    scene.unmet(continued(lineage, session, scene.id())).await;
    scene
        .unmet(continued(lineage, scene.id(), scene.id()))
        .await;
}

/// OWN-11: depth is unbounded.
pub async fn a_hundred_and_fifty_compressions_keep_one_lineage_and_one_tip(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let lineage = scene.current.lineage;
    let mut tip = scene.current.session;
    scene
        .done(vec![Change::Title {
            session: tip,
            title: "The long one".into(),
        }])
        .await;
    for _ in 0..150 {
        let next: SessionId = scene.id();
        scene
            .done(vec![
                continued(lineage, tip, next),
                Change::Point(Some(Current {
                    session: next,
                    lineage,
                })),
            ])
            .await;
        tip = next;
    }
    let row = scene.store.lineage(lineage).await.unwrap().unwrap();
    assert_eq!((row.tip, row.closed), (tip, None));
    let sessions = scene
        .store
        .sessions(scene.conversation, 1_000)
        .await
        .unwrap();
    assert_eq!(sessions.len(), 151);
    assert_eq!(sessions[0].id, tip);
    assert_eq!(sessions[0].title.as_deref(), Some("The long one"));
    assert_eq!(
        sessions
            .iter()
            .filter(|session| session.ended.is_none())
            .count(),
        1
    );
    assert_eq!(scene.row().await.generation, 151);
}

/// OWN-13: a boundary is never undone.
pub async fn a_closed_lineage_is_neither_continued_nor_pointed_at(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let old = scene.current;
    scene.done(scene.reset(scene.fresh_session())).await;
    assert!(
        scene
            .store
            .lineage(old.lineage)
            .await
            .unwrap()
            .unwrap()
            .closed
            .is_some()
    );
    scene
        .unmet(continued(old.lineage, old.session, scene.id()))
        .await;
    scene.unmet(Change::Point(Some(old))).await;
}

/// OWN-10, OWN-14
pub async fn a_pointer_names_the_tip_of_this_conversation(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    let Current { session, lineage } = scene.current;
    let next: SessionId = scene.id();
    scene.done(vec![continued(lineage, session, next)]).await;
    for wrong in [
        scene.current,
        other.current,
        Current {
            session: next,
            lineage: other.current.lineage,
        },
        Current {
            session: other.current.session,
            lineage,
        },
        scene.fresh_session(),
    ] {
        scene.unmet(Change::Point(Some(wrong))).await;
    }
    // Parked and resumed: both lineages stay open.
    let second = scene.fresh_session();
    let tip = Current {
        session: next,
        lineage,
    };
    scene
        .done(vec![
            crate::scene::start(second),
            Change::Point(Some(second)),
        ])
        .await;
    scene.done(vec![Change::Point(Some(tip))]).await;
    assert_eq!(scene.row().await.current, Some(tip));
    assert_eq!(
        scene
            .store
            .lineage(second.lineage)
            .await
            .unwrap()
            .unwrap()
            .closed,
        None
    );
    scene.done(vec![Change::Point(None)]).await;
    assert_eq!(scene.row().await.current, None);
}

/// OWN-12
pub async fn a_branch_remembers_its_parent_and_is_no_continuation(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let branch = scene.fresh_session();
    let parent = Some(scene.current.session);
    let title = Some("Another way".to_owned());
    scene
        .done(vec![Change::StartLineage {
            lineage: branch.lineage,
            session: branch.session,
            parent,
            title: title.clone(),
        }])
        .await;
    let row = scene.store.session(branch.session).await.unwrap().unwrap();
    assert_eq!(
        (row.parent, row.continues, row.title, row.lineage),
        (parent, None, title, branch.lineage)
    );
    assert_eq!(
        scene
            .store
            .session(scene.current.session)
            .await
            .unwrap()
            .unwrap()
            .ended,
        None
    );
    let orphan = scene.fresh_session();
    let nobody = Some(scene.id());
    scene
        .unmet(Change::StartLineage {
            lineage: orphan.lineage,
            session: orphan.session,
            parent: nobody,
            title: None,
        })
        .await;
}

pub async fn histories_are_told_oldest_first_and_cut_at_the_old_end(place: &dyn Place) {
    let mut scene = Scene::at(place).await;
    let first = scene.current;
    scene
        .done(vec![
            scene.message("1"),
            scene.message("2"),
            scene.message("3"),
        ])
        .await;
    scene.current = scene.fresh_session();
    let reset = Scene {
        current: first,
        ..scene.clone()
    }
    .reset(scene.current);
    scene.done(reset).await;
    scene
        .done(vec![scene.message("4"), scene.message("5")])
        .await;
    let texts = |rows: Vec<MessageRow>| rows.into_iter().map(|row| row.text).collect::<Vec<_>>();
    assert_eq!(
        texts(scene.store.history(first.session, 2).await.unwrap()),
        ["2", "3"]
    );
    assert_eq!(
        texts(
            scene
                .store
                .history(scene.current.session, 10)
                .await
                .unwrap()
        ),
        ["4", "5"]
    );
    assert_eq!(
        texts(
            scene
                .store
                .conversation_history(scene.conversation, 4)
                .await
                .unwrap()
        ),
        ["2", "3", "4", "5"]
    );
    assert_eq!(
        scene
            .store
            .session(first.session)
            .await
            .unwrap()
            .unwrap()
            .messages,
        3
    );
    let sessions = scene.store.sessions(scene.conversation, 10).await.unwrap();
    assert_eq!(
        sessions
            .iter()
            .map(|row| (row.id, row.messages))
            .collect::<Vec<_>>(),
        [(scene.current.session, 2), (first.session, 3)]
    );
    // Order is by id, and an author and a turn come back as they were.
    let turn = Some(scene.id());
    let full = NewMessage {
        id: scene.id(),
        session: first.session,
        turn,
        role: Role::System,
        author: Some("Ada".into()),
        text: "🦉\0\u{7}".into(),
        data: None,
    };
    scene.done(vec![Change::Append(full.clone())]).await;
    let row = scene
        .store
        .history(first.session, 1)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        (row.id, row.turn, row.role, row.author, row.text),
        (full.id, turn, full.role, full.author, full.text)
    );
}
