//! What can be answered with a click instead of being typed.

use super::stage::{HERE, Stage, sends};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parked_session_is_gone_back_to_with_a_click() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "say one").await;
    stage.asked().await.say("one");
    stage.sent("one").await;
    stage.write(HERE, "/branch other").await;
    stage.write(HERE, "/sessions").await;
    let offered = stage
        .until("a choice", |events| {
            let choice = |sent: &homing_ports::platform::Outgoing| !sent.extras.buttons.is_empty();
            sends(events).into_iter().find(choice)
        })
        .await;
    // The one that is current is no choice.
    assert_eq!(offered.extras.buttons.len(), 1, "{offered:?}");
    let says = offered.extras.buttons[0][0].says.clone();
    assert!(says.starts_with("/resume ses_"), "{says}");
    stage.write(HERE, &says).await;
    stage
        .until("back", |events| {
            let back = |sent: &homing_ports::platform::Outgoing| sent.text.starts_with("Back in ");
            sends(events).into_iter().find(back)
        })
        .await;
}
