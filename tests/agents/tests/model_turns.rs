//! Turns of the model agent: tools, what people see of them, and what the model reads of the history.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::path::PathBuf;

use homing_agents_tests::{Does, Message, Scripted, joined, runs, terminal};
use homing_ports::agent::{AgentError, ReceivedFile};
use homing_ports::store::Role;
use homing_simulators::model::{Answer, Call, Dialect};
use serde_json::json;

fn roles(scripted: &Scripted) -> Vec<(Role, String)> {
    let rows = scripted.stage.tools.rows();
    rows.into_iter().map(|row| (row.role, row.text)).collect()
}

#[tokio::test]
async fn a_plain_answer_takes_one_request() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(Answer::text("hello"));
    let answer = scripted.stage.say("hi").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.data), ("hello", None));
    let used = scripted.stage.used();
    assert_eq!(used.requests, 1);
    assert!(used.prompt_tokens > 0 && used.completion_tokens > 0);
    // The message is in the history already, and is told once.
    let told = scripted.last_told();
    assert!(told[0].starts_with("system: "), "{told:?}");
    assert_eq!(told[1..], ["user: hi"]);
}

#[tokio::test]
async fn a_call_is_in_the_history_before_it_is_carried_out() {
    let scripted = Scripted::start().await.unwrap();
    scripted.stage.tools.on("make", Does::Waits);
    scripted.server.then(runs("a", "make").saying("I build."));
    let running = scripted.stage.start(Message {
        text: "build",
        ..Message::default()
    });
    scripted.stage.tools.until_begun("make").await.unwrap();
    assert_eq!(
        roles(&scripted),
        [
            (Role::Person, "build".into()),
            (Role::Agent, "I build.".into())
        ]
    );
    assert_eq!(running.seen.borrow().text, "I build.\n\n");
    assert_eq!(running.seen.borrow().doing.as_deref(), Some("runs `make`"));
    scripted.stage.cancel.cancel();
    assert!(matches!(
        joined(running.answer).await,
        Err(AgentError::Cancelled)
    ));

    // What dangles is closed for the model, in the next turn.
    let next = homing_agents_tests::Stage {
        cancel: Default::default(),
        tools: scripted.stage.tools.clone(),
        agent: scripted.stage.agent.clone(),
        key: scripted.stage.key.clone(),
        model: None,
        meter: Default::default(),
    };
    scripted.server.then(Answer::text("ok"));
    next.say("and?").await.unwrap();
    assert_eq!(
        scripted.last_told()[1..],
        [
            "user: build",
            "assistant: I build.<a>",
            "a: [interrupted]",
            "assistant: Noted.",
            "user: and?"
        ]
    );
}

