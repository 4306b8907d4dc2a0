//! The server's state and its handle for the test that owns it.
//!
//! **Invariant:** `sent` holds what was taken, in the order of receipt, each message once, however often it is repeated.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::serve::ListenerExt as _;
use homing_domain::ids::WindowId;
use homing_domain::key::ChatType;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::split::Limit;
use homing_ports::platform::OutgoingKind;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use crate::faults::{Faults, Place, Which};
use crate::routes;
use crate::wire::{LandedAt, SendAnswer, SendBody, Update};

/// A running simulator. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    serving: tokio::task::JoinHandle<()>,
}

/// What a person writes, for [`Server::post`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub chat_type: ChatType,
    pub chat: String,
    pub thread: Option<String>,
    pub user: Option<String>,
    pub author: Option<String>,
    pub window: Option<WindowId>,
    pub text: String,
}

impl Post {
    /// Written by the origin's person at the origin's place.
    pub fn new(origin: &Origin, text: impl Into<String>) -> Post {
        Post {
            chat_type: origin.chat_type,
            chat: origin.chat.clone(),
            thread: origin.thread.clone(),
            user: origin.user.clone(),
            author: origin.user.clone(),
            window: None,
            text: text.into(),
        }
    }
}

/// A message that the server took.
#[derive(Debug, Clone)]
pub struct Sent {
    pub account: AccountName,
    pub body: SendBody,
    pub kind: OutgoingKind,
    /// The platform's id of it.
    pub message: String,
    pub landed: LandedAt,
    pub taken_back: bool,
    pub at: Instant,
}

impl Sent {
    /// Where it was sent, as an origin; `user` is the person it was addressed to.
    pub fn origin(&self) -> Origin {
        Origin {
            profile: self.account.profile.clone(),
            platform: self.account.platform.clone(),
            account: self.account.account.clone(),
            chat_type: self.body.chat_type,
            chat: self.body.chat.clone(),
            thread: self.body.thread.clone(),
            user: self.body.user.clone(),
            anchor: None,
        }
    }
}

impl Server {
    /// Listens on a free port of the loopback interface.
    pub async fn start() -> io::Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let router = routes::router(Arc::clone(&shared));
        // Without this, an answer of two small packets waits for the peer's delayed acknowledgement.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the simulated platform stopped");
            }
        });
        Ok(Server {
            shared,
            address,
            serving,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A person writes. The number of the update is returned.
    pub fn post(&self, account: &AccountName, post: Post) -> u64 {
        self.shared.post(account, post)
    }

    /// Everything taken so far, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.sent_since(0)
    }
    /// What was taken after the first `index` messages.
    pub fn sent_since(&self, index: usize) -> Vec<Sent> {
        self.shared
            .state()
            .sent
            .get(index..)
            .unwrap_or_default()
            .to_vec()
    }
    pub fn sent_count(&self) -> usize {
        self.shared.state().sent.len()
    }
    /// Sends of an id that had been taken before.
    pub fn repeats(&self) -> u64 {
        self.shared.state().repeats
    }
    /// Updates that no poll has confirmed yet, of the accounts that are not down.
    pub fn unconfirmed(&self) -> usize {
        let state = self.shared.state();
        state
            .accounts
            .iter()
            .filter(|(name, _)| !state.faults.is_down(name))
            .map(|(_, account)| account.updates.len())
            .sum()
    }
    /// Changes whenever something was taken or confirmed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// From now on every request is answered 503, the polls that wait too.
    pub fn down(&self, which: Which) {
        self.shared.change_faults(|faults| faults.down.push(which));
    }
    pub fn up(&self, which: &Which) {
        self.shared
            .change_faults(|faults| faults.down.retain(|down| down != which));
    }
    pub fn is_down(&self, account: &AccountName) -> bool {
        self.shared.state().faults.is_down(account)
    }
    /// The place is deleted: 404 for good. What is above it stays.
    pub fn gone(&self, place: Place) {
        self.shared.change_faults(|faults| faults.gone.push(place));
    }
    /// The next send is answered 429 and this span.
    pub fn slow_next(&self, which: Which, span: Duration) {
        self.shared
            .change_faults(|faults| faults.slow_next(which, span));
    }
    /// The next send is taken, then the connection breaks.
    pub fn drop_next(&self, which: Which) {
        self.shared.change_faults(|faults| faults.drop_next(which));
    }
    /// The next send lands elsewhere, and the answer says so.
    pub fn misplace_next(&self, which: Which, landed: LandedAt) {
        self.shared
            .change_faults(|faults| faults.misplace_next(which, landed));
    }
    pub fn set_limit(&self, which: Which, limit: Limit) {
        self.shared
            .change_faults(|faults| faults.limits.push((which, limit)));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
        // Polls that wait see it and end their connections.
        self.down_for_good();
    }
}

