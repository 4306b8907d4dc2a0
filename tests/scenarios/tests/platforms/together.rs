//! Several messages that are one.

use std::time::Duration;

use homing_ports::inbox::Together;
use homing_ports::platform::{Attachment, OutgoingKind};
use homing_ports::store::{Change, Commit, Committed, Queries, Store};

use super::stage::{HERE, Stage, sends};

const WHOLE: Duration = Duration::from_millis(1_500);

async fn part(stage: &mut Stage, text: &str, joined_by: &str) {
    let mut inbound = stage.inbound(HERE, text);
    inbound.together = Some(Together {
        group: "g".into(),
        whole_after_ms: WHOLE.as_millis() as u64,
        joined_by: joined_by.into(),
    });
    inbound.attachments = vec![Attachment {
        name: Some(format!("{text}.png")),
        media_type: None,
        bytes: None,
        reference: text.into(),
        first_came_with: None,
    }];
    stage.accept(inbound).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_album_is_one_turn_once_no_more_parts_come() {
    let mut stage = Stage::set().await;
    part(&mut stage, "one", "\n").await;
    stage.advance(WHOLE - Duration::from_millis(1));
    part(&mut stage, "two", "\n").await;
    // The second part began the waiting anew; what comes after stands behind.
    stage.advance(WHOLE - Duration::from_millis(1));
    stage.write(HERE, "after").await;
    stage.write(HERE, "/status").await;
    stage.sent("Idle.").await;
    stage.advance(Duration::from_millis(1));
    let asked = stage.asked().await;
    assert_eq!(asked.text(), "one\ntwo");
    let homing_ports::agent::TurnAbout::Person { files, .. } = &asked.request.about else {
        panic!("not a person's turn");
    };
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["one.png", "two.png"]);
    asked.say("Both");
    stage.sent("Both").await;
    let next = stage.asked().await;
    assert_eq!(next.text(), "after");
    next.say("And that");
    stage.sent("And that").await;
    stage.quiet().await;
    let row = stage.conversation(HERE).await;
    assert!(
        stage
            .store
            .inbound_waiting(row.id, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_in_two_parts_is_judged_as_a_whole() {
    let mut stage = Stage::set().await;
    part(&mut stage, "/he", "").await;
    part(&mut stage, "lp", "").await;
    stage.advance(WHOLE);
    let reply = stage.sent("/help").await;
    assert_eq!(reply.kind, OutgoingKind::Reply);
    stage.quiet().await;
    let row = stage.conversation(HERE).await;
    assert!(
        stage
            .store
            .inbound_waiting(row.id, 10)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(sends(&stage.events()).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_that_comes_too_late_is_a_message_of_its_own() {
    let mut stage = Stage::set().await;
    part(&mut stage, "one", "\n").await;
    stage.advance(WHOLE);
    let asked = stage.asked().await;
    part(&mut stage, "late", "\n").await;
    asked.say("First");
    stage.sent("First").await;
    stage.quiet().await;
    stage.advance(WHOLE);
    let next = stage.asked().await;
    assert_eq!(next.text(), "late");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_belongs_together_is_together_after_a_crash() {
    let mut stage = Stage::set().await;
    part(&mut stage, "one", "+").await;
    stage.crash().await;
    part(&mut stage, "two", "+").await;
    stage.advance(WHOLE);
    let asked = stage.asked().await;
    assert_eq!(asked.text(), "one+two");
    // Interrupted before it did anything: all of it again, once.
    stage.crash().await;
    drop(asked);
    let again = stage.asked().await;
    assert_eq!(again.text(), "one+two");
    again.say("Done");
    stage.sent("Done").await;
}

// OWN-94: what is said of an interrupted turn is said once, however many messages it had taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_album_is_told_once() {
    let mut stage = Stage::set().await;
    part(&mut stage, "one", "+").await;
    part(&mut stage, "two", "+").await;
    stage.advance(WHOLE);
    let asked = stage.asked().await;
    let row = stage.conversation(HERE).await;
    let commit = Commit {
        conversation: row.id,
        at: homing_ports::Clock::now(&*stage.clock),
        changes: vec![Change::CountTool {
            turn: asked.request.turn,
        }],
    };
    assert_eq!(stage.store.commit(commit).await.unwrap(), Committed::Done);
    stage.crash().await;
    drop(asked);
    stage.sent("I was restarted").await;
    stage.write(HERE, "/status").await;
    stage.sent("Idle.").await;
    assert_eq!(sends(&stage.events()).len(), 2);
    assert!(
        stage
            .store
            .inbound_waiting(row.id, 10)
            .await
            .unwrap()
            .is_empty()
    );
}
