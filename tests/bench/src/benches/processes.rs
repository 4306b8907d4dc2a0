//! What a background process costs: its start, its supervisor, and one more record while many live.
//!
//! The programs sleep for a few minutes at most, so that even what a crash of the bench leaves behind ends by itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use homing_domain::ids::ProcessId;
use homing_ports::processes::{Fate, Input, OutputKeep, Processes, Program, StartRequest, Started};
use homing_ports::store::NewProcess;
use homing_processes::ShimProcesses;
use homing_watcher::{Watcher, WatcherParts};

use crate::journal::Journal;
use crate::line::{PATIENCE, topic};
use crate::machine::Memory;
use crate::place::Place;
use crate::report::Figures;
use crate::rows::{Rows, Talk};
use crate::samples::Samples;

const LIVE: usize = 1_000;
const WARM_UP: usize = 10;
const SPAWNS: usize = 100;
const RECORDS: usize = 50;
/// Starts and ends at the same time while many are made.
const AT_ONCE: usize = 16;
const SLEEP: &str = "240";

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let rows = Rows::open(folder.path()).await?;
    let talk = rows.talk(topic(0)).await?;
    homing_processes::raise_open_files_limit().context("raising the limit of open files")?;
    let shims = Arc::new(ShimProcesses::open(folder.path(), rows.clock.clone())?);
    let mut bench = Bench {
        folder: folder.path(),
        rows,
        talk,
        shims,
        started: Vec::new(),
    };
    let measured = bench.measure().await;
    // Also when something went wrong: what was started is ended before the folder goes.
    let ended = bench.end().await;
    let figures = measured?;
    ended?;
    bench.rows.close().await?;
    Ok(figures)
}

struct Bench<'a> {
    folder: &'a Path,
    rows: Rows,
    talk: Talk,
    shims: Arc<ShimProcesses>,
    started: Vec<ProcessId>,
}

impl Bench<'_> {
    async fn measure(&mut self) -> anyhow::Result<Figures> {
        let mut figures = Figures::default();
        let spawned = self.spawn_in_turn(WARM_UP + SPAWNS).await?;
        figures.add("spawn_ms", spawned.times.median_ms());
        let (mut resident, mut own) = (Samples::default(), Samples::default());
        for started in &spawned.started {
            let memory = Memory::of(u32::try_from(started.supervisor.pid)?)?;
            resident.add_ms(memory.kib("VmRSS")?);
            own.add_ms(memory.kib("RssAnon")?);
        }
        figures.add("shim_rss_kb", resident.median_ms());

        let watched = self.watcher();
        self.begin_until(LIVE, &watched).await?;
        let recorded = self.record(&watched).await?;
        watched.watcher.stop();
        figures.add(format!("record_us_{LIVE}"), recorded.commits.median_us());
        figures.add(format!("record_p99_us_{LIVE}"), recorded.commits.p99_us());
        figures.add(format!("begin_ms_{LIVE}"), recorded.whole.median_ms());
        let crowded = self.spawn_in_turn(RECORDS).await?;
        figures.add(format!("spawn_ms_{LIVE}"), crowded.times.median_ms());
        figures.add("spawn_p99_ms", spawned.times.p99_ms());
        figures.add("shim_anon_kb", own.median_ms());
        figures.add("spawns", SPAWNS as f64);
        figures.add("records", RECORDS as f64);
        Ok(figures)
    }

    /// One after another, each timed after the first few.
    async fn spawn_in_turn(&mut self, count: usize) -> anyhow::Result<Spawned> {
        let mut spawned = Spawned::default();
        for number in 0..count {
            let request = self.request(self.rows.ids.next());
            self.started.push(request.process);
            let mut one = Samples::default();
            spawned
                .started
                .push(one.time(self.shims.start(request)).await?);
            if number >= WARM_UP {
                spawned.times.add_ms(one.median_ms());
            }
        }
        Ok(spawned)
    }

    fn watcher(&self) -> Watched {
        let journal = Journal::new(self.rows.store.clone());
        let watcher = Watcher::start(WatcherParts {
            store: journal.clone(),
            processes: self.shims.clone(),
            clock: self.rows.clock.clone(),
            ids: self.rows.ids.clone(),
            wake: Arc::new(|_| {}),
            retry: (Duration::from_millis(20), Duration::from_secs(1)),
        });
        Watched { watcher, journal }
    }

    fn new_process(&mut self) -> (NewProcess, StartRequest) {
        let new = NewProcess {
            notify: false,
            ..self.rows.process(&self.talk)
        };
        self.started.push(new.id);
        let request = self.request(new.id);
        (new, request)
    }

    /// Side by side, recorded and watched like any other, until so many live.
    async fn begin_until(&mut self, count: usize, watched: &Watched) -> anyhow::Result<()> {
        while self.started.len() < count {
            let mut starts = tokio::task::JoinSet::new();
            for _ in 0..AT_ONCE.min(count - self.started.len()) {
                let ((new, request), watcher) = (self.new_process(), watched.watcher.clone());
                starts.spawn(async move { watcher.begin(new, request, Vec::new()).await });
            }
            while let Some(started) = starts.join_next().await {
                started??;
            }
        }
        Ok(())
    }

    /// What the watcher does for one more process: its row before, its start afterwards.
    async fn record(&mut self, watched: &Watched) -> anyhow::Result<Recorded> {
        let mut recorded = Recorded::default();
        for number in 0..WARM_UP + RECORDS {
            let (new, request) = self.new_process();
            let process = new.id;
            let mut one = Samples::default();
            one.time(watched.watcher.begin(new, request, Vec::new()))
                .await?;
            let commits = watched
                .journal
                .start_commits(process)
                .context("a process began that was not recorded")?;
            if number >= WARM_UP {
                recorded.whole.add_ms(one.median_ms());
                recorded.commits.add(commits);
            }
        }
        Ok(recorded)
    }

    fn request(&self, process: ProcessId) -> StartRequest {
        StartRequest {
            process,
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
            let (processes, shims) = (processes.to_vec(), self.shims.clone());
            ends.spawn(async move {
                for process in processes {
                    end(&shims, process).await?;
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

async fn end(shims: &ShimProcesses, process: ProcessId) -> anyhow::Result<()> {
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

/// A watcher, and the journal of what it commits.
struct Watched {
    watcher: Watcher,
    journal: Arc<Journal>,
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
