//! The service: begins processes, ingests their ends, scans their output, takes them over after a restart.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use homing_domain::ids::{ConversationId, NotificationId, ProcessId};
use homing_domain::notification::Kind;
use homing_domain::process::{Ending, LostReason, ProcessState};
use homing_domain::time::Timestamp;
use homing_ports::processes::{
    ExitRecord, Fate, ProcessError, ProcessWake, Processes, StartError, StartRequest,
};
use homing_ports::store::{
    Change, Commit, Committed, NewProcess, ProcessKind, ProcessRow, Source, Store, StoreError,
    Watched,
};
use homing_ports::{Clock, IdSource};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::live::{Live, Registry};
use crate::pattern::{self, PatternError, Patterns};

/// Bytes of output that go into the store with an exit, for the block and the notice.
pub const EXIT_TAIL: usize = 8 * 1024;
/// Output is scanned in pieces of this size.
const SCAN_CHUNK: usize = 256 * 1024;
/// Matched lines kept in one notification.
const LINES_KEPT: usize = 10;
/// Exits ingested at the same time.
const PARALLEL: usize = 64;
/// Watch notifications in a process's life (OWN-83).
const LIFETIME_MATCHES: u32 = 8;

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
}

struct Inside {
    parts: WatcherParts,
    live: Registry,
    at_once: Semaphore,
    /// Ends and outputs that are being read: for "is it quiet".
    busy: AtomicUsize,
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

#[derive(Debug, thiserror::Error)]
pub enum BeginError {
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
struct Busy(Arc<Inside>);

impl Busy {
    fn new(inside: &Arc<Inside>) -> Self {
        inside.busy.fetch_add(1, Ordering::AcqRel);
        Self(inside.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
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

    /// Bytes of a living process's output that were read for its patterns.
    pub fn watched_to(&self, process: ProcessId) -> Option<u64> {
        self.inside
            .live
            .get(process)
            .map(|live| live.read_to.load(Ordering::Acquire))
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
        let patterns = compile(&new.watch)?;
        let (process, conversation) = (new.id, new.owner.conversation);
        let live = Live::new(&fresh_row(&new, self.inside.parts.clock.now()), patterns);
        let mut changes = guards;
        changes.push(Change::AddProcess(new));
        match self.commit(conversation, changes).await? {
            Committed::Done => {}
            Committed::Unmet { .. } => return Err(BeginError::SessionEnded),
        }
        self.inside.live.insert(process, live);
        match self.inside.parts.processes.start(request).await {
            Ok(_) => {
                // Unmet when it has ended by now, which is as good.
                let started = self
                    .commit(conversation, vec![Change::ProcessStarted { process }])
                    .await;
                if let Err(error) = started {
                    tracing::warn!(process.id = %process, %error, "a started process is still recorded as starting; its end will be recorded all the same");
                }
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

    /// Returns once the end of the process is committed, or at once if it is not alive here.
    pub async fn ended(&self, process: ProcessId) {
        while let Some(live) = self.inside.live.get(process) {
            let ended = live.ended.notified();
            // Registered before looking once more, so that no end slips between.
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.inside.live.get(process).is_none() {
                return;
            }
            ended.await;
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
            self.inside.live.insert(row.id, Live::new(&row, patterns));
            match self.inside.parts.processes.adopt(row.id).await {
                Ok(Fate::Running(_)) => {
                    recovered.adopted += 1;
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
        let busy = Busy::new(&self.inside);
        let watcher = self.clone();
        tokio::spawn(async move {
            match wake {
                ProcessWake::Ended(process) => watcher.ingest_now(process).await,
                ProcessWake::Output(process) => watcher.scan(process).await,
            }
            drop(busy);
        });
    }

    /// Reads how it ended and records that, however often the store has to be asked.
    async fn ingest_now(&self, process: ProcessId) {
        let Some(live) = self.inside.live.claim(process) else {
            return;
        };
        let Ok(_permit) = self.inside.at_once.acquire().await else {
            return;
        };
        let mut wait = self.inside.parts.retry.0;
        loop {
            match self.ingest(process, &live).await {
                Ok(Ingested::Recorded) => break,
                Ok(Ingested::StillRunning) => return self.inside.live.release(process),
                Err(error) => {
                    tracing::warn!(process.id = %process, %error, "an exit could not be recorded yet; trying again");
                    let deadline = self.inside.parts.clock.now().plus(wait);
                    let pause = self.inside.parts.clock.sleep_until(deadline);
                    if self
                        .inside
                        .stopping
                        .run_until_cancelled(pause)
                        .await
                        .is_none()
                    {
                        return;
                    }
                    wait = (wait * 2).min(self.inside.parts.retry.1);
                }
            }
        }
        self.inside.live.remove(process);
        live.ended.notify_waiters();
        (self.inside.parts.wake)(live.conversation);
        if let Err(error) = self.inside.parts.processes.acknowledge(process).await {
            tracing::debug!(process.id = %process, %error, "its run folder could not be marked as read; it is kept");
        }
    }

    async fn ingest(&self, process: ProcessId, live: &Live) -> Result<Ingested, IngestError> {
        let processes = &self.inside.parts.processes;
        let record = match processes.fate(process).await {
            Ok(Fate::Running(_)) => return Ok(Ingested::StillRunning),
            Ok(Fate::Ended(record)) => record,
            Ok(Fate::NeverRan(failure)) => {
                self.record_failed_start(process, live, failure).await?;
                return Ok(Ingested::Recorded);
            }
            Err(ProcessError::Unknown(_)) => self.lost_folder(process).await?,
            Err(error) => return Err(error.into()),
        };
        let tail = match processes.tail(process, EXIT_TAIL).await {
            Ok(chunk) => chunk.bytes,
            Err(error) => {
                tracing::warn!(process.id = %process, %error, "the last output of an ended process cannot be read");
                Vec::new()
            }
        };
        let last_matches = self.scan_to_end(process, live).await?;
        let mut changes = vec![Change::ProcessEnded {
            process,
            ending: record.ending,
            ended_at: record.ended_at,
            output_total: record.output_total,
            output_tail: tail,
        }];
        changes.extend(self.ending_notification(process, live, &record, last_matches));
        let committed = self.commit(live.conversation, changes).await?;
        if let Committed::Unmet { what, .. } = committed {
            tracing::debug!(process.id = %process, what, "its end was recorded before");
        }
        tracing::info!(process.id = %process, ending = %record.ending, "a process has ended");
        Ok(Ingested::Recorded)
    }

    /// One notification at the end: not a match and a completion (OWN-84).
    fn ending_notification(
        &self,
        process: ProcessId,
        live: &Live,
        record: &ExitRecord,
        matches: Matches,
    ) -> Option<Change> {
        let wants_end = live.notify || matches.watched.switched_off;
        let kind = match (live.kind, record.ending) {
            (ProcessKind::Foreground, _) => return None,
            (ProcessKind::Task | ProcessKind::Service, Ending::Lost(_))
                if wants_end || live.patterns.is_some() =>
            {
                Kind::Lost
            }
            (ProcessKind::Task | ProcessKind::Service, _) if wants_end => Kind::Completed,
            (ProcessKind::Task | ProcessKind::Service, _) if matches.count > 0 => Kind::Matched,
            (ProcessKind::Task | ProcessKind::Service, _) => return None,
        };
        let sequence = match kind {
            Kind::Matched => matches.watched.notifications + 1,
            Kind::Completed | Kind::Lost | Kind::WatchOff | Kind::Delegation => 0,
        };
        Some(Change::AddNotification {
            notification: self.inside.parts.ids.next::<NotificationId>(),
            source: Source::Process(process),
            kind,
            sequence,
            content: matches.lines.join("\n"),
        })
    }

    async fn record_failed_start(
        &self,
        process: ProcessId,
        live: &Live,
        failure: String,
    ) -> Result<(), IngestError> {
        tracing::warn!(process.id = %process, error = %failure, "a process never ran");
        let _unmet_if_recorded = self
            .commit(
                live.conversation,
                vec![Change::ProcessFailed { process, failure }],
            )
            .await?;
        Ok(())
    }

    async fn lost_folder(&self, process: ProcessId) -> Result<ExitRecord, IngestError> {
        let row = self.inside.parts.store.process(process).await?;
        Ok(ExitRecord {
            ending: Ending::Lost(LostReason::FolderMissing),
            ended_at: self.inside.parts.clock.now(),
            output_total: row.map_or(0, |row| row.output_total),
        })
    }

    /// Reads new output and makes a notification of what matches.
    async fn scan(&self, process: ProcessId) {
        let Some(live) = self.inside.live.get(process) else {
            return;
        };
        if live.patterns.is_none() {
            return;
        }
        let mut watching = live.watching.lock().await;
        match self.read_matches(process, &live, &mut watching.lines).await {
            Ok(found) if found.count > 0 => {
                if let Err(error) = self
                    .record_matches(process, &live, &mut watching, found)
                    .await
                {
                    tracing::warn!(process.id = %process, %error, "a match could not be recorded yet; its output will be read again");
                    watching.lines = pattern::Lines::at(watching.watched.scanned);
                    self.scan_later(process);
                }
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(process.id = %process, %error, "its output cannot be read now")
            }
        }
        live.read_to.store(watching.lines.fed(), Ordering::Release);
    }

    fn scan_later(&self, process: ProcessId) {
        let watcher = self.clone();
        tokio::spawn(async move {
            let clock = &watcher.inside.parts.clock;
            clock
                .sleep_until(clock.now().plus(watcher.inside.parts.retry.0))
                .await;
            watcher.look_again(ProcessWake::Output(process));
        });
    }

    async fn record_matches(
        &self,
        process: ProcessId,
        live: &Live,
        watching: &mut crate::live::Watching,
        found: Found,
    ) -> Result<(), StoreError> {
        let mut watched = Watched {
            scanned: watching.lines.settled(),
            matches: watching.watched.matches + found.count,
            ..watching.watched
        };
        let mut changes = Vec::new();
        if watched.notifications < LIFETIME_MATCHES {
            watched.notifications += 1;
            changes.push(Change::AddNotification {
                notification: self.inside.parts.ids.next::<NotificationId>(),
                source: Source::Process(process),
                kind: Kind::Matched,
                sequence: watched.notifications,
                content: found.lines.join("\n"),
            });
        }
        changes.push(Change::Watched { process, watched });
        match self.commit(live.conversation, changes).await? {
            Committed::Done => watching.watched = watched,
            Committed::Unmet { what, .. } => {
                tracing::debug!(process.id = %process, what, "a match was recorded before")
            }
        }
        (self.inside.parts.wake)(live.conversation);
        Ok(())
    }

    /// The rest of the output, its last line without an end included.
    async fn scan_to_end(&self, process: ProcessId, live: &Live) -> Result<Matches, IngestError> {
        let mut watching = live.watching.lock().await;
        if live.patterns.is_none() {
            return Ok(Matches {
                count: 0,
                lines: Vec::new(),
                watched: watching.watched,
            });
        }
        // From the last stored position, so that trying again after a failed commit finds the same.
        let mut lines = pattern::Lines::at(watching.watched.scanned);
        let mut found = self.read_matches(process, live, &mut lines).await?;
        lines.finish(|line| found.see(live.patterns.as_ref(), line));
        live.read_to.store(lines.fed(), Ordering::Release);
        watching.lines = lines;
        Ok(Matches {
            count: found.count,
            lines: found.lines,
            watched: watching.watched,
        })
    }

    async fn read_matches(
        &self,
        process: ProcessId,
        live: &Live,
        lines: &mut pattern::Lines,
    ) -> Result<Found, ProcessError> {
        let mut found = Found::default();
        loop {
            let chunk = self
                .inside
                .parts
                .processes
                .output(process, lines.fed(), SCAN_CHUNK)
                .await?;
            if chunk.bytes.is_empty() {
                return Ok(found);
            }
            lines.feed(chunk.from, &chunk.bytes, |line| {
                found.see(live.patterns.as_ref(), line)
            });
        }
    }

    async fn commit(
        &self,
        conversation: ConversationId,
        changes: Vec<Change>,
    ) -> Result<Committed, StoreError> {
        self.inside
            .parts
            .store
            .commit(Commit {
                conversation,
                at: self.inside.parts.clock.now(),
                changes,
            })
            .await
    }

    /// For a fact that nobody else would bring again.
    async fn commit_until_done(&self, conversation: ConversationId, changes: Vec<Change>) {
        let mut wait = self.inside.parts.retry.0;
        while let Err(error) = self.commit(conversation, changes.clone()).await {
            tracing::warn!(conversation.id = %conversation, %error, "a fact could not be stored yet; trying again");
            let pause = self
                .inside
                .parts
                .clock
                .sleep_until(self.inside.parts.clock.now().plus(wait));
            if self
                .inside
                .stopping
                .run_until_cancelled(pause)
                .await
                .is_none()
            {
                return;
            }
            wait = (wait * 2).min(self.inside.parts.retry.1);
        }
    }
}

/// What a restart found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Still running.
    pub adopted: usize,
    /// Ended, lost or failed while nobody looked.
    pub ended: usize,
}

enum Ingested {
    Recorded,
    StillRunning,
}

#[derive(Debug, thiserror::Error)]
enum IngestError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// What a scan found.
#[derive(Debug, Default)]
struct Found {
    count: u32,
    lines: Vec<String>,
}

impl Found {
    fn see(&mut self, patterns: Option<&Patterns>, line: &str) {
        if !patterns.is_some_and(|patterns| patterns.matches(line)) {
            return;
        }
        self.count += 1;
        if self.lines.len() < LINES_KEPT {
            self.lines.push(pattern::kept(line));
        }
    }
}

struct Matches {
    count: u32,
    lines: Vec<String>,
    watched: Watched,
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
