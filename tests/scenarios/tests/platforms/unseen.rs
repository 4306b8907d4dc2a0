//! Questions that nobody can have read.

use homing_ports::agent::{ToolError, ToolText};
use homing_ports::platform::{Receipt, SendError};
use homing_ports::store::{ApprovalState, Queries};

use super::stage::{Asked, HERE, Stage};

/// What must not run. A file tells whether it did.
async fn asks(stage: &mut Stage) -> tokio::task::JoinHandle<(Asked, Result<ToolText, ToolError>)> {
    stage.write(HERE, "do it").await;
    let asked = stage.asked().await;
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
