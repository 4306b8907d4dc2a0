//! The runner as a program: it says what is wrong with a file and where, and it can fail.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

const HERE: &str = "agent:main:telegram:group:-100:42";

fn runner(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_homing-scenarios"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs one scenario. Exit code, standard output, standard error.
fn run(steps: &Value, options: &[&str]) -> (i32, String, String) {
    let content = json!([{"name": "the one", "covers": [1], "steps": steps}]);
    run_content(&content.to_string(), options)
}

fn run_content(content: &str, options: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("some.json");
    fs::write(&file, content).unwrap();
    let mut arguments = vec![file.to_str().unwrap()];
    arguments.extend(options);
    let output = runner(&arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Malformed: exit 2, nothing run, and file, scenario, step and problem are named.
fn malformed(steps: &Value, step: usize, problem: &str) {
    let (code, out, error) = run(steps, &[]);
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    let wanted = format!("some.json: scenario \"the one\": step {step}: ");
    assert!(
        error.contains(&wanted) && error.contains(problem),
        "wanted `{wanted}…{problem}…`, got {error}"
    );
}

#[test]
fn a_step_that_cannot_be_read_is_named() {
    malformed(
        &json!([{"message": {"at": HERE}}, {"mesage": {"at": HERE}}]),
        2,
        "unknown variant `mesage`",
    );
    malformed(
        &json!([{"message": {"at": HERE, "texd": "x"}}]),
        1,
        "unknown field `texd`",
    );
    malformed(&json!([{"message": {}}]), 1, "missing field `at`");
    malformed(
        &json!([{"message": {"at": "agent:main:telegram:room:5"}}]),
        1,
        "chat_type",
    );
    malformed(
        &json!([{"message": {"at": HERE}, "release": {"at": HERE}}]),
        1,
        "one action, this one has 2",
    );
    malformed(&json!(["message"]), 1, "an object with one action");
    malformed(&json!([{"clock": {"advance": "15"}}]), 1, "not a span");
    malformed(
        &json!([{"gateway": {"is": "dead"}}]),
        1,
        "unknown variant `dead`",
    );
    malformed(
        &json!([{"window": {"open": "w1"}}]),
        1,
        "opened `at` a conversation",
    );
    malformed(
        &json!([{"window": {"open": "w1", "close": "w2", "at": HERE}}]),
        1,
        "one of `open`, `close`, `touch`",
    );
    malformed(
        &json!([{"expect": {"state": {}}}]),
        1,
        "unknown field `state`",
    );
    malformed(
        &json!([{"expect": {"session": {"at": HERE}}}]),
        1,
        "either `is` or `is_not`",
    );
}

#[test]
fn a_step_that_the_steps_before_do_not_allow_is_named() {
    let message = json!({"message": {"at": HERE}});
    let spawn = json!({"spawn": {"at": HERE, "process": "p1"}});
    malformed(
        &json!([message, {"exit": {"process": "p1", "code": 0}}]),
        2,
        "no process p1",
    );
    malformed(
        &json!([message, spawn, {"exit": {"process": "p1"}}]),
        3,
        "either a `code` or a `signal`",
    );
    malformed(
        &json!([message, spawn, {"exit": {"process": "p1", "code": 256}}]),
        3,
        "256",
    );
    malformed(
        &json!([message, spawn, {"exit": {"process": "p1", "signal": "CHLD"}}]),
        3,
        "does not end a program",
    );
    malformed(
        &json!([message, spawn, spawn]),
        3,
        "names a process already",
    );
    malformed(&json!([message, {"config": {}}]), 2, "must be the first");
    malformed(
        &json!([{"config": {"processes.on_rest": "kill"}}]),
        1,
        "no such setting",
    );
    malformed(
        &json!([{"config": {"processes.on_reset": "stop"}}]),
        1,
        "none of keep, kill",
    );
    malformed(
        &json!([message, {"command": {"at": HERE, "text": "/resume ${s1}"}}]),
        2,
        "labelled `s1`",
    );
    malformed(
        &json!([message, {"command": {"at": HERE, "text": "new"}}]),
        2,
        "begins with `/`",
    );
    malformed(
        &json!([message, {"release": {"at": HERE}}]),
        2,
        "no message was held",
    );
    malformed(
        &json!([message, {"gateway": {"is": "started"}}]),
        2,
        "is running",
    );
    malformed(
        &json!([message, {"gateway": {"is": "killed"}}, spawn]),
        3,
        "not running",
    );
    malformed(
        &json!([message, {"platform": {"name": "slack", "is": "down"}}]),
        2,
        "on `slack`",
    );
    malformed(
        &json!([message, {"expect": {"states": {"p1": "delivered"}}}]),
        2,
        "no process or delegation p1",
    );
    malformed(
        &json!([message, spawn, {"expect": {"states": {"p1": "done"}}}]),
        3,
        "`done` is not a state",
    );
    malformed(&json!([{"window": {"touch": "w1"}}]), 1, "not open");
    malformed(
        &json!([{"message": {"at": "agent:main:telegram:group:-100::u1", "user": "u2"}}]),
        1,
        "lands at",
    );
    malformed(
        &json!([message, {"finish": {"delegation": "d1", "summary": "x"}}]),
        2,
        "no delegation d1",
    );
}

#[test]
fn every_problem_of_a_file_is_said_and_no_scenario_is_run() {
    let good = json!({"name": "good", "covers": [], "steps": []});
    let bad = json!({"name": "bad", "steps": [{"one": {}}, {"two": {}}]});
    let unnamed = json!({"steps": []});
    let (code, out, error) = run_content(&json!([good, bad, unnamed, good]).to_string(), &[]);
    assert_eq!((code, out.as_str()), (2, ""));
    for wanted in [
        "\"bad\": step 1",
        "\"bad\": step 2",
        "\"number 3\": missing field `name`",
        "\"good\": another scenario",
    ] {
        assert!(error.contains(wanted), "no `{wanted}` in {error}");
    }
}

#[test]
fn a_file_that_is_no_list_of_scenarios_is_named() {
    for content in ["", "{}", "[{]", "not json", "[1]"] {
        let (code, _, error) = run_content(content, &[]);
        assert_eq!(code, 2, "{content}");
        assert!(error.contains("some.json"), "{error}");
    }
    let missing = runner(&["/nowhere/at.json"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/nowhere/at.json"));
}

#[test]
fn options_that_cannot_be_used_say_so() {
    assert_eq!(runner(&[]).status.code(), Some(2));
    for (options, problem) in [
        (
            ["--store", "postgres://localhost/x"],
            "PostgreSQL store is not there yet",
        ),
        (["--store", "mysql://x"], "neither `sqlite` nor"),
        (["--real", "discord"], "`discord` is not there yet"),
        (["--only", "nothing like it"], "no scenario's name contains"),
    ] {
        let (code, _, error) = run(&json!([]), &options);
        assert_eq!(code, 2);
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_scenario_that_is_not_so_fails_with_its_step() {
    let steps = json!([
        {"message": {"at": HERE}},
        {"expect": {"answers": [{"at": HERE, "count": 1}], "posts": [], "turns": []}},
        {"expect": {"answers": [{"at": HERE, "count": 1}]}},
    ]);
    let (code, out, error) = run(&steps, &[]);
    assert_eq!(code, 1, "{error}");
    assert_eq!(
        out,
        format!("FAILED the one: step 3: expected answers [1 at {HERE}], seen []\n")
    );
}

#[test]
fn what_is_left_out_is_not_run() {
    let fails = json!({"name": "this fails", "steps": [{"message": {"at": HERE}}, {"expect": {"answers": []}}]});
    let passes = json!({"name": "this passes", "steps": [{"message": {"at": HERE}}, {"expect": {"answers": [{"at": HERE, "count": 1}]}}]});
    let content = json!([fails, passes]).to_string();
    let (code, out, _) = run_content(&content, &["--only", "passes"]);
    assert_eq!((code, out.as_str()), (0, "ok this passes\n"));
    let (code, out, _) = run_content(&content, &[]);
    assert_eq!(code, 1);
    assert!(
        out.starts_with("FAILED this fails: step 2: ") && out.ends_with("\nok this passes\n"),
        "{out}"
    );
}

#[test]
fn nothing_is_left_of_a_scenario_that_fails() {
    let steps = json!([
        {"message": {"at": HERE}},
        {"spawn": {"at": HERE, "process": "left_over_of_a_failure"}},
        {"expect": {"alive": []}},
    ]);
    let (code, out, error) = run(&steps, &[]);
    assert_eq!(code, 1, "{error}");
    assert!(
        out.contains("step 3: expected alive [], seen [left_over_of_a_failure]"),
        "{out}"
    );
    let running = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let left = running
        .filter(|line| String::from_utf8_lossy(line).contains("left_over_of_a_failure"))
        .count();
    assert_eq!(left, 0);
}
