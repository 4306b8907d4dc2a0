//! Bad input: what is wrong, where, and the way out. Nothing panics, nothing is lost.
#![allow(clippy::unwrap_used, reason = "tests")]

use homing_whole::{Running, TestFolder, homing};
use serde_json::json;

#[tokio::test]
async fn a_data_folder_in_use_is_refused() {
    let folder = TestFolder::new();
    let running = Running::start(&folder).await;
    let second = homing(&folder, &["serve", "--listen", "127.0.0.1:0"]).refused();
    assert!(
        second.contains("in use by another gateway (pid ") && second.contains("--data"),
        "{second}"
    );
    running.stop().await;
}

#[tokio::test]
async fn a_port_in_use_is_refused() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let refusal = homing(&TestFolder::new(), &["serve", "--listen", &address]).refused();
    assert!(
        refusal.contains(&address) && refusal.contains("in use") && refusal.contains("--listen"),
        "{refusal}"
    );
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused_and_untouched() {
    let folder = TestFolder::new();
    Running::start(&folder).await.stop().await;
    let store = folder.data().join("homing.db");
    let made_newer = std::process::Command::new("python3")
        .args(["-c", "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA user_version = 9999'); c.commit(); c.close()"])
        .arg(&store)
        .status()
        .unwrap();
    assert!(made_newer.success());
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["ps"][..]] {
        let refusal = homing(&folder, command).refused();
        assert!(
            refusal.contains("newer Homing") && refusal.contains("9999"),
            "{refusal}"
        );
    }
}

#[tokio::test]
async fn a_bad_configuration_names_file_line_and_way_out() {
    let folder = TestFolder::new();
    let path = folder.workspace().join("homing.toml");
    std::fs::write(&path, "[gateway]\nlisten_on = \"127.0.0.1:1\"\n").unwrap();
    let refusal = homing(&folder, &["serve", "--config", path.to_str().unwrap()]).refused();
    assert!(
        refusal.contains("homing.toml")
            && refusal.contains("line 2")
            && refusal.contains("listen_on"),
        "{refusal}"
    );
    let absent = homing(&folder, &["serve", "--config", "absent.toml"]).refused();
    assert!(
        absent.contains("absent.toml") && absent.contains("No such file"),
        "{absent}"
    );
    assert_eq!(homing(&folder, &["ps", "--nonsense"]).code, Some(2));
}

#[tokio::test]
async fn commands_beside_no_gateway_say_so() {
    let folder = TestFolder::new();
    for command in [
        &["ps"][..],
        &["explain", "prc_0000000000001"][..],
        &["log", "x"][..],
    ] {
        let refusal = homing(&folder, command).refused();
        assert!(
            refusal.contains("no store in") && refusal.contains("--data"),
            "{refusal}"
        );
    }
    assert!(
        homing(&folder, &["kill", "prc_0000000000001"])
            .refused()
            .contains("no gateway has run in")
    );
}

#[tokio::test]
async fn a_person_is_told_what_is_wrong() {
    let folder = TestFolder::new();
    let running = Running::start(&folder).await;
    let thread = running.thread("bad");
    running.say(&thread, "hello").await;
    // An unknown process, a foreign session, wrong arguments, a command that is not there.
    running.say(&thread, "/log prc_0000000000001").await;
    running
        .wait_for_text(
            &thread,
            "There is no process `prc_0000000000001` in this conversation",
        )
        .await;
    running.say(&thread, "/resume ses_0000000000001").await;
    running
        .wait_for_text(
            &thread,
            "There is no session `ses_0000000000001` in this conversation",
        )
        .await;
    running.say(&thread, "/kill").await;
    running.wait_for_text(&thread, "Usage: /kill PROCESS").await;
    running.say(&thread, "/log x 0").await;
    running
        .wait_for_text(&thread, "BYTES is a number from 1 to")
        .await;
    running.say(&thread, "/explian x").await;
    running
        .wait_for_text(&thread, "Did you mean /explain?")
        .await;
    running.say(&thread, "!watch re:( -- true").await;
    running
        .wait_for_text(&thread, "is not a regular expression")
        .await;
    running.stop().await;
}

/// OWN-44: another conversation's session and process are not there, whoever knows their ids.
#[tokio::test]
async fn foreign_ids_are_not_there() {
    let folder = TestFolder::new();
    let running = Running::start(&folder).await;
    let (mine, other) = (running.thread("mine"), running.thread("other"));
    running.say(&other, "!bg sleep 600").await;
    let started = running.wait_for_text(&other, "Started prc_").await;
    let process = started
        .split_whitespace()
        .find(|word| word.starts_with("prc_"))
        .unwrap()
        .trim_end_matches('.')
        .to_owned();
    running.say(&other, "/status").await;
    let status = running.wait_for_text(&other, "Session ses_").await;
    let session = status
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .find(|word| word.starts_with("ses_"))
        .unwrap();
    running.say(&mine, "hello").await;
    for command in [
        format!("/kill {process}"),
        format!("/log {process}"),
        format!("/adopt {process}"),
    ] {
        running.say(&mine, &command).await;
    }
    running.say(&mine, &format!("/explain {process}")).await;
    running
        .wait_for_text(&mine, "does not belong to this conversation")
        .await;
    running.say(&mine, &format!("/resume {session}")).await;
    running
        .wait_for_text(
            &mine,
            &format!("There is no session `{session}` in this conversation"),
        )
        .await;
    let refusals = running
        .texts(&mine)
        .await
        .iter()
        .filter(|text| text.contains("There is no process"))
        .count();
    assert_eq!(refusals, 3);
    assert!(
        homing(&folder, &["ps", "--live"]).ok().contains(&process),
        "it was stopped by a stranger"
    );
    homing(&folder, &["kill", &process]).ok();
    running.stop().await;
}

#[tokio::test]
async fn the_http_api_says_what_is_wrong() {
    let folder = TestFolder::new();
    let running = Running::start(&folder).await;
    let (status, body) = running
        .post(
            "/api/v1/conversations/agent:main:console/messages",
            &json!({"text": "x", "id": "1"}),
        )
        .await;
    assert_eq!(status, 400);
    assert!(body.contains("chat_type"), "{body}");
    let long = "x".repeat(300 * 1024);
    let (status, body) = running
        .post(
            "/api/v1/conversations/agent:main:console:dm:local:long/messages",
            &json!({"text": long, "id": "2"}),
        )
        .await;
    assert!(status == 400 || status == 413, "{status}: {body}");
    assert!(
        body.contains("262144") || body.contains("256"),
        "the limit is named: {body}"
    );
    // The same message twice is one message (OWN-70).
    let thread = running.thread("twice");
    for _ in 0..2 {
        let (status, _) = running
            .post(
                &format!("/api/v1/conversations/{thread}/messages"),
                &json!({"text": "!echo once", "id": "same"}),
            )
            .await;
        assert!((200..300).contains(&status));
    }
    running.wait_for_text(&thread, "once").await;
    running.say(&thread, "!echo last").await;
    running.wait_for_text(&thread, "last").await;
    assert_eq!(
        running
            .texts(&thread)
            .await
            .iter()
            .filter(|text| text.contains("once"))
            .count(),
        1
    );
    running.stop().await;
}
