//! Two things at once, many times: what must hold in every order.

use homing_domain::notification::State;
use homing_domain::process::Consumption;
use homing_ports::store::*;

use crate::{Place, Scene};

const ROUNDS: usize = 150;

/// House plan 1: "no old result after the reset was confirmed" is a fact of order. A reset commits while answers of the old lineage are queued:
/// whoever comes second is unmet or cancelled, and behind the reset's confirmation there is nothing of the old lineage.
pub async fn no_answer_is_queued_behind_a_reset(place: &dyn Place) {
    let mut scene = Scene::at(place).await;
    let mut before_reset = 0;
    for _ in 0..ROUNDS {
        let generation = scene.row().await.generation;
        let answers: Vec<_> = (0..4)
            .map(|_| {
                let scene = scene.clone();
                tokio::spawn(async move {
                    let answer = Change::Enqueue(scene.outgoing("an old result"));
                    scene
                        .commit(vec![
                            Change::RequireGeneration(generation),
                            scene.message("told"),
                            answer,
                        ])
                        .await
                        == Committed::Done
                })
            })
            .collect();
        let next = scene.fresh_session();
        let confirmation = NewOutgoing {
            lineage: None,
            ..scene.outgoing("A new session.")
        };
        let reset = {
            let scene = scene.clone();
            let changes = [
                vec![Change::RequireGeneration(generation)],
                scene.reset(next),
                vec![Change::Enqueue(confirmation.clone())],
            ]
            .concat();
            tokio::spawn(async move { scene.commit(changes).await })
        };
        assert_eq!(reset.await.unwrap(), Committed::Done);
        let old = Some(scene.current.lineage);
        // The moment the reset was acknowledged, and after every straggler.
        for _ in 0..2 {
            let waiting = scene
                .store
                .outbox_waiting(scene.conversation, 1_000)
                .await
                .unwrap();
            assert!(
                waiting.iter().all(|item| item.lineage != old),
                "an old result waits behind the reset"
            );
            tokio::task::yield_now().await;
        }
        for answer in answers {
            before_reset += usize::from(answer.await.unwrap());
        }
        let items = scene
            .store
            .outbox(scene.conversation, 10_000)
            .await
            .unwrap();
        let of_old = items.iter().filter(|item| item.lineage == old);
        assert!(
            of_old
                .clone()
                .all(|item| item.state == OutboxState::Cancelled)
        );
        scene
            .done(vec![Change::SendDead {
                outbox: confirmation.id,
                attempt: 0,
                reason: "enough".into(),
            }])
            .await;
        scene.current = next;
    }
    assert!(
        before_reset > 0,
        "the race was never close: every reset came first"
    );
}

pub async fn of_many_claims_one_wins(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for _ in 0..ROUNDS / 3 {
        let (_, id) = scene.notification().await;
        let claims: Vec<_> = (0..6)
            .map(|_| {
                let scene = scene.clone();
                tokio::spawn(async move {
                    let claim = scene.decide(id, State::Pending, State::Claimed);
                    let Change::Decide(Decision { turn, .. }) = &claim else {
                        panic!("a decision")
                    };
                    let turn = *turn;
                    (scene.commit(vec![claim]).await == Committed::Done).then_some(turn)
                })
            })
            .collect();
        let mut winners = Vec::new();
        for claim in claims {
            winners.extend(claim.await.unwrap());
        }
        assert_eq!(winners.len(), 1);
        assert_eq!(
            scene.store.notification(id).await.unwrap().unwrap().turn,
            winners[0]
        );
        assert_eq!(scene.store.decisions(id).await.unwrap().len(), 1);
    }
}

/// OWN-37, OWN-50: the agent reads a result while its notification is claimed.
pub async fn of_consumption_and_claim_the_store_shows_one_order(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for _ in 0..ROUNDS / 3 {
        let (process, id) = scene.notification().await;
        let lineage = scene.current.lineage;
        let consume = {
            let scene = scene.clone();
            let settle = scene.decide(id, State::Pending, State::Consumed);
            tokio::spawn(async move {
                scene
                    .commit(vec![
                        Change::Consume {
                            process,
                            lineage,
                            how: Consumption::Waited,
                        },
                        settle,
                    ])
                    .await
                    == Committed::Done
            })
        };
        let claim = {
            let scene = scene.clone();
            let claim = scene.decide(id, State::Pending, State::Claimed);
            tokio::spawn(async move { scene.commit(vec![claim]).await == Committed::Done })
        };
        let (consumed, claimed) = (consume.await.unwrap(), claim.await.unwrap());
        assert!(
            consumed != claimed,
            "consumed: {consumed}, claimed: {claimed}"
        );
        let marked = scene
            .store
            .process(process)
            .await
            .unwrap()
            .unwrap()
            .consumed
            .is_some();
        assert_eq!(
            (marked, scene.state(id).await == State::Consumed),
            (consumed, consumed)
        );
    }
}
