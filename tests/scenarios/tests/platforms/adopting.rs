//! `/adopt` of what the session itself waits for.

use homing_ports::agent::{ToolAnswer, ToolCall, ToolError};
use homing_ports::store::{ProcessRow, Queries};
use tokio::task::JoinHandle;

use super::stage::{Asked, HERE, Stage};

/// A command that runs until it is stopped, and who waits for it. The turn goes on when the command is over.
async fn waits(
    stage: &Stage,
    asked: Asked,
) -> (JoinHandle<Result<ToolAnswer, ToolError>>, ProcessRow) {
    let run = ToolCall::Run {
        command: "sleep 30".into(),
        limit: None,
    };
    let waiting = tokio::spawn(async move {
        let answer = asked.tools.call(run).await;
        drop(asked);
        answer
    });
    let here = stage.conversation(HERE).await.id;
    let process = stage
        .stored("the command", |store| async move {
            store
                .processes(here, 1)
                .await
                .unwrap()
                .pop()
                .filter(|row| row.state.is_live())
        })
        .await;
    (waiting, process)
}

/// Which changes nothing.
async fn adopts(stage: &mut Stage, process: &ProcessRow, answer: &str) {
    stage.write(HERE, &format!("/adopt {}", process.id)).await;
    stage.sent(answer).await;
    let row = stage.store.process(process.id).await.unwrap().unwrap();
    assert_eq!((row.kind, row.notify), (process.kind, process.notify));
}

// OWN-42
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_turn_waits_for_is_its_own_already() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "run it").await;
    let asked = stage.asked().await;
    let (waiting, process) = waits(&stage, asked).await;
    adopts(&mut stage, &process, "/background lets it go on without me").await;
    stage.write(HERE, "/stop").await;
    let _cancelled = waiting.await.unwrap();
}

// OWN-42
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_sub_agent_waits_for_is_part_of_its_result() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "let it be run").await;
    let asked = stage.asked().await;
    let delegate = ToolCall::Delegate {
        tasks: vec!["run it".into()],
        wait: false,
        window: None,
    };
    asked.tools.call(delegate).await.unwrap();
    let sub_agent = stage.asked().await;
    let (waiting, process) = waits(&stage, sub_agent).await;
    adopts(
        &mut stage,
        &process,
        "A sub-agent of this session waits for",
    )
    .await;
    stage.write(HERE, "/new").await;
    let _cancelled = waiting.await.unwrap();
}
