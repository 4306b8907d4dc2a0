//! The gateway's side of an adapter: an inbox that remembers, refuses and hesitates on request. It outlives adapters, as a store does.
//!
//! **Invariant:** a message is [`Heard::New`] once for each of the platform's own ids; what comes again is [`Heard::Again`].

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, InboundId, WindowId};
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_ports::inbox::{AcceptError, Accepted, Edited, Inbound, Inbox};
use homing_ports::store::StoreError;
use tokio::sync::{broadcast, watch};

static LIMIT_MS: AtomicU64 = AtomicU64::new(40_000);

/// Nothing here takes as long; what does has failed.
pub fn limit() -> Duration {
    Duration::from_millis(LIMIT_MS.load(Ordering::Relaxed))
}

/// For tests of this process that expect failures.
pub fn wait_at_most(limit: Duration) {
    let ms = u64::try_from(limit.as_millis()).unwrap();
    LIMIT_MS.store(ms, Ordering::Relaxed);
}

/// What an adapter said, in the order in which it was said.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    Ready,
    New(Inbound),
    Again(Inbound),
    /// The store could not take it.
    NotStored(Inbound),
    /// It is being stored, and that takes a while.
    Held(Inbound),
    /// It can never be stored.
    Refused(Inbound),
    Edited {
        platform_id: String,
        text: String,
    },
    Moved {
        from: String,
        to: String,
    },
    Reopened(Origin),
    Operator(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    Takes,
    /// Every commit fails.
    Fails,
    /// So many commits fail.
    FailsTimes(u32),
    /// A commit does not come to an end.
    Hesitates,
}

#[derive(Debug)]
pub struct Kept {
    heard: Mutex<Vec<Heard>>,
    known: Mutex<HashSet<String>>,
    store: watch::Sender<Store>,
    never: Mutex<Option<String>>,
    changed: watch::Sender<u64>,
}

impl Default for Kept {
    fn default() -> Kept {
        Kept {
            heard: Mutex::default(),
            known: Mutex::default(),
            store: watch::Sender::new(Store::Takes),
            never: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }
}

impl Kept {
    pub fn store(&self, store: Store) {
        self.store.send_replace(store);
    }

    /// A message with this text is said to be too long.
    pub fn never_takes(&self, text: &str) {
        *self.never.lock().unwrap() = Some(text.to_owned());
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// What was stored, in order.
    pub fn stored(&self) -> Vec<Inbound> {
        let new = |heard| match heard {
            Heard::New(inbound) => Some(inbound),
            _ => None,
        };
        self.heard().into_iter().filter_map(new).collect()
    }

    pub fn texts(&self) -> Vec<String> {
        self.stored().into_iter().map(|new| new.text).collect()
    }

    pub fn count(&self, what: impl Fn(&Heard) -> bool) -> usize {
        self.heard().iter().filter(|heard| what(heard)).count()
    }

    /// Waits until `look` finds something in what was heard.
    pub async fn until<T>(&self, what: &str, look: impl Fn(&[Heard]) -> Option<T>) -> T {
        let mut changes = self.changed.subscribe();
        let found = async {
            loop {
                if let Some(found) = look(&self.heard.lock().unwrap()) {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(limit(), found).await {
            Ok(found) => found,
            Err(_) => panic!(
                "within {:?} it was not heard: {what}; what was: {:#?}",
                limit(),
                self.heard()
            ),
        }
    }

    /// Waits for the message with this text.
    pub async fn arrived(&self, text: &str) -> Inbound {
        self.until(text, |heard| {
            heard.iter().find_map(|heard| match heard {
                Heard::New(inbound) if inbound.text == text => Some(inbound.clone()),
                _ => None,
            })
        })
        .await
    }

    fn hear(&self, heard: Heard) {
        self.heard.lock().unwrap().push(heard);
        self.changed.send_modify(|count| *count += 1);
    }

    /// What the store does with the next commit.
    fn next(&self) -> Store {
        let mut now = Store::Takes;
        self.store.send_modify(|store| {
            now = *store;
            *store = match now {
                Store::FailsTimes(0 | 1) => Store::Takes,
                Store::FailsTimes(times) => Store::FailsTimes(times - 1),
                other => other,
            };
        });
        match now {
            Store::FailsTimes(0) => Store::Takes,
            other => other,
        }
    }
}

#[async_trait]
impl Inbox for Kept {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError> {
        if self.never.lock().unwrap().as_ref() == Some(&inbound.text) {
            let bytes = inbound.text.len();
            self.hear(Heard::Refused(inbound));
            return Err(AcceptError::TooLong { bytes });
        }
        match self.next() {
            Store::Takes => {}
            Store::Fails | Store::FailsTimes(_) => {
                self.hear(Heard::NotStored(inbound));
                return Err(StoreError::Unavailable("on purpose".into()).into());
            }
            Store::Hesitates => {
                self.hear(Heard::Held(inbound.clone()));
                let mut store = self.store.subscribe();
                drop(store.wait_for(|store| *store != Store::Hesitates).await);
            }
        }
        let number = InboundId::from_number(1);
        let conversation = ConversationId::from_number(1);
        let is_new = self
            .known
            .lock()
            .unwrap()
            .insert(inbound.platform_id.clone());
        self.hear(match is_new {
            true => Heard::New(inbound),
            false => Heard::Again(inbound),
        });
        Ok(match is_new {
            true => Accepted::New {
                inbound: number,
                conversation,
            },
            false => Accepted::Repeat {
                inbound: number,
                conversation,
            },
        })
    }

    fn ready(&self, _account: &AccountName) {
        self.hear(Heard::Ready);
    }

    async fn edited(
        &self,
        _account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> Result<Edited, AcceptError> {
        self.hear(Heard::Edited {
            platform_id: platform_id.to_owned(),
            text: text.to_owned(),
        });
        Ok(match self.known.lock().unwrap().contains(platform_id) {
            true => Edited::Changed {
                conversation: ConversationId::from_number(1),
            },
            false => Edited::Unknown,
        })
    }

    async fn moved(&self, _: &AccountName, from: &str, to: &str) -> Result<u64, AcceptError> {
        self.hear(Heard::Moved {
            from: from.to_owned(),
            to: to.to_owned(),
        });
        Ok(1)
    }

    async fn reopened(&self, place: &Origin) -> Result<(), AcceptError> {
        self.hear(Heard::Reopened(place.clone()));
        Ok(())
    }

    async fn tell_operator(&self, text: &str) {
        self.hear(Heard::Operator(text.to_owned()));
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
