//! Watching output: lines are assembled, matched, and told as often as the limits allow (OWN-80…84).
//!
//! **Invariant:** what matched is stored together with the offset up to which was read: told, or counted with its lines. So a restart, or a
//! store that did not answer, neither repeats nor skips a match.

use homing_domain::ids::{NotificationId, ProcessId};
use homing_domain::notification::Kind;
use homing_domain::time::Timestamp;
use homing_domain::watch::{self, Action, Limiter};
use homing_ports::inbox::Wrote;
use homing_ports::processes::ProcessError;
use homing_ports::store::{Change, Committed, Source, StoreError, Watched};

use crate::live::{Live, Watching};
use crate::pattern::{self, Patterns};
use crate::service::Watcher;

/// Output is scanned in pieces of this size.
const SCAN_CHUNK: usize = 256 * 1024;
/// Matched lines kept in one notification.
pub(crate) const LINES_KEPT: usize = 10;

/// What is found at the end of a process.
pub(crate) struct AtTheEnd {
    /// Matches that nobody was told of.
    pub untold: u32,
    pub lines: Vec<String>,
    pub limiter: Limiter,
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

impl Watcher {
    /// New output, or a timer: what matches is told or counted.
    pub(crate) async fn scan(&self, process: ProcessId) {
        let Some(live) = self.live(process) else {
            return;
        };
        if let Some(window) = live.window {
            self.tell_of_output(Wrote {
                process,
                conversation: live.conversation,
                window,
            });
        }
        if live.patterns.is_none() {
            return;
        }
        let mut watching = live.watching.lock().await;
        if watching.over {
            return;
        }
        let now = self.now();
        watching.timer = watching.timer.filter(|at| now < *at);
        if let Err(error) = self.be_sure(process, &live, &mut watching).await {
            return self.scan_later(process, &mut watching, &error);
        }
        let found = match self.read_matches(process, &live, &mut watching.lines).await {
            Ok(found) => found,
            Err(error) => {
                tracing::debug!(process.id = %process, %error, "its output cannot be read now");
                // What was read before that is read again, too.
                watching.lines = pattern::Lines::at(watching.watched.scanned);
                if !is_gone(&error) {
                    let later = now.plus(self.retry_longest());
                    self.scan_by(process, &mut watching, later);
                }
                Found::default()
            }
        };
        if let Err(error) = self
            .tell_or_count(process, &live, &mut watching, found)
            .await
        {
            watching.unsure = true;
            self.scan_later(process, &mut watching, &error);
        }
        live.has_read_to(watching.lines.fed());
    }

    async fn tell_or_count(
        &self,
        process: ProcessId,
        live: &Live,
        watching: &mut Watching,
        found: Found,
    ) -> Result<(), StoreError> {
        let now = self.now();
        if found.count == 0 && watching.watched.limiter.waiting == 0 {
            return Ok(());
        }
        let (limiter, action) = self.decide(&watching.watched.limiter, found.count, now);
        let mut lines = watching.watched.lines.clone();
        lines.extend(found.lines);
        lines.truncate(LINES_KEPT);
        let told = match action {
            Action::Tell { matches } => Some((Kind::Matched, matches)),
            Action::SwitchOff { matches } => Some((Kind::WatchOff, matches)),
            Action::Wait(_) | Action::Count => None,
        };
        let mut changes = Vec::with_capacity(2);
        if let Some((kind, matches)) = told {
            changes.push(Change::AddNotification {
                notification: self.ids().next::<NotificationId>(),
                source: Source::Process(process),
                kind,
                sequence: limiter.told,
                more: matches.saturating_sub(lines.len() as u32),
                content: lines.join("\n"),
            });
            lines = Vec::new();
        }
        let watched = Watched {
            scanned: watching.lines.settled(),
            limiter,
            lines,
        };
        if watched == watching.watched && told.is_none() {
            self.wait(process, watching, action);
            return Ok(());
        }
        changes.push(Change::Watched {
            process,
            watched: watched.clone(),
        });
        match self.commit(live.conversation, changes).await? {
            Committed::Done => watching.watched = watched,
            Committed::Unmet { what, .. } => {
                return Err(StoreError::Unavailable(format!(
                    "a match was recorded before: {what}"
                )));
            }
        }
        if told.is_some() {
            self.wake(live.conversation);
        }
        self.wait(process, watching, action);
        Ok(())
    }

    /// After a step that was not answered: what is stored counts, and the output behind it is read again.
    pub(crate) async fn be_sure(
        &self,
        process: ProcessId,
        live: &Live,
        watching: &mut Watching,
    ) -> Result<(), StoreError> {
        if !watching.unsure {
            return Ok(());
        }
        if let Some(row) = self.store().process(process).await? {
            watching.lines = pattern::Lines::at(row.watched.scanned);
            watching.watched = row.watched;
        }
        watching.unsure = false;
        // A match may be among it.
        self.wake(live.conversation);
        Ok(())
    }

    fn scan_later(&self, process: ProcessId, watching: &mut Watching, error: &StoreError) {
        tracing::warn!(process.id = %process, %error, "a match could not be recorded yet; its output will be read again");
        let later = self.now().plus(self.retry_first());
        self.scan_by(process, watching, later);
    }

    /// When its window, or the breaker's silence, is over.
    fn wait(&self, process: ProcessId, watching: &mut Watching, action: Action) {
        if let Action::Wait(until) = action {
            self.scan_by(process, watching, until);
        }
    }

    /// One timer a process, however often it writes meanwhile.
    fn scan_by(&self, process: ProcessId, watching: &mut Watching, until: Timestamp) {
        if watching.timer.is_none_or(|at| until < at) {
            watching.timer = Some(until);
            self.scan_at(process, until);
        }
    }

    /// The rest of the output, its last line without an end included. Stores nothing: the caller's commit does, or it is read once more. So nothing
    /// is remembered of it either: a scan in between would take the last line for told.
    pub(crate) async fn scan_to_end(
        &self,
        process: ProcessId,
        live: &Live,
        watching: &Watching,
    ) -> Result<AtTheEnd, ProcessError> {
        let watched = watching.watched.clone();
        if live.patterns.is_none() {
            return Ok(AtTheEnd {
                untold: 0,
                lines: Vec::new(),
                limiter: watched.limiter,
            });
        }
        // From the last stored position, so that trying again after a failed commit finds the same.
        let mut lines = pattern::Lines::at(watched.scanned);
        let mut found = self.read_matches(process, live, &mut lines).await?;
        lines.finish(|line| found.see(live.patterns.as_ref(), line));
        live.has_read_to(lines.fed());
        let mut kept = watched.lines;
        kept.extend(found.lines);
        kept.truncate(LINES_KEPT);
        let untold = watched.limiter.waiting.saturating_add(found.count);
        Ok(AtTheEnd {
            untold,
            lines: kept,
            limiter: watched.limiter,
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
                .processes()
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
}

/// Trying again brings nothing back.
pub(crate) fn is_gone(error: &ProcessError) -> bool {
    match error {
        ProcessError::Unknown(_) => true,
        ProcessError::Folder { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        ProcessError::Ended(_) | ProcessError::Running(_) | ProcessError::NoInput(_) => false,
    }
}

/// Both limits, decided in one step (OWN-82).
pub(crate) fn decide_both(
    limiter: &Limiter,
    breaker: &mut watch::Breaker,
    new: u32,
    now: Timestamp,
) -> (Limiter, Action) {
    let (limiter, after, action) = watch::decide(limiter, breaker, new, now);
    *breaker = after;
    (limiter, action)
}
