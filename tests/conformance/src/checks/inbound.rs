//! What comes in, and the turns that take it (OWN-10, 70).

use std::collections::HashSet;

use homing_domain::ids::{TurnId, WindowId};
use homing_domain::session::{Boundary, Current};
use homing_ports::inbox::Inbound;
use homing_ports::store::*;

use crate::scene::{key, parts};
use crate::{Place, Scene};

/// OWN-70
pub async fn a_message_is_accepted_once_per_platform_account_and_id(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (new, first, conversation) = scene.accept("7").await;
    assert!(new);
    assert_eq!(conversation, scene.conversation);
    assert_eq!(scene.accept("7").await, (false, first, conversation));
    let (new, second, _) = scene.accept("8").await;
    assert!(new && second > first);
    let waiting = scene.store.inbound_waiting(conversation, 10).await.unwrap();
    assert_eq!(
        waiting.iter().map(|row| row.id).collect::<Vec<_>>(),
        [first, second]
    );
    assert_eq!(
        (
            waiting[0].text.as_str(),
            waiting[0].author.as_deref(),
            waiting[0].turn
        ),
        ("message 7", Some("Ada"), None)
    );
    assert_eq!(waiting[0].origin, scene.origin);
}

/// OWN-6, OWN-70: a second bot counts its own messages.
pub async fn the_same_id_from_another_account_platform_or_profile_is_another_message(
    place: &dyn Place,
) {
    let scene = Scene::at(place).await;
    scene.accept("7").await;
    let variations: [fn(&mut Inbound); 4] = [
        |inbound| inbound.origin.account = Some("second".into()),
        |inbound| inbound.origin.account = Some("third".into()),
        |inbound| inbound.origin.platform = "elsewhere".into(),
        |inbound| inbound.origin.profile = "work".into(),
    ];
    for vary in variations {
        let mut inbound = scene.inbound("7");
        vary(&mut inbound);
        let key = inbound
            .origin
            .key(homing_domain::key::KeySettings::default());
        let (new, _, conversation) = parts(
            scene
                .store
                .accept(inbound.clone(), key.clone(), scene.now())
                .await
                .unwrap(),
        );
        assert!(new, "{inbound:?}");
        assert_ne!(conversation, scene.conversation);
        assert!(!parts(scene.store.accept(inbound, key, scene.now()).await.unwrap()).0);
    }
}

/// OWN-70
pub async fn concurrent_repeats_are_one_message_in_one_conversation(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for round in 0..20 {
        let chat = key(&format!("crowd-{round}"));
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let (scene, chat) = (scene.clone(), chat.clone());
                tokio::spawn(async move {
                    let inbound = scene.inbound(&format!("same-{round}"));
                    parts(
                        scene
                            .store
                            .accept(inbound, chat, scene.now())
                            .await
                            .unwrap(),
                    )
                })
            })
            .collect();
        let mut new = 0;
        let mut ids = HashSet::new();
        for task in tasks {
            let (fresh, inbound, conversation) = task.await.unwrap();
            new += u32::from(fresh);
            ids.insert((inbound, conversation));
        }
        assert_eq!((new, ids.len()), (1, 1));
    }
}

/// OWN-70: key settings may change between a message and its repeat.
pub async fn a_repeat_changes_nothing_even_under_another_key(place: &dyn Place) {
    let scene = Scene::at(place).await;
    scene.accept("7").await;
    let before = scene.row().await;
    let mut repeat = scene.inbound("7");
    repeat.origin.anchor = Some("another".into());
    let (new, _, conversation) = parts(
        scene
            .store
            .accept(repeat, key("elsewhere"), scene.now())
            .await
            .unwrap(),
    );
    assert!(!new);
    assert_eq!(conversation, scene.conversation);
    assert_eq!(scene.row().await, before);
    assert_eq!(
        scene
            .store
            .conversation_by_key(&key("elsewhere"))
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        scene
            .store
            .inbound_waiting(conversation, 10)
            .await
            .unwrap()
            .len(),
        1
    );
}

/// OWN-70
pub async fn a_repeat_is_recognised_by_the_next_gateway(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, first, conversation) = scene.accept("7").await;
    let next = place.open().await;
    next.take_over(scene.now()).await.unwrap();
    let again = next
        .accept(scene.inbound("7"), scene.key.clone(), scene.now())
        .await
        .unwrap();
    assert_eq!(parts(again), (false, first, conversation));
}

