//! The service: begins processes, listens to their supervisors, takes them over after a restart.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use homing_domain::ids::{ConversationId, ProcessId};
use homing_domain::process::{Consumption, ProcessState};
use homing_domain::time::Timestamp;
use homing_domain::watch::{Action, Breaker, Limiter};
use homing_ports::crash;
use homing_ports::inbox::Wrote;
use homing_ports::processes::{
    Fate, ProcessError, ProcessWake, Processes, StartError, StartRequest,
};
use homing_ports::store::{
    Change, Commit, Committed, NewProcess, ProcessKind, ProcessRow, Store, StoreError, Watched,
};
use homing_ports::{Clock, IdSource};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::live::{Live, Registry};
use crate::pattern::{PatternError, Patterns};
use crate::scan;

/// Exits ingested at the same time.
const PARALLEL: usize = 64;

#[derive(Clone)]
pub struct Watcher {
    inside: Arc<Inside>,
}

pub struct WatcherParts {
    pub store: Arc<dyn Store>,
    pub processes: Arc<dyn Processes>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdSource,
    /// Wakes a conversation's task: its notifications want judging. Carries no facts.
    pub wake: Arc<dyn Fn(ConversationId) + Send + Sync>,
    /// First wait before a store that did not answer is asked again; doubles up to the second.
    pub retry: (Duration, Duration),
    /// A process of a console window wrote something. Carries no facts.
    pub wrote: Arc<dyn Fn(Wrote) + Send + Sync>,
    pub limits: Limits,
    /// A process whose end was wanted lives on, for this reason: its mark wants taking back, and people want telling.
    pub not_stopped: NotStopped,
}

/// Told the conversation, the process and the reason.
pub type NotStopped = Arc<dyn Fn(ConversationId, ProcessId, String) + Send + Sync>;

struct Inside {
    parts: WatcherParts,
    live: Registry,
    at_once: Semaphore,
    /// Ends and outputs that are being read: for "is it quiet".
    busy: AtomicUsize,
    /// Ends that the store did not take yet.
    retrying: AtomicUsize,
    breaker: Mutex<Breaker>,
    stopping: CancellationToken,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("live", &self.inside.live.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WatcherParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatcherParts").finish_non_exhaustive()
    }
}

