//! A client of a model, its simulated server, and what was heard.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use homing_agent_openai::client::{
    ChatError, ChatMessage, ChatRequest, Client, Completion, Event, Settings,
};
use homing_simulators::model::ModelServer;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes: reaching it is a failure.
const LONG: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Talk {
    pub server: ModelServer,
    pub client: Client,
    pub cancel: CancellationToken,
    heard: Arc<Mutex<Vec<Event>>>,
    changes: watch::Sender<u64>,
}

impl Talk {
    /// With limits that nothing reaches and waits that nobody notices.
    pub async fn start() -> anyhow::Result<Talk> {
        Talk::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut Settings)) -> anyhow::Result<Talk> {
        let server = ModelServer::start().await?;
        let mut settings = Settings::new(server.url(), "simulated");
        settings.connect_limit = LONG;
        settings.first_token_limit = LONG;
        settings.idle_limit = LONG;
        settings.total_limit = LONG;
        settings.attempts = 3;
        settings.backoff_first = Duration::from_millis(1);
        change(&mut settings);
        Ok(Talk {
            client: Client::new(settings)?,
            server,
            cancel: CancellationToken::new(),
            heard: Arc::default(),
            changes: watch::Sender::default(),
        })
    }

    pub async fn ask(&self, request: &ChatRequest) -> Result<Completion, ChatError> {
        let listen = |event| {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push(event);
            self.changes.send_modify(|version| *version += 1);
        };
        self.client.chat(request, listen, &self.cancel).await
    }

    pub fn heard(&self) -> Vec<Event> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.clone()
    }

    /// The text that a listener has, who forgets it when he is told to.
    pub fn text_heard(&self) -> String {
        let mut text = String::new();
        for event in self.heard() {
            match event {
                Event::Text(piece) => text.push_str(&piece),
                Event::Restarted => text.clear(),
                _ => {}
            }
        }
        text
    }

    /// Returns when something was heard that fits.
    pub async fn until_heard(&self, fits: impl Fn(&Event) -> bool) -> anyhow::Result<()> {
        let mut changes = self.changes.subscribe();
        let wait = changes.wait_for(|_| self.heard().iter().any(&fits));
        tokio::time::timeout(LONG, wait)
            .await
            .context("it was not heard")??;
        Ok(())
    }

    /// Returns when the server is so.
    pub async fn until_server(&self, fits: impl Fn(&ModelServer) -> bool) -> anyhow::Result<()> {
        let mut changes = self.server.changes();
        let wait = changes.wait_for(|_| fits(&self.server));
        tokio::time::timeout(LONG, wait)
            .await
            .context("the server never was so")??;
        Ok(())
    }
}

/// A request with one message.
pub fn user(text: &str) -> ChatRequest {
    ChatRequest {
        messages: vec![ChatMessage::User(text.into())],
        ..ChatRequest::default()
    }
}
