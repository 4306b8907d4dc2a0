//! What does not fit: before a turn, within it, and when a conversation is compressed.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use homing_agents_tests::{Does, Message, Scripted, runs};
use homing_ports::agent::AgentError;
use homing_ports::store::Role;
use homing_simulators::model::Answer;
use serde_json::Value;

/// A model that holds little.
async fn small() -> Scripted {
    Scripted::with(|settings| {
        settings.context_tokens = 4_000;
        settings.output_tokens = 500;
    })
    .await
    .unwrap()
}

fn words(count: usize) -> String {
    "word ".repeat(count)
}

/// A summary for whoever asks for one, an answer for everybody else.
fn summarizes(body: &Value) -> Option<Answer> {
    let system = body["messages"][0]["content"].as_str()?;
    let is_summary = system.contains("memory of a conversation")
        || system.contains("summaries of one conversation");
    Some(Answer::text(if is_summary {
        "Goals: words"
    } else {
        "fine"
    }))
}

#[tokio::test]
async fn a_conversation_that_outgrows_the_model_is_told_before_anything_is_asked() {
    let scripted = small().await;
    scripted.server.rule(summarizes);
    let mut turns = 0;
    let error = loop {
        turns += 1;
        match scripted.stage.say(&words(300)).await {
            Ok(_) => assert!(turns < 50),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, AgentError::TooLong), "{error:?}");
    assert_eq!(scripted.server.requests().len(), turns - 1);
    // Compressed, the same message has its turn.
    let summary = scripted.stage.compress().await.unwrap();
    assert!(summary.kept_from.is_some() && scripted.stage.used().requests > 0);
    assert!(
        summary.text.contains("> person: word") && summary.text.ends_with("Goals: words"),
        "{}",
        summary.text
    );
    let rows = scripted.stage.tools.rows();
    assert_eq!(rows.last().map(|row| row.role), Some(Role::Person));
    scripted.stage.say("go on").await.unwrap();
    let told = scripted.last_told();
    assert!(
        told[1].contains("the beginning of this conversation was compressed"),
        "{told:?}"
    );
    assert_eq!(scripted.refusals(), Vec::<String>::new());
}

#[tokio::test]
async fn one_message_that_no_compression_makes_fit_is_refused_with_its_size() {
    let scripted = small().await;
    for history in [false, true] {
        if history {
            scripted.server.then(Answer::text("hi"));
            scripted.stage.say("hello").await.unwrap();
        }
        let Err(AgentError::Failed(why)) = scripted.stage.say(&words(6_000)).await else {
            panic!("it cannot fit");
        };
        assert!(
            why.contains("too long for the model") && why.contains("4000"),
            "{why}"
        );
        scripted.stage.tools.compress("nothing yet".into(), None);
    }
}

#[tokio::test]
async fn a_server_that_holds_less_than_was_thought_is_believed() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.rule(summarizes);
    for _ in 0..4 {
        scripted.stage.say(&words(300)).await.unwrap();
    }
    scripted.server.set_context(1_500);
    assert!(matches!(
        scripted.stage.say("and?").await,
        Err(AgentError::TooLong)
    ));
    let asked = scripted.server.requests().len();
    // From then on it is known.
    assert!(matches!(
        scripted.stage.say("and?").await,
        Err(AgentError::TooLong)
    ));
    assert_eq!(scripted.server.requests().len(), asked);
    scripted.stage.compress().await.unwrap();
    scripted.stage.say("and?").await.unwrap();
}

#[tokio::test]
async fn results_of_this_turn_make_room_for_later_ones() {
    let scripted = small().await;
    for (id, command) in [("a", "one"), ("b", "two"), ("c", "three")] {
        scripted.stage.tools.on(command, Does::Says(words(1_200)));
        scripted.server.then(runs(id, command));
    }
    scripted.server.then(Answer::text("done"));
    let answer = scripted.stage.say("go").await.unwrap();
    assert_eq!(answer.text, "done");
    let told = scripted.last_told();
    assert!(told[3].contains("was taken out to make room"), "{told:?}");
    assert!(told[7].ends_with("word "), "{told:?}");
    // The history has it all.
    let rows = scripted.stage.tools.rows();
    assert!(
        rows.iter()
            .filter(|row| row.role == Role::Tool)
            .all(|row| row.text.len() == 6_000)
    );
}

#[tokio::test]
async fn a_server_that_refuses_in_the_middle_of_a_turn_gets_less_and_is_told_of_at_last() {
    let scripted = Scripted::start().await.unwrap();
    scripted.stage.tools.on("one", Does::Says(words(2_000)));
    scripted.server.then(runs("a", "one"));
    let too_long = || Answer::error(400, "context_length_exceeded", "too long");
    scripted.server.then(too_long());
    scripted.server.then(Answer::text("done"));
    assert_eq!(scripted.stage.say("go").await.unwrap().text, "done");
    assert!(scripted.last_told()[3].contains("was taken out"));
    let scripted = Scripted::start().await.unwrap();
    scripted.stage.tools.on("one", Does::Says(words(2_000)));
    scripted
        .server
        .then(runs("a", "one"))
        .then(too_long())
        .then(too_long())
        // Asked once more with less room for the answer: some count that along.
        .then(too_long());
    let Err(AgentError::Model { plain, .. }) = scripted.stage.say("go").await else {
        panic!("it cannot fit");
    };
    assert!(plain.contains("too long for the model"), "{plain}");
}

