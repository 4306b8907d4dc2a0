//! What a background process costs: its start, its supervisor, and one more record while many live.
//!
//! The programs sleep for a few minutes at most, so that even what a crash of the bench leaves behind ends by itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use homing_agent_shell::ShellAgent;
use homing_domain::ids::ProcessId;
use homing_ports::agent::{StartCall, ToolAnswer, ToolCall};
use homing_ports::processes::{Fate, Input, OutputKeep, Processes, Program, StartRequest, Started};
use homing_ports::{IdSource, SystemClock};

use crate::line::{Line, PATIENCE, topic};
use crate::machine::Memory;
use crate::place::Place;
use crate::report::Figures;
use crate::rows::Rows;
use crate::samples::Samples;

const LIVE: usize = 1_000;
/// Those that live are spread over these: a conversation may not have any number of them.
const CONVERSATIONS: usize = 20;
const WARM_UP: usize = 10;
const SPAWNS: usize = 100;
const RECORDS: usize = 50;
/// Starts and ends at the same time while many are made.
const AT_ONCE: usize = 16;
const SLEEP: &str = "240";

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let rows = Rows::open(folder.path()).await?;
    for number in 0..CONVERSATIONS {
        rows.talk(topic(number)).await?;
    }
    rows.close().await?;
    let line = Line::start(folder.path(), Arc::new(ShellAgent)).await?;
    line.quiet().await?;
    let mut bench = Bench {
        folder: folder.path(),
        ids: IdSource::new(Arc::new(SystemClock)),
        line,
        started: Vec::new(),
    };
    let measured = bench.measure().await;
    // Also when something went wrong: what was started is ended before the folder goes.
    let ended = bench.end().await;
    let figures = measured?;
    ended?;
    bench.line.quiet().await?;
    bench.line.end().await?;
    Ok(figures)
}

struct Bench<'a> {
    folder: &'a Path,
    ids: IdSource,
    line: Line,
    started: Vec<ProcessId>,
}

impl Bench<'_> {
    async fn measure(&mut self) -> anyhow::Result<Figures> {
        let mut figures = Figures::default();
        let spawned = self.spawn(WARM_UP + SPAWNS).await?;
        figures.add("spawn_ms", spawned.times.median_ms());
        let (mut resident, mut own) = (Samples::default(), Samples::default());
        for started in &spawned.started {
            let memory = Memory::of(u32::try_from(started.supervisor.pid)?)?;
            resident.add_ms(memory.kib("VmRSS")?);
            own.add_ms(memory.kib("RssAnon")?);
        }
        figures.add("shim_rss_kb", resident.median_ms());

        self.begin_until(LIVE).await?;
        let recorded = self.record().await?;
        figures.add(format!("record_us_{LIVE}"), recorded.commits.median_us());
        figures.add(format!("record_p99_us_{LIVE}"), recorded.commits.p99_us());
        figures.add(format!("begin_ms_{LIVE}"), recorded.whole.median_ms());
        let crowded = self.spawn(WARM_UP + RECORDS).await?;
        figures.add(format!("spawn_ms_{LIVE}"), crowded.times.median_ms());
        figures.add("spawn_p99_ms", spawned.times.p99_ms());
        figures.add("shim_anon_kb", own.median_ms());
        figures.add("spawns", SPAWNS as f64);
        figures.add("records", RECORDS as f64);
        Ok(figures)
    }

    /// Supervisors alone, one after another, each timed after the first few.
    async fn spawn(&mut self, count: usize) -> anyhow::Result<Spawned> {
        let mut spawned = Spawned::default();
        for number in 0..count {
            let request = self.request();
            self.started.push(request.process);
            let mut one = Samples::default();
            spawned
                .started
                .push(one.time(self.line.processes.start(request)).await?);
            if number >= WARM_UP {
                spawned.times.add_ms(one.median_ms());
            }
        }
        Ok(spawned)
    }

    /// Side by side, as an agent starts them: recorded, supervised and watched. Until so many live.
    async fn begin_until(&mut self, count: usize) -> anyhow::Result<()> {
        while self.started.len() < count {
            let many = AT_ONCE.min(count - self.started.len());
            let mut starts = tokio::task::JoinSet::new();
            for number in 0..many {
                let gateway = self.line.gateway.clone();
                let at =
                    topic((self.started.len() + number) % CONVERSATIONS).key(Default::default());
                starts.spawn(async move { gateway.tool(&at, ToolCall::Start(sleeper())).await });
            }
            while let Some(answer) = starts.join_next().await {
                self.started.push(process_of(answer??)?);
            }
        }
        Ok(())
    }

    /// One more, started by an agent; what its two commits took of that: its row before, its start afterwards.
    async fn record(&mut self) -> anyhow::Result<Recorded> {
        let mut recorded = Recorded::default();
        for number in 0..WARM_UP + RECORDS {
            let at = topic(number % CONVERSATIONS).key(Default::default());
            let mut one = Samples::default();
            let answer = one
                .time(self.line.gateway.tool(&at, ToolCall::Start(sleeper())))
                .await?;
            let process = process_of(answer)?;
            self.started.push(process);
            let commits = self.line.journal.start_commits(process);
            let commits = commits.context("a process began that was not recorded")?;
            if number >= WARM_UP {
                recorded.whole.add_ms(one.median_ms());
                recorded.commits.add(commits);
            }
        }
        Ok(recorded)
    }

    fn request(&self) -> StartRequest {
        StartRequest {
            process: self.ids.next(),
            program: Program::Arguments(vec!["/bin/sleep".into(), SLEEP.into()]),
            directory: self.folder.to_owned(),
            environment: Vec::new(),
            input: Input::Empty,
            terminal: None,
            signal_output: false,
            keep: OutputKeep::default(),
        }
    }

    /// Kills what was started here and waits until all of it is gone.
    async fn end(&mut self) -> anyhow::Result<()> {
        let mut ends = tokio::task::JoinSet::new();
        for processes in self
            .started
            .chunks(self.started.len().div_ceil(AT_ONCE).max(1))
        {
            let (processes, shims) = (processes.to_vec(), self.line.processes.clone());
            ends.spawn(async move {
                for process in processes {
                    end(&*shims, process).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(ended) = ends.join_next().await {
            ended??;
        }
        Ok(())
    }
}

async fn end(shims: &dyn Processes, process: ProcessId) -> anyhow::Result<()> {
    // One that could not be started has no folder, and nothing to end.
    if shims.kill(process, Duration::ZERO).await.is_err() {
        return Ok(());
    }
    let gone = async {
        while let Fate::Running(_) = shims.fate(process).await? {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .with_context(|| format!("process {process} does not end"))?
}

fn sleeper() -> StartCall {
    StartCall {
        command: format!("exec sleep {SLEEP}"),
        ..StartCall::default()
    }
}

fn process_of(answer: ToolAnswer) -> anyhow::Result<ProcessId> {
    match answer {
        ToolAnswer::Started { process } => Ok(process),
        other => bail!("it was not started: {other:?}"),
    }
}

#[derive(Default)]
struct Spawned {
    times: Samples,
    started: Vec<Started>,
}

#[derive(Default)]
struct Recorded {
    /// The two commits of a start.
    commits: Samples,
    /// With the start itself between them.
    whole: Samples,
}
