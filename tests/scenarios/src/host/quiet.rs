//! Waiting until nothing happens any more by itself.
//!
//! **Invariant:** every wait is bounded, and one that fails says what it waited for.

use std::time::Duration;

use homing_domain::ids::ProcessId;
use homing_ports::processes::{Fate, Processes as _};
use homing_ports::store::Queries as _;
use tokio::time::Instant;

use super::Host;
use crate::protocol::{Account, Quiet, Written};

/// The longest wait.
const LIMIT: Duration = Duration::from_secs(10);
/// While the store fails, some work cannot end: what can happen has happened by then.
const LIMIT_WITHOUT_STORE: Duration = Duration::from_millis(400);
/// The watcher may have stopped reading a process for good: nothing else will come then.
const READ_LIMIT: Duration = Duration::from_secs(3);
/// Between two looks, where no signal comes.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Quiet has to be seen twice: between two numbers, work can pass from one to the other unseen.
const SEEN_TWICE: Duration = Duration::from_millis(3);

impl Host {
    pub(super) async fn settle(&self, until: &Quiet) -> Result<(), String> {
        let start = Instant::now();
        let mut seen_quiet = false;
        loop {
            let noise = self.noise(until, start.elapsed()).await;
            if noise.is_empty() {
                if seen_quiet {
                    return Ok(());
                }
                seen_quiet = true;
                tokio::time::sleep(SEEN_TWICE).await;
                continue;
            }
            seen_quiet = false;
            if start.elapsed() > LIMIT {
                return Err(format!(
                    "quiet within {} s, seen {}",
                    LIMIT.as_secs(),
                    noise.join(", ")
                ));
            }
            if self.store.fails() && start.elapsed() > LIMIT_WITHOUT_STORE {
                return Ok(());
            }
            let _look_again =
                tokio::time::timeout(LOOK_AGAIN, self.gateway.activity_changed()).await;
        }
    }

    /// What is not quiet yet.
    async fn noise(&self, until: &Quiet, waited: Duration) -> Vec<String> {
        let mut noise = Vec::new();
        noise.extend(self.work());
        noise.extend(self.unsettled_adapters(&until.down));
        if let Some(at) = &until.held
            && !self.agent.script().lingers_at(at)
        {
            noise.push(format!("no turn held at {at}"));
        }
        for process in &until.ended {
            noise.extend(self.not_known_to_have_ended(*process).await);
        }
        for process in self.processes.kill_asked() {
            noise.extend(self.not_known_to_have_ended(process).await);
        }
        for written in &until.written {
            noise.extend(self.unread(written, waited).await);
        }
        noise
    }

    fn work(&self) -> Vec<String> {
        let activity = self.gateway.activity();
        let unheld = activity.turns.abs_diff(self.agent.script().lingering());
        let counted = [
            ("wakes in mailboxes", activity.mailbox),
            ("turns that are not held", unheld),
            ("sends under way", activity.sends),
            ("exits or outputs being read", activity.ingesting),
            ("steps tried again", activity.retrying),
            ("timers due", self.clock.due()),
        ];
        counted
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{count} {what}"))
            .collect()
    }

    fn unsettled_adapters(&self, down: &[Account]) -> Vec<String> {
        let unsettled = self.platforms.iter().filter(|platform| {
            let is_down = down.contains(&platform.account().into());
            platform.connected() == is_down
        });
        let simulated = unsettled.map(|platform| platform.account());
        let unconnected = self.bots.iter().filter(|bot| {
            let is_down = down.contains(&bot.account().into());
            if is_down {
                bot.note_down();
            }
            !is_down && !bot.connected()
        });
        simulated
            .chain(unconnected.map(|bot| bot.account()))
            .map(|account| format!("the adapter of {account} not aware of its platform"))
            .collect()
    }

    /// The end is on disk, and stored unless the store fails.
    async fn not_known_to_have_ended(&self, process: ProcessId) -> Option<String> {
        match self.processes.fate(process).await {
            Ok(Fate::Running(_)) => return Some(format!("{process} running")),
            Ok(Fate::Ended(_) | Fate::NeverRan(_)) => {}
            // Its folder is cleaned once the end is stored.
            Err(error) => tracing::debug!(%process, %error, "no fate"),
        }
        match self.store.beneath().process(process).await {
            Ok(Some(row)) if row.state.is_live() => {
                Some(format!("the end of {process} not stored"))
            }
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    /// Written bytes that its supervisor has not kept, or that the watcher has not read. Of an ended process there is nothing to wait for.
    async fn unread(&self, written: &Written, waited: Duration) -> Option<String> {
        let Written {
            process,
            bytes,
            watched,
        } = *written;
        if bytes == 0 || !matches!(self.processes.fate(process).await, Ok(Fate::Running(_))) {
            return None;
        }
        match self.processes.output(process, bytes, 0).await {
            Ok(chunk) if chunk.total < bytes => {
                return Some(format!(
                    "{} of {bytes} bytes kept of {process}",
                    chunk.total
                ));
            }
            Ok(_) => {}
            Err(error) => return Some(format!("the output of {process}: {error}")),
        }
        if !watched || waited > READ_LIMIT {
            return None;
        }
        let read = self.gateway.watched_to(process).filter(|to| *to < bytes)?;
        Some(format!("{read} of {bytes} bytes read of {process}"))
    }
}
