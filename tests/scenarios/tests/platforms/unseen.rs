//! Questions that nobody can have read, and those of which there must be one only.

use std::time::Duration;

use homing_ports::agent::{ToolError, ToolText};
use homing_ports::platform::{Outgoing, Receipt, SendError};
use homing_ports::store::{ApprovalState, Queries};

use super::stage::{Asked, HERE, Stage, sends};

type Asking = tokio::task::JoinHandle<(Asked, Result<ToolText, ToolError>)>;

/// What must not run. A file tells whether it did.
async fn asks(stage: &mut Stage) -> Asking {
    stage.write(HERE, "do it").await;
    let asked = stage.asked().await;
    asks_in(stage, asked)
}

fn asks_in(stage: &Stage, asked: Asked) -> Asking {
    let command = format!("eval \"$(echo touch {}/ran)\"", stage.files().display());
    let arguments = serde_json::json!({"command": command}).to_string();
    std::fs::create_dir_all(stage.files()).unwrap();
    tokio::spawn(async move {
        let answer = asked.tools.call_named("terminal", &arguments).await;
        (asked, answer)
    })
}

fn has_run(stage: &Stage) -> bool {
    stage.files().join("ran").exists()
}

fn next_send(stage: &Stage, outcome: Result<Receipt, SendError>) {
    stage.stand.sends.lock().unwrap().push_back(outcome);
}

// OWN-67, 73: the platform refuses the question for good, and the person says "ok" to somebody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_never_arrives_is_refused_and_no_word_is_an_answer_to_it() {
    let mut stage = Stage::set().await;
    next_send(&stage, Err(SendError::Refused("not here".into())));
    let asking = asks(&mut stage).await;
    stage.sent("May I run this?").await;
    let (asked, answer) = asking.await.unwrap();
    assert!(answer.unwrap().failed);
    stage.write(HERE, "ok").await;
    asked.say("it was not run");
    stage.sent("it was not run").await;
    let next = stage.asked().await;
    assert_eq!(next.text(), "ok");
    next.say("fine");
    stage.sent("fine").await;
    stage.quiet().await;
    assert!(!has_run(&stage));
    let row = stage.conversation(HERE).await;
    assert!(stage.store.open_approvals(row.id).await.unwrap().is_empty());
}

// The outcome of the send is not known: it may have been read, and may not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_still_on_its_way_has_no_answer() {
    let mut stage = Stage::set().await;
    for _ in 0..50 {
        next_send(&stage, Err(SendError::Away("not now".into())));
    }
    let asking = asks(&mut stage).await;
    stage.sent("May I run this?").await;
    stage.write(HERE, "ok").await;
    stage.quiet().await;
    let row = stage.conversation(HERE).await;
    let open = stage.store.open_approvals(row.id).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].state, ApprovalState::Asked);
    assert!(!asking.is_finished() && !has_run(&stage));
    asking.abort();
}

fn asks_for_it(sent: &Outgoing) -> bool {
    sent.text.contains("May I run this?")
}

/// How many were sent, and how many wait for an answer.
async fn questions(stage: &Stage) -> (usize, usize) {
    // What comes after them is another story.
    stage.store.fail_one(0);
    let sent = sends(&stage.events()).into_iter().filter(asks_for_it);
    let row = stage.conversation(HERE).await;
    let open = stage.store.open_approvals(row.id).await.unwrap();
    (sent.count(), open.len())
}

/// Time passes until a step that has failed was tried again.
async fn tried_again(stage: &Stage) {
    for _ in 0..40 {
        stage.advance(Duration::from_millis(500));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    stage.quiet().await;
}

/// Operations of the store from the call to the message that asks, at most.
const UNTIL_ASKED: u64 = 12;

// Whatever the store does not answer: a step that is tried again meets the question that it has put.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_does_not_answer_once_leaves_one_question() {
    for number in 1..=UNTIL_ASKED {
        let mut stage = Stage::set().await;
        stage.write(HERE, "do it").await;
        let asked = stage.asked().await;
        stage.store.fail_one(number);
        let asking = asks_in(&stage, asked);
        stage
            .pass_until("a question, or why there is none", |events| {
                let is_put = sends(events).iter().any(asks_for_it);
                (is_put || asking.is_finished()).then_some(())
            })
            .await;
        if asking.is_finished() {
            // The tool was not answered itself.
            let (asked, answer) = asking.await.unwrap();
            assert!(answer.map_or(true, |answer| answer.failed), "{number}");
            asked.say("it was not asked");
            tried_again(&stage).await;
            assert_eq!(questions(&stage).await, (0, 0), "{number}");
            continue;
        }
        tried_again(&stage).await;
        assert_eq!(questions(&stage).await, (1, 1), "{number}");
        stage.write(HERE, "yes").await;
        let (asked, answer) = asking.await.unwrap();
        assert!(!answer.unwrap().failed && has_run(&stage), "{number}");
        asked.say("it was run");
        tried_again(&stage).await;
    }
}
