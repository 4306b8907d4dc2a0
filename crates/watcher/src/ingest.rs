//! Ends: read from the run folder, recorded with the last output and the notification in one transaction (OWN-24).

use homing_domain::ids::{NotificationId, ProcessId};
use homing_domain::notification::{Kind, State};
use homing_domain::process::{Ending, LostReason};
use homing_ports::crash;
use homing_ports::processes::{ExitRecord, Fate, ProcessError};
use homing_ports::store::{Change, Committed, Decision, Source, StoreError};

use crate::live::Live;
use crate::scan::{AtTheEnd, LINES_KEPT, is_gone};
use crate::service::Watcher;

/// Times that the output of a process that has ended is tried to be read. Its end is told all the same.
const OUTPUT_TRIES: u32 = 5;
/// Bytes of output that go into the store with an exit, for the block and the notice.
pub const EXIT_TAIL: usize = 8 * 1024;

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
    #[error("{0}")]
    Moved(String),
}

impl Watcher {
    /// Reads how it ended and records that, however often the store has to be asked.
    pub(crate) async fn ingest_now(&self, process: ProcessId) {
        let Some(live) = self.claim(process) else {
            return;
        };
        let Some(_permit) = self.one_of_few().await else {
            return;
        };
        let mut retrying = None;
        let mut tries = 0;
        let mut wait = self.retry_first();
        loop {
            tries += 1;
            match self.ingest(process, &live, tries).await {
                Ok(Ingested::Recorded) => break,
                Ok(Ingested::StillRunning) => return self.release(process),
                Err(error) => {
                    tracing::warn!(process.id = %process, %error, "an exit could not be recorded yet; trying again");
                    retrying.get_or_insert_with(|| self.retrying());
                    if !self.pause(&mut wait).await {
                        return;
                    }
                }
            }
        }
        crash::point("exit-committed");
        self.forget(process);
        live.changed.notify_waiters();
        self.wake(live.conversation);
        if let Err(error) = self.processes().acknowledge(process).await {
            tracing::debug!(process.id = %process, %error, "its run folder could not be marked as read; it is kept");
        }
    }

    async fn ingest(
        &self,
        process: ProcessId,
        live: &Live,
        tries: u32,
    ) -> Result<Ingested, IngestError> {
        let record = match self.processes().fate(process).await {
            Ok(Fate::Running(_)) => return Ok(Ingested::StillRunning),
            Ok(Fate::Ended(record)) => {
                crash::point("exit-seen");
                record
            }
            Ok(Fate::NeverRan(failure)) => {
                self.record_failed_start(process, live, failure).await?;
                return Ok(Ingested::Recorded);
            }
            Err(ProcessError::Unknown(_)) => match self.lost_folder(process).await? {
                Some(record) => record,
                None => {
                    let failure = "the gateway ended before it was started".to_owned();
                    self.record_failed_start(process, live, failure).await?;
                    return Ok(Ingested::Recorded);
                }
            },
            Err(error) => return Err(error.into()),
        };
        // A lost process may have lost its output as well.
        let may_pass = |error: &ProcessError| {
            tries < OUTPUT_TRIES && !matches!(record.ending, Ending::Lost(_)) && !is_gone(error)
        };
        let tail = match self.processes().tail(process, EXIT_TAIL).await {
            Ok(chunk) => chunk.bytes,
            Err(error) if may_pass(&error) => return Err(error.into()),
            Err(error) => {
                tracing::warn!(process.id = %process, %error, "the last output of an ended process cannot be read");
                Vec::new()
            }
        };
        // Held until the end is committed: whoever told a match in between would tell it beside the end, which counts it too (OWN-84).
        let mut watching = live.watching.lock().await;
        self.be_sure(process, live, &mut watching).await?;
        let matches = match self.scan_to_end(process, live, &watching).await {
            Ok(matches) => matches,
            Err(error) if may_pass(&error) => return Err(error.into()),
            // Its end is told all the same, with what was counted before.
            Err(error) => {
                tracing::warn!(process.id = %process, %error, "the output of an ended process cannot be watched to its end");
                let watched = watching.watched.clone();
                AtTheEnd {
                    untold: watched.limiter.waiting,
                    lines: watched.lines,
                    limiter: watched.limiter,
                }
            }
        };
        let untold = self.take_back_pending(process, live, matches).await?;
        let mut changes = vec![Change::ProcessEnded {
            process,
            ending: record.ending,
            ended_at: record.ended_at,
            output_total: record.output_total,
            output_tail: tail,
        }];
        changes.extend(self.ending_notification(process, live, &record, &untold));
        changes.extend(untold.settled);
        match self.commit(live.conversation, changes).await? {
            Committed::Done => {}
            Committed::Unmet { index: 0, what } => {
                tracing::debug!(process.id = %process, what, "its end was recorded before")
            }
            // A match that was to be folded in has just been told: look again.
            Committed::Unmet { what, .. } => return Err(IngestError::Moved(what)),
        }
        watching.over = true;
        tracing::info!(process.id = %process, ending = %record.ending, "a process has ended");
        Ok(Ingested::Recorded)
    }

