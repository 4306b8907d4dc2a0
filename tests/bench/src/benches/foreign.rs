//! Whether a delivery pays for what waits elsewhere: notifications of other conversations, held since their lineages are parked.
//!
//! Timed is what the gateway does by itself: from the commit that records the notification to the commit that delivers it. Between lie the
//! verdict, the claim, and the agent's turn.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use homing_agent_shell::ShellAgent;
use homing_domain::ids::ProcessId;
use homing_ports::store::Queries as _;

use crate::line::{Line, PATIENCE, PROFILE, Reader, topic, write};
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
    let mut figures = Figures::default();
    let mut extra = Figures::default();
    for waiting in WAITING {
        let samples = deliveries(place, waiting).await?;
        figures.add(format!("us_{waiting}"), samples.median_us());
        extra.add(format!("p99_us_{waiting}"), samples.p99_us());
    }
    figures.append(extra);
    figures.add("deliveries_each", ROUNDS as f64);
    Ok(figures)
}

async fn deliveries(place: &Place, waiting: usize) -> anyhow::Result<Samples> {
    let folder = place.fresh()?;
    let rows = Rows::open(folder.path()).await?;
    rows.fill_held(OURS + 1..OURS + 1 + waiting).await?;
    rows.close().await?;

    let line = Line::start(folder.path(), Arc::new(ShellAgent)).await?;
    line.quiet().await?;
    let held = line
        .journal
        .totals()
        .await?
        .notifications
        .iter()
        .filter(|(state, _)| state == "held")
        .map(|(_, count)| *count)
        .sum::<u64>();
    ensure!(
        held == waiting as u64,
        "{held} notifications are held for profile {PROFILE} where {waiting} should be"
    );
    let mut samples = Samples::default();
    for round in 0..WARM_UP + ROUNDS {
        let process = one(&line).await?;
        let moments = line.journal.moments(process);
        let (recorded, delivered) = moments
            .recorded
            .zip(moments.delivered)
            .context("a result was sent that was not recorded")?;
        if round >= WARM_UP {
            samples.add(delivered.saturating_duration_since(recorded));
        }
    }
    line.end().await?;
    Ok(samples)
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
