//! An inside that keeps what it is told, and cannot store when it is told so.

use std::sync::Mutex;
use std::sync::PoisonError;

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, InboundId, WindowId};
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_ports::inbox::{AcceptError, Accepted, Edited, Inbound, Inbox};
use homing_ports::store::StoreError;
use tokio::sync::{broadcast, watch};

use crate::stage::LIMIT;

/// What was handed in, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    Accepted(Box<Inbound>),
    /// The same message again.
    Repeated(String),
    /// It could not be stored.
    Failed(String),
    Ready,
    Edited {
        message: String,
        text: String,
    },
    Moved {
        from: String,
        to: String,
    },
    Reopened(Origin),
    Told(String),
}

#[derive(Debug)]
pub struct FakeInbox {
    calls: Mutex<Vec<Call>>,
    /// How many of the next calls fail.
    failures: Mutex<usize>,
    news: watch::Sender<usize>,
}

impl Default for FakeInbox {
    fn default() -> FakeInbox {
        FakeInbox {
            calls: Mutex::default(),
            failures: Mutex::default(),
            news: watch::Sender::new(0),
        }
    }
}

impl FakeInbox {
    /// The next so many calls find no store.
    pub fn fail(&self, times: usize) {
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner) = times;
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What was accepted, each message once.
    pub fn accepted(&self) -> Vec<Inbound> {
        let calls = self.calls().into_iter();
        calls
            .filter_map(|call| match call {
                Call::Accepted(inbound) => Some(*inbound),
                _ => None,
            })
            .collect()
    }

    pub fn texts(&self) -> Vec<String> {
        self.accepted()
            .into_iter()
            .map(|inbound| inbound.text)
            .collect()
    }

    pub fn told(&self) -> Vec<String> {
        let calls = self.calls().into_iter();
        calls
            .filter_map(|call| match call {
                Call::Told(text) => Some(text),
                _ => None,
            })
            .collect()
    }

    /// Waits until `look` finds something in what was handed in.
    ///
    /// # Panics
    ///
    /// If it does not within the limit.
    pub async fn until<T>(&self, what: &str, mut look: impl FnMut(&FakeInbox) -> Option<T>) -> T {
        let mut news = self.news.subscribe();
        let found = async {
            loop {
                if let Some(found) = look(self) {
                    return found;
                }
                if news.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        match tokio::time::timeout(LIMIT, found).await {
            Ok(found) => found,
            Err(_) => panic!("{what} did not happen; what did: {:#?}", self.calls()),
        }
    }

    /// Waits for so many accepted messages.
    pub async fn messages(&self, count: usize) -> Vec<Inbound> {
        let look = |inbox: &FakeInbox| Some(inbox.accepted()).filter(|all| all.len() >= count);
        self.until(&format!("{count} messages"), look).await
    }

    fn note(&self, call: Call) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(call);
        drop(calls);
        self.news.send_modify(|count| *count += 1);
    }

    fn store(&self, what: &str) -> Result<(), AcceptError> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if *failures == 0 {
            return Ok(());
        }
        *failures -= 1;
        drop(failures);
        self.note(Call::Failed(what.to_owned()));
        Err(AcceptError::Store(StoreError::Unavailable(
            "for the test".into(),
        )))
    }
}

fn ids() -> (InboundId, ConversationId) {
    (InboundId::from_number(1), ConversationId::from_number(1))
}

#[async_trait]
impl Inbox for FakeInbox {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError> {
        self.store(&inbound.platform_id)?;
        let (id, conversation) = ids();
        let is_known = self
            .accepted()
            .iter()
            .any(|known| known.platform_id == inbound.platform_id);
        if is_known {
            self.note(Call::Repeated(inbound.platform_id));
            return Ok(Accepted::Repeat {
                inbound: id,
                conversation,
            });
        }
        self.note(Call::Accepted(Box::new(inbound)));
        Ok(Accepted::New {
            inbound: id,
            conversation,
        })
    }

    fn ready(&self, _account: &AccountName) {
        self.note(Call::Ready);
    }

    async fn edited(
        &self,
        _account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> Result<Edited, AcceptError> {
        self.store(platform_id)?;
        let is_known = |known: &Inbound| known.platform_id == platform_id;
        if !self.accepted().iter().any(is_known) {
            return Ok(Edited::Unknown);
        }
        self.note(Call::Edited {
            message: platform_id.to_owned(),
            text: text.to_owned(),
        });
        Ok(Edited::Changed {
            conversation: ids().1,
        })
    }

    async fn moved(
        &self,
        _account: &AccountName,
        from: &str,
        to: &str,
    ) -> Result<u64, AcceptError> {
        self.store(from)?;
        self.note(Call::Moved {
            from: from.to_owned(),
            to: to.to_owned(),
        });
        Ok(1)
    }

    async fn reopened(&self, place: &Origin) -> Result<(), AcceptError> {
        self.store(&place.chat)?;
        self.note(Call::Reopened(place.clone()));
        Ok(())
    }

    async fn tell_operator(&self, text: &str) {
        self.note(Call::Told(text.to_owned()));
    }

    async fn open_window(
        &self,
        window: WindowId,
        _at: &SessionKey,
    ) -> Result<ConversationId, AcceptError> {
        Err(AcceptError::UnknownWindow(window))
    }

    async fn touch_window(&self, window: WindowId) -> Result<(), AcceptError> {
        Err(AcceptError::UnknownWindow(window))
    }

    async fn close_window(&self, window: WindowId) -> Result<(), AcceptError> {
        Err(AcceptError::UnknownWindow(window))
    }

    fn changes(&self) -> broadcast::Receiver<ConversationId> {
        broadcast::channel(1).1
    }
}
