//! A console on a real port, and a browser to look at it with.

use std::sync::Arc;

use homing_console::{Console, ConsoleSettings, Inside, Login};
use homing_domain::ids::WindowId;
use homing_ports::IdSource;
use tokio_util::sync::CancellationToken;

use crate::fake::{Fake, HandClock};

/// A console on a port of its own, stopped when it is dropped.
pub struct Served {
    pub console: Console,
    pub fake: Arc<Fake>,
    pub clock: Arc<HandClock>,
    pub address: std::net::SocketAddr,
    stop: CancellationToken,
    done: tokio::task::JoinHandle<std::io::Result<()>>,
    pub folder: Arc<tempfile::TempDir>,
}

impl Served {
    pub async fn new() -> Served {
        let clock = HandClock::new();
        Served::with(
            Fake::new(clock.clone()),
            clock,
            Arc::new(tempfile::tempdir().unwrap()),
            "127.0.0.1:0",
        )
        .await
    }

    async fn with(
        fake: Arc<Fake>,
        clock: Arc<HandClock>,
        folder: Arc<tempfile::TempDir>,
        address: &str,
    ) -> Served {
        let login = Login::open(folder.path().join("console-sessions")).unwrap();
        let console = Console::new(
            ConsoleSettings::default(),
            clock.clone(),
            IdSource::new(clock.clone()),
            login,
        );
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let inside = Inside {
            inbox: fake.clone(),
            queries: fake.clone(),
            processes: fake.clone(),
        };
        let (serving, stopping) = (console.clone(), stop.clone());
        let done = tokio::spawn(async move { serving.serve(listener, inside, stopping).await });
        Served {
            console,
            fake,
            clock,
            address,
            stop,
            done,
            folder,
        }
    }

    pub async fn stop(self) -> (Arc<Fake>, Arc<HandClock>, Arc<tempfile::TempDir>, String) {
        self.stop.cancel();
        self.done.await.unwrap().unwrap();
        (self.fake, self.clock, self.folder, self.address.to_string())
    }

    /// The same store, files and port; another process, as far as anybody can tell.
    pub async fn restart(self) -> Served {
        let (fake, clock, folder, address) = self.stop().await;
        Served::with(fake, clock, folder, &address).await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub async fn browser(&self) -> Browser {
        let client = reqwest::Client::new();
        let response = client
            .get(self.console.login_link(self.address))
            .send()
            .await
            .unwrap();
        let cookie = response.headers()["set-cookie"]
            .to_str()
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        Browser {
            client,
            base: self.url(""),
            cookie,
        }
    }
}

/// Somebody who is logged in.
#[derive(Clone)]
pub struct Browser {
    client: reqwest::Client,
    base: String,
    cookie: String,
}

impl Browser {
    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.base))
            .header("cookie", &self.cookie)
            .header("origin", &self.base)
    }
    pub async fn get(&self, path: &str) -> (u16, serde_json::Value) {
        answer(self.request(reqwest::Method::GET, path)).await
    }
    pub async fn post(&self, path: &str, body: serde_json::Value) -> (u16, serde_json::Value) {
        answer(self.request(reqwest::Method::POST, path).json(&body)).await
    }
    pub async fn open_window(&self, key: &str) -> WindowId {
        let (status, body) = self
            .post(
                "/api/v1/windows",
                serde_json::json!({ "conversation": key }),
            )
            .await;
        assert_eq!(status, 200, "{body}");
        body["window"].as_str().unwrap().parse().unwrap()
    }
    pub async fn stream(&self, windows: &[WindowId]) -> Events {
        let windows: Vec<String> = windows.iter().map(ToString::to_string).collect();
        let request = self.request(
            reqwest::Method::GET,
            &format!("/api/v1/stream?window={}", windows.join(",")),
        );
        let mut events = Events {
            response: request.send().await.unwrap(),
            text: String::new(),
        };
        assert_eq!(events.response.status(), 200);
        // The greeting: from here on nothing is missed.
        events.more().await;
        events
    }
}

async fn answer(request: reqwest::RequestBuilder) -> (u16, serde_json::Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (
        status,
        serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text)),
    )
}

/// An open stream. Dropping it is a tab that vanishes.
pub struct Events {
    response: reqwest::Response,
    text: String,
}

impl Events {
    async fn more(&mut self) {
        let chunk = self
            .response
            .chunk()
            .await
            .unwrap()
            .expect("the stream goes on");
        self.text.push_str(std::str::from_utf8(&chunk).unwrap());
    }

    /// The next event: its name and data.
    pub async fn next(&mut self) -> (String, serde_json::Value) {
        loop {
            let Some((event, rest)) = self.text.split_once("\n\n") else {
                self.more().await;
                continue;
            };
            let field = |name: &str| {
                event
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map(|value| value.trim().to_owned())
            };
            let found = field("event:").zip(field("data:"));
            self.text = rest.to_owned();
            if let Some((name, data)) = found {
                return (name, serde_json::from_str(&data).unwrap());
            }
        }
    }
}
