//! What was acknowledged is there, whatever became of the process.
//!
//! A `kill -9` shows that nothing acknowledged waits in the process's memory. That it does not wait in the machine's either is for the audit of
//! system calls: a commit's fsync comes before its answer.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use homing_domain::notification::State;
use homing_ports::store::*;

use crate::{Place, Scene};

pub async fn what_was_acknowledged_survives_kill_9(place: &dyn Place) {
    let mut acknowledged = Vec::new();
    for lines in [1, 40, 400, 1_500] {
        let mut child = place.appender().stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = tokio::task::spawn_blocking(move || {
            let mut said: Vec<String> = output.by_ref().take(lines).map(Result::unwrap).collect();
            child.kill().unwrap();
            child.wait().unwrap();
            said.extend(output.map(Result::unwrap));
            said
        });
        let said = said.await.unwrap();
        assert!(said.len() >= lines, "{said:?}");
        acknowledged.extend(said);
        let store = place.open().await;
        let mut there = HashSet::new();
        for conversation in store.conversations(100).await.unwrap() {
            let history = store
                .conversation_history(conversation.id, 1_000_000)
                .await
                .unwrap();
            let count = history.len();
            let texts: HashSet<String> = history.into_iter().map(|row| row.text).collect();
            assert_eq!(texts.len(), count, "something is there twice");
            there.extend(texts);
        }
        let lost: Vec<_> = acknowledged
            .iter()
            .filter(|text| !there.contains(*text))
            .collect();
        assert!(lost.is_empty(), "lost: {lost:?}");
    }
}

pub async fn conversations_with_work_are_found_after_a_restart(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let mut expected = Vec::new();
    for work in [
        "inbound",
        "notification",
        "held",
        "outbox",
        "uncertain",
        "turn",
        "nothing",
        "settled",
        "process",
    ] {
        let other = scene.neighbour(work).await;
        let outbox = other.queued("one").await;
        let sending = Change::Sending { outbox, attempt: 1 };
        let mut settle = vec![
            sending.clone(),
            Change::Sent {
                outbox,
                attempt: 1,
                platform_message: None,
            },
        ];
        match work {
            "inbound" => drop(other.accept(work).await),
            "notification" => drop(other.notification().await),
            "held" => {
                let (_, id) = other.notification().await;
                other
                    .done(vec![other.decide(id, State::Pending, State::Held)])
                    .await;
            }
            "settled" => {
                let (_, id) = other.notification().await;
                other
                    .done(vec![other.decide(id, State::Pending, State::Dropped)])
                    .await;
            }
            "outbox" => settle.clear(),
            "uncertain" => {
                settle[1] = Change::SendUncertain {
                    outbox,
                    attempt: 1,
                    not_before: other.now(),
                    reason: "crash".into(),
                }
            }
            "turn" => {
                let (turn, kind) = (other.id(), TurnKind::Foreground);
                let homing_domain::session::Current { session, lineage } = other.current;
                other
                    .done(vec![Change::StartTurn {
                        turn,
                        session,
                        lineage,
                        kind,
                    }])
                    .await;
            }
            // A process that runs is no work for its conversation until it has something to say.
            "process" => drop(other.process().await),
            _ => {}
        }
        other.done(settle).await;
        if !matches!(work, "nothing" | "settled" | "process") {
            expected.push(other.conversation);
        }
    }
    expected.sort();
    let next = place.open().await;
    let mut found = next.conversations_with_work().await.unwrap();
    found.sort();
    assert_eq!(found, expected);
}
