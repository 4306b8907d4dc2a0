//! A key is where it is needed and nowhere else: not in what the gateway runs, whatever that looks at, nor in anything that is kept, said or shown.
//!
//! What is looked at here is what a program of the same user can see of itself, of its supervisor and of the gateway. A key's file is not: who runs as the
//! same user can read it.
#![allow(clippy::unwrap_used, reason = "tests")]

use homing_simulators::model::{Answer, Call, ModelServer};
use homing_whole::{Running, TestFolder, until};
use serde_json::{Value, json};

/// What a program can see without opening anybody's file: its environment, that of every process it can look at, and their command lines.
const SPY: &str = r#"
env
set
cat /proc/self/environ
for process in /proc/[0-9]*; do
    cat "$process/environ" "$process/cmdline" 2>/dev/null
done
cat "/proc/$PPID/environ" "/proc/$PPID/cmdline" 2>&1
echo "looked: $1"
"#;

/// How the key comes to the gateway.
#[derive(Debug, Clone, Copy)]
enum From {
    File,
    Variable,
}

impl From {
    /// One for each: programs see what is on the machine, another test's gateway among it.
    const fn key(self) -> &'static str {
        match self {
            From::File => "sk-canary-5a1e90c4d7b24f68",
            From::Variable => "sk-canary-c83b6f02e9a1475d",
        }
    }
}

/// Four ways to run the spy, one after another, then a server that tells the key to whoever listens.
fn model(server: &ModelServer, key: &'static str) {
    server.set_key(key);
    server.rule(move |request| {
        let last = request["messages"].as_array()?.last()?;
        let text = last["content"].as_str()?;
        if last["role"] == "tool" {
            return Some(Answer::text(&format!("I saw {} bytes.", text.len())));
        }
        let word = text.split_whitespace().last()?;
        let call =
            |arguments: Value| Some(Answer::calls([Call::new("call", "terminal", &arguments)]));
        let spy = format!("sh spy.sh {word} > seen-{word} 2>&1");
        match word {
            "foreground" => call(json!({ "command": spy })),
            "background" => call(json!({ "command": spy, "background": true })),
            "terminal" => {
                call(json!({ "command": "sh spy.sh terminal", "background": true, "pty": true }))
            }
            "delegated" if text.contains("ask somebody") => {
                let call = json!({ "tasks": ["spy as delegated"] });
                Some(Answer::calls([Call::new("call", "delegate", &call)]))
            }
            "delegated" => call(json!({ "command": spy })),
            "echo" => Some(Answer::error(
                500,
                "x",
                &format!("what is this? Authorization: Bearer {key}"),
            )),
            _ => Some(Answer::text("I hear.")),
        }
    });
}

async fn started(folder: &TestFolder, server: &ModelServer, from: From) -> Running {
    let key = match from {
        From::File => format!("{{ file = {:?} }}", folder.secret("key", from.key())),
        From::Variable => "{ env = \"HOMING_TEST_KEY\" }".to_owned(),
    };
    let settings = folder.settings(&format!(
        "[agent]\nkind = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\nkey = {key}\nattempts = 1\n",
        server.url()
    ));
    let variables: &[(&str, &str)] = match from {
        From::File => &[],
        From::Variable => &[("HOMING_TEST_KEY", from.key())],
    };
    Running::start_in(folder, &[&settings[0], &settings[1]], variables).await
}

async fn nothing_has_the_key(from: From) {
    let server = ModelServer::start().await.unwrap();
    let key = from.key();
    model(&server, key);
    let folder = TestFolder::new();
    std::fs::write(folder.workspace().join("spy.sh"), SPY).unwrap();
    let running = started(&folder, &server, from).await;
    let thread = running.thread("spies");
    for (asked, seen) in [
        ("spy in the foreground", "seen-foreground"),
        ("spy in the background", "seen-background"),
        ("ask somebody who is delegated", "seen-delegated"),
    ] {
        running.say(&thread, asked).await;
        let path = folder.workspace().join(seen);
        until(seen, async || {
            std::fs::read_to_string(&path).is_ok_and(|text| text.contains("looked: "))
        })
        .await;
    }
    running.say(&thread, "spy on a terminal").await;
    let path = format!("/api/v1/processes?conversation={thread}&limit=20");
    until("all of them have ended", async || {
        let processes = running.get(&path).await;
        let all = processes["processes"].as_array().unwrap().clone();
        all.len() == 4 && all.iter().all(|process| process["state"] == "exited")
    })
    .await;
    running.say(&thread, "and now echo").await;
    running.wait_for_text(&thread, "has a problem").await;

    // The server had it from us.
    let requests = server.requests();
    assert!(requests.len() > 5);
    let with_key = requests.iter().filter(|request| {
        let authorization = request.authorization.as_deref();
        authorization.is_some_and(|value| value.ends_with(key))
    });
    assert_eq!(with_key.count(), requests.len());
    // The spy saw something, the gateway among it.
    let seen = std::fs::read_to_string(folder.workspace().join("seen-foreground")).unwrap();
    assert!(
        seen.contains("HOMING_SESSION_ID=") && seen.contains("serve"),
        "{seen}"
    );

    for path in [
        path.clone(),
        format!("/api/v1/conversations/{thread}"),
        format!("/api/v1/conversations/{thread}/messages?limit=200"),
        format!("/api/v1/notifications?conversation={thread}&limit=200"),
        "/api/v1/conversations".to_owned(),
    ] {
        let answer = running.get(&path).await.to_string();
        assert!(!answer.contains(key), "{path}: {answer}");
    }
    if let Some(is_readable) = memory_is_readable(running.pid()) {
        assert!(!is_readable, "{from:?}: the gateway's memory can be read");
    }
    running.stop().await;
    assert!(folder.log().contains("has a problem"), "{}", folder.log());
    let found = folder.files_with(key, &["key"]);
    assert!(found.is_empty(), "{from:?}: {found:?}");
}

/// Whether a program of the same user can read another one's memory: the kernel asks the same of its environment. `None` for root, who can.
fn memory_is_readable(pid: u32) -> Option<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    (!is_root).then(|| std::fs::read(format!("/proc/{pid}/environ")).is_ok())
}

#[tokio::test]
async fn a_key_from_a_file_is_in_no_child_log_store_or_answer() {
    nothing_has_the_key(From::File).await;
}

#[tokio::test]
async fn a_key_from_a_variable_is_in_no_child_log_store_or_answer() {
    nothing_has_the_key(From::Variable).await;
}
