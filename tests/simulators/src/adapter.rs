//! The adapter: implements [`Platform`] over the simulator's HTTP and feeds what people wrote to an [`Inbox`].
//!
//! **Invariant:** an update is confirmed (by the next poll's offset) only after `Inbox::accept` has returned; one send is one request.
//! **Absent on purpose:** retries of sends, and any re-routing. What it tells of an outcome is exactly what it knows.

mod outcome;
mod poll;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::origin::AccountName;
use homing_domain::split::Limit;
use homing_ports::inbox::Inbox;
use homing_ports::platform::{Capabilities, Outgoing, Platform, Receipt, Repeats, SendError};
use reqwest::{Client, Url};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::validate::DEFAULT_LIMIT;
use crate::wire::{SendBody, account_segment};

/// A send that takes longer has an unknown outcome.
const SEND_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub limit: Limit,
    pub repeats: Repeats,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            limit: DEFAULT_LIMIT,
            repeats: Repeats::Deduplicates,
        }
    }
}

/// A client to share between the adapters of one gateway: connections are kept and reused.
pub fn client() -> reqwest::Result<Client> {
    // A proxy of the environment must not come between a test and its loopback server.
    Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(256)
        .build()
}

/// The server's address cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not the address of a simulator; it looks like http://127.0.0.1:4000")]
pub struct AddressError(String);

/// One account of a simulated platform.
#[derive(Debug)]
pub struct SimulatedPlatform {
    line: Arc<Line>,
    polling: Mutex<Option<JoinHandle<()>>>,
}

/// What sending and polling share.
#[derive(Debug)]
struct Line {
    account: AccountName,
    settings: Settings,
    client: Client,
    base: Url,
    send: Url,
    connected: AtomicBool,
    /// A send found the platform away: look whether it is.
    doubt: Notify,
}

impl SimulatedPlatform {
    /// `server` is [`Server::url`](crate::Server::url). Nothing is connected before [`SimulatedPlatform::open`].
    pub fn new(
        server: &str,
        account: AccountName,
        settings: Settings,
        client: Client,
    ) -> Result<Self, AddressError> {
        let segment = account_segment(&account);
        let base = address(server, &["v1", &account.platform, &segment])?;
        let send = address(server, &["v1", &account.platform, &segment, "send"])?;
        let line = Line {
            account,
            settings,
            client,
            base,
            send,
            connected: AtomicBool::new(false),
            doubt: Notify::new(),
        };
        Ok(SimulatedPlatform {
            line: Arc::new(line),
            polling: Mutex::new(None),
        })
    }

    /// Begins to fetch what people write. A second call replaces the first.
    pub fn open(&self, inbox: Arc<dyn Inbox>) {
        let polling = tokio::spawn(poll::run(Arc::clone(&self.line), inbox));
        self.replace(Some(polling));
    }

    /// Stops fetching. Sends still work.
    pub fn close(&self) {
        self.replace(None);
        self.line.connected.store(false, Ordering::Release);
    }

    /// Whether the last poll was answered.
    pub fn connected(&self) -> bool {
        self.line.connected.load(Ordering::Acquire)
    }

    pub fn account(&self) -> &AccountName {
        &self.line.account
    }

    fn replace(&self, polling: Option<JoinHandle<()>>) {
        let mut slot = self.polling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = std::mem::replace(&mut *slot, polling) {
            before.abort();
        }
    }
}

impl Drop for SimulatedPlatform {
    fn drop(&mut self) {
        self.close();
    }
}

/// Segments are encoded as needed: an account may be called anything.
fn address(server: &str, segments: &[&str]) -> Result<Url, AddressError> {
    let wrong = || AddressError(server.to_owned());
    let mut url = Url::parse(server).map_err(|_| wrong())?;
    url.path_segments_mut()
        .map_err(|()| wrong())?
        .clear()
        .extend(segments);
    Ok(url)
}

impl Line {
    fn below(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend(segments);
        }
        url
    }

    fn body(&self, outgoing: Outgoing) -> SendBody {
        let origin = outgoing.origin;
        SendBody {
            id: outgoing.id.to_string(),
            deduplicate: self.settings.repeats == Repeats::Deduplicates,
            attempt: outgoing.attempt,
            kind: outgoing.kind.name().to_owned(),
            profile: origin.profile,
            chat_type: origin.chat_type,
            chat: origin.chat,
            thread: origin.thread,
            user: origin.user,
            window: outgoing.window,
            text: outgoing.text,
            may_repeat: outgoing.may_repeat,
        }
    }

    async fn attempt(&self, request: reqwest::RequestBuilder) -> Result<Receipt, SendError> {
        let answered = outcome::answered(request.timeout(SEND_LIMIT).send().await).await?;
        outcome::receipt(answered.0, &answered.1)
    }

    fn note(&self, outcome: &Result<Receipt, SendError>) {
        if matches!(outcome, Err(SendError::Away(_))) {
            self.connected.store(false, Ordering::Release);
            self.doubt.notify_one();
        }
    }
}

#[async_trait]
impl Platform for SimulatedPlatform {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            limit: self.line.settings.limit,
            repeats: self.line.settings.repeats,
            live: Default::default(),
        }
    }

    async fn send(&self, outgoing: Outgoing) -> Result<Receipt, SendError> {
        let request = self
            .line
            .client
            .post(self.line.send.clone())
            .json(&self.line.body(outgoing));
        let outcome = self.line.attempt(request).await;
        self.line.note(&outcome);
        outcome
    }

    async fn look_up(&self, outgoing: &Outgoing) -> Result<Option<Receipt>, SendError> {
        let request = self
            .line
            .client
            .get(self.line.below(&["outbox", &outgoing.id.to_string()]));
        match outcome::answered(request.timeout(SEND_LIMIT).send().await).await? {
            (reqwest::StatusCode::NOT_FOUND, _) => Ok(None),
            (status, body) => outcome::receipt(status, &body).map(Some),
        }
    }

    async fn take_back(&self, receipt: &Receipt) -> Result<(), SendError> {
        let Some(message) = &receipt.message else {
            return Err(SendError::Refused(
                "the platform gave no id to take back by".into(),
            ));
        };
        let request = self
            .line
            .client
            .delete(self.line.below(&["messages", message]));
        match outcome::answered(request.timeout(SEND_LIMIT).send().await).await? {
            (reqwest::StatusCode::NO_CONTENT, _) => Ok(()),
            (status, body) => outcome::receipt(status, &body).map(drop),
        }
    }
}
