//! Whether a delivery pays for what waits elsewhere: notifications of other conversations, held since their lineages are parked.
//!
//! Timed is what the gateway does by itself: from the commit that records the notification to the commit that delivers it. Between lie the
//! verdict, the claim, and the agent's turn.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use homing_agent_shell::ShellAgent;
use homing_domain::ids::ProcessId;
use homing_domain::notification::State;
use homing_ports::store::Queries as _;
use tempfile::TempDir;

use crate::line::{Line, PATIENCE, Reader, topic, write};
use crate::place::Place;
use crate::report::Figures;
use crate::rows::Rows;
use crate::samples::Samples;

const WAITING: [usize; 3] = [10, 1_000, 10_000];
const WARM_UP: usize = 20;
const ROUNDS: usize = 100;
/// The topic that is measured. Those that wait come behind it.
const OURS: usize = 0;

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let mut crowds = Vec::new();
    for waiting in WAITING {
        crowds.push(Crowd::start(place, waiting).await?);
    }
    // In turn, so that what else the machine does meets all of them.
    for round in 0..WARM_UP + ROUNDS {
        for crowd in &mut crowds {
            let took = crowd.delivery().await?;
            if round >= WARM_UP {
                crowd.samples.add(took);
            }
        }
    }
    let (mut figures, mut tails) = (Figures::default(), Figures::default());
    for crowd in crowds {
        figures.add(format!("us_{}", crowd.waiting), crowd.samples.median_us());
        tails.add(format!("p99_us_{}", crowd.waiting), crowd.samples.p99_us());
        crowd.line.end().await?;
    }
    figures.append(tails);
    figures.add("deliveries_each", ROUNDS as f64);
    Ok(figures)
}

/// A gateway in whose store so many notifications wait.
struct Crowd {
    waiting: usize,
    line: Line,
    samples: Samples,
    _folder: TempDir,
}

impl Crowd {
    async fn start(place: &Place, waiting: usize) -> anyhow::Result<Crowd> {
        let folder = place.fresh()?;
        let rows = Rows::open(folder.path()).await?;
        rows.fill_held(OURS + 1..OURS + 1 + waiting).await?;
        rows.close().await?;
        let line = Line::start(folder.path(), Arc::new(ShellAgent)).await?;
        line.quiet().await?;
        let totals = line.journal.totals().await?;
        let held = totals
            .notifications
            .iter()
            .find(|(state, _)| state == State::Held.name())
            .map_or(0, |(_, count)| *count);
        ensure!(
            held == waiting as u64,
            "{held} notifications are held where {waiting} should be"
        );
        Ok(Crowd {
            waiting,
            line,
            samples: Samples::default(),
            _folder: folder,
        })
    }

    async fn delivery(&self) -> anyhow::Result<Duration> {
        let process = one(&self.line).await?;
        let moments = self.line.journal.moments(process);
        let (recorded, delivered) = moments
            .recorded
            .zip(moments.delivered)
            .context("a result was sent that was not recorded")?;
        Ok(delivered.saturating_duration_since(recorded))
    }
}

/// A program that takes long enough for its start to be told first, and its result.
async fn one(line: &Line) -> anyhow::Result<ProcessId> {
    let mut reader = Reader::new(&line.server);
    write(&line.server, OURS, "!bg exec sleep 0.05");
    let mut messages = 0;
    while messages < 2 {
        let sent = reader.next(PATIENCE).await?;
        ensure!(!sent.is_empty(), "no result came");
        messages += sent.len();
    }
    line.quiet().await?;
    let key = topic(OURS).key(Default::default());
    let row = line
        .journal
        .conversation_by_key(&key)
        .await?
        .context("the conversation is gone")?;
    let newest = line.journal.processes(row.id, 1).await?;
    Ok(newest.first().context("there is no process")?.id)
}
