//! Who has a result when a tool has seen it: the session that owns it, or the sub-agent that started it, and nobody else (OWN-44, 50).

use std::time::Duration;

use crate::doubles::Stage;
use homing_domain::ids::ProcessId;
use homing_domain::process::ProcessState;
use homing_ports::agent::{LogFrom, ToolCall, Toolbox};
use homing_tools::SessionTools;

fn wait(process: ProcessId) -> ToolCall {
    ToolCall::Wait {
        process,
        limit: Duration::from_secs(1),
    }
}

fn log(process: ProcessId) -> ToolCall {
    ToolCall::Log {
        process,
        from: LogFrom::Tail,
        limit: 1_000,
    }
}

/// What is marked as consumed after each way to see an end, and to cause one.
async fn consumed_by(tools: impl Fn(&Stage) -> SessionTools, started_by: Option<u64>) -> [bool; 4] {
    let mut marked = [false; 4];
    for (way, marked) in marked.iter_mut().enumerate() {
        let stage = Stage::new();
        let state = match way {
            3 => ProcessState::Running,
            _ => ProcessState::Exited,
        };
        let process = stage.process(7, started_by, state);
        let call = match way {
            0 => wait(process),
            1 => log(process),
            2 => ToolCall::Log {
                process,
                from: LogFrom::Offset(0),
                limit: 1_000,
            },
            _ => ToolCall::Kill { process },
        };
        tools(&stage).call(call).await.unwrap();
        *marked = stage.notebook.consumed() == [process];
        assert!(*marked || stage.notebook.consumed().is_empty());
        assert_eq!(stage.watching.killed.lock().unwrap().len(), way / 3);
    }
    marked
}

// OWN-44, 50
#[tokio::test]
async fn a_sub_agent_takes_no_result_that_is_another_ones() {
    let sub_agent = |stage: &Stage| stage.tools_of_sub_agent(5);
    assert_eq!(
        consumed_by(sub_agent, None).await,
        [false; 4],
        "the session's"
    );
    assert_eq!(
        consumed_by(sub_agent, Some(6)).await,
        [false; 4],
        "another sub-agent's"
    );
    assert_eq!(consumed_by(sub_agent, Some(5)).await, [true; 4], "its own");
}

// OWN-23, 50
#[tokio::test]
async fn the_session_takes_its_own_and_what_its_sub_agents_started() {
    let session = |stage: &Stage| stage.tools();
    assert_eq!(consumed_by(session, None).await, [true; 4]);
    assert_eq!(consumed_by(session, Some(5)).await, [true; 4]);
}

#[tokio::test]
async fn whether_more_is_told_of_a_killed_process_is_said_as_it_is() {
    let stage = Stage::new();
    let [own, other] = [(7, Some(5)), (8, None)]
        .map(|(number, by)| stage.process(number, by, ProcessState::Running));
    let tools = stage.tools_of_sub_agent(5);
    let killed = async |process: ProcessId| {
        let arguments = format!(r#"{{"action": "kill", "process": "{process}"}}"#);
        tools.call_named("process", &arguments).await.unwrap().text
    };
    let text = killed(own).await;
    assert!(text.ends_with("nothing more is told of it"), "{text}");
    let text = killed(other).await;
    assert!(
        text.ends_with("its end is told to the conversation"),
        "{text}"
    );
}
