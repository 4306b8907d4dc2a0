//! What all parts of a gateway share.

use std::fmt;
use std::sync::{Arc, OnceLock};

use homing_domain::ids::ConversationId;
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
use crate::delegations::Delegations;
use crate::mailboxes::Mailboxes;
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

    pub fn activity(&self) -> Activity {
        let ingesting = self.watcher.get().map_or(0, Watcher::busy);
        let waiting = self.watcher.get().map_or(0, Watcher::waits_for_store);
        let mut activity = self.counters.snapshot(ingesting.saturating_sub(waiting));
        activity.retrying += waiting;
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
