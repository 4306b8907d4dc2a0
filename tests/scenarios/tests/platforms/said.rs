//! What a turn had said when it ended without an answer.

use homing_gateway::Busy;
use homing_ports::platform::Live;
use homing_ports::store::Role;

use super::stage::{Asked, HERE, Stage};

const FIRST: &str = "I look.";

/// It says something and calls a tool, and is in the middle of its answer.
async fn in_the_middle(stage: &mut Stage, text: &str) -> Asked {
    stage.write(HERE, text).await;
    let asked = stage.asked().await;
    let stream = &asked.request.stream;
    stream.push(FIRST);
    asked.record(FIRST).await;
    stream.keep(format!("{FIRST}\n\n"));
    stream.push("Two fi");
    asked
}

/// All but the person's messages.
async fn said(stage: &Stage) -> Vec<String> {
    let known = stage.known(HERE).await.into_iter();
    known
        .filter(|row| row.role != Role::Person)
        .map(|row| row.text)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_before_a_failure_is_told_and_known_once_with_and_without_previews() {
    for live in [Live::default(), Stage::set().await.stand.live] {
        let mut stage = Stage::with(live).await;
        in_the_middle(&mut stage, "look")
            .await
            .fail("the server is gone.");
        let sent = stage.sent("did not work").await;
        assert_eq!(
            sent.text,
            "I look.\n\nTwo fi\n\nThat did not work: the server is gone."
        );
        stage.quiet().await;
        assert_eq!(
            said(&stage).await,
            [FIRST, "Two fi\n\nThat did not work: the server is gone."]
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_had_said_nothing_fails_with_the_sentence_alone() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "look").await;
    stage.asked().await.fail("the server is gone.");
    let sent = stage.sent("did not work").await;
    assert_eq!(sent.text, "That did not work: the server is gone.");
    stage.quiet().await;
    assert_eq!(said(&stage).await, [sent.text]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_before_a_stop_is_known_as_stopped_there() {
    let mut stage = Stage::set().await;
    let asked = in_the_middle(&mut stage, "look").await;
    stage.preview(0).await;
    // What is known of the preview is stored when the next one is.
    asked.request.stream.push("les");
    stage.preview(1).await;
    stage.write(HERE, "/stop").await;
    stage.sent("Stopped.").await;
    stage.quiet().await;
    assert_eq!(said(&stage).await, [FIRST, "Two files\n\n(Stopped here.)"]);

    // Where nobody can have read it, the agent knows that, too.
    let mut stage = Stage::with(Live::default()).await;
    let _asked = in_the_middle(&mut stage, "look").await;
    stage.write(HERE, "/stop").await;
    stage.sent("Stopped.").await;
    stage.quiet().await;
    assert_eq!(
        said(&stage).await,
        [FIRST, "Two fi\n\n(Stopped here, before this was sent.)"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_recorded_already_is_not_entered_again() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "look").await;
    let asked = stage.asked().await;
    asked.request.stream.push(FIRST);
    // Recorded, and the turn has not come to say so.
    asked.record(FIRST).await;
    stage.write(HERE, "/stop").await;
    stage.sent("Stopped.").await;
    stage.quiet().await;
    assert_eq!(said(&stage).await, [FIRST]);
    // And with that it is nothing new, either.
    stage.write(HERE, "look again").await;
    let asked = stage.asked().await;
    asked.request.stream.push(FIRST);
    asked.record(FIRST).await;
    asked.request.stream.keep(FIRST.into());
    stage.write(HERE, "/stop").await;
    stage
        .until("the second answer to /stop", |events| {
            let stops = super::stage::sends(events);
            let stops = stops.iter().filter(|sent| sent.text == "Stopped.");
            (stops.count() == 2).then_some(())
        })
        .await;
    stage.quiet().await;
    assert_eq!(said(&stage).await, [FIRST, FIRST]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_before_an_interruption_is_known_as_interrupted_there() {
    let mut stage = Stage::with(Live::default()).await;
    stage.settings.busy = Busy::Interrupt;
    stage.crash().await;
    let _asked = in_the_middle(&mut stage, "look").await;
    stage.advance(std::time::Duration::from_secs(1));
    stage.write(HERE, "never mind").await;
    stage.sent("for your next message").await;
    stage.asked().await.say("fine");
    stage.sent("fine").await;
    stage.quiet().await;
    assert_eq!(
        said(&stage).await,
        [
            FIRST,
            "Two fi\n\n(Interrupted here by the next message, before this was sent.)",
            "fine"
        ]
    );
}

// Both waited when the turn on the first of them began: only what a person writes afterwards ends it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waited_before_the_turn_began_does_not_interrupt_it() {
    let mut stage = Stage::set().await;
    stage.settings.busy = Busy::Interrupt;
    stage.crash().await;
    stage.write(HERE, "first").await;
    let _interrupted_by_the_crash = stage.asked().await;
    stage.write(HERE, "/queue second").await;
    stage.sent("Queued").await;
    stage.advance(std::time::Duration::from_secs(1));
    // That it was queued on purpose is forgotten with the gateway; when it was written is not.
    stage.crash().await;
    let first = stage.asked().await;
    assert_eq!(first.text(), "first");
    // All that waits is looked at once more.
    stage.write(HERE, "/status").await;
    stage.sent("At work").await;
    first.say("one");
    stage.sent("one").await;
    let second = stage.asked().await;
    assert_eq!(second.text(), "second");
    stage.advance(std::time::Duration::from_secs(1));
    stage.write(HERE, "third").await;
    stage.sent("for your next message").await;
    let third = stage.asked().await;
    assert_eq!(third.text(), "third");
    third.say("three");
    stage.sent("three").await;
}
