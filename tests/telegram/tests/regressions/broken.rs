use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use async_trait::async_trait;
use homing_domain::ids::{ConversationId, WindowId};
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_ports::inbox::{AcceptError, Accepted, Edited, Inbound, Inbox, Wrote};
use homing_ports::platform::{
    Attachment, Capabilities, FetchError, Outgoing, Platform, Preview, Receipt, Rendered, SendError,
};
use tokio::sync::broadcast;
/// The adapter's port, reported.
pub struct Reporting(pub Arc<dyn Platform>);

#[async_trait]
impl Platform for Reporting {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn render(&self, markdown: &str) -> Vec<Rendered> {
        self.0.render(markdown)
    }

    async fn send(&self, outgoing: Outgoing) -> Result<Receipt, SendError> {
        let mut outgoing = outgoing;
        let how = std::env::var("HOMING_BREAK").unwrap_or_default();
        if how == "thread" { outgoing.origin.thread = None; }
        if how == "last-part" && outgoing.text.contains("line 26") { outgoing.origin.thread = None; }
        if how == "anchor" { outgoing.extras = Default::default(); outgoing.origin.anchor = None; }
        if how == "twice" { let _ = self.0.send(outgoing.clone()).await; }
        if how == "general" && outgoing.origin.thread.is_none() { outgoing.origin.thread = Some("1".into()); }
        let result = self.0.send(outgoing).await;
        match result {
            Err(SendError::Closed(_) | SendError::Uncertain(_)) if how == "forget" => Err(SendError::Refused("x".into())),
            Err(SendError::Refused(why)) if how == "retry" => Err(SendError::Temporary(why)),
            Ok(mut receipt) if how == "landed" => { receipt.landed = None; Ok(receipt) }
            other => other,
        }
    }

    async fn look_up(&self, outgoing: &Outgoing) -> Result<Option<Receipt>, SendError> {
        self.0.look_up(outgoing).await
    }

    async fn typing(&self, to: &Origin) -> Result<(), SendError> {
        self.0.typing(to).await
    }

    async fn preview(&self, preview: Preview) -> Result<Option<String>, SendError> {
        self.0.preview(preview).await
    }

    async fn fetch(&self, attachment: &Attachment, into: &Path) -> Result<(), FetchError> {
        self.0.fetch(attachment, into).await
    }

    async fn take_back(&self, receipt: &Receipt) -> Result<(), SendError> {
        self.0.take_back(receipt).await
    }
}

/// The gateway's inbox, and whether the adapter has said that it is ready.
pub struct Watched {
    pub inbox: Arc<dyn Inbox>,
    pub account: AccountName,
    pub connected: Arc<AtomicBool>,
}

#[async_trait]
impl Inbox for Watched {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError> {
        let mut inbound = inbound;
        let how = std::env::var("HOMING_BREAK").unwrap_or_default();
        if how == "together" { inbound.together = None; }
        if how == "in-thread" { inbound.origin.thread = None; }
        if how == "pseudo" && inbound.quoted.is_some() && inbound.origin.thread.is_none() { inbound.origin.thread = Some("77".into()); }
        if how == "nobody" { inbound.origin.user = None; }
        if how == "quoted" { inbound.quoted = None; }
        self.inbox.accept(inbound).await
    }

    fn ready(&self, account: &AccountName) {
        if *account == self.account {
            self.connected.store(true, Ordering::Release);
        }
        self.inbox.ready(account);
    }

    async fn edited(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> Result<Edited, AcceptError> {
        self.inbox.edited(account, platform_id, text).await
    }

    async fn moved(&self, account: &AccountName, from: &str, to: &str) -> Result<u64, AcceptError> {
        if std::env::var("HOMING_BREAK").is_ok_and(|how| how == "moved") { return Ok(0); } self.inbox.moved(account, from, to).await
    }

    async fn reopened(&self, place: &Origin) -> Result<(), AcceptError> {
        if std::env::var("HOMING_BREAK").is_ok_and(|how| how == "reopened") { return Ok(()); } self.inbox.reopened(place).await
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

    fn outputs(&self) -> broadcast::Receiver<Wrote> {
        self.inbox.outputs()
    }
}
