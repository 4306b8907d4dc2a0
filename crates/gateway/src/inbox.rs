//! The way in: stored first, then the conversation is woken (OWN-70).

use std::sync::Arc;

use async_trait::async_trait;
use homing_domain::ids::{ConversationId, WindowId};
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_ports::crash;
use homing_ports::inbox::{
    AcceptError, Accepted, Edited, INBOUND_TEXT_LIMIT, Inbound, Inbox, Wrote,
};
use homing_ports::store::{Change, Committed, DelegationState};
use tokio::sync::broadcast;

use crate::conversation::Wake;
use crate::delegations;
use crate::inside::Inside;

/// Newest delegations of a conversation among which a window's own are looked for.
const DELEGATIONS: u32 = 1_000;

#[derive(Debug)]
pub(crate) struct GatewayInbox(pub Arc<Inside>);

impl GatewayInbox {
    fn wake(&self, conversation: ConversationId, wake: Wake) {
        self.0.mailboxes.wake(&self.0, conversation, wake);
    }

    async fn store(&self, mut inbound: Inbound) -> Result<Accepted, AcceptError> {
        let _stays = self.0.moves.stand_still().await;
        // It may have been written before the place moved.
        inbound.origin = self.0.moves.follow(inbound.origin);
        let key = inbound.origin.key(self.0.settings.keys);
        crash::point("accept-before-commit");
        let accepted = self.0.store.accept(inbound, key, self.0.now()).await?;
        crash::point("accept-after-commit");
        if let Accepted::New { conversation, .. } = accepted {
            let _listeners = self.0.changes.send(conversation);
            self.wake(conversation, Wake::Inbound);
        }
        Ok(accepted)
    }

    async fn window_of(&self, window: WindowId) -> Result<ConversationId, AcceptError> {
        let row = self.0.store.window(window).await?;
        row.filter(|row| row.closed_at.is_none())
            .map(|row| row.conversation)
            .ok_or(AcceptError::UnknownWindow(window))
    }
}

#[async_trait]
impl Inbox for GatewayInbox {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError> {
        if self.0.closing.is_cancelled() {
            return Err(AcceptError::Stopping);
        }
        if inbound.text.len() > INBOUND_TEXT_LIMIT {
            return Err(AcceptError::TooLong {
                bytes: inbound.text.len(),
            });
        }
        let account = inbound.origin.account_name();
        if self.0.directory.platform(&account).is_none() {
            return Err(AcceptError::UnknownAccount(account));
        }
        let inbox = GatewayInbox(self.0.clone());
        // The caller may go away in the middle, such as a browser: what is stored is read all the same.
        let storing = tokio::spawn(async move { inbox.store(inbound).await });
        storing
            .await
            .unwrap_or_else(|panic| match panic.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(AcceptError::Stopping),
            })
    }

    fn ready(&self, account: &AccountName) {
        self.0
            .mailboxes
            .wake_all(&self.0, || Wake::Ready(account.clone()));
    }

    async fn edited(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> Result<Edited, AcceptError> {
        if text.len() > INBOUND_TEXT_LIMIT {
            return Err(AcceptError::TooLong { bytes: text.len() });
        }
        Ok(self
            .0
            .store
            .edit_inbound(account, platform_id, text)
            .await?)
    }

    async fn moved(&self, account: &AccountName, from: &str, to: &str) -> Result<u64, AcceptError> {
        Ok(self.0.move_chat(account, from, to).await?)
    }

    async fn reopened(&self, place: &Origin) -> Result<(), AcceptError> {
        let (account, thread) = (place.account_name(), place.thread.as_deref());
        // A topic is one conversation, or one for each person in it.
        let there = self.0.store.conversations_of(&account, &place.chat, thread);
        for conversation in there.await? {
            self.wake(conversation, Wake::Reopened);
        }
        Ok(())
    }

    async fn tell_operator(&self, text: &str) {
        self.0.tell_operator(text).await;
    }

    async fn open_window(
        &self,
        window: WindowId,
        at: &SessionKey,
    ) -> Result<ConversationId, AcceptError> {
        let origin = Origin::from_key(at);
        if self.0.directory.platform(&origin.account_name()).is_none() {
            return Err(AcceptError::UnknownAccount(origin.account_name()));
        }
        let conversation = self
            .0
            .store
            .open_conversation(at, &origin, self.0.now())
            .await?
            .id;
        match self
            .0
            .commit(conversation, vec![Change::OpenWindow { window }])
            .await?
        {
            Committed::Done => {}
            Committed::Unmet { .. } => return Err(AcceptError::UnknownWindow(window)),
        }
        // What was held because nobody looked can be told now (OWN-36).
        self.wake(conversation, Wake::Notifications);
        Ok(conversation)
    }

    async fn touch_window(&self, window: WindowId) -> Result<(), AcceptError> {
        let conversation = self.window_of(window).await?;
        match self
            .0
            .commit(conversation, vec![Change::TouchWindow { window }])
            .await?
        {
            Committed::Done => Ok(()),
            Committed::Unmet { .. } => Err(AcceptError::UnknownWindow(window)),
        }
    }

    async fn close_window(&self, window: WindowId) -> Result<(), AcceptError> {
        let conversation = self.window_of(window).await?;
        let mut changes = vec![Change::CloseWindow { window }];
        // OWN-101: its own delegations, and nothing of anyone else's.
        let recent = self.0.store.delegations(conversation, DELEGATIONS).await?;
        let own: Vec<_> = recent
            .into_iter()
            .filter(|row| row.state == DelegationState::Running && row.owner.window == Some(window))
            .collect();
        changes.extend(delegations::stop(&self.0, &own, "window_closed").await?);
        match self.0.commit(conversation, changes).await? {
            Committed::Done => {}
            // One of them has just finished by itself; the window closes all the same.
            Committed::Unmet { .. } if !own.is_empty() => {
                return Box::pin(self.close_window(window)).await;
            }
            Committed::Unmet { .. } => return Err(AcceptError::UnknownWindow(window)),
        }
        for row in own {
            self.0.delegations.cancel(row.id);
        }
        // What waited for this window may go to another one (OWN-35).
        self.wake(conversation, Wake::Notifications);
        Ok(())
    }

    fn changes(&self) -> broadcast::Receiver<ConversationId> {
        self.0.changes.subscribe()
    }

    fn outputs(&self) -> broadcast::Receiver<Wrote> {
        self.0.outputs.subscribe()
    }
}