#[tokio::test]
async fn a_long_history_is_summarized_in_pieces_and_again_with_the_summary_before() {
    let scripted = small().await;
    scripted.server.rule(summarizes);
    scripted
        .stage
        .tools
        .add(Role::Person, "build prc_0000000000001");
    scripted.stage.tools.add(Role::Agent, "it runs");
    for number in 0..40 {
        scripted
            .stage
            .tools
            .add(Role::Person, &format!("{number} {}", words(200)));
        scripted.stage.tools.add(Role::Agent, "fine");
    }
    scripted.stage.compress().await.unwrap();
    assert!(scripted.stage.used().requests > 4);
    let requests = scripted.server.requests();
    // Each piece is a request that fits, without tools.
    assert!(
        requests
            .iter()
            .all(|request| request.prompt_tokens < 4_000 && request.body["tools"].is_null())
    );
    let last = requests.last().unwrap();
    assert!(
        last.messages()[0]["content"]
            .as_str()
            .unwrap()
            .contains("summaries of one conversation")
    );
    let kept = scripted.stage.tools.rows();
    assert!((2..20).contains(&kept.len()), "{}", kept.len());

    let second = scripted.stage.compress().await.unwrap();
    assert!(
        second
            .text
            .contains("> person: build prc_0000000000001\n> agent: it runs\n"),
        "{}",
        second.text
    );
    let folded = scripted.server.requests().iter().any(|request| {
        let text = request.messages()[1]["content"]
            .as_str()
            .unwrap_or_default();
        text.starts_with("Summary of what came before:\nGoals: words")
    });
    assert!(folded);
}

/// A conversation that goes on with a smaller model has a summary of a larger one.
#[tokio::test]
async fn a_summary_that_is_too_long_is_compressed_and_not_the_message_blamed() {
    let scripted = small().await;
    scripted.server.rule(summarizes);
    scripted.stage.tools.compress(words(5_000), None);
    let error = scripted.stage.say("hello").await.unwrap_err();
    assert!(matches!(error, AgentError::TooLong), "{error:?}");
    let summary = scripted.stage.compress().await.unwrap();
    assert_eq!(summary.text, "Goals: words");
    assert!(summary.kept_from.is_some());
    assert!(scripted.stage.say("hello again").await.is_ok());
}

#[tokio::test]
async fn a_summary_that_fails_is_an_error_and_never_half_a_summary() {
    let talk = || async {
        let scripted = Scripted::with(|settings| settings.client.attempts = 1)
            .await
            .unwrap();
        for number in 0..3 {
            scripted
                .stage
                .tools
                .add(Role::Person, &format!("message {number}"));
            scripted.stage.tools.add(Role::Agent, "fine");
        }
        scripted
    };
    for answer in [
        Answer::text(" \n"),
        Answer::error(500, "x", "x"),
        Answer::text("Goals: a").breaks_after(1),
        Answer::hang_up(),
    ] {
        let scripted = talk().await;
        scripted.server.then(answer);
        let error = scripted.stage.summarize().await.unwrap_err();
        assert!(matches!(error, AgentError::Model { .. }), "{error:?}");
    }
    let scripted = Scripted::start().await.unwrap();
    let error = scripted.stage.summarize().await.unwrap_err();
    assert!(error.to_string().contains("nothing to compress"), "{error}");
}

#[tokio::test]
async fn a_summary_to_which_nothing_was_added_is_made_anew() {
    let scripted = Scripted::start().await.unwrap();
    scripted.stage.tools.compress("before".into(), None);
    for waits in [false, true] {
        if waits {
            scripted.stage.tools.add(Role::Person, "not answered yet");
        }
        scripted.server.then(Answer::text("shorter"));
        let summary = scripted.stage.summarize().await.unwrap();
        assert_eq!(
            (summary.text.as_str(), summary.kept_from.is_some()),
            ("shorter", waits)
        );
    }
    let requests = scripted.server.requests();
    let told = requests[1].messages()[1]["content"].as_str().unwrap();
    assert_eq!(told.trim(), "Summary of what came before:\nbefore");
}

#[tokio::test]
async fn a_server_that_holds_less_gets_smaller_pieces_of_a_history() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.rule(summarizes);
    scripted.server.set_context(3_000);
    for _ in 0..20 {
        scripted.stage.tools.add(Role::Person, &words(400));
        scripted.stage.tools.add(Role::Agent, "fine");
    }
    let summary = scripted.stage.summarize().await.unwrap();
    assert!(summary.text.ends_with("Goals: words"), "{}", summary.text);
}

#[tokio::test]
async fn a_turn_that_begins_again_after_a_compression_tells_its_message_once_and_whole() {
    let scripted = small().await;
    scripted.server.rule(summarizes);
    for _ in 0..9 {
        scripted.stage.say(&words(200)).await.unwrap();
    }
    let long = words(1_500);
    let message = || Message {
        text: &long,
        quoted: Some("the log"),
        ..Message::default()
    };
    let error = scripted.stage.write(message()).await.unwrap_err();
    assert!(matches!(error, AgentError::TooLong), "{error:?}");
    scripted.stage.compress().await.unwrap();
    // The same turn anew, under another name; the message is in what was kept.
    scripted.stage.again(message()).await.unwrap();
    let told = scripted.last_told().join("\n");
    assert_eq!(told.matches("this answers to").count(), 1, "{told}");
    assert_eq!(told.matches(long.trim()).count(), 1);
    assert_eq!(scripted.refusals(), Vec::<String>::new());
}