pub async fn a_message_is_taken_once_finished_once_and_requeued_only_when_taken(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, inbound, _) = scene.accept("7").await;
    let turn: TurnId = scene.id();
    scene.unmet(Change::RequeueInbound { inbound }).await;
    scene
        .done(vec![Change::TakeInbound { inbound, turn }])
        .await;
    scene
        .unmet(Change::TakeInbound {
            inbound,
            turn: scene.id(),
        })
        .await;
    assert_eq!(
        scene
            .store
            .inbound_waiting(scene.conversation, 10)
            .await
            .unwrap()[0]
            .turn,
        Some(turn)
    );
    scene.done(vec![Change::RequeueInbound { inbound }]).await;
    assert_eq!(
        scene
            .store
            .inbound_waiting(scene.conversation, 10)
            .await
            .unwrap()[0]
            .turn,
        None
    );
    scene
        .done(vec![
            Change::TakeInbound { inbound, turn },
            Change::FinishInbound { inbound },
        ])
        .await;
    assert!(
        scene
            .store
            .inbound_waiting(scene.conversation, 10)
            .await
            .unwrap()
            .is_empty()
    );
    scene.unmet(Change::FinishInbound { inbound }).await;
    scene.unmet(Change::TakeInbound { inbound, turn }).await;
    scene.unmet(Change::RequeueInbound { inbound }).await;
    // A command is answered without a turn.
    let (_, command, _) = scene.accept("8").await;
    scene
        .done(vec![Change::FinishInbound { inbound: command }])
        .await;
}

pub async fn what_waits_is_told_oldest_first_and_of_one_conversation(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    for number in 0..6 {
        scene.accept(&format!("a{number}")).await;
        other.accept(&format!("b{number}")).await;
    }
    let waiting = scene
        .store
        .inbound_waiting(scene.conversation, 4)
        .await
        .unwrap();
    assert_eq!(
        waiting
            .iter()
            .map(|row| row.text.as_str())
            .collect::<Vec<_>>(),
        ["message a0", "message a1", "message a2", "message a3"]
    );
}

/// OWN-10
pub async fn opening_a_conversation_makes_no_session_and_only_one_row(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let chat = key("opened");
    let mut origin = scene.origin.clone();
    origin.chat = "opened".into();
    let first = scene
        .store
        .open_conversation(&chat, &origin, scene.now())
        .await
        .unwrap();
    assert_eq!(
        (first.current, first.generation, &first.key, &first.origin),
        (None, 0, &chat, &origin)
    );
    let again = scene
        .store
        .open_conversation(&chat, &scene.origin, scene.now())
        .await
        .unwrap();
    assert_eq!(again, first);
    assert!(scene.store.sessions(first.id, 10).await.unwrap().is_empty());
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let scene = scene.clone();
            tokio::spawn(async move {
                scene
                    .store
                    .open_conversation(&key("crowd"), &scene.origin, scene.now())
                    .await
                    .unwrap()
                    .id
            })
        })
        .collect();
    let mut ids = HashSet::new();
    for task in tasks {
        ids.insert(task.await.unwrap());
    }
    assert_eq!(ids.len(), 1);
    // The newest message decides the origin and who was active last.
    let mut inbound = scene.inbound("7");
    inbound.origin.anchor = Some("m7".into());
    inbound.window = Some(scene.id::<WindowId>());
    let _ = scene
        .store
        .accept(inbound.clone(), chat.clone(), scene.now())
        .await
        .unwrap();
    let row = scene
        .store
        .conversation_by_key(&chat)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.origin, inbound.origin);
    assert_eq!(scene.store.conversations(1).await.unwrap()[0].id, first.id);
    assert_eq!(
        scene.store.inbound_waiting(first.id, 1).await.unwrap()[0].window,
        inbound.window
    );
}

pub async fn a_turn_starts_in_an_open_session_counts_tools_and_ends_once(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let Current { session, lineage } = scene.current;
    let turn: TurnId = scene.id();
    let start = |turn, kind| Change::StartTurn {
        turn,
        session,
        lineage,
        kind,
    };
    scene
        .done(vec![
            start(turn, TurnKind::Background),
            Change::CountTool { turn },
            Change::CountTool { turn },
        ])
        .await;
    let running = scene.store.running_turns(scene.conversation).await.unwrap();
    assert_eq!(running.len(), 1);
    assert_eq!(
        (running[0].id, running[0].kind, running[0].tools),
        (turn, TurnKind::Background, 2)
    );
    assert_eq!((running[0].session, running[0].lineage), (session, lineage));
    scene.unmet(start(turn, TurnKind::Background)).await;
    scene
        .unmet(Change::StartTurn {
            turn: scene.id(),
            session,
            lineage: scene.id(),
            kind: TurnKind::Foreground,
        })
        .await;
    scene
        .done(vec![Change::EndTurn {
            turn,
            end: TurnEnd::Failed,
            error: Some("it broke".into()),
        }])
        .await;
    assert!(
        scene
            .store
            .running_turns(scene.conversation)
            .await
            .unwrap()
            .is_empty()
    );
    scene
        .unmet(Change::EndTurn {
            turn,
            end: TurnEnd::Done,
            error: None,
        })
        .await;
    scene.unmet(Change::CountTool { turn }).await;
    scene
        .done(vec![Change::CloseLineage {
            lineage,
            boundary: Boundary::Reset,
        }])
        .await;
    let late = start(scene.id(), TurnKind::Foreground);
    assert!(matches!(
        scene.commit(vec![late]).await,
        Committed::Unmet { index: 0, .. }
    ));
}
