//! Mistakes in what comes in.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, InboundId, WindowId};
use homing_domain::key::{ChatType, SessionKey};
use homing_domain::origin::{AccountName, Origin};
use homing_ports::inbox::{AcceptError, Accepted, Edited, Inbound, Inbox};
use tokio::sync::broadcast;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    ConfirmsEarly,
    CountsDeliveries,
    TakesWordsForIds,
    NumbersTheGeneralTopic,
    TakesRepliesForThreads,
    SwapsPairs,
    DropsNews,
    DropsWhatIsBeside,
}

pub struct Wrong {
    inbox: Arc<dyn Inbox>,
    mistake: Mistake,
    deliveries: AtomicU64,
    kept_back: Mutex<Option<Inbound>>,
}

impl Wrong {
    pub fn new(inbox: Arc<dyn Inbox>, mistake: Mistake) -> Wrong {
        Wrong {
            inbox,
            mistake,
            deliveries: AtomicU64::new(0),
            kept_back: Mutex::default(),
        }
    }
}

fn accepted() -> Accepted {
    Accepted::New {
        inbound: InboundId::from_number(1),
        conversation: ConversationId::from_number(1),
    }
}

#[async_trait]
impl Inbox for Wrong {
    async fn accept(&self, mut inbound: Inbound) -> Result<Accepted, AcceptError> {
        match self.mistake {
            Mistake::ConfirmsEarly => {
                let inbox = Arc::clone(&self.inbox);
                tokio::spawn(async move { inbox.accept(inbound).await });
                return Ok(accepted());
            }
            Mistake::SwapsPairs => {
                let before = self.kept_back.lock().unwrap().take();
                let Some(before) = before else {
                    *self.kept_back.lock().unwrap() = Some(inbound);
                    return Ok(accepted());
                };
                let _newer = self.inbox.accept(inbound).await?;
                return self.inbox.accept(before).await;
            }
            Mistake::CountsDeliveries => {
                let number = self.deliveries.fetch_add(1, Ordering::Relaxed);
                inbound.platform_id = number.to_string();
            }
            Mistake::TakesWordsForIds => inbound.platform_id.clone_from(&inbound.text),
            Mistake::NumbersTheGeneralTopic => {
                let thread = &mut inbound.origin.thread;
                let one = || (inbound.origin.chat_type == ChatType::Group).then(|| "1".to_owned());
                *thread = thread.take().or_else(one);
            }
            Mistake::TakesRepliesForThreads if inbound.quoted.is_some() => {
                inbound.origin.thread.clone_from(&inbound.origin.anchor);
            }
            Mistake::DropsWhatIsBeside => {
                inbound.together = None;
                inbound.attachments.clear();
            }
            Mistake::TakesRepliesForThreads | Mistake::DropsNews => {}
        }
        self.inbox.accept(inbound).await
    }

    fn ready(&self, account: &AccountName) {
        self.inbox.ready(account);
    }

    async fn edited(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> Result<Edited, AcceptError> {
        match self.mistake {
            Mistake::DropsNews => Ok(Edited::Unknown),
            _ => self.inbox.edited(account, platform_id, text).await,
        }
    }

    async fn moved(&self, account: &AccountName, from: &str, to: &str) -> Result<u64, AcceptError> {
        match self.mistake {
            Mistake::DropsNews => Ok(0),
            _ => self.inbox.moved(account, from, to).await,
        }
    }

    async fn reopened(&self, place: &Origin) -> Result<(), AcceptError> {
        match self.mistake {
            Mistake::DropsNews => Ok(()),
            _ => self.inbox.reopened(place).await,
        }
    }

    async fn tell_operator(&self, text: &str) {
        self.inbox.tell_operator(text).await;
    }

    async fn open_window(
        &self,
        window: WindowId,
        at: &SessionKey,
    ) -> Result<ConversationId, AcceptError> {
        self.inbox.open_window(window, at).await
    }

    async fn touch_window(&self, window: WindowId) -> Result<(), AcceptError> {
        self.inbox.touch_window(window).await
    }

    async fn close_window(&self, window: WindowId) -> Result<(), AcceptError> {
        self.inbox.close_window(window).await
    }

    fn changes(&self) -> broadcast::Receiver<ConversationId> {
        self.inbox.changes()
    }
}
