//! A store that does not answer once, whatever is asked: a story comes to the same, each thing said once and in its order.

use std::time::Duration;

use homing_domain::origin::Origin;
use homing_ports::agent::{StartCall, ToolCall, TurnAbout};
use homing_ports::platform::{Live, SendError};
use homing_ports::store::Queries;

use super::stage::{Asked, HERE, Stage, key, sends};

/// Where the failure is tried, at most: a story has fewer operations.
const MOST: u64 = 300;

/// A summary whose history could not be read has failed, and says so: the person asks again.
const COULD_NOT_READ: &str = "Not compressed: the summary failed";

/// Where texts name something that is new each time.
fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() == 17 && word.as_bytes()[3] == b'_';
    let of_an_id = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut masked = String::new();
    for piece in text.split_inclusive(|letter| !of_an_id(letter)) {
        let word = piece.trim_end_matches(|letter| !of_an_id(letter));
        match is_id(word) {
            true => {
                masked.push_str(&word[..3]);
                masked.push_str(&piece[word.len()..]);
            }
            false => masked.push_str(piece),
        }
    }
    masked
}

fn said(stage: &Stage) -> Vec<String> {
    let sent = sends(&stage.events()).into_iter();
    sent.filter(|sent| !sent.text.contains(COULD_NOT_READ))
        .map(|sent| format!("{}: {}", sent.origin.chat, without_ids(&sent.text)))
        .collect()
}

/// Time passes and the agent answers until so many messages with this text have been sent.
async fn until(stage: &mut Stage, text: &str, times: usize) {
    let passed = async {
        while said(stage)
            .iter()
            .filter(|sent| sent.contains(text))
            .count()
            < times
        {
            pass(stage).await;
        }
    };
    let passed = tokio::time::timeout(Duration::from_secs(30), passed).await;
    assert!(passed.is_ok(), "{text:?} never came: {:#?}", said(stage));
}

async fn pass(stage: &mut Stage) {
    let failed = |stage: &Stage| {
        let sent = sends(&stage.events()).into_iter();
        sent.filter(|sent| sent.text.contains(COULD_NOT_READ))
            .count()
    };
    if failed(stage) > stage.asked_again {
        stage.asked_again += 1;
        write(stage, "/compress").await;
    }
    if let Some(asked) = stage.try_asked() {
        answer(asked).await;
    }
    stage.advance(Duration::from_millis(100));
    tokio::time::sleep(Duration::from_millis(2)).await;
}

async fn answer(asked: Asked) {
    let TurnAbout::Person { text, .. } = &asked.request.about else {
        return asked.say("the build is over");
    };
    let text = text.clone();
    if text != "build" {
        return asked.say(&format!("answer to {text}"));
    }
    let call = ToolCall::Start(StartCall {
        command: "echo built".into(),
        notify: true,
        ..StartCall::default()
    });
    match asked.tools.call(call).await {
        Ok(_) => asked.say("it builds"),
        // A model is told, and tries once more.
        Err(_) => {
            let call = ToolCall::Start(StartCall {
                command: "echo built".into(),
                notify: true,
                ..StartCall::default()
            });
            asked.tools.call(call).await.unwrap();
            asked.say("it builds");
        }
    }
}

/// As a platform does: it brings it again if it is not taken.
async fn write(stage: &mut Stage, text: &str) {
    let inbound = stage.inbound(HERE, text);
    let inbox = stage.gateway.inbox();
    if inbox.accept(inbound.clone()).await.is_err() {
        let _new = inbox.accept(inbound).await.unwrap();
    }
}

async fn commands(stage: &mut Stage) {
    for (text, answer) in [
        ("one", "answer to one"),
        ("/compress", "Compressed"),
        ("two", "answer to two"),
        ("/undo", "two"),
        ("/title Work", "Work"),
        ("/new", "A fresh session"),
        ("three", "answer to three"),
        ("/whoami", "u1"),
    ] {
        let before = said(stage)
            .iter()
            .filter(|sent| sent.contains(answer))
            .count();
        write(stage, text).await;
        until(stage, answer, before + 1).await;
    }
}

async fn results(stage: &mut Stage) {
    write(stage, "build").await;
    until(stage, "it builds", 1).await;
    until(stage, "the build is over", 1).await;
    write(stage, "/branch").await;
    until(stage, "On a branch", 1).await;
    write(stage, "build").await;
    until(stage, "it builds", 2).await;
    until(stage, "the build is over", 2).await;
}

async fn letters(stage: &mut Stage) {
    let gone = SendError::Closed("the topic is closed".into());
    let chats = |stage: &Stage| stage.stand.gone_chats.lock().unwrap().len();
    stage
        .stand
        .gone_chats
        .lock()
        .unwrap()
        .insert("100".into(), gone);
    assert_eq!(chats(stage), 1);
    for (times, text) in ["one", "two"].into_iter().enumerate() {
        write(stage, text).await;
        until(stage, &format!("answer to {text}"), 1).await;
        until(stage, "could not be delivered", 1.min(times + 1)).await;
    }
    stage.stand.gone_chats.lock().unwrap().clear();
    let place = Origin::from_key(&key(HERE));
    let inbox = stage.gateway.inbox();
    if inbox.reopened(&place).await.is_err() {
        inbox.reopened(&place).await.unwrap();
    }
    until(stage, "answer to two", 2).await;
    write(stage, "three").await;
    until(stage, "answer to three", 1).await;
}

/// What a story comes to.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    said: Vec<String>,
    sessions: usize,
    /// What the agent has of the last one.
    remembered: usize,
}

/// If the operation with this number fails. `None`: the story has no such operation.
async fn told(story: Story, number: u64) -> Option<Outcome> {
    let mut stage = Stage::with(Live {
        typing_every: None,
        preview_every: None,
    })
    .await;
    stage.store.fail_one(number);
    match story {
        Story::Commands => commands(&mut stage).await,
        Story::Results => results(&mut stage).await,
        Story::Letters => letters(&mut stage).await,
    }
    while !stage.gateway.activity().idle() {
        pass(&mut stage).await;
    }
    if number > 0 && stage.store.is_to_fail() {
        return None;
    }
    stage.store.fail_one(0);
    let row = stage.conversation(HERE).await;
    Some(Outcome {
        said: said(&stage),
        sessions: stage.store.sessions(row.id, 100).await.unwrap().len(),
        remembered: stage.known(HERE).await.len(),
    })
}

#[derive(Debug, Clone, Copy)]
enum Story {
    Commands,
    Results,
    Letters,
}

async fn comes_to_the_same(story: Story) {
    let wanted = told(story, 0).await.unwrap();
    for number in 1..MOST {
        let Some(outcome) = told(story, number).await else {
            assert!(number > 10, "only {number} operations in {story:?}");
            return;
        };
        assert_eq!(outcome, wanted, "operation {number} of {story:?} failed");
    }
    panic!("{story:?} has no end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_are_carried_out_once_whatever_fails_once() {
    comes_to_the_same(Story::Commands).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_are_told_once_whatever_fails_once() {
    comes_to_the_same(Story::Results).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_are_told_again_once_whatever_fails_once() {
    comes_to_the_same(Story::Letters).await;
}
