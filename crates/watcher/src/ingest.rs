//! Ends: read from the run folder, recorded with the last output and the notification in one transaction (OWN-24).

use homing_domain::ids::{NotificationId, ProcessId};
use homing_domain::notification::Kind;
use homing_domain::process::{Ending, LostReason};
use homing_ports::crash;
use homing_ports::processes::{ExitRecord, Fate, ProcessError};
use homing_ports::store::{Change, Committed, Source, StoreError};

use crate::live::Live;
use crate::scan::AtTheEnd;
use crate::service::Watcher;

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
        let mut wait = self.retry_first();
        loop {
            match self.ingest(process, &live).await {
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

    async fn ingest(&self, process: ProcessId, live: &Live) -> Result<Ingested, IngestError> {
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
        let tail = match self.processes().tail(process, EXIT_TAIL).await {
            Ok(chunk) => chunk.bytes,
            Err(error) => {
                tracing::warn!(process.id = %process, %error, "the last output of an ended process cannot be read");
                Vec::new()
            }
        };
        let matches = match self.scan_to_end(process, live).await {
            Ok(matches) => matches,
            // A lost process may have lost its output as well; its end is told all the same.
            Err(error) => {
                tracing::warn!(process.id = %process, %error, "the output of an ended process cannot be watched to its end");
                AtTheEnd {
                    untold: 0,
                    lines: Vec::new(),
                    limiter: live.watching.lock().await.watched.limiter,
                }
            }
        };
        let mut changes = vec![Change::ProcessEnded {
            process,
            ending: record.ending,
            ended_at: record.ended_at,
            output_total: record.output_total,
            output_tail: tail,
        }];
        changes.extend(self.ending_notification(process, live, &record, &matches));
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
        matches: &AtTheEnd,
    ) -> Option<Change> {
        if live.is_foreground() {
            return None;
        }
        let wants_end = live.notifies() || matches.limiter.switched_off;
        let (kind, sequence) = match record.ending {
            Ending::Lost(_) if wants_end || live.patterns.is_some() => (Kind::Lost, 0),
            _ if wants_end => (Kind::Completed, 0),
            // Its life of watch notifications does not end with a match that nobody hears of.
            _ if matches.untold > 0 => (Kind::Matched, matches.limiter.told + 1),
            _ => return None,
        };
        Some(Change::AddNotification {
            notification: self.ids().next::<NotificationId>(),
            source: Source::Process(process),
            kind,
            sequence,
            content: content(matches),
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

/// The lines that were not told, and how many there were more (OWN-81, 83).
fn content(matches: &AtTheEnd) -> String {
    let more = matches.untold.saturating_sub(matches.lines.len() as u32);
    let mut lines = matches.lines.clone();
    if more > 0 {
        lines.push(format!("({more} more lines matched)"));
    }
    lines.join("\n")
}
