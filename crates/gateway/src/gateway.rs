//! A running gateway: started over a store, woken by adapters and supervisors, stopped as planned.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use homing_domain::ids::{ConversationId, ProcessId};
use homing_domain::key::SessionKey;
use homing_domain::owner::Owner;
use homing_domain::process::Consumption;
use homing_domain::session::Boundary;
use homing_ports::agent::{ToolAnswer, ToolCall, ToolError, Toolbox};
use homing_ports::inbox::Inbox;
use homing_ports::processes::{KillOutcome, Processes};
use homing_ports::store::{Change, ConversationRow, Store, StoreError};
use homing_ports::{Clock, Directory, IdSource};
use homing_tools::{Bound, SessionTools, Workshop};
use homing_watcher::{Watcher, WatcherParts};
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;

use crate::activity::{Activity, Counters};
use crate::conversation::{DeadTold, Steering, Wake};
use crate::delegations::{self, Delegations};
use crate::inbox::GatewayInbox;
use crate::inside::Inside;
use crate::mailboxes::Mailboxes;
use crate::moves::Moves;
use crate::settings::Settings;
use crate::supervision::{self, InsideSupervision};

/// Hints that a slow console may be behind before it is told to read everything again.
const CHANGES_KEPT: usize = 4_096;
/// Longest pause before a store that does not answer is asked again by the watcher.
const STORE_RETRY_LONGEST: Duration = Duration::from_secs(1);

/// What a gateway is made of.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub processes: Arc<dyn Processes>,
    pub directory: Arc<dyn Directory>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdSource,
    pub settings: Settings,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("taking over the store")]
    Store(#[from] StoreError),
}

/// A handle; clones are the same gateway.
#[derive(Clone)]
pub struct Gateway {
    inside: Arc<Inside>,
    inbox: Arc<GatewayInbox>,
    epoch: u64,
}

/// What a planned stop left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// What was still under way when the limit was reached. It is taken up at the next start.
    pub left: Activity,
}

impl Gateway {
    /// Takes over the store, recovers what an earlier gateway left, and runs. Adapters are opened afterwards, with [`Gateway::inbox`].
    pub async fn start(parts: Parts) -> Result<Gateway, StartError> {
        let epoch = parts.store.take_over(parts.clock.now()).await?;
        let (changes, _) = broadcast::channel(CHANGES_KEPT);
        let (outputs, _) = broadcast::channel(CHANGES_KEPT);
        let inside = Arc::new(Inside {
            store: parts.store,
            processes: parts.processes,
            directory: parts.directory,
            clock: parts.clock,
            ids: parts.ids,
            settings: parts.settings,
            mailboxes: Mailboxes::default(),
            counters: Counters::default(),
            delegations: Delegations::default(),
            steering: Steering::default(),
            moves: Moves::default(),
            dead_told: DeadTold::default(),
            changes,
            outputs,
            watcher: OnceLock::new(),
            workshop: OnceLock::new(),
            closing: CancellationToken::new(),
            stopping: CancellationToken::new(),
        });
        let gateway = Gateway {
            inbox: Arc::new(GatewayInbox(inside.clone())),
            inside,
            epoch,
        };
        let watcher = gateway.start_watcher();
        let recovered = watcher.recover().await?;
        let interrupted = delegations::recover(&gateway.inside).await?;
        let waiting = gateway.inside.store.conversations_with_work().await?;
        tracing::info!(
            epoch,
            adopted = recovered.adopted,
            ended = recovered.ended,
            interrupted,
            conversations = waiting.len(),
            "recovered"
        );
        for conversation in waiting {
            gateway
                .inside
                .mailboxes
                .wake(&gateway.inside, conversation, Wake::LookAgain);
        }
        Ok(gateway)
    }

    fn start_watcher(&self) -> Watcher {
        let inside = self.inside.clone();
        let wake = {
            let inside = Arc::downgrade(&inside);
            Arc::new(move |conversation: ConversationId| {
                if let Some(inside) = inside.upgrade() {
                    let _listeners = inside.changes.send(conversation);
                    inside
                        .mailboxes
                        .wake(&inside, conversation, Wake::Notifications);
                }
            })
        };
        let watcher = Watcher::start(WatcherParts {
            store: inside.store.clone(),
            processes: inside.processes.clone(),
            clock: inside.clock.clone(),
            ids: inside.ids.clone(),
            wake,
            wrote: {
                let outputs = inside.outputs.clone();
                // Nobody listening is fine.
                Arc::new(move |wrote| drop(outputs.send(wrote)))
            },
            limits: inside.settings.limits,
            not_stopped: {
                let inside = Arc::downgrade(&inside);
                Arc::new(move |conversation, process, why| {
                    if let Some(inside) = inside.upgrade() {
                        let wake = Wake::NotStopped { process, why };
                        inside.mailboxes.wake(&inside, conversation, wake);
                    }
                })
            },
            retry: (inside.settings.retry_first, STORE_RETRY_LONGEST),
        });
        let workshop = Workshop {
            store: inside.store.clone(),
            processes: inside.processes.clone(),
            supervision: Arc::new(InsideSupervision {
                watcher: watcher.clone(),
                inside: Arc::downgrade(&inside),
            }),
            clock: inside.clock.clone(),
            ids: inside.ids.clone(),
            workspace: inside.settings.workspace.clone(),
            data: inside.settings.data.clone(),
            child_environment: inside.settings.child_environment.clone(),
            control: inside.settings.control.clone(),
            kill_grace: inside.settings.kill_grace,
            inputs: Arc::default(),
        };
        let kept =
            inside.watcher.set(watcher.clone()).is_ok() && inside.workshop.set(workshop).is_ok();
        debug_assert!(kept, "a gateway has one watcher");
        watcher
    }

