//! Scenarios through the real adapter of Telegram. `./test` plays all files so; here is what the option promises.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::process::{Command, Output};

fn runs(arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_homing-scenarios"))
        .args(arguments)
        .arg(file)
        .output()
        .unwrap()
}

fn case(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("cases")
        .join(name)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_route_is_one_of_telegram() {
    let output = runs(&["--platform", "telegram"], &case("routing.json"));
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.lines()
            .last()
            .unwrap()
            .ends_with(" 0 failed, 0 not of telegram"),
        "{said}"
    );
}

#[test]
fn what_is_about_windows_is_listed_and_counted() {
    let output = runs(&["--platform", "telegram"], &case("windows.json"));
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let listed = said
        .lines()
        .filter(|line| line.starts_with("not of telegram "))
        .count();
    assert!(listed > 0, "{said}");
    assert!(
        said.lines()
            .last()
            .unwrap()
            .ends_with(&format!(" 0 failed, {listed} not of telegram")),
        "{said}"
    );
}

#[test]
fn the_platforms_own_conversations_are_real_and_the_others_stay() {
    let output = runs(&["--real", "telegram"], &case("routing.json"));
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_failure_is_told_with_the_names_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.json");
    let scenario = serde_json::json!([{
        "name": "wrong",
        "steps": [
            {"message": {"at": "agent:main:slack@T1:group:C1:17.1"}},
            {"expect": {"answers": [{"at": "agent:main:slack@T1:group:C1", "count": 1}]}},
        ],
    }]);
    std::fs::write(&file, scenario.to_string()).unwrap();
    let output = runs(&["--platform", "telegram"], &file);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("expected answers [1 at agent:main:slack@T1:group:C1], seen [1 at agent:main:slack@T1:group:C1:17.1]"),
        "{said}"
    );
}