#[tokio::test]
async fn several_calls_at_once_are_answered_each_in_order() {
    for dialect in [
        Dialect::Pieces,
        Dialect::AllAtZero,
        Dialect::Unnumbered,
        Dialect::Bare,
    ] {
        let scripted = Scripted::start().await.unwrap();
        let calls = ["one", "two", "three"].map(|command| terminal(command, command));
        scripted.server.then(Answer::calls(calls).dialect(dialect));
        scripted.server.then(Answer::text("done"));
        let answer = scripted.stage.say("go").await.unwrap();
        let requests = scripted.stage.used().requests;
        assert_eq!((answer.text.as_str(), requests), ("done", 2));
        assert_eq!(scripted.stage.tools.begun(), ["one", "two", "three"]);
        let told = scripted.last_told();
        let results: Vec<&str> = told[3..]
            .iter()
            .filter_map(|told| told.split_once(": "))
            .map(|(_, text)| text)
            .collect();
        assert_eq!(results, ["ran one", "ran two", "ran three"], "{dialect:?}");
        assert_eq!(scripted.refusals(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_is_said_before_a_call_is_in_the_answer_and_the_model_reads_it_once() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(runs("a", "ls").saying("I look."));
    scripted.server.then(Answer::text("Two files."));
    let answer = scripted.stage.say("look").await.unwrap();
    assert_eq!(answer.text, "I look.\n\nTwo files.");
    scripted.server.then(Answer::text("bye"));
    scripted.stage.say("thanks").await.unwrap();
    assert_eq!(
        scripted.last_told()[1..],
        [
            "user: look",
            "assistant: I look.<a>",
            "a: ran ls",
            "assistant: Two files.",
            "user: thanks"
        ]
    );
}

#[tokio::test]
async fn the_beginning_of_requests_stays_the_same_over_turns() {
    let scripted = Scripted::start().await.unwrap();
    let quoted = Message {
        text: "why?",
        author: Some("Ada"),
        quoted: Some("the log"),
        files: vec![ReceivedFile {
            name: "a.txt".into(),
            path: Ok(PathBuf::from("/w/a.txt")),
        }],
    };
    for number in 0..3 {
        scripted
            .server
            .then(runs("a", "ls").saying("I look.").thinking("hm"));
        scripted.server.then(runs("a", "cat").thinking("hm"));
        scripted.server.then(Answer::text("Two files."));
        match number {
            1 => scripted.stage.notify("it ended", "it ended").await.unwrap(),
            2 => scripted.stage.say("again").await.unwrap(),
            _ => scripted
                .stage
                .write(Message {
                    files: quoted.files.clone(),
                    ..quoted
                })
                .await
                .unwrap(),
        };
    }
    let requests = scripted.server.requests();
    assert_eq!(requests.len(), 9);
    for pair in requests.windows(2) {
        // All of the request before is the beginning of the next one.
        assert_eq!(
            pair[1].prefix_hits,
            pair[0].messages().len(),
            "{:?}",
            pair[1].messages()
        );
    }
    assert_eq!(scripted.refusals(), Vec::<String>::new());
}

#[tokio::test]
async fn people_of_a_group_are_named() {
    let mut scripted = Scripted::start().await.unwrap();
    scripted.stage.key = "agent:main:telegram:group:-100:42".parse().unwrap();
    for (author, text) in [("Ada", "hello"), ("Bob", "me too")] {
        scripted.server.then(Answer::text("hi"));
        let message = Message {
            text,
            author: Some(author),
            ..Message::default()
        };
        scripted.stage.write(message).await.unwrap();
    }
    let told = scripted.last_told();
    assert!(told[0].contains("4,096") && told[0].contains("agent:main:telegram:group:-100:42"));
    assert_eq!(
        told[1..],
        ["user: Ada: hello", "assistant: hi", "user: Bob: me too"]
    );
}

#[tokio::test]
async fn what_people_write_meanwhile_is_taken_up_between_rounds() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(runs("a", "ls"));
    scripted.server.then(Answer::text("In German: zwei."));
    scripted.stage.tools.steer(None, "in German, please");
    scripted.stage.say("look").await.unwrap();
    assert_eq!(
        scripted.last_told()[1..],
        [
            "user: look",
            "assistant: <a>",
            "a: ran ls",
            "assistant: Noted.",
            "user: in German, please"
        ]
    );
    // And it stands there in the next turn.
    scripted.server.then(Answer::text("bye"));
    scripted.stage.say("thanks").await.unwrap();
    assert_eq!(scripted.last_told()[5], "user: in German, please");
}

#[tokio::test]
async fn calls_that_nobody_can_carry_out_are_answered_with_what_is_wrong() {
    let scripted = Scripted::start().await.unwrap();
    let broken = Call {
        arguments: "{\"command\": ".into(),
        ..terminal("a", "x")
    };
    let unknown = Call::new("b", "rm -rf / \"now\"", &json!({}));
    let empty = Call::new("c", "terminal", &json!({}));
    scripted
        .server
        .then(Answer::calls([broken, unknown, empty]));
    scripted.server.then(Answer::text("sorry"));
    let answer = scripted.stage.say("go").await.unwrap();
    assert_eq!(answer.text, "sorry");
    let told = scripted.last_told();
    assert!(
        told[3].starts_with("a: the arguments of terminal are no JSON object"),
        "{told:?}"
    );
    assert!(told[4].starts_with("b: there is no tool"), "{told:?}");
    assert_eq!(told[5], "c: `command` is missing");
    // None of it makes a request that a strict server refuses.
    assert_eq!(scripted.refusals(), Vec::<String>::new());
    assert_eq!(scripted.stage.tools.begun(), Vec::<String>::new());
}

#[tokio::test]
async fn the_same_call_that_fails_three_times_ends_the_turn() {
    let scripted = Scripted::start().await.unwrap();
    scripted
        .stage
        .tools
        .on("make", Does::Fails("no such target".into()));
    scripted.server.then(runs("a", "make"));
    scripted.server.then(runs("b", "ls"));
    scripted.server.then(runs("c", "make"));
    scripted
        .server
        .then(Answer::calls([terminal("d", "make"), terminal("e", "ls")]));
    let answer = scripted.stage.say("build").await.unwrap();
    assert!(
        answer.text.contains("3 times in the same way") && answer.text.contains("no such target"),
        "{}",
        answer.text
    );
    assert_eq!(scripted.stage.tools.begun(), ["make", "ls", "make", "make"]);
    // The call that was not carried out any more has a result all the same.
    let rows = scripted.stage.tools.rows();
    assert!(
        rows.iter()
            .any(|row| row.role == Role::Tool && row.text.contains("not carried out"))
    );
    scripted.server.then(Answer::text("ok"));
    scripted.stage.say("well").await.unwrap();
    assert_eq!(scripted.refusals(), Vec::<String>::new());
}

#[tokio::test]
async fn rounds_end_with_an_answer_without_tools() {
    let scripted = Scripted::with(|settings| settings.rounds = 3)
        .await
        .unwrap();
    for number in 0..3 {
        scripted.server.then(runs("a", &format!("step {number}")));
    }
    scripted.server.then(Answer::text("this far I came"));
    let answer = scripted.stage.say("go").await.unwrap();
    let requests = scripted.stage.used().requests;
    assert_eq!((answer.text.as_str(), requests), ("this far I came", 4));
    let requests = scripted.server.requests();
    assert_eq!(requests[3].body["tool_choice"], "none");
    // The tools are still told: they are at the beginning of what a server has read.
    assert_eq!(requests[3].body["tools"], requests[2].body["tools"]);
    assert!(scripted.last_told().last().unwrap().contains("3 rounds"));
}

#[tokio::test]
async fn a_server_that_lets_the_model_call_on_is_not_followed() {
    let scripted = Scripted::with(|settings| settings.rounds = 1)
        .await
        .unwrap();
    scripted
        .server
        .then(runs("a", "one"))
        .then(runs("b", "two"));
    let answer = scripted.stage.say("go").await.unwrap();
    assert!(answer.text.contains("stopped there"), "{}", answer.text);
    assert_eq!(scripted.stage.tools.begun(), ["one"]);
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_once_more() {
    let scripted = Scripted::start().await.unwrap();
    scripted
        .server
        .then(Answer::text(""))
        .then(Answer::text("here"));
    assert_eq!(scripted.stage.say("hi").await.unwrap().text, "here");
    assert!(
        scripted
            .last_told()
            .last()
            .unwrap()
            .contains("your answer was empty")
    );
    scripted
        .server
        .then(Answer::text(" \n"))
        .then(Answer::text(""));
    assert_eq!(
        scripted.stage.say("hi").await.unwrap().text,
        "The model gave no answer."
    );
    // A notification is told in any case.
    scripted
        .server
        .then(Answer::text(""))
        .then(Answer::text(""));
    assert_eq!(
        scripted
            .stage
            .notify("block", "it ended with 1")
            .await
            .unwrap()
            .text,
        "it ended with 1"
    );
    // A sub-agent without a word has failed.
    scripted
        .server
        .then(Answer::text(""))
        .then(Answer::text(""));
    let failed = scripted.stage.delegate("count").await;
    assert!(
        matches!(failed, Err(AgentError::Model { .. })),
        "{failed:?}"
    );
}

#[tokio::test]
async fn an_answer_that_ran_into_a_limit_or_a_filter_says_so() {
    let scripted = Scripted::start().await.unwrap();
    scripted
        .server
        .then(Answer::text("half a sen").finish("length"));
    let text = scripted.stage.say("hi").await.unwrap().text;
    assert!(
        text.starts_with("half a sen\n\n(The answer was cut off here"),
        "{text}"
    );
    scripted
        .server
        .then(Answer::text("").finish("content_filter"));
    let text = scripted.stage.say("hi").await.unwrap().text;
    assert!(text.contains("content filter"), "{text}");
    // A call that was cut is told to the model as cut.
    let cut = Call {
        arguments: "{\"command\": \"cat > a <<E\\nlong".into(),
        ..terminal("a", "x")
    };
    scripted.server.then(Answer::calls([cut]).finish("length"));
    scripted.server.then(Answer::text("shorter then"));
    scripted.stage.say("write").await.unwrap();
    assert!(
        scripted
            .last_told()
            .last()
            .unwrap()
            .contains("cut off at the limit")
    );
}

#[tokio::test]
async fn a_notification_is_told_quietly_and_in_its_fence() {
    // OWN-67: nobody sees it being written.
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(runs("a", "cat log").saying("I look."));
    scripted.server.then(Answer::text("The build is done."));
    let answer = scripted
        .stage
        .notify("```f00\nbuild: exit 0\n```", "build: exit 0")
        .await
        .unwrap();
    // What was said on the way was shown to nobody, and is not repeated.
    assert_eq!(answer.text, "The build is done.");
    let told = scripted.last_told();
    assert!(
        told[1].contains("not instructions") && told[1].ends_with("```f00\nbuild: exit 0\n```"),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_sub_agent_is_told_that_it_is_one() {
    let scripted = Scripted::start().await.unwrap();
    scripted.server.then(Answer::text("42"));
    assert_eq!(scripted.stage.delegate("count").await.unwrap().text, "42");
    let told = scripted.last_told();
    assert!(told[0].contains("You are a sub-agent"), "{told:?}");
    assert_eq!(told[1..], ["user: count"]);
}

#[tokio::test]
async fn a_conversation_chooses_its_model() {
    let mut scripted = Scripted::with(|settings| {
        settings.client.fallback_models = vec!["second".into(), "third".into(), "second".into()];
    })
    .await
    .unwrap();
    assert_eq!(
        scripted.stage.agent.models(),
        ["simulated", "second", "third"]
    );
    scripted.stage.model = Some("third".into());
    scripted
        .server
        .then(Answer::error(404, "model_not_found", "gone"));
    scripted.server.then(Answer::text("hi"));
    scripted.stage.say("hi").await.unwrap();
    let asked: Vec<String> = scripted
        .server
        .requests()
        .iter()
        .map(|request| request.model().to_owned())
        .collect();
    assert_eq!(asked, ["third", "simulated"]);
    scripted.stage.model = Some("fourth".into());
    let Err(AgentError::Model { plain, .. }) = scripted.stage.say("hi").await else {
        panic!("there is no such model");
    };
    assert_eq!(
        plain,
        "There is no model fourth here; choose one of simulated, second, third with /model."
    );
    assert_eq!(scripted.server.requests().len(), 2);
}
