//! Where things end: turns that stop without an answer, summaries that will not get shorter, and what a message came with once its turn is over.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use homing_agent_openai::client::OutputLimitName;
use homing_agents_tests::{AtHome, Does, Message, Scripted, runs};
use homing_domain::key::SessionKey;
use homing_domain::origin::Origin;
use homing_ports::agent::{AgentError, ReceivedFile};
use homing_ports::inbox::Inbound;
use homing_ports::platform::Attachment;
use homing_ports::store::Role;
use homing_simulators::model::Answer;
use serde_json::Value;

/// A model that calls the same command until its turn is ended.
async fn stubborn(fails: bool) -> Scripted {
    let scripted = Scripted::with(|settings| settings.rounds = 3)
        .await
        .unwrap();
    if fails {
        let away = Does::Fails("it is away".into());
        scripted.stage.tools.on("make", away);
    }
    scripted.server.rule(|_| Some(runs("a", "make")));
    scripted
}

/// OWN-68: people get the result, whatever the model does with it.
#[tokio::test]
async fn a_notification_is_told_though_its_turn_was_stopped() {
    for (fails, why) in [(true, "I have stopped"), (false, "in 3 rounds")] {
        let scripted = stubborn(fails).await;
        let notified = scripted.stage.notify("block", "prc_1 ended with 7.").await;
        let answer = notified.unwrap();
        assert!(
            answer.text.starts_with("prc_1 ended with 7.") && answer.text.contains(why),
            "{}",
            answer.text
        );
    }
}

#[tokio::test]
async fn a_sub_agent_that_was_stopped_has_failed() {
    for (fails, why) in [(true, "it is away"), (false, "in 3 rounds")] {
        let scripted = stubborn(fails).await;
        let Err(AgentError::Model { plain, .. }) = scripted.stage.delegate("build").await else {
            panic!("it has no result");
        };
        assert!(plain.contains(why), "{plain}");
    }
}

#[tokio::test]
async fn a_person_is_told_why_a_turn_was_stopped() {
    for (fails, why) in [(true, "I have stopped"), (false, "in 3 rounds")] {
        let scripted = stubborn(fails).await;
        let answer = scripted.stage.say("build").await.unwrap();
        assert!(answer.text.contains(why), "{}", answer.text);
    }
}

/// OpenAI's newer models refuse the old name.
#[tokio::test]
async fn the_limit_of_an_answer_has_the_name_that_is_set() {
    for (name, there, gone) in [
        (
            OutputLimitName::MaxTokens,
            "max_tokens",
            "max_completion_tokens",
        ),
        (
            OutputLimitName::MaxCompletionTokens,
            "max_completion_tokens",
            "max_tokens",
        ),
    ] {
        let scripted = Scripted::with(|settings| settings.client.output_limit_name = name)
            .await
            .unwrap();
        scripted.server.then(Answer::text("hello"));
        scripted.stage.say("hi").await.unwrap();
        let body = &scripted.server.requests()[0].body;
        assert_eq!(
            (body[there].as_u64(), body[gone].is_null()),
            (Some(4_096), true)
        );
    }
}

/// A small model with a long history, which answers like this and refuses once it was asked too often.
async fn summarizer(answer: impl Fn(&Value) -> String + Send + Sync + 'static) -> Scripted {
    let scripted = Scripted::with(|settings| {
        settings.context_tokens = 1_024;
        settings.output_tokens = 500;
        settings.client.attempts = 1;
    })
    .await
    .unwrap();
    for number in 0..12 {
        let text = format!("{number} {}", "word ".repeat(150));
        scripted.stage.tools.add(Role::Person, &text);
        scripted.stage.tools.add(Role::Agent, "fine");
    }
    let asked = Arc::new(AtomicUsize::new(0));
    scripted.server.rule(move |body| {
        Some(match asked.fetch_add(1, Ordering::Relaxed) {
            0..300 => Answer::text(&answer(body)),
            _ => Answer::error(400, "x", "asked for ever"),
        })
    });
    scripted
}

