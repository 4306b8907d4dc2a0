//! A disk that refuses a write stops the writer for good, visibly, and takes nothing that was acknowledged.
//!
//! The refusal is the kernel's own: a limit on the size of files, with its signal ignored, makes `write` fail in the middle of a commit.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashSet;
use std::process::{Command, Stdio};

use homing_conformance::Place;
use homing_conformance::sqlite::SqliteFiles;

const FILES: SqliteFiles = SqliteFiles {
    appender: env!("CARGO_BIN_EXE_homing-appender"),
};

#[tokio::test]
async fn after_a_failed_write_nothing_is_written_and_everything_acknowledged_is_there() {
    let file = FILES.file();
    let output = tokio::task::spawn_blocking({
        let mut command = Command::new("sh");
        // 2 MiB in blocks of 512 bytes: more than the empty schema, less than the log grows to.
        command
            .arg("-c")
            .arg("trap '' XFSZ; ulimit -f 4096; exec \"$0\" sqlite \"$1\"")
            .arg(FILES.appender)
            .arg(file.path());
        move || command.stderr(Stdio::inherit()).output().unwrap()
    })
    .await
    .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");

    let (about, acknowledged): (Vec<&str>, Vec<&str>) =
        said.lines().partition(|line| line.contains(": "));
    assert!(acknowledged.len() > 100, "{said}");
    // Four tasks: each failed, and each was told again why.
    let failed = about
        .iter()
        .filter(|line| line.starts_with("failed: the store cannot answer"))
        .count();
    let then = about
        .iter()
        .filter(|line| line.starts_with("then: Err(Unavailable(\"the store stopped writing"))
        .count();
    assert_eq!((failed, then), (4, 4), "{about:#?}");
    assert!(
        about
            .iter()
            .filter(|line| line.starts_with("then: "))
            .all(|line| line.contains("failed() = Some(")),
        "{about:#?}"
    );

    let store = file.open().await;
    let mut there = HashSet::new();
    for conversation in store.conversations(100).await.unwrap() {
        let history = store
            .conversation_history(conversation.id, 1_000_000)
            .await
            .unwrap();
        there.extend(history.into_iter().map(|row| row.text));
    }
    let lost: Vec<_> = acknowledged
        .iter()
        .filter(|text| !there.contains(**text))
        .collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
}
