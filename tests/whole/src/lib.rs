//! The real program in a folder of its own, a person at its console, and the simulators it is pointed at.
//!
//! **Invariant:** what is played is the program as cargo builds it now; nothing here reaches inside.
//! **Absent on purpose:** anything that a person or a platform could not do.
#![allow(clippy::unwrap_used, reason = "a test ends where its harness fails")]

use std::sync::OnceLock;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// How long anything is waited for. Not a measure: only the end of hope.
const PATIENCE: Duration = Duration::from_secs(20);

/// The program under test, which cargo builds together with the tests: beside their own folder.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let here = std::env::current_exe().unwrap();
        // target/debug/deps/TEST → target/debug/whole
        here.ancestors().nth(2).unwrap().join("whole")
    })
}

#[derive(Debug)]
pub struct TestFolder {
    folder: tempfile::TempDir,
}

impl Default for TestFolder {
    fn default() -> Self {
        Self::new()
    }
}

impl TestFolder {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workspace")).unwrap();
        Self { folder }
    }
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
    /// Writes settings, and gives the arguments that use them.
    pub fn settings(&self, text: &str) -> [String; 2] {
        let path = self.folder.path().join("homing.toml");
        std::fs::write(&path, text).unwrap();
        ["--config".into(), path.display().to_string()]
    }
    /// A file that only we can read.
    pub fn secret(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::OpenOptionsExt as _;
        let path = self.folder.path().join(name);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        path
    }
    /// What gateways wrote to standard error so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }
    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }
    /// Everything here that holds these bytes: the store, run folders, logs, the workspace. Of what is told to be left out, nothing.
    pub fn files_with(&self, text: &str, but: &[&str]) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.path().to_owned()];
        let (mut found, mut looked_at) = (Vec::new(), 0);
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).unwrap().flatten() {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() && !but.iter().any(|name| entry.file_name() == *name) {
                    looked_at += 1;
                    let bytes = std::fs::read(&path).unwrap();
                    let mut windows = bytes.windows(text.len());
                    if windows.any(|window| window == text.as_bytes()) {
                        found.push(path);
                    }
                }
            }
        }
        assert!(looked_at >= 3, "there was nothing to look at");
        found
    }
}

impl Drop for TestFolder {
    /// What still runs was started by this test: its supervisors are told to end it.
    fn drop(&mut self) {
        for process in live_supervisors(&self.data()) {
            let _ended_meanwhile = std::process::Command::new("kill")
                .args(["-TERM", &process])
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// Pids of programs that run folders of this test name as started and not ended.
fn live_supervisors(data: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(data.join("run")) else {
        return Vec::new();
    };
    let folders = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("started").exists() && !path.join("exit").exists());
    folders
        .filter_map(|folder| {
            homing_shim::folder::Folder::new(folder)
                .started()
                .ok()
                .flatten()
        })
        .map(|started| started.program.pid.to_string())
        .collect()
}

#[derive(Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Output {
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }
    pub fn refused(self) -> String {
        assert_eq!(self.code, Some(1), "it should have failed: {}", self.out);
        self.err
    }
}

