//! A model with real tools in a real gateway: calls that run, calls that cannot, servers that die, and what the store has afterwards.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::time::Duration;

use homing_agents_tests::conformance::UNTIL_LET_ON;
use homing_agents_tests::{AtHome, Outcome, StillClock, runs, terminal};
use homing_domain::notification::State;
use homing_domain::process::Ending;
use homing_ports::store::Role;
use homing_simulators::model::{Answer, Call, Dialect};
use serde_json::json;

/// What a turn did, for a model that was stopped or failed: its rows of this kind.
async fn texts(scripted: &AtHome, role: Role) -> Vec<String> {
    let chat = scripted.home.chat("ada").unwrap();
    let rows = chat.rows().await.unwrap().into_iter();
    rows.filter(|row| row.role == role)
        .map(|row| row.text)
        .collect()
}

/// Waits for the next message and answers it, with a command that really runs.
async fn works_again(scripted: &AtHome) {
    let chat = scripted.home.chat("ada").unwrap();
    let server = &scripted.server;
    server.then(runs("again", "echo again-$((40+2))"));
    server.then(Answer::text("That worked."));
    let answer = chat.ask("once more").await.unwrap();
    assert_eq!(answer, "That worked.");
    assert!(scripted.last_told().last().unwrap().contains("again-42"));
    assert_eq!(scripted.refusals(), Vec::<String>::new());
    chat.outbox().await.unwrap();
}

#[tokio::test]
async fn several_calls_at_once_all_run_and_are_answered_in_order() {
    for dialect in [
        Dialect::Pieces,
        Dialect::AllAtZero,
        Dialect::Unnumbered,
        Dialect::Bare,
    ] {
        let scripted = AtHome::start().await.unwrap();
        let commands = ["one", "two", "three"].map(|name| format!("echo {name} | tee -a order"));
        let calls = ["a", "b", "c"]
            .iter()
            .zip(&commands)
            .map(|(id, command)| terminal(id, command));
        let calls = Answer::calls(calls).dialect(dialect);
        scripted.server.then(calls).then(Answer::text("done"));
        let chat = scripted.home.chat("ada").unwrap();
        assert_eq!(chat.ask("go").await.unwrap(), "done", "{dialect:?}");
        let order = std::fs::read_to_string(scripted.home.workspace().join("order")).unwrap();
        assert_eq!(order, "one\ntwo\nthree\n");
        let processes = chat.processes().await.unwrap();
        for (process, command) in processes.iter().zip(&commands) {
            assert_eq!(
                (&process.command, process.ending),
                (command, Some(Ending::Code(0)))
            );
        }
        assert_eq!(processes.len(), 3);
        assert_eq!(
            chat.roles().await.unwrap(),
            [
                Role::Person,
                Role::Agent,
                Role::Tool,
                Role::Tool,
                Role::Tool,
                Role::Agent
            ]
        );
        let results = texts(&scripted, Role::Tool).await;
        for (result, name) in results.iter().zip(["one", "two", "three"]) {
            assert!(result.ends_with(name), "{results:?}");
        }
        works_again(&scripted).await;
    }
}