/// How many processes may live, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of one conversation.
    pub per_conversation: usize,
    pub in_all: usize,
    /// A process that runs longer is ended like one that is killed, and its end is told.
    pub run_for: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_conversation: 100,
            in_all: 2_000,
            run_for: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    #[error(
        "{count} processes run {place} already, at most {limit} may; stop one first (`/ps` lists them)"
    )]
    TooMany {
        count: usize,
        place: &'static str,
        limit: usize,
    },
    #[error("{0}")]
    Pattern(#[from] PatternError),
    /// The session that asks is over; nothing was started.
    #[error("the session of this turn has ended")]
    SessionEnded,
    /// The row says so too: `failed`.
    #[error("cannot run it: {0}")]
    CannotRun(String),
    #[error("the store cannot answer")]
    Store(#[from] StoreError),
}

/// Counts itself while it lives.
pub(crate) struct Busy(Arc<Inside>);

impl Busy {
    pub fn of(watcher: &Watcher) -> Self {
        watcher.inside.busy.fetch_add(1, Ordering::AcqRel);
        Self(watcher.inside.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Counts itself while it lives.
pub(crate) struct Retrying(Arc<Inside>);

impl Drop for Retrying {
    fn drop(&mut self) {
        self.0.retrying.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Watcher {
    /// Begins to listen to the supervisors. Call [`Watcher::recover`] before adapters are opened.
    pub fn start(parts: WatcherParts) -> Self {
        let inside = Arc::new(Inside {
            parts,
            live: Registry::default(),
            at_once: Semaphore::new(PARALLEL),
            busy: AtomicUsize::new(0),
            retrying: AtomicUsize::new(0),
            breaker: Mutex::new(Breaker::default()),
            stopping: CancellationToken::new(),
        });
        let watcher = Self { inside };
        if let Some(mut wakes) = watcher.inside.parts.processes.wakes() {
            let listener = watcher.clone();
            tokio::spawn(async move {
                let stopping = listener.inside.stopping.clone();
                while let Some(Some(wake)) = stopping.run_until_cancelled(wakes.recv()).await {
                    listener.look_again(wake);
                }
            });
        }
        watcher
    }

    /// Stops listening. Processes live on.
    pub fn stop(&self) {
        self.inside.stopping.cancel();
    }

    /// Ends and outputs that are being read right now.
    pub fn busy(&self) -> usize {
        self.inside.busy.load(Ordering::Acquire)
    }

    /// Ends that the store did not take yet and that are tried again.
    pub fn waits_for_store(&self) -> usize {
        self.inside.retrying.load(Ordering::Acquire)
    }

    /// Bytes of a living process's output that were read for its patterns; `None` if it has none.
    pub fn watched_to(&self, process: ProcessId) -> Option<u64> {
        self.inside
            .live
            .get(process)
            .and_then(|live| live.read_to())
    }

    /// It is committed that a foreground command goes on in the background: who waits for it is released, and its end will be told.
    pub fn has_moved_to_background(&self, process: ProcessId) {
        if let Some(live) = self.live(process) {
            live.move_to_background();
        }
    }

    /// Starts a process: first its row with the owner and every setting, then its supervisor (OWN-20). `guards` are changes that must hold
    /// in the same transaction: that its turn still runs, or that the conversation has not moved on.
    ///
    /// Runs in a task of its own: a caller that goes away (a cancelled turn) cannot leave a row without a supervisor.
    pub async fn begin(
        &self,
        new: NewProcess,
        request: StartRequest,
        guards: Vec<Change>,
    ) -> Result<ProcessId, BeginError> {
        let watcher = self.clone();
        let begun = tokio::spawn(async move { watcher.begin_now(new, request, guards).await });
        begun.await.unwrap_or_else(|error| {
            Err(BeginError::CannotRun(format!(
                "starting it broke off: {error}"
            )))
        })
    }

    async fn begin_now(
        &self,
        new: NewProcess,
        request: StartRequest,
        guards: Vec<Change>,
    ) -> Result<ProcessId, BeginError> {
        self.has_room(new.owner.conversation)?;
        let patterns = compile(&new.watch)?;
        let (process, conversation) = (new.id, new.owner.conversation);
        let live = Live::new(&fresh_row(&new, self.inside.parts.clock.now()), patterns);
        let mut changes = guards;
        changes.push(Change::AddProcess(new));
        match self.commit(conversation, changes).await? {
            Committed::Done => {}
            Committed::Unmet { .. } => return Err(BeginError::SessionEnded),
        }
        crash::point("process-row-committed");
        // Claimed until it is known whether it runs: a failed start is told by its answer, not by an end as well.
        self.inside.live.insert_claimed(process, live);
        match self.inside.parts.processes.start(request).await {
            Ok(_) => {
                crash::point("shim-started");
                // Unmet when it has ended by now, which is as good.
                let started = self
                    .commit(conversation, vec![Change::ProcessStarted { process }])
                    .await;
                if let Err(error) = started {
                    tracing::warn!(process.id = %process, %error, "a started process is still recorded as starting; its end will be recorded all the same");
                }
                self.end_in_time(process, self.now());
                // It may have ended meanwhile: then this looks.
                self.release(process);
                Ok(process)
            }
            Err(error) => {
                let failure = failure_text(&error);
                tracing::warn!(process.id = %process, error = %failure, "a process could not be started");
                self.inside.live.remove(process);
                self.commit_until_done(
                    conversation,
                    vec![Change::ProcessFailed {
                        process,
                        failure: failure.clone(),
                    }],
                )
                .await;
                Err(BeginError::CannotRun(failure))
            }
        }
    }

    fn has_room(&self, conversation: ConversationId) -> Result<(), BeginError> {
        let limits = self.inside.parts.limits;
        let checks = [
            (
                self.inside.live.count(conversation),
                "in this conversation",
                limits.per_conversation,
            ),
            (self.inside.live.len(), "in all", limits.in_all),
        ];
        match checks.into_iter().find(|(count, _, limit)| count >= limit) {
            Some((count, place, limit)) => Err(BeginError::TooMany {
                count,
                place,
                limit,
            }),
            None => Ok(()),
        }
    }

    /// Returns once the end of the process is committed, or at once if it is not alive here. `Moved` if it went to the background first.
    pub async fn ended(&self, process: ProcessId) -> Wait {
        let Some(first) = self.live(process) else {
            return Wait::Ended;
        };
        let waits_in_foreground = first.is_foreground();
        loop {
            let Some(live) = self.live(process) else {
                return Wait::Ended;
            };
            let changed = live.changed.notified();
            // Registered before looking once more, so that no change slips between.
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.live(process).is_none() {
                return Wait::Ended;
            }
            if waits_in_foreground && !live.is_foreground() {
                return Wait::Moved;
            }
            changed.await;
        }
    }

    /// Takes over what an earlier gateway left: adopts the living, ingests what ended meanwhile, declares what is lost (OWN-90, 91).
    pub async fn recover(&self) -> Result<Recovered, StoreError> {
        let rows = self.inside.parts.store.all_live_processes().await?;
        let mut recovered = Recovered::default();
        for row in rows {
            let patterns = match compile(&row.watch) {
                Ok(patterns) => patterns,
                Err(error) => {
                    tracing::error!(process.id = %row.id, %error, "a stored watch pattern does not compile; its matches cannot be seen");
                    None
                }
            };
            // Its turn died with the gateway: nobody waits for it any more, so its end is told like any other's.
            let mut row = row;
            if row.kind == ProcessKind::Foreground {
                let _unmet_if_ended = self
                    .commit(
                        row.owner.conversation,
                        vec![Change::MoveToBackground { process: row.id }],
                    )
                    .await?;
                (row.kind, row.notify) = (ProcessKind::Task, true);
            }
            self.inside.live.insert(row.id, Live::new(&row, patterns));
            crash::point("recovery-processes");
            match self.inside.parts.processes.adopt(row.id).await {
                Ok(Fate::Running(_)) => {
                    recovered.adopted += 1;
                    self.end_in_time(row.id, row.created_at);
                    // Its end was wanted, and the gateway died before it could see to that.
                    if matches!(
                        row.consumed,
                        Some(Consumption::AgentKilled | Consumption::PersonKilled)
                    ) {
                        self.kill_again(row.id);
                    }
                    if row.state == ProcessState::Starting {
                        let _unmet_if_ended = self
                            .commit(
                                row.owner.conversation,
                                vec![Change::ProcessStarted { process: row.id }],
                            )
                            .await?;
                    }
                    self.look_again(ProcessWake::Output(row.id));
                }
                Ok(_) | Err(ProcessError::Unknown(_)) => {
                    recovered.ended += 1;
                    self.ingest_now(row.id).await;
                }
                Err(error) => {
                    tracing::warn!(process.id = %row.id, %error, "its run folder cannot be read now; trying again");
                    self.look_again(ProcessWake::Ended(row.id));
                }
            }
        }
        Ok(recovered)
    }

    fn look_again(&self, wake: ProcessWake) {
        let busy = Busy::of(self);
        let watcher = self.clone();
        tokio::spawn(async move {
            match wake {
                ProcessWake::Ended(process) => watcher.ingest_now(process).await,
                ProcessWake::Output(process) => watcher.scan(process).await,
            }
            drop(busy);
        });
    }

    /// Looks at its output again then.
    pub(crate) fn scan_at(&self, process: ProcessId, at: Timestamp) {
        let watcher = self.clone();
        tokio::spawn(async move {
            if watcher.sleep_until(at).await {
                watcher.look_again(ProcessWake::Output(process));
            }
        });
    }

    pub(crate) fn decide(&self, limiter: &Limiter, new: u32, now: Timestamp) -> (Limiter, Action) {
        // Whole after every decision: a panic elsewhere cannot have torn it.
        let mut breaker = self
            .inside
            .breaker
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        scan::decide_both(limiter, &mut breaker, new, now)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inside.parts.clock.now()
    }
    pub(crate) fn ids(&self) -> &IdSource {
        &self.inside.parts.ids
    }
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.inside.parts.store
    }
    pub(crate) fn processes(&self) -> &dyn Processes {
        &*self.inside.parts.processes
    }
    pub(crate) fn retry_first(&self) -> Duration {
        self.inside.parts.retry.0
    }
    pub(crate) fn retry_longest(&self) -> Duration {
        self.inside.parts.retry.1
    }
    pub(crate) fn wake(&self, conversation: ConversationId) {
        (self.inside.parts.wake)(conversation);
    }
    pub(crate) fn run_for(&self) -> Option<Duration> {
        self.inside.parts.limits.run_for
    }
    pub(crate) fn say_not_stopped(
        &self,
        conversation: ConversationId,
        process: ProcessId,
        why: String,
    ) {
        (self.inside.parts.not_stopped)(conversation, process, why);
    }
    pub(crate) fn tell_of_output(&self, wrote: Wrote) {
        (self.inside.parts.wrote)(wrote);
    }
    pub(crate) fn live(&self, process: ProcessId) -> Option<Arc<Live>> {
        self.inside.live.get(process)
    }
    pub(crate) fn claim(&self, process: ProcessId) -> Option<Arc<Live>> {
        self.inside.live.claim(process)
    }
    pub(crate) fn release(&self, process: ProcessId) {
        if self.inside.live.release(process) {
            self.look_again(ProcessWake::Ended(process));
        }
    }
    pub(crate) fn forget(&self, process: ProcessId) {
        self.inside.live.remove(process);
    }

    /// At most [`PARALLEL`] ends are read at once. `None` while the gateway ends.
    pub(crate) async fn one_of_few(&self) -> Option<SemaphorePermit<'_>> {
        self.inside.at_once.acquire().await.ok()
    }

    pub(crate) fn retrying(&self) -> Retrying {
        self.inside.retrying.fetch_add(1, Ordering::AcqRel);
        Retrying(self.inside.clone())
    }

    /// Waits, and longer the next time. `false` if the gateway is stopping.
    pub(crate) async fn pause(&self, wait: &mut Duration) -> bool {
        let until = self.now().plus(*wait);
        *wait = (*wait * 2).min(self.inside.parts.retry.1);
        self.sleep_until(until).await
    }

    /// `false` if the gateway is stopping.
    pub(crate) async fn sleep_until(&self, at: Timestamp) -> bool {
        let pause = self.inside.parts.clock.sleep_until(at);
        self.inside
            .stopping
            .run_until_cancelled(pause)
            .await
            .is_some()
    }

    pub(crate) async fn commit(
        &self,
        conversation: ConversationId,
        changes: Vec<Change>,
    ) -> Result<Committed, StoreError> {
        self.inside
            .parts
            .store
            .commit(Commit {
                conversation,
                at: self.now(),
                changes,
            })
            .await
    }

    /// For a fact that nobody else would bring again.
    async fn commit_until_done(&self, conversation: ConversationId, changes: Vec<Change>) {
        let mut wait = self.retry_first();
        while let Err(error) = self.commit(conversation, changes.clone()).await {
            tracing::warn!(conversation.id = %conversation, %error, "a fact could not be stored yet; trying again");
            if !self.pause(&mut wait).await {
                return;
            }
        }
    }
}

/// What waiting for a process came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Ended,
    Moved,
}

/// What a restart found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Still running.
    pub adopted: usize,
    /// Ended, lost or failed while nobody looked.
    pub ended: usize,
}

fn compile(watch: &[String]) -> Result<Option<Patterns>, PatternError> {
    match watch.is_empty() {
        true => Ok(None),
        false => Patterns::new(watch).map(Some),
    }
}

fn failure_text(error: &StartError) -> String {
    match error {
        StartError::CannotRun(reason) => reason.clone(),
        StartError::StartedBefore(_) => error.to_string(),
        StartError::Supervisor { source, .. } => format!("{error}: {source}"),
    }
}

fn fresh_row(new: &NewProcess, now: Timestamp) -> ProcessRow {
    ProcessRow {
        id: new.id,
        owner: new.owner.clone(),
        kind: new.kind,
        command: new.command.clone(),
        directory: new.directory.clone(),
        notify: new.notify,
        watch: new.watch.clone(),
        state: ProcessState::Starting,
        ending: None,
        created_at: now,
        ended_at: None,
        output_total: 0,
        output_tail: Vec::new(),
        failure: None,
        consumed: None,
        watched: Watched::default(),
    }
}
