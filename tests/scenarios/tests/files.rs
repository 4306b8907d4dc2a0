//! The scenario files that are promised to pass, and those that are not yet.

#![expect(
    clippy::print_stdout,
    reason = "a failed test shows what the runner printed"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Files whose rules come with later issues. They are played and shown; a failure there fails nothing.
const NOT_PROMISED_YET: [&str; 0] = [];

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// Plays a file and prints what the runner said. Whether all of it passed.
fn plays(file: &Path) -> bool {
    let runner = Command::new(env!("CARGO_BIN_EXE_homing-scenarios"))
        .arg(file)
        .output()
        .expect("the runner can be started");
    println!("{}", file.display());
    print!(
        "{}{}",
        String::from_utf8_lossy(&runner.stdout),
        String::from_utf8_lossy(&runner.stderr)
    );
    runner.status.success()
}

fn promised(name: &str) {
    assert!(plays(&cases().join(name)), "{name}: see the lines above");
}

#[test]
fn routing() {
    promised("routing.json");
}

#[test]
fn boundaries() {
    promised("boundaries.json");
}

#[test]
fn consumption() {
    promised("consumption.json");
}

#[test]
fn windows() {
    promised("windows.json");
}

#[test]
fn automatic() {
    promised("automatic.json");
}

#[test]
fn restart() {
    promised("restart.json");
}

#[test]
fn watch() {
    promised("watch.json");
}

#[test]
fn delegations() {
    promised("delegations.json");
}

#[test]
fn what_is_not_promised_yet_is_shown() {
    for name in NOT_PROMISED_YET {
        let all = if plays(&cases().join(name)) {
            "all passed"
        } else {
            "not all passed"
        };
        println!("{name}: {all}; not promised yet");
    }
}

#[test]
fn our_own() {
    let extra = cases().join("extra");
    let mut files: Vec<PathBuf> = extra
        .read_dir()
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    files.sort();
    let failed: Vec<&PathBuf> = files.iter().filter(|file| !plays(file)).collect();
    assert!(failed.is_empty(), "{failed:?}: see the lines above");
}

/// A file that somebody adds must be played somewhere.
#[test]
fn no_file_is_forgotten() {
    let promised = [
        "routing.json",
        "boundaries.json",
        "consumption.json",
        "windows.json",
        "automatic.json",
        "restart.json",
        "watch.json",
        "delegations.json",
    ];
    for entry in cases().read_dir().expect("the folder is there") {
        let name = entry.expect("it can be read").file_name();
        let name = name.to_string_lossy();
        assert!(
            name == "extra" || promised.contains(&&*name) || NOT_PROMISED_YET.contains(&&*name),
            "{name} is played nowhere"
        );
    }
}
