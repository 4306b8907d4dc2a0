//! What all parts of a gateway share.

use std::fmt;
use std::sync::{Arc, OnceLock};

use homing_domain::ids::ConversationId;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::inbox::Wrote;
use homing_ports::processes::Processes;
use homing_ports::store::{Change, Commit, Committed, Store, StoreError};
use homing_ports::{Clock, Directory, IdSource};
use homing_tools::Workshop;
use homing_watcher::Watcher;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::activity::{Activity, Counters};
use crate::conversation::{DeadTold, Steering, Wake};
use crate::delegations::Delegations;
use crate::mailboxes::Mailboxes;
use crate::moves::Moves;
use crate::settings::Settings;

pub(crate) struct Inside {
    pub store: Arc<dyn Store>,
    pub processes: Arc<dyn Processes>,
    pub directory: Arc<dyn Directory>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdSource,
    pub settings: Settings,
    pub mailboxes: Mailboxes,
    pub counters: Counters,
    pub delegations: Delegations,
    pub steering: Steering,
    pub moves: Moves,
    pub dead_told: DeadTold,
    pub changes: broadcast::Sender<ConversationId>,
    pub outputs: broadcast::Sender<Wrote>,
    /// Set once, before anything can ask for it: the watcher wakes conversations, and they use the watcher.
    pub watcher: OnceLock<Watcher>,
    pub workshop: OnceLock<Workshop>,
    /// No more messages are taken.
    pub closing: CancellationToken,
    /// Tasks end.
    pub stopping: CancellationToken,
}

impl Inside {
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// OWN-72: every stored route, then every task that remembers one.
    pub async fn move_chat(
        self: &Arc<Self>,
        account: &AccountName,
        from: &str,
        to: &str,
    ) -> Result<u64, StoreError> {
        let moved = {
            let _nobody_stores = self.moves.begin().await;
            let moved = self.store.move_chat(account, from, to).await?;
            self.moves.add(account, from, to);
            moved
        };
        tracing::info!(account = %account, from, to, conversations = moved.len(), "a chat has moved");
        for conversation in &moved {
            self.mailboxes.wake(self, *conversation, Wake::Moved);
            let _listeners = self.changes.send(*conversation);
        }
        Ok(u64::try_from(moved.len()).unwrap_or(u64::MAX))
    }

    /// In the home conversation, where there is one, as a notice of Homing's own; in the log in any case.
    pub async fn tell_operator(self: &Arc<Self>, text: &str) {
        tracing::warn!(text, "something for the operator");
        let Some(home) = &self.settings.home else {
            return;
        };
        let origin = Origin::from_key(home);
        match self
            .store
            .open_conversation(home, &origin, self.now())
            .await
        {
            Ok(row) => self
                .mailboxes
                .wake(self, row.id, Wake::Notice(text.to_owned())),
            Err(error) => tracing::error!(%error, text, "the operator could not be told"),
        }
    }

    pub fn activity(&self) -> Activity {
        let ingesting = self.watcher.get().map_or(0, Watcher::busy);
        let waiting = self.watcher.get().map_or(0, Watcher::waits_for_store);
        let mut activity = self.counters.snapshot(ingesting.saturating_sub(waiting));
        activity.retrying += waiting;
        activity.turns = activity.turns.saturating_sub(self.delegations.stalled());
        activity
    }

    /// One transaction of a conversation; tells the console to look when it is done.
    pub async fn commit(
        &self,
        conversation: ConversationId,
        changes: Vec<Change>,
    ) -> Result<Committed, StoreError> {
        let committed = self
            .store
            .commit(Commit {
                conversation,
                at: self.now(),
                changes,
            })
            .await;
        match &committed {
            Ok(Committed::Done) => {
                // Nobody listening is fine.
                let _listeners = self.changes.send(conversation);
            }
            Ok(Committed::Unmet { .. }) => {}
            Err(error @ StoreError::Fenced { .. }) => {
                tracing::error!(%error, "stopping");
                self.stopping.cancel();
            }
            Err(_) => {}
        }
        committed
    }
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
