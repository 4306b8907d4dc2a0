//! Dead letters, and what the operator hears of them.

use homing_domain::origin::Origin;
use homing_ports::platform::{Landed, OutgoingKind, Receipt, SendError};

use super::stage::{HERE, HOME, Stage, key, sends};

async fn says(stage: &mut Stage, text: &str) {
    stage.write(HERE, &format!("say {text}")).await;
    stage.asked().await.say(text);
    stage.sent(text).await;
    stage.quiet().await;
}

fn closed(stage: &Stage, chat: &str) {
    let gone = SendError::Closed("the topic is closed".into());
    stage
        .stand
        .gone_chats
        .lock()
        .unwrap()
        .insert(chat.into(), gone);
}

fn opened(stage: &Stage) {
    stage.stand.gone_chats.lock().unwrap().clear();
}

async fn notices(stage: &Stage) -> Vec<String> {
    stage.quiet().await;
    let at_home = |sent: &homing_ports::platform::Outgoing| {
        sent.origin.chat == "1" && sent.kind == OutgoingKind::Notice
    };
    let notices = sends(&stage.events()).into_iter().filter(at_home);
    notices.map(|sent| sent.text).collect()
}

// OWN-66, 73: one word to the operator, not one for each message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_hears_once_of_a_place_that_takes_nothing() {
    let mut stage = Stage::set().await;
    closed(&stage, "100");
    says(&mut stage, "one").await;
    says(&mut stage, "two").await;
    let told = notices(&stage).await;
    assert_eq!(told.len(), 1, "{told:?}");
    let letters = stage.letters(HERE).await;
    assert!(
        told[0].contains(&letters[0].id.to_string()) && told[0].contains(HERE),
        "{told:?}"
    );
    // Something arrived: the next one is news again.
    opened(&stage);
    says(&mut stage, "three").await;
    closed(&stage, "100");
    says(&mut stage, "four").await;
    assert_eq!(notices(&stage).await.len(), 2);
}

// OWN-71
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_hears_of_every_misplaced_message() {
    let mut stage = Stage::set().await;
    for text in ["one", "two"] {
        stage.stand.sends.lock().unwrap().push_back(Ok(Receipt {
            message: Some("m".into()),
            landed: Some(Landed {
                chat: "elsewhere".into(),
                thread: None,
            }),
        }));
        says(&mut stage, text).await;
    }
    let told = notices(&stage).await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("landed in chat elsewhere"), "{told:?}");
}

// A letter to the operator that cannot be delivered must not make another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_at_home_is_not_told_at_home() {
    let mut stage = Stage::set().await;
    closed(&stage, "1");
    closed(&stage, "100");
    says(&mut stage, "one").await;
    stage.quiet().await;
    assert_eq!(notices(&stage).await.len(), 1);
    assert_eq!(stage.letters(HOME).await.len(), 1);
}

// OWN-73: told again in their order, but not what a person has ended meanwhile (OWN-64).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waited_for_a_closed_place_is_told_when_it_opens() {
    let mut stage = Stage::set().await;
    closed(&stage, "100");
    says(&mut stage, "of the old session").await;
    stage.write(HERE, "/new").await;
    stage.quiet().await;
    for text in ["first", "second"] {
        says(&mut stage, text).await;
    }
    let before = sends(&stage.events()).len();
    opened(&stage);
    let place = Origin::from_key(&key(HERE));
    stage.gateway.inbox().reopened(&place).await.unwrap();
    stage
        .until("the second again", |events| {
            sends(events)
                .iter()
                .skip(before)
                .any(|sent| sent.text == "second")
                .then_some(())
        })
        .await;
    stage.quiet().await;
    let again: Vec<String> = sends(&stage.events())
        .into_iter()
        .skip(before)
        .filter(|sent| sent.kind == OutgoingKind::Answer)
        .map(|sent| sent.text)
        .collect();
    assert_eq!(again, ["first", "second"]);
    // Opening it once more tells nothing twice.
    stage.gateway.inbox().reopened(&place).await.unwrap();
    stage.write(HERE, "/status").await;
    stage.sent("1 could not be delivered").await;
    let answers = sends(&stage.events())
        .into_iter()
        .filter(|sent| sent.text == "first");
    assert_eq!(answers.count(), 2);
}

// OWN-73
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_lists_dead_letters_and_has_one_told_again() {
    let mut stage = Stage::set().await;
    closed(&stage, "100");
    says(&mut stage, "the result\nof the day").await;
    stage.write(HERE, "/new").await;
    stage.quiet().await;
    let letter = stage.letters(HERE).await.remove(0);
    opened(&stage);
    stage.write(HERE, "/deadletters").await;
    let list = stage.sent("Could not be delivered").await;
    assert!(
        list.text.contains(&format!("• {} – ", letter.id))
            && list
                .text
                .contains("– closed: the topic is closed – “the result”"),
        "{}",
        list.text
    );
    let ending = letter.id.to_string();
    let ending = &ending[ending.len() - 6..];
    // Not taken at once, and a crash in between: it was asked for by name, so nothing cancels it though its session was ended.
    let away = Err(SendError::Away("for a moment".into()));
    stage.stand.sends.lock().unwrap().push_back(away);
    stage.write(HERE, &format!("/deadletters {ending}")).await;
    let tries = |events: &[super::stage::Event]| {
        let tries = sends(events).into_iter();
        tries.filter(|sent| sent.text == letter.text).count()
    };
    stage
        .until("the first try", |events| (tries(events) == 2).then_some(()))
        .await;
    stage.quiet().await;
    stage.crash().await;
    stage
        .pass_until("what was said after it", |events| {
            sends(events)
                .into_iter()
                .find(|sent| sent.text.contains("once more"))
        })
        .await;
    // And only once.
    assert_eq!(tries(&stage.events()), 3);
    stage.write(HERE, &format!("/deadletters {ending}")).await;
    stage.sent("There is no undelivered message").await;
}

// OWN-73: the operator, from home, by the whole id; told where it belongs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_operator_has_another_conversations_letter_told_again() {
    let mut stage = Stage::set().await;
    const OTHER: &str = "agent:main:stand:dm:5";
    closed(&stage, "100");
    says(&mut stage, "the result").await;
    let letter = stage.letters(HERE).await.remove(0);
    opened(&stage);
    stage
        .write(OTHER, &format!("/deadletters {}", letter.id))
        .await;
    let refused = stage.sent("There is no undelivered message").await;
    assert_eq!(refused.origin.chat, "5");
    stage
        .write(HOME, &format!("/deadletters {}", letter.id))
        .await;
    stage.sent("where it belongs").await;
    let told = stage
        .until("it, once more", |events| {
            sends(events)
                .into_iter()
                .filter(|sent| sent.text == "the result")
                .nth(1)
        })
        .await;
    assert_eq!(told.origin.chat, "100");
    stage.quiet().await;
    assert!(stage.letters(HERE).await.is_empty());
}

// A notice of Homing's own that the store does not take at once is not lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_word_to_the_operator_survives_a_store_that_does_not_answer() {
    let stage = Stage::set().await;
    stage.store.fail_enqueueing(2);
    stage
        .gateway
        .inbox()
        .tell_operator("Look at the disk")
        .await;
    let told = stage
        .pass_until("the notice", |events| {
            sends(events)
                .into_iter()
                .find(|sent| sent.kind == OutgoingKind::Notice)
        })
        .await;
    assert_eq!(told.text, "Look at the disk");
    assert_eq!(stage.store.failures_left(), 0);
}
