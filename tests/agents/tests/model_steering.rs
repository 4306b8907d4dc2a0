//! What people write while the model agent is at work.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use homing_agents_tests::{Message, Scripted, joined, runs};
use homing_ports::agent::ReceivedFile;
use homing_ports::store::Role;
use homing_simulators::model::Answer;

#[tokio::test]
async fn what_comes_while_the_last_answer_is_written_is_taken_up_before_the_turn_ends() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(Answer::text("Two files."));
    scripted.server.then(Answer::text("Zwei Dateien."));
    scripted.stage.tools.steer(None, "in German, please");
    let running = scripted.stage.start(Message {
        text: "look",
        ..Message::default()
    });
    let answer = joined(running.answer).await.unwrap();
    // What was shown stays where it was.
    assert_eq!(answer.text, "Two files.\n\nZwei Dateien.");
    assert_eq!(running.seen.borrow().text, "Two files.\n\nZwei Dateien.");
    let told = [
        "user: look",
        "assistant: Two files.",
        "user: in German, please",
    ];
    assert_eq!(scripted.last_told()[1..], told);
    let rows: Vec<(Role, String)> = scripted
        .stage
        .tools
        .rows()
        .into_iter()
        .map(|row| (row.role, row.text))
        .collect();
    assert_eq!(
        rows,
        [
            (Role::Person, "look".into()),
            (Role::Agent, "Two files.".into()),
            (Role::Person, "in German, please".into()),
        ]
    );
    // The next turn reads the same words, and each once.
    scripted.stage.tools.end(&answer.text, answer.data, None);
    scripted.server.then(Answer::text("bye"));
    scripted.stage.say("thanks").await.unwrap();
    assert_eq!(scripted.last_told()[1..4], told);
    assert_eq!(
        scripted.last_told()[4..],
        ["assistant: Zwei Dateien.", "user: thanks"]
    );
    let requests = scripted.server.requests();
    assert_eq!(requests[2].prefix_hits, requests[1].messages().len());
    assert_eq!(scripted.refusals(), Vec::<String>::new());
}

#[tokio::test]
async fn who_wrote_meanwhile_is_named_in_a_group_at_once_and_later_the_same() {
    let mut scripted = Scripted::start().await.unwrap();
    scripted.stage.key = "agent:main:telegram:group:-100:42".parse().unwrap();
    scripted.server.then(runs("a", "ls"));
    scripted.server.then(Answer::text("Zwei."));
    scripted.stage.tools.steer(Some("Bob"), "in German");
    scripted.stage.tools.steer(Some("Eve\nAda"), "and short");
    let ada = |text| Message {
        text,
        author: Some("Ada"),
        ..Message::default()
    };
    scripted.stage.write(ada("look")).await.unwrap();
    let told = [
        "user: Ada: look",
        "assistant: <a>",
        "a: ran ls",
        "assistant: Noted.",
        "user: Bob: in German\n\nEve Ada: and short",
    ];
    assert_eq!(scripted.last_told()[1..], told);
    scripted.server.then(Answer::text("bye"));
    scripted.stage.write(ada("thanks")).await.unwrap();
    assert_eq!(scripted.last_told()[1..6], told);
}

#[tokio::test]
async fn an_empty_answer_goes_on_with_what_was_written_meanwhile() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(Answer::text(""));
    scripted.server.then(Answer::text("hello"));
    scripted.stage.tools.steer(None, "are you there?");
    assert_eq!(scripted.stage.say("hi").await.unwrap().text, "hello");
    // It is not told that it had said nothing: somebody speaks to it.
    assert_eq!(scripted.last_told()[1..], ["user: hi\n\nare you there?"]);
}

#[tokio::test]
async fn what_a_message_came_with_is_kept_with_the_answer_so_far() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(Answer::text("A picture."));
    scripted.server.then(Answer::text("Of a cat."));
    scripted.stage.tools.steer(None, "of what?");
    let message = Message {
        text: "what is this?",
        files: vec![ReceivedFile {
            name: "a.png".into(),
            path: Err("it is too large".into()),
        }],
        ..Message::default()
    };
    scripted.stage.write(message).await.unwrap();
    scripted.server.then(Answer::text("bye"));
    scripted.stage.say("thanks").await.unwrap();
    let requests = scripted.server.requests();
    assert_eq!(requests[1].prefix_hits, requests[0].messages().len());
    assert_eq!(requests[2].prefix_hits, requests[1].messages().len());
    assert!(scripted.last_told()[1].contains("it is too large"));
}
