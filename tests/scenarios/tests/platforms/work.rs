//! What a message costs the store, and that nothing is missed for cheapness.

use futures_util::FutureExt as _;
use homing_ports::agent::{StartCall, ToolAnswer, ToolCall};

use super::stage::{HERE, Stage, sends};
use super::store::Work;

async fn says(stage: &mut Stage, text: &str) {
    stage.write(HERE, text).await;
    stage.asked().await.say(&format!("{text}, too"));
    stage.sent(&format!("{text}, too")).await;
    stage.quiet().await;
}

// One look at the queue; the message, its turn, the answer as it is sent, and that it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_and_its_answer_are_four_commits_and_one_question() {
    let mut stage = Stage::set().await;
    says(&mut stage, "hello").await;
    let before = stage.store.work();
    for text in ["one", "two", "three"] {
        says(&mut stage, text).await;
    }
    let after = stage.store.work();
    let each = Work {
        questions: (after.questions - before.questions) / 3,
        commits: (after.commits - before.commits) / 3,
    };
    assert_eq!(
        each,
        Work {
            questions: 1,
            commits: 4,
        }
    );
}

// A browser that is closed while it sends: the message was stored, and nothing else would make anyone look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_sender_goes_away_meanwhile_is_read() {
    let mut stage = Stage::set().await;
    let inbound = stage.inbound(HERE, "hello");
    let inbox = stage.gateway.inbox();
    let waiting = inbox.accept(inbound).now_or_never();
    assert!(waiting.is_none(), "it was stored before anyone could leave");
    stage.asked().await.say("hi");
    stage.sent("hi").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_while_a_turn_runs_is_found_when_it_is_over() {
    let mut stage = Stage::set().await;
    says(&mut stage, "hello").await;
    stage.write(HERE, "one").await;
    let first = stage.asked().await;
    stage.write(HERE, "two").await;
    let started = first
        .tools
        .call(ToolCall::Start(StartCall {
            command: "echo built".into(),
            notify: true,
            ..StartCall::default()
        }))
        .await
        .unwrap();
    let ToolAnswer::Started { process } = started else {
        panic!("{started:?}");
    };
    // Seen to its end, and not read to it: what is told is told by itself.
    stage
        .stored("the end of the process", |store| async move {
            let row = homing_ports::store::Queries::process(&*store, process)
                .await
                .unwrap();
            row.filter(|row| !row.state.is_live())
        })
        .await;
    first.say("done with one");
    let second = stage.asked().await;
    assert_eq!(second.text(), "two");
    second.say("done with two");
    let told = stage.asked().await;
    assert!(format!("{:?}", told.request.about).contains("built"));
    told.say("it is built");
    stage.sent("it is built").await;
}

// The step that begins it is tried again, and so is what it was for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compression_that_could_not_begin_begins_when_the_store_answers() {
    let mut stage = Stage::set().await;
    says(&mut stage, "hello").await;
    stage.store.fail_beginning(1);
    stage.write(HERE, "/compress").await;
    stage
        .pass_until("the compression", |events| {
            let mut sent = sends(events).into_iter();
            sent.find(|sent| sent.text.starts_with("Compressed"))
        })
        .await;
}
