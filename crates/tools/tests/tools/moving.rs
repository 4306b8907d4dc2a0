//! A foreground command that is over its limit goes on in the background, whatever the store says meanwhile: nobody's process is left behind (OWN-60).

use std::future::pending;
use std::time::Duration;

use crate::doubles::{Moving, Stage};
use homing_domain::process::ProcessState;
use homing_ports::agent::{ToolAnswer, ToolCall, ToolError, Toolbox};
use homing_ports::store::ProcessKind;

fn long() -> ToolCall {
    ToolCall::Run {
        command: "make".into(),
        limit: Some(Duration::from_secs(1)),
    }
}

// OWN-40, 60
#[tokio::test]
async fn a_move_that_the_store_does_not_answer_is_made_all_the_same() {
    for moves in [
        vec![],
        vec![Moving::Refused],
        vec![Moving::AnswerLost],
        vec![Moving::Refused; 20],
        vec![Moving::Refused, Moving::AnswerLost, Moving::Refused],
    ] {
        let stage = Stage::new();
        stage.notebook.moves.lock().unwrap().extend(&moves);
        let answer = stage.tools().call(long()).await;
        let Ok(ToolAnswer::Moved { process }) = answer else {
            panic!("{moves:?}: {answer:?}");
        };
        let row = stage.notebook.row(process).unwrap();
        assert!(row.kind == ProcessKind::Task && row.notify, "{moves:?}");
        assert_eq!(
            *stage.watching.moved.lock().unwrap(),
            [process],
            "{moves:?}"
        );
        assert!(stage.watching.killed.lock().unwrap().is_empty());
    }
}

// OWN-60
#[tokio::test]
async fn a_turn_that_is_stopped_meanwhile_ends_its_command() {
    let stage = Stage::new();
    let without_end = std::iter::repeat_n(Moving::Refused, 1_000_000);
    stage.notebook.moves.lock().unwrap().extend(without_end);
    let tools = stage.tools();
    let stops = async {
        stage.watching.began.notified().await;
        while stage.notebook.moves.lock().unwrap().len() > 999_990 {
            tokio::task::yield_now().await;
        }
        stage.cancel.cancel();
        pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = tools.call(long()) => answer,
        () = stops => unreachable!("it waits for the answer"),
    };
    assert!(matches!(answer, Err(ToolError::Cancelled)), "{answer:?}");
    assert_eq!(stage.watching.killed.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_command_that_ends_meanwhile_is_answered() {
    let stage = Stage::new();
    let without_end = std::iter::repeat_n(Moving::Refused, 1_000_000);
    stage.notebook.moves.lock().unwrap().extend(without_end);
    let tools = stage.tools();
    let ends = async {
        stage.watching.began.notified().await;
        while stage.notebook.moves.lock().unwrap().len() > 999_990 {
            tokio::task::yield_now().await;
        }
        for row in stage.notebook.rows.lock().unwrap().iter_mut() {
            row.state = ProcessState::Exited;
        }
        stage.watching.ends.notify_one();
        pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = tools.call(long()) => answer,
        () = ends => unreachable!("it waits for the answer"),
    };
    assert!(matches!(answer, Ok(ToolAnswer::Ran { .. })), "{answer:?}");
    assert!(stage.watching.moved.lock().unwrap().is_empty());
    assert!(stage.watching.killed.lock().unwrap().is_empty());
}
