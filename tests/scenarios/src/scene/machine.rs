//! Ending supervisors and programs by their pids: the machine's restart, and the end of a scenario.
//!
//! **Invariant:** a pid is only signalled while its start time is the one that was noted.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use homing_shim::folder::STARTED;
use homing_shim::started::Started;
use rustix::process::{Signal, kill_process};
use tokio::time::Instant;

use super::{Scene, run_folder};
use crate::protocol::{Pid, StartedProcess};

/// How long processes may take to end by themselves, or by SIGKILL.
const LIMIT: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// What the records say afterwards about the boot they were written in.
const EARLIER_BOOT: &str = "00000000-0000-4000-8000-000000000000";

impl Scene {
    /// The gateway is killed, and every supervisor and program with it; their records are of an earlier boot.
    pub(super) async fn reboot(&mut self) -> anyhow::Result<()> {
        if let Some(gateway) = self.gateway.take() {
            gateway.kill().await?;
        }
        for process in self.processes.values() {
            // The supervisor first: it must not see its program end.
            end(process.supervisor)
                .await
                .context("killing a supervisor")?;
            end(process.program).await.context("killing a program")?;
            self.date_back(process)?;
        }
        Ok(())
    }

    fn date_back(&self, process: &StartedProcess) -> anyhow::Result<()> {
        let record = run_folder(&self.data(), process).join(STARTED);
        // Cleaned, because its end was stored before.
        let Ok(content) = fs::read(&record) else {
            return Ok(());
        };
        let mut started = Started::parse(&content).context("reading a run folder")?;
        started.boot = EARLIER_BOOT.into();
        fs::write(&record, started.to_text()).context("dating a run folder back")
    }
}

/// Waits for what ends by itself, and ends the rest.
pub(super) async fn end_left_over(processes: impl Iterator<Item = StartedProcess>) {
    let all: Vec<Pid> = processes
        .flat_map(|process| [process.program, process.supervisor])
        .collect();
    if all_gone(&all).await {
        return;
    }
    for pid in all {
        if let Err(error) = end(pid).await {
            tracing::warn!(pid = pid.pid, %error, "a process of a scenario may be left");
        }
    }
}

async fn end(pid: Pid) -> anyhow::Result<()> {
    if is_there(pid)
        && let Some(target) = rustix::process::Pid::from_raw(pid.pid)
    {
        kill_process(target, Signal::KILL)?;
    }
    anyhow::ensure!(all_gone(&[pid]).await, "{} is still there", pid.pid);
    Ok(())
}

async fn all_gone(pids: &[Pid]) -> bool {
    let start = Instant::now();
    while pids.iter().any(|pid| is_there(*pid)) {
        if start.elapsed() > LIMIT {
            return false;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    true
}

/// Running, and the one that was meant. A zombie has ended; somebody else reaps it.
fn is_there(pid: Pid) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", pid.pid)) else {
        return false;
    };
    // The name in parentheses may hold anything, parentheses included.
    let Some((_, fields)) = stat.rsplit_once(')') else {
        return false;
    };
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let start_time = fields.get(19).and_then(|field| field.parse().ok());
    start_time == Some(pid.start_time) && !matches!(fields.first(), Some(&("Z" | "X")))
}
