//! A store's statements and the pure rules of the outbox agree: what the model checker shows of the rules holds for the rows.

use homing_domain::ids::*;
use homing_domain::outbox::{self, Attempt, Lineage};
use homing_domain::session::Boundary;
use homing_domain::time::Timestamp;
use homing_ports::store::*;

use crate::scene::start;
use crate::{Place, Scene};

/// Brings an item whose last attempt was its first to where it is wanted.
fn settle(outbox: OutboxId, state: OutboxState) -> Option<Change> {
    let reason = "because".to_owned();
    Some(match state {
        OutboxState::Sending => return None,
        OutboxState::Queued => Change::SendAgain {
            outbox,
            attempt: 1,
            not_before: Timestamp(0),
            reason,
        },
        OutboxState::Uncertain => Change::SendUncertain {
            outbox,
            attempt: 1,
            not_before: Timestamp(0),
            reason,
        },
        OutboxState::Sent => Change::Sent {
            outbox,
            attempt: 1,
            platform_message: None,
        },
        OutboxState::Cancelled => Change::SendCancelled {
            outbox,
            attempt: 1,
            reason,
        },
        OutboxState::Dead => Change::SendDead {
            outbox,
            attempt: 1,
            reason,
        },
    })
}

/// An item that stands there, and was tried once.
async fn item(scene: &Scene, lineage: LineageId, state: OutboxState) -> OutboxId {
    let outgoing = NewOutgoing {
        lineage: Some(lineage),
        ..scene.outgoing("said")
    };
    let outbox = outgoing.id;
    let mut changes = vec![
        Change::Enqueue(outgoing),
        Change::Sending { outbox, attempt: 1 },
    ];
    changes.extend(settle(outbox, state));
    scene.done(changes).await;
    assert_eq!(scene.item(outbox).await.state, state);
    outbox
}

fn boundary_of(lineage: LineageId) -> Vec<Change> {
    vec![
        Change::CloseLineage {
            lineage,
            boundary: Boundary::Reset,
        },
        Change::CancelQueued {
            lineage,
            reason: "reset".into(),
        },
    ]
}

/// OWN-64
pub async fn a_boundary_does_to_rows_what_the_rule_says(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.fresh_session();
    scene.done(vec![start(other)]).await;
    let mut items = Vec::new();
    for state in OutboxState::ALL {
        let closed = item(&scene, scene.current.lineage, state).await;
        let open = item(&scene, other.lineage, state).await;
        items.push((closed, state, outbox::at_boundary(state)));
        items.push((open, state, state));
    }
    scene.done(boundary_of(scene.current.lineage)).await;
    for (id, before, after) in items {
        assert_eq!(scene.item(id).await.state, after, "from {before:?}");
    }
}

/// OWN-66, 94
pub async fn an_attempt_makes_of_a_row_what_the_rule_says(place: &dyn Place) {
    use Attempt::{Accepted, NotSent, Refused, Unknown};
    let scene = Scene::at(place).await;
    for before in [OutboxState::Queued, OutboxState::Uncertain] {
        for attempt in [Accepted, NotSent, Unknown, Refused] {
            for lineage in [Lineage::Open, Lineage::Closed] {
                let own = scene.fresh_session();
                scene.done(vec![start(own)]).await;
                let id = item(&scene, own.lineage, before).await;
                scene
                    .done(vec![Change::Sending {
                        outbox: id,
                        attempt: 2,
                    }])
                    .await;
                if lineage == Lineage::Closed {
                    scene.done(boundary_of(own.lineage)).await;
                }
                let after = outbox::after_attempt(before, attempt, lineage);
                let change = settle(id, after).map(second).unwrap();
                scene.done(vec![change]).await;
                assert_eq!(
                    scene.item(id).await.state,
                    after,
                    "{attempt:?} of {before:?}, {lineage:?}"
                );
            }
        }
    }
}

/// The same, of the second attempt.
fn second(mut change: Change) -> Change {
    if let Change::SendAgain { attempt, .. }
    | Change::SendUncertain { attempt, .. }
    | Change::Sent { attempt, .. }
    | Change::SendCancelled { attempt, .. }
    | Change::SendDead { attempt, .. } = &mut change
    {
        *attempt = 2;
    }
    change
}

/// OWN-94: every row can be brought to where a restart finds it.
pub async fn a_restart_can_make_of_a_row_what_the_rule_says(place: &dyn Place) {
    let scene = Scene::at(place).await;
    for state in OutboxState::ALL {
        let id = item(&scene, scene.current.lineage, state).await;
        let after = outbox::at_restart(state);
        if after != state {
            scene.done(settle(id, after).into_iter().collect()).await;
        }
        assert_eq!(scene.item(id).await.state, after, "from {state:?}");
    }
}

/// OWN-66: the first that waits is the one that the rule sends, or the one that it waits for.
pub async fn what_waits_first_is_what_the_rule_sends(place: &dyn Place) {
    let first = Scene::at(place).await;
    let pairs = OutboxState::ALL
        .into_iter()
        .flat_map(|one| OutboxState::ALL.map(|two| [one, two, OutboxState::Queued]));
    for (number, states) in pairs.enumerate() {
        let scene = first.neighbour(&format!("pair-{number}")).await;
        let mut ids = Vec::new();
        for state in states {
            ids.push(item(&scene, scene.current.lineage, state).await);
        }
        let waiting = scene
            .store
            .outbox_waiting(scene.conversation, 10)
            .await
            .unwrap();
        let front = waiting.first().map(|row| (row.id, row.state));
        match outbox::next(states) {
            Some(index) => assert_eq!(front, Some((ids[index], states[index])), "{states:?}"),
            None => assert_eq!(
                front.map(|(_, state)| state),
                Some(OutboxState::Sending),
                "{states:?}"
            ),
        }
        let order: Vec<OutboxId> = waiting.iter().map(|row| row.id).collect();
        let unsettled = ids
            .iter()
            .zip(states)
            .filter(|(_, state)| !state.is_settled());
        assert_eq!(order, unsettled.map(|(id, _)| *id).collect::<Vec<_>>());
    }
}