impl Server {
    fn down_for_good(&self) {
        let mut state = self.shared.state();
        let everyone: Vec<_> = state.accounts.keys().cloned().map(Which::Account).collect();
        state.faults.down.extend(everyone);
        state
            .accounts
            .values()
            .for_each(|account| account.news.notify_waiters());
    }
}

#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<Ledger>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub accounts: HashMap<AccountName, Account>,
    pub faults: Faults,
    pub sent: Vec<Sent>,
    pub repeats: u64,
    last_update: u64,
    last_message: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Account {
    pub updates: VecDeque<Update>,
    /// Where in `sent` the first message of an id stands.
    pub known: HashMap<String, usize>,
    pub news: Arc<Notify>,
}

impl Shared {
    /// A test that panicked elsewhere must not hide its reason behind a poisoned lock here.
    pub fn state(&self) -> MutexGuard<'_, Ledger> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn changed(&self) {
        self.changes.send_modify(|version| *version += 1);
    }

    fn change_faults(&self, change: impl FnOnce(&mut Faults)) {
        let mut state = self.state();
        change(&mut state.faults);
        state
            .accounts
            .values()
            .for_each(|account| account.news.notify_waiters());
    }

    fn post(&self, account: &AccountName, post: Post) -> u64 {
        let mut state = self.state();
        state.last_update += 1;
        let number = state.last_update;
        let update = Update {
            update: number,
            message: state.fresh_message(),
            chat_type: post.chat_type,
            chat: post.chat,
            thread: post.thread,
            user: post.user,
            author: post.author,
            window: post.window,
            text: post.text,
        };
        let account = state.account(account);
        account.updates.push_back(update);
        account.news.notify_waiters();
        number
    }
}

impl Ledger {
    pub fn account(&mut self, name: &AccountName) -> &mut Account {
        self.accounts.entry(name.clone()).or_default()
    }

    fn fresh_message(&mut self) -> String {
        self.last_message += 1;
        format!("m{}", self.last_message)
    }

    /// Takes a valid message that was not taken before.
    pub fn take(
        &mut self,
        account: &AccountName,
        body: SendBody,
        kind: OutgoingKind,
    ) -> SendAnswer {
        let landed = self.faults.take_misplaced(account);
        let landed = landed.unwrap_or_else(|| LandedAt {
            chat: body.chat.clone(),
            thread: body.thread.clone(),
        });
        let message = self.fresh_message();
        let index = self.sent.len();
        self.account(account)
            .known
            .entry(body.id.clone())
            .or_insert(index);
        let sent = Sent {
            account: account.clone(),
            body,
            kind,
            message: message.clone(),
            landed: landed.clone(),
            taken_back: false,
            at: Instant::now(),
        };
        self.sent.push(sent);
        SendAnswer { message, landed }
    }

    /// The message that carried this outbox id first.
    pub fn known(&self, account: &AccountName, id: &str) -> Option<&Sent> {
        let index = self.accounts.get(account)?.known.get(id)?;
        self.sent.get(*index)
    }
}
