//! Ends that are wanted: handed to the supervisor, and tried again while it does not take them (OWN-38).
//!
//! **Invariant:** a wanted end is with the supervisor, is being tried again, or is given up aloud: a process that lives on marked as stopped
//! would end unheard. A restart in between begins again from the mark in the store.
//! **Absent on purpose:** taking the mark back, and telling people. That is the step of a conversation's own task.

use std::sync::Arc;
use std::time::Duration;

use homing_domain::ids::ProcessId;
use homing_domain::time::Timestamp;
use homing_ports::processes::{KillOutcome, ProcessError};

use crate::live::Live;
use crate::service::{Busy, Watcher};

/// Between SIGTERM and SIGKILL for a process whose end nobody waits for.
const KILL_GRACE: Duration = Duration::from_secs(5);
/// Times that a living process's supervisor is asked before it is given up.
pub const KILL_TRIES: u32 = 8;

impl Watcher {
    /// Asks for its end, and says what the first try came to. After one that failed it is tried again from here, and given up aloud in the end.
    ///
    /// Runs in a task of its own: a caller that goes away cannot leave a process that is marked as stopped and was never asked.
    pub async fn kill(
        &self,
        process: ProcessId,
        grace: Duration,
    ) -> Result<KillOutcome, ProcessError> {
        let asked = tokio::spawn(self.clone().ask_and_insist(process, grace));
        asked.await.unwrap_or_else(|stopped| {
            Err(ProcessError::Folder {
                process,
                source: std::io::Error::other(stopped),
            })
        })
    }

    /// As [`Watcher::kill`], for whoever does not wait for it.
    pub fn see_to_the_end(&self, process: ProcessId, grace: Duration) {
        tokio::spawn(self.clone().ask_and_insist(process, grace));
    }

    /// Its end was wanted, and the gateway died before it could see to that.
    pub(crate) fn kill_again(&self, process: ProcessId) {
        self.see_to_the_end(process, KILL_GRACE);
    }

    /// Ends it when it has run for as long as it may.
    pub(crate) fn end_in_time(&self, process: ProcessId, started: Timestamp) {
        let Some(limit) = self.run_for() else {
            return;
        };
        let watcher = self.clone();
        tokio::spawn(async move {
            if !watcher.sleep_until(started.plus(limit)).await || watcher.live(process).is_none() {
                return;
            }
            tracing::warn!(process.id = %process, ?limit, "a process has run for as long as it may and is ended");
            watcher.see_to_the_end(process, KILL_GRACE);
        });
    }

    /// In one future, so that "is it quiet" sees it from the call on.
    fn ask_and_insist(
        self,
        process: ProcessId,
        grace: Duration,
    ) -> impl Future<Output = Result<KillOutcome, ProcessError>> + Send + 'static {
        let busy = Busy::of(&self);
        async move {
            let asked = self.ask_to_end(process, grace).await;
            if let Err(error) = &asked {
                tracing::warn!(process.id = %process, %error, "a process could not be asked to end yet; trying again");
                if let Some(live) = self.live(process).filter(|live| live.begin_insisting()) {
                    tokio::spawn(self.clone().insist(process, live, grace));
                }
            }
            drop(busy);
            asked
        }
    }

    async fn ask_to_end(
        &self,
        process: ProcessId,
        grace: Duration,
    ) -> Result<KillOutcome, ProcessError> {
        match self.processes().kill(process, grace).await {
            Err(ProcessError::Ended(_)) => Ok(KillOutcome::AlreadyEnded),
            asked => asked,
        }
    }

    /// Until it is asked, has ended, or was tried often enough.
    fn insist(
        self,
        process: ProcessId,
        live: Arc<Live>,
        grace: Duration,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (busy, retrying) = (Busy::of(&self), self.retrying());
        async move {
            let mut wait = self.retry_first();
            let mut tries = 1;
            let given_up = loop {
                if !self.pause(&mut wait).await || self.live(process).is_none() {
                    break None;
                }
                tries += 1;
                match self.ask_to_end(process, grace).await {
                    Ok(_) => break None,
                    Err(error) if tries >= KILL_TRIES => break Some(error),
                    Err(error) => {
                        tracing::debug!(process.id = %process, %error, tries, "still not asked to end")
                    }
                }
            };
            live.stop_insisting();
            if let Some(error) = given_up {
                tracing::error!(process.id = %process, %error, tries, "a process whose end is wanted could not be ended");
                self.say_not_stopped(live.conversation, process, said(&error));
            }
            drop((busy, retrying));
        }
    }
}

/// The error with its cause: "reading the run folder" alone says nothing to a person.
fn said(error: &ProcessError) -> String {
    match error {
        ProcessError::Folder { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}
