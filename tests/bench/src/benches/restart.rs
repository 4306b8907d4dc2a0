//! A restart with many living processes: how soon the gateway is ready again, and whether it still has all of them.
//!
//! The processes are started through a gateway of their own, which then ends as it would for an upgrade; the one measured is the release binary.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use homing_ports::agent::{StartCall, ToolAnswer, ToolCall};
use homing_ports::processes::Processes as _;
use homing_ports::store::Queries as _;
use homing_ports::{Clock, SystemClock};
use homing_processes::ShimProcesses;

use super::start::Gateway;
use super::throughput::Echo;
use crate::line::{Line, PATIENCE, Reader, topic, write};
use crate::place::Place;
use crate::report::Figures;
use crate::rows::Rows;
use crate::samples::Samples;

const PROCESSES: usize = 1_000;
const CONVERSATIONS: usize = 20;
const RESTARTS: usize = 5;

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let binary = place.binary()?;
    let folder = place.fresh()?;
    let measured = measure(binary, folder.path()).await;
    let ended = end_all(folder.path()).await;
    let figures = measured?;
    ended?;
    Ok(figures)
}

async fn measure(binary: &Path, folder: &Path) -> anyhow::Result<Figures> {
    start_processes(folder).await?;
    let mut samples = Samples::default();
    for _ in 0..RESTARTS {
        let gateway = Gateway::start(binary, folder)?;
        samples.add(gateway.ready);
        gateway.kill()?;
    }
    let rows = Rows::open(folder).await?;
    let kept = rows.store.all_live_processes().await?.len();
    rows.close().await?;
    let mut figures = Figures::default();
    figures.add("ready_ms", samples.median_ms());
    figures.add("kept", kept as f64);
    figures.add("processes", PROCESSES as f64);
    figures.add("restarts", RESTARTS as f64);
    Ok(figures)
}

async fn start_processes(folder: &Path) -> anyhow::Result<()> {
    let line = Line::start(folder, Arc::new(Echo)).await?;
    line.quiet().await?;
    let mut reader = Reader::new(&line.server);
    for number in 0..CONVERSATIONS {
        write(&line.server, number, "hello");
    }
    let mut answered = 0;
    while answered < CONVERSATIONS {
        let sent = reader.next(PATIENCE).await?;
        ensure!(!sent.is_empty(), "a conversation was not answered");
        answered += sent.len();
    }
    for number in 0..PROCESSES {
        let key = topic(number % CONVERSATIONS).key(Default::default());
        let call = ToolCall::Start(StartCall {
            command: "exec sleep 3600".into(),
            notify: true,
            ..StartCall::default()
        });
        let answer = line
            .gateway
            .tool(&key, call)
            .await
            .context("starting a process")?;
        ensure!(
            matches!(answer, ToolAnswer::Started { .. }),
            "it was not started: {answer:?}"
        );
    }
    line.end().await
}

/// What was started here is ended here.
async fn end_all(folder: &Path) -> anyhow::Result<()> {
    let rows = Rows::open(folder).await?;
    let live = rows.store.all_live_processes().await?;
    rows.close().await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let processes = ShimProcesses::open(folder, clock)?;
    for process in &live {
        // One that has ended by itself needs no end.
        let _ended = processes
            .kill(process.id, std::time::Duration::from_millis(100))
            .await;
    }
    let end = tokio::time::Instant::now() + PATIENCE;
    for process in &live {
        while matches!(
            processes.fate(process.id).await,
            Ok(homing_ports::processes::Fate::Running(_))
        ) {
            ensure!(
                tokio::time::Instant::now() < end,
                "a process of this bench does not end"
            );
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    Ok(())
}