/// The command line, against the data folder.
pub fn homing(folder: &TestFolder, arguments: &[&str]) -> Output {
    let (command, rest) = arguments.split_first().unwrap();
    let data = folder.data();
    let output = std::process::Command::new(binary())
        .arg(command)
        .arg("--data")
        .arg(data)
        .args(rest)
        .current_dir(folder.workspace())
        .env_remove("HOMING_CONTROL")
        .output()
        .unwrap();
    Output {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Held open: a program that says something must find a reader.
    _lines: Lines<BufReader<ChildStdout>>,
    pub base: String,
    cookie: String,
    client: reqwest::Client,
}

impl Running {
    pub async fn start(folder: &TestFolder) -> Self {
        Self::start_with(folder, &[]).await
    }

    pub async fn start_with(folder: &TestFolder, arguments: &[&str]) -> Self {
        Self::start_in(folder, arguments, &[]).await
    }

    /// With these variables beside our own.
    pub async fn start_in(
        folder: &TestFolder,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let log = std::fs::File::options()
            .append(true)
            .create(true)
            .open(folder.log_path())
            .unwrap();
        let mut child = Command::new(binary())
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.data())
            .args(arguments)
            .envs(variables.iter().copied())
            .current_dir(folder.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines
            .next_line()
            .await
            .unwrap()
            .expect("it ended before it was ready");
        assert!(
            ready.starts_with("ready in ") && ready.ends_with(" ms"),
            "{ready}"
        );
        let link = lines.next_line().await.unwrap().unwrap();
        let link = link.strip_prefix("console: ").unwrap().to_owned();
        let base = link.split("/login").next().unwrap().to_owned();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let login = client.get(&link).send().await.unwrap();
        let cookie = login.headers()["set-cookie"]
            .to_str()
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        Self {
            child,
            _lines: lines,
            base,
            cookie,
            client,
        }
    }

    pub fn thread(&self, name: &str) -> String {
        format!("agent:main:console:dm:local:{name}")
    }

    pub async fn get(&self, path: &str) -> Value {
        let response = self
            .client
            .get(format!("{}{path}", self.base))
            .header("cookie", &self.cookie)
            .send()
            .await
            .unwrap();
        assert!(
            response.status().is_success(),
            "{path}: {}",
            response.status()
        );
        response.json().await.unwrap()
    }

    /// Status and body of a post.
    pub async fn post(&self, path: &str, body: &Value) -> (u16, String) {
        let request = self
            .client
            .post(format!("{}{path}", self.base))
            .header("cookie", &self.cookie)
            .header("origin", &self.base)
            .json(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    pub async fn say(&self, thread: &str, text: &str) {
        let id = format!("{:x}", rand_id());
        let (status, body) = self
            .post(
                &format!("/api/v1/conversations/{thread}/messages"),
                &json!({"text": text, "id": id}),
            )
            .await;
        assert!((200..300).contains(&status), "{status}: {body}");
    }

    /// The fields of the messages of a thread, oldest first.
    pub async fn messages(&self, thread: &str) -> Vec<Value> {
        let path = format!("/api/v1/conversations/{thread}/messages?limit=200");
        let messages = self.get(&path).await;
        messages["messages"].as_array().expect("messages").clone()
    }

    pub async fn texts(&self, thread: &str) -> Vec<String> {
        let messages = self
            .get(&format!(
                "/api/v1/conversations/{thread}/messages?limit=200"
            ))
            .await;
        let all = messages["messages"].as_array().expect("messages").iter();
        all.filter(|message| message["kind"] != "person" && message["kind"] != "waiting")
            .map(|message| message["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The first text of the agent, or of Homing, that holds `part`.
    pub async fn wait_for_text(&self, thread: &str, part: &str) -> String {
        let mut found = None;
        until(&format!("`{part}` in {thread}"), async || {
            found = self
                .texts(thread)
                .await
                .into_iter()
                .find(|text| text.contains(part));
            found.is_some()
        })
        .await;
        found.unwrap()
    }

    /// Until a notification of a process of this thread is in `state`.
    pub async fn wait_for_state(&self, thread: &str, process: &str, state: &str) {
        until(&format!("{process} {state}"), async || {
            let path = format!("/api/v1/notifications?conversation={thread}&limit=200");
            let notifications = self.get(&path).await;
            let all = notifications["notifications"].as_array().unwrap().clone();
            all.iter().any(|notification| {
                notification.to_string().contains(process) && notification["state"] == state
            })
        })
        .await;
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// The variables it was started with, as the kernel has them.
    pub fn environment(&self) -> String {
        let pid = self.child.id().unwrap();
        let variables = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
        variables.replace('\0', "\n")
    }

    /// SIGKILL: as hard as it comes.
    pub fn kill(&mut self) {
        self.child.start_kill().unwrap();
        while self.child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
    }

    /// SIGINT, as ctrl-C sends it; it ends well.
    pub async fn stop(mut self) {
        let pid = self.child.id().unwrap().to_string();
        assert!(
            std::process::Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .unwrap()
                .success()
        );
        let status = tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .expect("it does not stop")
            .unwrap();
        assert_eq!(status.code(), Some(0));
    }
}

/// Looks until something is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(tokio::time::Instant::now() < end, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn rand_id() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) | (u64::from(std::process::id()) << 32)
}
