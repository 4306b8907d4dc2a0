//! The real binary, over HTTP and the command line, as a person uses it.
#![allow(clippy::unwrap_used, reason = "tests")]

use homing_whole::{Running, TestFolder, homing};

/// The main job: two threads, one result comes home, the other is dropped after `/new`, and anyone can see why (OWN-30, 31, 43).
#[tokio::test]
async fn one_result_comes_home_and_the_other_is_dropped_after_new() {
    let folder = TestFolder::new();
    let running = Running::start(&folder).await;
    let (one, two) = (running.thread("one"), running.thread("two"));
    running.say(&one, "hello").await;
    running.say(&two, "hello").await;
    running.say(&one, "!bg sleep 1; echo done-in-one").await;
    running.say(&two, "!bg sleep 1; echo done-in-two").await;
    let first = running.wait_for_text(&one, "Started prc_").await;
    let second = running.wait_for_text(&two, "Started prc_").await;
    running.say(&two, "/new").await;
    let reply = running.wait_for_text(&two, "A fresh session").await;
    assert!(
        reply.contains("sleep 1; echo done-in-two"),
        "the answer to /new says what still runs: {reply}"
    );
    running.wait_for_text(&one, "done-in-one").await;
    let (first, second) = (process_in(&first), process_in(&second));
    running.wait_for_state(&two, &second, "dropped").await;
    assert!(
        !running
            .texts(&two)
            .await
            .iter()
            .any(|text| text.contains("done-in-two\n")),
        "the other result was posted"
    );
    let why = homing(&folder, &["explain", &second]).ok();
    assert!(
        why.contains("dropped: session_reset") && why.contains("lineage was closed: reset"),
        "{why}"
    );
    let why = homing(&folder, &["explain", &first]).ok();
    assert!(
        why.contains("delivered") && why.contains("was posted at"),
        "{why}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&homing(&folder, &["explain", &second, "--json"]).ok()).unwrap();
    assert_eq!(json["notifications"][0]["reason"], "session_reset");
    running.stop().await;
}

/// `kill -9` and start again: the conversations are there, what ran reports where it belongs (OWN-16, 90).
#[tokio::test]
async fn killed_and_started_again_nothing_is_lost() {
    let folder = TestFolder::new();
    let mut running = Running::start(&folder).await;
    let thread = running.thread("builds");
    running
        .say(
            &thread,
            "!bg while [ ! -e go ]; do sleep 0.05; done; echo after-the-crash; exit 7",
        )
        .await;
    let process = process_in(&running.wait_for_text(&thread, "Started prc_").await);
    running.kill();
    assert!(homing(&folder, &["ps", "--live"]).ok().contains(&process));
    let running = Running::start(&folder).await;
    assert!(
        running
            .texts(&thread)
            .await
            .iter()
            .any(|text| text.contains("Started prc_")),
        "the conversation is gone"
    );
    std::fs::write(folder.workspace().join("go"), "").unwrap();
    running.wait_for_text(&thread, "exit code 7").await;
    running.wait_for_text(&thread, "after-the-crash").await;
    let json: serde_json::Value =
        serde_json::from_str(&homing(&folder, &["ps", "--json"]).ok()).unwrap();
    assert_eq!(json[0]["exit_code"], 7);
    assert!(
        homing(&folder, &["log", &process])
            .ok()
            .contains("after-the-crash")
    );
    running.stop().await;
}

/// A long foreground command does not block the conversation's commands.
#[tokio::test]
async fn stop_works_at_once_while_a_command_runs() {
    let folder = TestFolder::new();
    let running = Running::start(&folder).await;
    let thread = running.thread("long");
    running.say(&thread, "!echo begun > begun; sleep 600").await;
    homing_whole::until("the command runs", async || {
        folder.workspace().join("begun").exists()
    })
    .await;
    running.say(&thread, "/ps").await;
    running.wait_for_text(&thread, "sleep 600").await;
    running.say(&thread, "/stop").await;
    running.wait_for_text(&thread, "Stopped.").await;
    homing_whole::until("it is stopped", async || {
        !homing(&folder, &["ps", "--live"])
            .ok()
            .contains("sleep 600")
    })
    .await;
    running.say(&thread, "!echo still here").await;
    running.wait_for_text(&thread, "still here").await;
    running.stop().await;
}

/// `homing kill` is known to be wanted: its end is no news (OWN-38).
#[tokio::test]
async fn a_process_killed_on_the_command_line_is_silent() {
    let folder = TestFolder::new();
    let running = Running::start(&folder).await;
    let thread = running.thread("kill");
    running.say(&thread, "!bg sleep 600").await;
    let process = process_in(&running.wait_for_text(&thread, "Started prc_").await);
    let last = &process[process.len() - 6..];
    assert!(homing(&folder, &["kill", last]).ok().contains("stopping"));
    running.wait_for_state(&thread, &process, "consumed").await;
    assert!(
        homing(&folder, &["kill", &process])
            .ok()
            .contains("ended before")
    );
    running.stop().await;
}

/// OWN-22: a program uses its own token; what it starts belongs to its owner, and it reaches nobody else's processes.
#[tokio::test]
async fn a_program_acts_for_its_owner_only() {
    let folder = TestFolder::new();
    let running = Running::start(&folder).await;
    let (mine, other) = (running.thread("mine"), running.thread("other"));
    running.say(&other, "!bg sleep 600").await;
    let foreign = process_in(&running.wait_for_text(&other, "Started prc_").await);
    let binary = homing_whole::binary().display();
    running
        .say(&mine, &format!("!{binary} kill {foreign}"))
        .await;
    running
        .wait_for_text(&mine, "does not belong to this conversation")
        .await;
    running
        .say(&mine, &format!("!bg sleep 600; {binary} ps"))
        .await;
    let own = process_in(&running.wait_for_text(&mine, "Started prc_").await);
    running.say(&mine, &format!("!{binary} kill {own}")).await;
    running
        .wait_for_text(&mine, &format!("{own}: stopping"))
        .await;
    running
        .say(
            &mine,
            "!env | grep ^HOMING_ | sort | cut -d= -f1 | tr '\\n' ' '",
        )
        .await;
    let environment = running.wait_for_text(&mine, "HOMING_SESSION_KEY").await;
    for name in [
        "HOMING_SESSION_ID",
        "HOMING_PROFILE",
        "HOMING_ORIGIN_PLATFORM",
        "HOMING_CONTROL",
        "HOMING_TOKEN",
    ] {
        assert!(
            environment.contains(name),
            "{name} is missing: {environment}"
        );
    }
    homing(&folder, &["kill", &foreign]).ok();
    running.stop().await;
}

fn process_in(text: &str) -> String {
    let start = text.find("prc_").unwrap();
    text[start..]
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || *character == '_')
        .collect()
}

/// The allocator's caches can only be set before a program starts; what the gateway starts is not its business.
#[cfg(target_env = "gnu")]
#[tokio::test]
async fn the_gateway_is_frugal_with_memory_and_keeps_that_to_itself() {
    let folder = TestFolder::new();
    let running = Running::start(&folder).await;
    let environment = running.environment();
    // Some versions of glibc write into the text they read, so the two may have been taken apart.
    for setting in [
        "GLIBC_TUNABLES=glibc.malloc.arena_max=1",
        "glibc.malloc.tcache_count=0",
    ] {
        assert!(environment.contains(setting), "{environment}");
    }
    let one = running.thread("one");
    running
        .say(&one, "!bg echo has:${GLIBC_TUNABLES:-nothing}")
        .await;
    running.wait_for_text(&one, "has:nothing\n").await;
    running.stop().await;
}
