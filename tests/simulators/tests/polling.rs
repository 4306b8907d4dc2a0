//! The poll loop against the real server: what is confirmed when, and how it comes back after being away.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, InboundId, WindowId};
use homing_domain::key::{ChatType, SessionKey};
use homing_domain::origin::{AccountName, Origin};
use homing_ports::inbox::{AcceptError, Accepted, Edited, Inbound, Inbox};
use homing_ports::store::StoreError;
use homing_simulators::{Post, Server, Settings, SimulatedPlatform, Which, client};
use tokio::sync::{broadcast, watch};

/// Keeps what it is given; refuses while it is told to.
#[derive(Debug, Default)]
struct Kept {
    accepted: Mutex<Vec<Inbound>>,
    ready: Mutex<u32>,
    refusing: Mutex<bool>,
    changed: watch::Sender<u64>,
}

impl Kept {
    fn texts(&self) -> Vec<String> {
        self.accepted
            .lock()
            .unwrap()
            .iter()
            .map(|inbound| inbound.text.clone())
            .collect()
    }
    async fn until(&self, met: impl Fn(&Kept) -> bool) {
        let mut changes = self.changed.subscribe();
        let wait = changes.wait_for(|_| met(self));
        tokio::time::timeout(Duration::from_secs(10), wait)
            .await
            .expect("met within ten seconds")
            .unwrap();
    }
}

#[async_trait]
impl Inbox for Kept {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError> {
        if *self.refusing.lock().unwrap() {
            self.changed.send_modify(|version| *version += 1);
            return Err(StoreError::Unavailable("on purpose".into()).into());
        }
        self.accepted.lock().unwrap().push(inbound);
        self.changed.send_modify(|version| *version += 1);
        Ok(Accepted::New {
            inbound: InboundId::from_number(1),
            conversation: ConversationId::from_number(1),
        })
    }
    fn ready(&self, _account: &AccountName) {
        *self.ready.lock().unwrap() += 1;
        self.changed.send_modify(|version| *version += 1);
    }
    async fn edited(&self, _: &AccountName, _: &str, _: &str) -> Result<Edited, AcceptError> {
        Err(AcceptError::Stopping)
    }
    async fn moved(&self, _: &AccountName, _: &str, _: &str) -> Result<u64, AcceptError> {
        Err(AcceptError::Stopping)
    }
    async fn reopened(&self, _: &Origin) -> Result<(), AcceptError> {
        Err(AcceptError::Stopping)
    }
    async fn tell_operator(&self, _: &str) {}
    async fn open_window(
        &self,
        _window: WindowId,
        _at: &SessionKey,
    ) -> Result<ConversationId, AcceptError> {
        Err(AcceptError::Stopping)
    }
    async fn touch_window(&self, _window: WindowId) -> Result<(), AcceptError> {
        Err(AcceptError::Stopping)
    }
    async fn close_window(&self, _window: WindowId) -> Result<(), AcceptError> {
        Err(AcceptError::Stopping)
    }
    fn changes(&self) -> broadcast::Receiver<ConversationId> {
        broadcast::channel(1).1
    }
}

fn account(profile: &str) -> AccountName {
    AccountName {
        profile: profile.into(),
        platform: "slack".into(),
        account: Some("T1".into()),
    }
}

fn post(text: &str) -> Post {
    Post {
        chat_type: ChatType::Group,
        chat: "C1".into(),
        thread: Some("17.1".into()),
        user: Some("u1".into()),
        author: None,
        window: None,
        text: text.into(),
    }
}

async fn start() -> (Server, SimulatedPlatform, Arc<Kept>) {
    let server = Server::start().await.unwrap();
    let platform = SimulatedPlatform::new(
        &server.url(),
        account("main"),
        Settings::default(),
        client().unwrap(),
    )
    .unwrap();
    (server, platform, Arc::default())
}

async fn confirmed(server: &Server) {
    let mut changes = server.changes();
    let wait = changes.wait_for(|_| server.unconfirmed() == 0);
    tokio::time::timeout(Duration::from_secs(10), wait)
        .await
        .expect("confirmed within ten seconds")
        .unwrap();
}

#[tokio::test]
async fn what_was_written_before_and_after_arrives_in_order_and_is_confirmed() {
    let (server, platform, inbox) = start().await;
    server.post(&account("main"), post("one"));
    platform.open(Arc::clone(&inbox) as Arc<dyn Inbox>);
    inbox.until(|inbox| inbox.texts() == ["one"]).await;
    server.post(&account("main"), post("two"));
    server.post(&account("main"), post("three"));
    inbox
        .until(|inbox| inbox.texts() == ["one", "two", "three"])
        .await;
    confirmed(&server).await;
    assert!(platform.connected());
    let inbound = inbox.accepted.lock().unwrap()[0].clone();
    assert_eq!(inbound.origin.account_name(), account("main"));
    assert_eq!(
        (
            inbound.origin.thread.as_deref(),
            inbound.platform_id.as_str()
        ),
        (Some("17.1"), "1")
    );
}

#[tokio::test]
async fn accounts_stay_apart_and_share_no_update_number() {
    let (server, platform, inbox) = start().await;
    let foreign = server.post(&account("ops"), post("not ours"));
    let ours = server.post(&account("main"), post("ours"));
    assert_ne!(foreign, ours);
    platform.open(Arc::clone(&inbox) as Arc<dyn Inbox>);
    inbox.until(|inbox| inbox.texts() == ["ours"]).await;
    let mut changes = server.changes();
    let wait = changes.wait_for(|_| server.unconfirmed() == 1);
    tokio::time::timeout(Duration::from_secs(10), wait)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn what_could_not_be_stored_is_not_confirmed_and_comes_again() {
    let (server, platform, inbox) = start().await;
    *inbox.refusing.lock().unwrap() = true;
    server.post(&account("main"), post("one"));
    platform.open(Arc::clone(&inbox) as Arc<dyn Inbox>);
    inbox.until(|inbox| *inbox.changed.borrow() >= 3).await;
    assert_eq!(server.unconfirmed(), 1);
    // Another gateway finds it still there.
    platform.close();
    *inbox.refusing.lock().unwrap() = false;
    platform.open(Arc::clone(&inbox) as Arc<dyn Inbox>);
    inbox.until(|inbox| inbox.texts() == ["one"]).await;
    confirmed(&server).await;
}

#[tokio::test]
async fn after_being_away_it_says_ready() {
    let (server, platform, inbox) = start().await;
    platform.open(Arc::clone(&inbox) as Arc<dyn Inbox>);
    inbox.until(|inbox| *inbox.ready.lock().unwrap() == 1).await;
    server.down(Which::Account(account("main")));
    tokio::time::timeout(Duration::from_secs(10), async {
        while platform.connected() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .expect("a waiting poll sees that the platform went down");
    server.post(&account("main"), post("meanwhile"));
    server.up(&Which::Account(account("main")));
    inbox
        .until(|inbox| *inbox.ready.lock().unwrap() == 2 && inbox.texts() == ["meanwhile"])
        .await;
    assert!(platform.connected());
}