    /// Begins the upkeep: automatic resets, and removing output that was kept for long enough. Runs until the gateway stops.
    pub fn keep_up(&self) {
        tokio::spawn(crate::upkeep::run(self.inside.clone()));
    }

    pub fn inbox(&self) -> Arc<dyn Inbox> {
        self.inbox.clone()
    }

    /// Which gateway this is, counted over the life of the store.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub fn activity(&self) -> Activity {
        self.inside.activity()
    }

    /// Resolves when a number of [`Gateway::activity`] may have changed. Check again afterwards, and bound the wait.
    pub async fn activity_changed(&self) {
        self.inside.counters.changed.notified().await;
    }

    /// Conversations whose task is in memory.
    pub fn tasks(&self) -> usize {
        self.inside.mailboxes.len()
    }

    /// Fires when the gateway has to stop: another one has taken over.
    pub fn stopping(&self) -> CancellationToken {
        self.inside.stopping.clone()
    }

    /// A tool call of a conversation's current session, without a turn.
    pub async fn tool(&self, at: &SessionKey, call: ToolCall) -> Result<ToolAnswer, ToolError> {
        let row = self.conversation(at).await?;
        let (Some(row), Some(workshop)) = (row, self.inside.workshop.get()) else {
            return Err(ToolError::Refused(format!("there is no conversation {at}")));
        };
        let Some(current) = row.current else {
            return Err(ToolError::Refused(
                "there is no session yet; write something first".into(),
            ));
        };
        let owner = Owner {
            conversation: row.id,
            session: current.session,
            lineage: current.lineage,
            origin: row.origin,
            window: None,
            delegation: None,
        };
        let cancel = self.inside.stopping.child_token();
        let tools = SessionTools::new(
            workshop.clone(),
            owner,
            row.key.to_string(),
            Bound::Generation(row.generation),
            cancel,
        );
        tools.call(call).await
    }

    /// The tools of a process's owner, for the process itself (OWN-22).
    pub async fn tools_of(&self, process: ProcessId) -> Result<Arc<dyn Toolbox>, ToolError> {
        let row = self
            .inside
            .store
            .process(process)
            .await?
            .ok_or(ToolError::NotYours(process))?;
        let conversation = self
            .inside
            .store
            .conversation(row.owner.conversation)
            .await?;
        let (Some(conversation), Some(workshop)) = (conversation, self.inside.workshop.get())
        else {
            return Err(ToolError::NotYours(process));
        };
        let cancel = self.inside.stopping.child_token();
        Ok(Arc::new(SessionTools::new(
            workshop.clone(),
            row.owner,
            conversation.key.to_string(),
            Bound::Owner,
            cancel,
        )))
    }

    /// The operator stops a process: its end is no news then (OWN-38).
    pub async fn kill(&self, process: ProcessId) -> Result<KillOutcome, ToolError> {
        let row = self
            .inside
            .store
            .process(process)
            .await?
            .ok_or(ToolError::NotYours(process))?;
        if !row.state.is_live() {
            return Ok(KillOutcome::AlreadyEnded);
        }
        if row.consumed.is_none() {
            let how = Consumption::PersonKilled;
            // Unmet if it was marked meanwhile, which is as good.
            let _marked = self
                .inside
                .commit(
                    row.owner.conversation,
                    vec![Change::Consume {
                        process,
                        lineage: row.owner.lineage,
                        how,
                    }],
                )
                .await?;
        }
        supervision::kill(&self.inside, process, self.inside.settings.kill_grace).await
    }

    /// Compresses the current session; returns when its continuation is current.
    pub async fn compress(&self, at: &SessionKey) -> Result<(), String> {
        let (answer, answered) = oneshot::channel();
        self.ask(at, Wake::Compress(answer)).await?;
        answered
            .await
            .unwrap_or_else(|_| Err("the gateway is stopping".into()))
    }

    /// The idle or daily policy fires, if it may (OWN-15). `true` if the session was ended.
    pub async fn auto_reset(&self, at: &SessionKey, why: Boundary) -> Result<bool, String> {
        let (answer, answered) = oneshot::channel();
        self.ask(at, Wake::AutoReset { why, answer }).await?;
        answered
            .await
            .unwrap_or_else(|_| Err("the gateway is stopping".into()))
    }

    async fn ask(&self, at: &SessionKey, wake: Wake) -> Result<(), String> {
        let row = self
            .conversation(at)
            .await
            .map_err(|error| error.to_string())?;
        let row = row.ok_or_else(|| format!("there is no conversation {at}"))?;
        self.inside.mailboxes.wake(&self.inside, row.id, wake);
        Ok(())
    }

    async fn conversation(&self, at: &SessionKey) -> Result<Option<ConversationRow>, StoreError> {
        self.inside.store.conversation_by_key(at).await
    }

    /// Bytes of a living process's output that were read for its watch patterns.
    pub fn watched_to(&self, process: ProcessId) -> Option<u64> {
        self.inside
            .watcher
            .get()
            .and_then(|watcher| watcher.watched_to(process))
    }

    /// Takes no more messages, waits up to `limit` for what is under way, and ends all tasks. Processes live on (OWN-16).
    pub async fn stop(&self, limit: Duration) -> Stopped {
        self.inside.closing.cancel();
        let quiet = async {
            while !self.activity().idle() {
                // A change between the look and the wait is caught by the short bound.
                let _again =
                    tokio::time::timeout(Duration::from_millis(20), self.activity_changed()).await;
            }
        };
        let _in_time = tokio::time::timeout(limit, quiet).await;
        let left = self.activity();
        self.inside.stopping.cancel();
        if let Some(watcher) = self.inside.watcher.get() {
            watcher.stop();
        }
        Stopped { left }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("epoch", &self.epoch)
            .field("activity", &self.activity())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
