//! A place that the platform moves (OWN-72).

use homing_domain::origin::Origin;
use homing_ports::platform::{SendError, Stage as Shown};

use super::stage::{HERE, Stage, key, previews, sends, typed};

const NEW: &str = "agent:main:stand:group:200:7";

fn moved(stage: &Stage) {
    let gone = SendError::Moved("200".into());
    stage
        .stand
        .gone_chats
        .lock()
        .unwrap()
        .insert("100".into(), gone);
}

// OWN-72
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_platform_says_has_moved_goes_to_the_new_place_in_order() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    moved(&stage);
    asked.say("first");
    // On its way, so that what commands answer stands behind it: they are carried out at once.
    stage.sent("first").await;
    stage.write(HERE, "/help").await;
    stage.write(HERE, "/whoami").await;
    stage.sent("agent:main:stand").await;
    stage.quiet().await;
    let arrived: Vec<String> = sends(&stage.events())
        .into_iter()
        .filter(|sent| sent.origin.chat == "200")
        .map(|sent| sent.text.lines().next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(arrived.len(), 3, "{arrived:?}");
    assert_eq!(arrived[0], "first");
    let row = stage.conversation(NEW).await;
    assert_eq!(row.origin.chat, "200");
}

// OWN-72: a turn that runs during the move answers at the new place, and what it showed is left behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_turn_answers_where_its_chat_is_then() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    asked.request.stream.push("One");
    stage.preview(0).await;
    let account = Origin::from_key(&key(HERE)).account_name();
    let inbox = stage.gateway.inbox();
    assert_eq!(inbox.moved(&account, "100", "200").await.unwrap(), 1);
    asked.request.stream.push(" two");
    let shown = stage.preview(1).await;
    assert_eq!(
        (shown.origin.chat.as_str(), shown.shown.as_deref()),
        ("200", None)
    );
    stage
        .pass_until("typing there", |events| {
            typed(events)
                .iter()
                .any(|(chat, _)| chat == "200")
                .then_some(())
        })
        .await;
    asked.say("One two three");
    let answer = stage.sent("One two three").await;
    assert_eq!(answer.origin.chat, "200");
    assert_eq!(answer.extras.replaces.as_deref(), Some("m2"));
    // A message from before the move finds the conversation, too.
    stage.write(HERE, "late").await;
    let late = stage.asked().await;
    assert_eq!(late.request.key, key(NEW));
    late.say("Still here");
    assert_eq!(stage.sent("Still here").await.origin.chat, "200");
    assert!(
        previews(&stage.events())
            .iter()
            .all(|one| one.stage == Shown::Going)
    );
}

// A platform that sends in circles is not asked without a pause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_that_moves_for_ever_waits_in_between() {
    let mut stage = Stage::set().await;
    for (from, to) in [("100", "200"), ("200", "100")] {
        let gone = SendError::Moved(to.into());
        stage
            .stand
            .gone_chats
            .lock()
            .unwrap()
            .insert(from.into(), gone);
    }
    stage.write(HERE, "/help").await;
    stage
        .until("some tries", |events| {
            (sends(events).len() >= 4).then_some(())
        })
        .await;
    // It gets quiet, for the clock stands: the rest waits for its time.
    stage.quiet().await;
    stage.stand.gone_chats.lock().unwrap().clear();
    stage
        .pass_until("its arrival", |events| {
            (sends(events).len() >= 5).then_some(())
        })
        .await;
}