    /// OWN-84: matches that wait to be told when the process ends are told with its end, not beside it.
    async fn take_back_pending(
        &self,
        process: ProcessId,
        live: &Live,
        matches: AtTheEnd,
    ) -> Result<Untold, IngestError> {
        let mut untold = Untold {
            matches: matches.untold,
            lines: matches.lines,
            switched_off: matches.limiter.switched_off,
            settled: Vec::new(),
        };
        if live.patterns.is_none() || live.is_foreground() {
            return Ok(untold);
        }
        let told = self
            .store()
            .notifications_of(Source::Process(process))
            .await?;
        for row in told.into_iter().rev() {
            let waits = matches!(row.state, State::Pending | State::Held);
            let is_match = matches!(row.kind, Kind::Matched | Kind::WatchOff);
            if !(waits && is_match) {
                continue;
            }
            let lines: Vec<String> = row.content.lines().map(str::to_owned).collect();
            untold.matches = untold
                .matches
                .saturating_add(lines.len() as u32)
                .saturating_add(row.more);
            untold.lines.splice(0..0, lines);
            untold.settled.push(Change::Decide(Decision {
                notification: row.id,
                from: row.state,
                to: State::Consumed,
                reason: Some("told_at_the_end".into()),
                facts: "the process ended before it was told; it is told with the end".into(),
                turn: None,
                failed_attempt: false,
            }));
        }
        untold.lines.truncate(LINES_KEPT);
        Ok(untold)
    }

    /// One notification at the end: not a match and a completion (OWN-84).
    fn ending_notification(
        &self,
        process: ProcessId,
        live: &Live,
        record: &ExitRecord,
        untold: &Untold,
    ) -> Option<Change> {
        if live.is_foreground() {
            return None;
        }
        // What matched and was not told yet, or no more, is told with the end, whoever asked for what (OWN-83, 84).
        let wanted = live.notifies() || untold.switched_off || untold.matches > 0;
        let kind = match record.ending {
            Ending::Lost(_) if wanted || live.patterns.is_some() => Kind::Lost,
            Ending::Code(_) | Ending::Signal(_) if wanted => Kind::Completed,
            Ending::Lost(_) | Ending::Code(_) | Ending::Signal(_) => return None,
        };
        Some(Change::AddNotification {
            notification: self.ids().next::<NotificationId>(),
            source: Source::Process(process),
            kind,
            sequence: 0,
            content: untold.lines.join("\n"),
            more: untold.matches.saturating_sub(untold.lines.len() as u32),
        })
    }

    async fn record_failed_start(
        &self,
        process: ProcessId,
        live: &Live,
        failure: String,
    ) -> Result<(), IngestError> {
        tracing::warn!(process.id = %process, error = %failure, "a process never ran");
        let mut changes = vec![Change::ProcessFailed {
            process,
            failure: failure.clone(),
        }];
        // Whoever asked for it was told that it had started: it is told that it had not.
        if !live.is_foreground() && live.notifies() {
            changes.push(Change::AddNotification {
                notification: self.ids().next::<NotificationId>(),
                source: Source::Process(process),
                kind: Kind::Lost,
                sequence: 0,
                content: failure,
                more: 0,
            });
        }
        let _unmet_if_recorded = self.commit(live.conversation, changes).await?;
        Ok(())
    }

    /// There is no run folder. A process that was never started has none; one that ran has lost it.
    async fn lost_folder(&self, process: ProcessId) -> Result<Option<ExitRecord>, IngestError> {
        let row = self.store().process(process).await?;
        let ran = row
            .as_ref()
            .is_none_or(|row| row.state != homing_domain::process::ProcessState::Starting);
        Ok(ran.then(|| ExitRecord {
            ending: Ending::Lost(LostReason::FolderMissing),
            ended_at: self.now(),
            output_total: row.map_or(0, |row| row.output_total),
        }))
    }
}

/// Matches that nobody was told of when the process ended.
struct Untold {
    matches: u32,
    lines: Vec<String>,
    switched_off: bool,
    /// Notifications that are told with the end instead.
    settled: Vec<Change>,
}
