//! The binary as it is shipped: how soon it is ready, what it needs while it idles, how soon its command line answers.
//!
//! Times are taken from outside: from before the program is started to the line that says it is ready, or to its end.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use homing_ports::store::Role;
use rustix::process::{Pid, Signal, kill_process};

use crate::line::topic;
use crate::machine::{Memory, file_mb};
use crate::place::Place;
use crate::report::Figures;
use crate::rows::Rows;
use crate::samples::Samples;

const STARTS: usize = 20;
const FIRST_STARTS: usize = 7;
const QUESTIONS: usize = 20;
/// What is in the existing data folder.
const CONVERSATIONS: usize = 500;
const MESSAGES: usize = 10;
/// Between the line that says it is ready and the signal that stops it: it may say so before it listens for signals.
const BEFORE_STOP: Duration = Duration::from_millis(50);
/// How long it is left alone before its memory is looked at.
const IDLE: Duration = Duration::from_secs(2);

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let binary = place.binary()?;
    let folder = place.fresh()?;
    let data = folder.path().join("data");
    fill(&data).await?;
    // A first start installs the shim and the secrets, as an existing folder has them.
    Gateway::start(binary, &data)?.stop()?;

    let mut figures = Figures::default();
    let (ready, own) = starts(STARTS, Gateway::stop, || Gateway::start(binary, &data))?;
    figures.add("ready_ms", ready.median_ms());
    let mut fresh = 0;
    let (first, _) = starts(FIRST_STARTS, Gateway::stop, || {
        fresh += 1;
        Gateway::start(binary, &folder.path().join(format!("fresh-{fresh}")))
    })?;
    figures.add("first_ready_ms", first.median_ms());

    let gateway = Gateway::start(binary, &data)?;
    tokio::time::sleep(IDLE).await;
    let memory = Memory::of(gateway.child.id())?;
    figures.add("idle_rss_mb", memory.mb("VmRSS")?);
    figures.add("idle_anon_mb", memory.mb("RssAnon")?);
    figures.add("binary_mb", file_mb(binary)?);
    figures.add("cli_ms", questions(binary, &data)?.median_ms());
    figures.add("idle_threads", memory.kib("Threads")?);
    gateway.stop()?;

    let (crashed, _) = starts(STARTS, Gateway::kill, || Gateway::start(binary, &data))?;
    figures.add("ready_p99_ms", ready.p99_ms());
    figures.add("ready_own_ms", own.median_ms());
    figures.add("ready_after_kill_ms", crashed.median_ms());
    figures.add("starts", STARTS as f64);
    figures.add("first_starts", FIRST_STARTS as f64);
    Ok(figures)
}

async fn fill(data: &Path) -> anyhow::Result<()> {
    let rows = Rows::open(data).await?;
    rows.fill(0..CONVERSATIONS, |rows, number| async move {
        let talk = rows.talk(topic(number)).await?;
        let messages = (0..MESSAGES)
            .map(|_| rows.message(&talk, Role::Person))
            .collect();
        rows.commit(talk.conversation, messages).await
    })
    .await?;
    rows.close().await
}

/// Starts so often; gives the times seen from outside, and those that the gateway tells itself.
fn starts(
    count: usize,
    end: impl Fn(Gateway) -> anyhow::Result<()>,
    mut start: impl FnMut() -> anyhow::Result<Gateway>,
) -> anyhow::Result<(Samples, Samples)> {
    let (mut seen, mut told) = (Samples::default(), Samples::default());
    for _ in 0..count {
        let gateway = start()?;
        seen.add(gateway.ready);
        told.add_ms(gateway.told_ms);
        end(gateway)?;
    }
    Ok((seen, told))
}

fn questions(binary: &Path, data: &Path) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for round in 0..=QUESTIONS {
        let begun = Instant::now();
        let answer = command(binary)
            .arg("ps")
            .arg("--data")
            .arg(data)
            .output()
            .context("running `homing ps`")?;
        let took = begun.elapsed();
        ensure!(
            answer.status.success(),
            "`homing ps` failed: {}",
            String::from_utf8_lossy(&answer.stderr)
        );
        if round > 0 {
            samples.add(took);
        }
    }
    Ok(samples)
}

/// Nothing of this program's own surroundings decides what is measured.
fn command(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null());
    command
}

/// A gateway that was started here. It is killed with this.
pub(super) struct Gateway {
    child: Child,
    /// Kept open: a gateway that cannot say anything any more ends.
    said: Option<BufReader<ChildStdout>>,
    pub(super) ready: Duration,
    told_ms: f64,
}

impl Gateway {
    pub(super) fn start(binary: &Path, data: &Path) -> anyhow::Result<Gateway> {
        let begun = Instant::now();
        let child = command(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", binary.display()))?;
        let mut gateway = Gateway {
            child,
            said: None,
            ready: Duration::ZERO,
            told_ms: f64::NAN,
        };
        let out = gateway.child.stdout.take();
        let mut out = BufReader::new(out.context("its standard output is not there")?);
        let mut line = String::new();
        while out.read_line(&mut line).context("reading what it says")? > 0 {
            if let Some(told) = line.strip_prefix("ready in ") {
                gateway.ready = begun.elapsed();
                gateway.told_ms = told
                    .split_whitespace()
                    .next()
                    .and_then(|ms| ms.parse().ok())
                    .unwrap_or(f64::NAN);
                gateway.said = Some(out);
                return Ok(gateway);
            }
            line.clear();
        }
        bail!(
            "it ended without being ready; start `{} serve --data {}` to see why",
            binary.display(),
            data.display()
        )
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it says after it is ready.
    pub(super) fn said(&mut self) -> anyhow::Result<&mut BufReader<ChildStdout>> {
        self.said.as_mut().context("it says nothing")
    }

    /// As planned.
    pub(super) fn stop(mut self) -> anyhow::Result<()> {
        std::thread::sleep(BEFORE_STOP);
        let pid = Pid::from_raw(self.child.id().try_into()?).context("a process has no pid")?;
        kill_process(pid, Signal::TERM).context("stopping the gateway")?;
        let status = self.child.wait().context("waiting for the gateway")?;
        ensure!(status.success(), "the gateway ended with {status}");
        Ok(())
    }

    pub(super) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().context("killing the gateway")?;
        self.child.wait().context("waiting for the gateway")?;
        Ok(())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Ended already, as a rule; then neither does anything.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
