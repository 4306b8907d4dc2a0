//! An inbox that says "stored" before it is.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, InboundId, WindowId};
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_ports::inbox::{AcceptError, Accepted, Edited, Inbound, Inbox};
use tokio::sync::broadcast;

/// How late it is stored.
const LATE: Duration = Duration::from_millis(40);

pub struct Hasty(pub Arc<dyn Inbox>);

#[async_trait]
impl Inbox for Hasty {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError> {
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(LATE).await;
            // Nobody waits for the answer: that is what is wrong here.
            let _unheard = inner.accept(inbound).await;
        });
        Ok(Accepted::New {
            inbound: InboundId::from_number(1),
            conversation: ConversationId::from_number(1),
        })
    }

    fn ready(&self, account: &AccountName) {
        self.0.ready(account);
    }
    async fn edited(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> Result<Edited, AcceptError> {
        self.0.edited(account, platform_id, text).await
    }
    async fn moved(&self, account: &AccountName, from: &str, to: &str) -> Result<u64, AcceptError> {
        self.0.moved(account, from, to).await
    }
    async fn reopened(&self, place: &Origin) -> Result<(), AcceptError> {
        self.0.reopened(place).await
    }
    async fn tell_operator(&self, text: &str) {
        self.0.tell_operator(text).await;
    }
    async fn open_window(
        &self,
        window: WindowId,
        at: &SessionKey,
    ) -> Result<ConversationId, AcceptError> {
        self.0.open_window(window, at).await
    }
    async fn touch_window(&self, window: WindowId) -> Result<(), AcceptError> {
        self.0.touch_window(window).await
    }
    async fn close_window(&self, window: WindowId) -> Result<(), AcceptError> {
        self.0.close_window(window).await
    }
    fn changes(&self) -> broadcast::Receiver<ConversationId> {
        self.0.changes()
    }
}
