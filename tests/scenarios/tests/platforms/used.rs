//! What models used is counted, however a turn, a summary or a sub-agent ends.

use homing_domain::ids::LineageId;
use homing_ports::agent::{AgentError, ToolCall, TurnAbout};
use homing_ports::store::Queries;

use super::stage::{Asked, HERE, LATE, SUMMARY, Stage};

async fn begun(stage: &mut Stage) -> (Asked, LineageId) {
    stage.write(HERE, "look").await;
    let asked = stage.asked().await;
    let row = stage.conversation(HERE).await;
    (asked, row.current.unwrap().lineage)
}

async fn tokens_of(stage: &Stage, lineage: LineageId) -> u64 {
    let used = stage.store.usage(lineage).await.unwrap();
    // Each request reads something here, so both are counted together.
    assert_eq!(used.requests, used.completion_tokens);
    used.prompt_tokens
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_recorded_counts_what_was_used_until_then_and_the_end_counts_the_rest() {
    let mut stage = Stage::set().await;
    let (asked, lineage) = begun(&mut stage).await;
    asked.uses(1);
    assert_eq!(tokens_of(&stage, lineage).await, 0);
    asked.record("I look.").await;
    // A crash from here on loses nothing of it.
    assert_eq!(tokens_of(&stage, lineage).await, 1);
    asked.uses(10);
    asked.say("done");
    stage.sent("done").await;
    stage.quiet().await;
    assert_eq!(tokens_of(&stage, lineage).await, 11);
    stage.write(HERE, "/status").await;
    stage.sent("11 tokens read").await;
}

// It is part of the steps that there are anyway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counting_costs_no_commit_of_its_own() {
    let mut stage = Stage::set().await;
    let mut commits = Vec::new();
    for uses in [false, true] {
        for fails in [false, true] {
            let before = stage.store.work().commits;
            let text = format!("uses {uses}, fails {fails}");
            stage.write(HERE, &text).await;
            let asked = stage.asked().await;
            if uses {
                asked.uses(1);
            }
            asked.record("I look.").await;
            if uses {
                asked.uses(10);
            }
            match fails {
                true => asked.fail(&text),
                false => asked.say(&text),
            }
            stage.sent(&text).await;
            stage.quiet().await;
            commits.push(stage.store.work().commits - before);
        }
    }
    assert_eq!(commits[..2], commits[2..]);
    let (_asked, lineage) = begun(&mut stage).await;
    assert_eq!(tokens_of(&stage, lineage).await, 22);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_fails_counts_once_however_often_the_store_has_to_be_asked() {
    let mut stage = Stage::set().await;
    let (asked, lineage) = begun(&mut stage).await;
    asked.uses(5);
    stage.store.fail_enqueueing(2);
    asked.fail("the server is gone");
    stage
        .pass_until("the failure", |events| {
            let sent = super::stage::sends(events);
            sent.iter()
                .any(|sent| sent.text.contains("did not work"))
                .then_some(())
        })
        .await;
    stage.quiet().await;
    assert_eq!(stage.store.failures_left(), 0);
    assert_eq!(tokens_of(&stage, lineage).await, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_stopped_or_left_behind_counts_also_what_came_afterwards() {
    let mut stage = Stage::set().await;
    let (asked, lineage) = begun(&mut stage).await;
    asked.uses(5);
    stage.write(HERE, "/stop").await;
    stage.sent("Stopped.").await;
    stage.quiet().await;
    assert_eq!(tokens_of(&stage, lineage).await, 5 + LATE);

    let (asked, lineage) = begun(&mut stage).await;
    asked.uses(7);
    stage.write(HERE, "/new").await;
    stage.sent("fresh session").await;
    stage.quiet().await;
    assert_eq!(tokens_of(&stage, lineage).await, 5 + LATE + 7 + LATE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn summaries_count_made_or_not_and_are_the_chosen_models() {
    let mut stage = Stage::set().await;
    let (asked, lineage) = begun(&mut stage).await;
    asked.say("hi");
    stage.sent("hi").await;
    stage.write(HERE, "/model small").await;
    stage.sent("`small` answers").await;
    stage.write(HERE, "/compress").await;
    stage.sent("Compressed").await;
    stage.quiet().await;
    let row = stage.conversation(HERE).await;
    let session = stage.store.session(row.current.unwrap().session).await;
    let summary = session.unwrap().unwrap().summary;
    assert_eq!(summary.as_deref(), Some("all of it, by small"));
    assert_eq!(tokens_of(&stage, lineage).await, SUMMARY);

    stage.write(HERE, "no summary of this").await;
    stage.asked().await.say("as you wish");
    stage.sent("as you wish").await;
    stage.write(HERE, "/compress").await;
    stage.sent("Not compressed").await;
    stage.quiet().await;
    assert_eq!(tokens_of(&stage, lineage).await, 2 * SUMMARY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_its_session_did_not_wait_for_counts_for_that_session() {
    let mut stage = Stage::set().await;
    let (asked, lineage) = begun(&mut stage).await;
    asked.say("hi");
    stage.sent("hi").await;
    let held = stage.hold_summaries().await;
    stage.write(HERE, "/compress").await;
    stage.write(HERE, "/status").await;
    stage.sent("Compressing.").await;
    stage.write(HERE, "/new").await;
    stage.sent("fresh session").await;
    drop(held);
    stage.quiet().await;
    assert_eq!(tokens_of(&stage, lineage).await, SUMMARY);
    let now = stage.conversation(HERE).await.current.unwrap().lineage;
    assert_eq!(tokens_of(&stage, now).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_begins_again_with_a_shorter_history_counts_both_times() {
    let mut stage = Stage::set().await;
    let (asked, lineage) = begun(&mut stage).await;
    asked.uses(5);
    asked.fail_with(AgentError::TooLong);
    let again = stage.asked().await;
    again.uses(70);
    again.say("hi");
    stage.sent("hi").await;
    stage.quiet().await;
    assert_eq!(tokens_of(&stage, lineage).await, 5 + SUMMARY + 70);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sub_agents_count_for_the_session_that_started_them_done_failed_or_ended_with_it() {
    let mut stage = Stage::set().await;
    let (asked, lineage) = begun(&mut stage).await;
    let tasks = ["one", "two", "three"].map(str::to_owned).to_vec();
    let delegate = ToolCall::Delegate {
        tasks,
        wait: false,
        window: None,
    };
    asked.tools.call(delegate).await.unwrap();
    for _ in 0..3 {
        let sub_agent = stage.asked().await;
        let TurnAbout::Delegated { task, .. } = &sub_agent.request.about else {
            panic!("{:?}", sub_agent.request.about);
        };
        match task.as_str() {
            "one" => {
                sub_agent.uses(1);
                sub_agent.record("I look.").await;
                sub_agent.uses(10);
                sub_agent.say("found");
            }
            "two" => {
                sub_agent.uses(100);
                sub_agent.request.stream.push("I had found");
                sub_agent.fail("the server is gone");
            }
            _ => {
                sub_agent.uses(1_000);
                // It is at work until its session is over.
                std::mem::forget(sub_agent);
            }
        }
    }
    stage
        .stored("two ends", async |store| {
            let row = store.lineage(lineage).await.unwrap().unwrap();
            let rows = store.delegations(row.conversation, 10).await.unwrap();
            let failed = rows.iter().find(|row| row.task == "two")?.result.clone()?;
            assert_eq!(failed, "I had found\n\nthe server is gone");
            rows.iter().find(|row| row.task == "one")?.result.clone()
        })
        .await;
    asked.say("they are at it");
    stage.sent("at it").await;
    stage.write(HERE, "/new").await;
    stage.sent("fresh session").await;
    stage.quiet().await;
    assert_eq!(tokens_of(&stage, lineage).await, 1_111 + LATE);
}