#[tokio::test]
async fn calls_that_nobody_can_carry_out_run_nothing_and_are_answered_with_what_is_wrong() {
    let scripted = AtHome::start().await.unwrap();
    let raw = |id: &str, name: &str, arguments: &str| Call {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let wrong = [
        (raw("a", "terminal", "{\"command\": \"touch he"), "JSON"),
        (raw("b", "terminal", "[\"touch here\"]"), "object"),
        (
            raw("c", "terminal", "{\"cmd\": \"touch here\"}"),
            "there is no argument `cmd`",
        ),
        (raw("d", "terminal", "{\"command\": 7}"), "command"),
        (
            raw("e", "shell", "{\"command\": \"touch here\"}"),
            "there is no tool `shell`",
        ),
        (
            raw(
                "f",
                "process",
                "{\"action\": \"log\", \"process\": \"zzzz\"}",
            ),
            "there is no process `zzzz`",
        ),
    ];
    let calls = wrong.iter().map(|(call, _)| call.clone());
    scripted.server.then(Answer::calls(calls));
    scripted.server.then(Answer::text("None of that."));
    let chat = scripted.home.chat("ada").unwrap();
    assert_eq!(chat.ask("go").await.unwrap(), "None of that.");
    let results = texts(&scripted, Role::Tool).await;
    assert_eq!(results.len(), wrong.len());
    for (result, (call, part)) in results.iter().zip(&wrong) {
        assert!(result.contains(part), "{call:?}: {result}");
    }
    assert_eq!(chat.commands().await.unwrap(), Vec::<String>::new());
    assert!(!scripted.home.workspace().join("here").exists());
    works_again(&scripted).await;
}

/// What a person is told, and what the server does, after a command has run.
#[tokio::test]
async fn a_server_that_fails_after_a_command_is_told_in_one_sentence_and_the_next_message_works() {
    for (answer, sentence) in [
        (
            Answer::error(500, "x", "out of memory at 7"),
            "The model server has a problem right now.",
        ),
        (
            Answer::error(429, "x", "slower, by 7"),
            "The model server has too much to do for us",
        ),
        (
            Answer::error(401, "x", "who is 7?"),
            "The model server does not accept our key.",
        ),
        (Answer::hang_up(), "The model server"),
        (Answer::silence(), "The model did not answer in time."),
    ] {
        let scripted = AtHome::with(|settings| {
            settings.client.attempts = 1;
            settings.client.first_token_limit = Duration::from_millis(300);
        })
        .await
        .unwrap();
        scripted.server.then(runs("a", "echo made-$((40+2))"));
        scripted.server.then(answer);
        let chat = scripted.home.chat("ada").unwrap();
        let told = chat.ask("make it").await.unwrap();
        assert!(told.contains(sentence), "{told}");
        assert!(!told.contains('7') && !told.contains("made-42"), "{told}");
        assert_eq!(chat.posted().len(), 1);
        assert!(matches!(
            scripted.home.agent.outcomes(1).await.unwrap()[..],
            [Outcome::Failed(_)]
        ));
        // What was done is known, and read by the model when it is back.
        assert_eq!(chat.ended().await.unwrap().ending, Some(Ending::Code(0)));
        let results = texts(&scripted, Role::Tool).await;
        assert!(
            matches!(&results[..], [result] if result.contains("made-42")),
            "{results:?}"
        );
        works_again(&scripted).await;
        let told = scripted.last_told();
        assert!(told.iter().any(|told| told.contains("made-42")), "{told:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_posted_as_broken_off_and_in_the_history_once() {
    let scripted = AtHome::with(|settings| settings.client.attempts = 1)
        .await
        .unwrap();
    scripted
        .server
        .then(runs("a", "echo a b").saying("I look."));
    scripted
        .server
        .then(Answer::text("Two files and").breaks_after(4));
    let chat = scripted.home.chat("ada").unwrap();
    let told = chat.ask("look").await.unwrap();
    assert!(
        told.starts_with("I look.\n\nTwo") && told.contains("broke off here"),
        "{told}"
    );
    works_again(&scripted).await;
    let last = scripted.last_told().join("\n");
    assert_eq!(last.matches("I look.").count(), 1, "{last}");
}

/// Calls that came whole before the break are carried out, once.
#[tokio::test]
async fn a_connection_that_breaks_between_two_calls_runs_the_first_once_and_none_by_halves() {
    let scripted = AtHome::start().await.unwrap();
    let calls = [
        terminal("a", "echo one >> ran"),
        terminal("b", "echo two >> ran"),
    ];
    let answer = Answer::calls(calls).dialect(Dialect::Unnumbered);
    scripted.server.then(answer.breaks_after(2));
    scripted.server.then(Answer::text("done"));
    let chat = scripted.home.chat("ada").unwrap();
    assert_eq!(chat.ask("go").await.unwrap(), "done");
    let ran = std::fs::read_to_string(scripted.home.workspace().join("ran")).unwrap();
    assert_eq!(ran, "one\n");
    assert_eq!(chat.commands().await.unwrap(), ["echo one >> ran"]);
    works_again(&scripted).await;
}

#[tokio::test]
async fn a_call_that_was_stopped_is_told_as_interrupted_and_its_process_is_gone() {
    let scripted = AtHome::start().await.unwrap();
    let (mut begun, _gate) = (
        scripted.home.fifo("begun").unwrap(),
        scripted.home.fifo("gate").unwrap(),
    );
    let calls = [terminal("a", UNTIL_LET_ON), terminal("b", "touch here")];
    scripted
        .server
        .then(Answer::calls(calls).saying("I build."));
    let chat = scripted.home.chat("ada").unwrap();
    chat.say("build");
    begun.heard().await.unwrap();
    chat.say("/stop");
    let process = chat.ended().await.unwrap();
    assert!(matches!(process.ending, Some(Ending::Signal(_))));
    assert_eq!(
        scripted.home.agent.outcomes(1).await.unwrap(),
        [Outcome::Cancelled]
    );
    scripted.home.quiet().await.unwrap();
    assert_eq!(chat.posted(), ["Stopped."]);
    assert_eq!(texts(&scripted, Role::Tool).await, Vec::<String>::new());
    assert!(!scripted.home.workspace().join("here").exists());

    works_again(&scripted).await;
    let told = scripted.last_told();
    let calls = told.iter().position(|told| told.contains("<a><b>"));
    let calls = calls.expect("the model does not know what it did");
    assert_eq!(
        told[calls + 1..calls + 3],
        ["a: [interrupted]", "b: [interrupted]"]
    );
    assert_eq!(chat.notifications().await.unwrap(), []);
}

/// OWN-84: no time passes here but that which the test lets pass.
#[tokio::test]
async fn a_command_that_reaches_its_limit_goes_on_in_the_background_and_its_end_comes_home_once() {
    const LIMIT: Duration = Duration::from_secs(60);
    let clock = Arc::new(StillClock::default());
    let scripted = AtHome::by(Arc::clone(&clock) as _, |_| {}).await.unwrap();
    let (mut begun, gate) = (
        scripted.home.fifo("begun").unwrap(),
        scripted.home.fifo("gate").unwrap(),
    );
    let call = json!({ "command": UNTIL_LET_ON, "limit": LIMIT.as_secs() });
    scripted
        .server
        .then(Answer::calls([Call::new("a", "terminal", &call)]));
    scripted.server.then(Answer::text("It takes its time."));
    let chat = scripted.home.chat("ada").unwrap();
    chat.say("build");
    begun.heard().await.unwrap();
    // It is waited for until then, and not a moment longer.
    clock
        .sleeper(LIMIT - Duration::from_secs(5), LIMIT)
        .await
        .unwrap();
    assert_eq!(chat.posted(), Vec::<String>::new());
    clock.advance(LIMIT);
    chat.until_posted("It takes its time.").await.unwrap();
    scripted.home.quiet().await.unwrap();
    let moved = scripted.last_told().pop().unwrap();
    let process = chat.processes().await.unwrap().pop().unwrap();
    assert!(process.state.is_live(), "{process:?}");
    assert!(
        moved.starts_with("a: still running after 1 min")
            && moved.contains(&process.id.to_string()),
        "{moved}"
    );
    assert_eq!(chat.told(), Vec::<String>::new());

    scripted.server.then(Answer::text("The build is done."));
    gate.say("home").unwrap();
    chat.until_posted("The build is done.").await.unwrap();
    scripted.home.quiet().await.unwrap();
    assert!(scripted.last_told().last().unwrap().contains("went home"));
    assert_eq!(chat.told(), ["The build is done."]);
    let notifications = chat.notifications().await.unwrap();
    let states: Vec<State> = notifications.iter().map(|told| told.state).collect();
    assert_eq!(states, [State::Delivered]);
    chat.outbox().await.unwrap();

    // A day later nothing more comes of it.
    clock.advance(Duration::from_hours(24));
    scripted.home.quiet().await.unwrap();
    assert_eq!(chat.posted().len(), 2);
}

/// As `seq` writes it; more than is answered at once.
const COUNTED: usize = 20_000;

#[tokio::test]
async fn a_model_reads_all_of_an_output_that_was_too_long_to_answer() {
    let scripted = AtHome::start().await.unwrap();
    let whole: String = (1..=COUNTED).map(|line| format!("{line}\n")).collect();
    let length = whole.len();
    scripted.server.then(runs("a", &format!("seq {COUNTED}")));
    let list = json!({ "action": "list" });
    scripted
        .server
        .then(Answer::calls([Call::new("b", "process", &list)]));
    scripted.server.rule(move |body| {
        let messages = body["messages"].as_array()?;
        let mut texts = messages.iter().filter_map(|told| told["content"].as_str());
        let list = texts.clone().find(|text| text.starts_with("prc_"))?;
        // `bytes 0 to 16384 of 108894, …`: the next piece begins there.
        let before = texts.next_back()?.strip_prefix("bytes ");
        let from: usize = before.map_or(Some(0), |text| text.split(' ').nth(2)?.parse().ok())?;
        if from >= length {
            return Some(Answer::text("I have read all of it."));
        }
        let process = list.split(' ').next()?;
        let call = json!({ "action": "log", "process": process, "offset": from });
        let id = format!("log-{from}");
        Some(Answer::calls([Call::new(&id, "process", &call)]))
    });
    let chat = scripted.home.chat("ada").unwrap();
    assert_eq!(chat.ask("count").await.unwrap(), "I have read all of it.");
    let results = texts(&scripted, Role::Tool).await;
    assert!(results[0].contains("left out"), "{}", results[0]);
    let read: String = results[2..]
        .iter()
        .filter_map(|result| result.split_once('\n'))
        .flat_map(|(_, piece)| piece.split_whitespace())
        .collect();
    // A piece may end within a line.
    assert_eq!(read, whole.replace('\n', ""));
}
