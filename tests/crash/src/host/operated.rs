//! What a console page, or the calendar, does to a gateway: it comes with what people write, in its order, and is confirmed like it.
//!
//! **Invariant:** an operation is confirmed after it was carried out. So one that a crash interrupts is carried out once more, as a page would
//! that got no answer: opening is idempotent, and a window that is closed stays closed.

use std::sync::Arc;

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, InboundId, WindowId};
use homing_domain::key::{KeySettings, SessionKey};
use homing_domain::origin::{AccountName, Origin};
use homing_domain::session::Boundary;
use homing_gateway::Gateway;
use homing_ports::inbox::{AcceptError, Accepted, Edited, Inbound, Inbox};
use tokio::sync::broadcast;

use crate::people::Operation;

pub struct Operated {
    pub gateway: Gateway,
    pub inner: Arc<dyn Inbox>,
}

impl Operated {
    async fn carry_out(
        &self,
        operation: Operation,
        window: Option<WindowId>,
        at: &SessionKey,
    ) -> Result<(), AcceptError> {
        let done = match (operation, window) {
            (Operation::Open, Some(window)) => self.inner.open_window(window, at).await.map(drop),
            (Operation::Touch, Some(window)) => self.inner.touch_window(window).await,
            (Operation::Close, Some(window)) => self.inner.close_window(window).await,
            (Operation::Idle, _) => self.reset(at, Boundary::Idle).await,
            (Operation::Daily, _) => self.reset(at, Boundary::Daily).await,
            (Operation::Open | Operation::Touch | Operation::Close, None) => Ok(()),
        };
        match done {
            // It was closed before, and a crash came before that was confirmed.
            Err(AcceptError::UnknownWindow(_)) => Ok(()),
            done => done,
        }
    }

    /// A proposal: the gateway decides whether it may be. Before the first message there is no conversation to end.
    async fn reset(&self, at: &SessionKey, why: Boundary) -> Result<(), AcceptError> {
        let _refused = self.gateway.auto_reset(at, why).await;
        Ok(())
    }
}

#[async_trait]
impl Inbox for Operated {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError> {
        let Some(operation) = Operation::parse(&inbound.text) else {
            return self.inner.accept(inbound).await;
        };
        let key = inbound.origin.key(KeySettings::default());
        self.carry_out(operation, inbound.window, &key).await?;
        // Nobody reads which.
        Ok(Accepted::New {
            inbound: InboundId::from_number(1),
            conversation: ConversationId::from_number(1),
        })
    }

    fn ready(&self, account: &AccountName) {
        self.inner.ready(account);
    }
    async fn edited(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> Result<Edited, AcceptError> {
        self.inner.edited(account, platform_id, text).await
    }
    async fn moved(&self, account: &AccountName, from: &str, to: &str) -> Result<u64, AcceptError> {
        self.inner.moved(account, from, to).await
    }
    async fn reopened(&self, place: &Origin) -> Result<(), AcceptError> {
        self.inner.reopened(place).await
    }
    async fn tell_operator(&self, text: &str) {
        self.inner.tell_operator(text).await;
    }
    async fn open_window(
        &self,
        window: WindowId,
        at: &SessionKey,
    ) -> Result<ConversationId, AcceptError> {
        self.inner.open_window(window, at).await
    }
    async fn touch_window(&self, window: WindowId) -> Result<(), AcceptError> {
        self.inner.touch_window(window).await
    }
    async fn close_window(&self, window: WindowId) -> Result<(), AcceptError> {
        self.inner.close_window(window).await
    }
    fn changes(&self) -> broadcast::Receiver<ConversationId> {
        self.inner.changes()
    }
}