#[tokio::test]
async fn summaries_as_long_as_they_may_be_become_one() {
    let scripted = summarizer(|body| {
        let tokens = usize::try_from(body["max_tokens"].as_u64().unwrap()).unwrap();
        // By the rule of thumb.
        "words ".repeat((tokens * 12 / 17).max(1))
    })
    .await;
    let summary = scripted.stage.summarize().await.unwrap();
    assert!(summary.text.ends_with("words"), "{}", summary.text);
}

/// The model repeats what it is to summarize, and heeds no limit.
#[tokio::test]
async fn summaries_that_are_too_long_are_cut_and_never_asked_for_for_ever() {
    for letters in ["", "語"] {
        let scripted = summarizer(move |body| {
            let text = body["messages"][1]["content"].as_str().unwrap();
            format!("{text}{}", letters.repeat(text.len() / 2))
        })
        .await;
        let summary = scripted.stage.summarize().await;
        if let Err(error) = summary {
            assert!(error.to_string().contains("not get shorter"), "{error}");
        }
        let asked = scripted.server.requests().len();
        assert!(asked < 200, "{asked}");
    }
}

#[tokio::test]
async fn a_summary_is_made_of_what_messages_came_with_too() {
    let scripted = Scripted::start().await.unwrap();
    let message = |text, quoted| Message {
        text,
        quoted: Some(quoted),
        files: vec![ReceivedFile {
            name: "a.txt".into(),
            path: Ok(PathBuf::from("/w/a.txt")),
        }],
        ..Message::default()
    };
    for (text, quoted) in [("look", "the first log"), ("and this", "the second log")] {
        scripted.server.then(Answer::text("fine"));
        scripted.stage.write(message(text, quoted)).await.unwrap();
    }
    scripted.server.then(Answer::text("fine"));
    scripted.stage.say("thanks").await.unwrap();
    scripted.server.then(Answer::text("Goals: logs"));
    let summary = scripted.stage.summarize().await.unwrap();
    let requests = scripted.server.requests();
    let told = requests.last().unwrap().messages()[1]["content"]
        .as_str()
        .unwrap();
    for part in [
        "> the first log\nperson: look\n[Homing: the file a.txt came with it and lies at /w/a.txt]",
        "> the second log\nperson: and this\n[Homing: the file a.txt",
    ] {
        assert!(told.contains(part), "{told}");
    }
    // The beginning is kept word for word, with all of this.
    for part in [
        "> > the first log\n> person: look\n",
        "lies at /w/a.txt]\n> agent: fine\n",
    ] {
        assert!(summary.text.contains(part), "{}", summary.text);
    }
}

/// The turn left no entry of the agent's; the message's own has it.
#[tokio::test]
async fn what_a_message_came_with_outlives_a_turn_that_failed() {
    let scripted = AtHome::with(|settings| settings.client.attempts = 1)
        .await
        .unwrap();
    let chat = scripted.home.chat("ada").unwrap();
    scripted.server.then(Answer::error(500, "x", "x"));
    let key: SessionKey = "agent:main:chat:dm:ada".parse().unwrap();
    let origin = Origin {
        user: Some("ada".into()),
        ..Origin::from_key(&key)
    };
    let inbound = Inbound {
        quoted: Some("the log".into()),
        attachments: vec![Attachment {
            name: Some("a.txt".into()),
            media_type: None,
            bytes: None,
            reference: "r".into(),
            first_came_with: None,
        }],
        ..Inbound::new(origin, "quoting-1", "look")
    };
    let inbox = scripted.home.gateway.inbox();
    let _accepted = inbox.accept(inbound).await.unwrap();
    chat.until_posted("model server has a problem")
        .await
        .unwrap();
    scripted.server.then(Answer::text("I see"));
    assert_eq!(chat.ask("and?").await.unwrap(), "I see");
    let told = scripted.last_told().join("\n");
    assert_eq!(
        told.matches("[Homing: this answers to]\n> the log\nlook")
            .count(),
        1,
        "{told}"
    );
    assert!(told.contains("a.txt"), "{told}");
}
