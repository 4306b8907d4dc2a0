//! Scenarios with the real agent of OpenAI-compatible servers. `./test` plays all files so; here is what the option promises.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const HERE: &str = "agent:main:telegram:group:-100:42";

fn runs(arguments: &[&str], file: &Path) -> (bool, String) {
    let Output { status, stdout, .. } = Command::new(env!("CARGO_BIN_EXE_homing-scenarios"))
        .args(["--agent", "openai"])
        .args(arguments)
        .arg(file)
        .output()
        .unwrap();
    (
        status.success(),
        String::from_utf8_lossy(&stdout).into_owned(),
    )
}

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("cases")
        .join(name)
}

fn ends(said: &str, with: &str) -> bool {
    said.lines().last().is_some_and(|line| line.ends_with(with))
}

/// Plays a scenario of one file.
fn plays(steps: Value) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.json");
    let content = json!([{"name": "the one", "steps": steps}]);
    fs::write(&file, content.to_string()).unwrap();
    runs(&[], &file)
}

#[test]
fn sub_agents_and_what_they_start_are_asked_for_in_tool_calls() {
    let (passed, said) = runs(&[], &case("delegations.json"));
    assert!(
        passed && ends(&said, " 0 failed, 0 not of a model"),
        "{said}"
    );
}

#[test]
fn held_turns_consume_by_tool_calls() {
    let (passed, said) = runs(&[], &case("consumption.json"));
    assert!(
        passed && ends(&said, " 0 failed, 0 not of a model"),
        "{said}"
    );
}

#[test]
fn over_telegram_as_well() {
    let (passed, said) = runs(&["--platform", "telegram"], &case("extra/steering.json"));
    assert!(
        passed && ends(&said, " 0 failed, 0 not of telegram, 1 not of a model"),
        "{said}"
    );
    assert!(
        said.contains("not of a model a message that was offered"),
        "{said}"
    );
}

/// What is compressed, chosen and counted goes over the wire.
#[test]
fn memory_is_the_agents_own() {
    let (passed, said) = runs(&[], &case("extra/memory.json"));
    assert!(
        passed && ends(&said, " 0 failed, 0 not of a model"),
        "{said}"
    );
}

/// The words of the scripted agent are not enough: the tool must have run, and its result come back in a request.
#[test]
fn what_is_answered_is_what_the_tools_said() {
    let steps = json!([
        {"message": {"at": HERE, "text": "use terminal {\"command\": \"echo $((40+2))\"}"}},
        {"expect": {"answers": [{"at": HERE, "count": 1, "has": ["terminal answered: exit code 0", "43"]}]}},
    ]);
    let (passed, said) = plays(steps);
    assert!(!passed, "{said}");
    assert!(
        said.contains("step 2: expected `43` answered, seen `terminal answered: exit code 0"),
        "{said}"
    );
    assert!(said.contains("| 42`"), "{said}");
}
