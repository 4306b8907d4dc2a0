//! Whether a verdict pays for the depth of a lineage: it compares lineages, it does not walk a chain (OWN-11).

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use homing_domain::session::Current;
use homing_domain::verdict::{self, Policy, Verdict};
use homing_ports::store::{Change, OpenNotification, Queries as _};
use homing_watcher::facts::{self, Present};

use crate::line::topic;
use crate::place::Place;
use crate::report::Figures;
use crate::rows::{Rows, Talk};
use crate::samples::Samples;

const DEPTHS: [usize; 3] = [1, 100, 10_000];
/// Compressions in one commit while the lineage is made.
const TOGETHER: usize = 100;
const READS: usize = 1_000;
const BATCHES: usize = 101;
const BATCH: u32 = 10_000;

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let rows = Rows::open(folder.path()).await?;
    let (mut figures, mut reads) = (Figures::default(), Figures::default());
    for (number, depth) in DEPTHS.into_iter().enumerate() {
        let (talk, tip) = compressed(&rows, number, depth).await?;
        let mut samples = Samples::default();
        for _ in 0..READS / 10 {
            black_box(rows.store.open_notifications(talk.conversation).await?);
        }
        for _ in 0..READS {
            black_box(
                samples
                    .time(rows.store.open_notifications(talk.conversation))
                    .await?,
            );
        }
        reads.add(format!("read_us_{depth}"), samples.median_us());
        let open = rows.store.open_notifications(talk.conversation).await?;
        let open = open.first().context("the notification is gone")?;
        figures.add(format!("ns_{depth}"), judged_ns(&rows, open, tip)?);
    }
    figures.append(reads);
    figures.add("verdicts_each", BATCHES as f64 * f64::from(BATCH));
    rows.close().await?;
    Ok(figures)
}

/// A conversation that was compressed `depth` times since its process was started, and its tip. The process has ended.
async fn compressed(rows: &Rows, number: usize, depth: usize) -> anyhow::Result<(Talk, Current)> {
    let talk = rows.talk(topic(number)).await?;
    let (_, changes) = rows.ended_process(&talk);
    rows.commit(talk.conversation, changes).await?;
    let mut tip = talk.current;
    let mut left = depth;
    while left > 0 {
        let mut changes = Vec::new();
        for _ in 0..left.min(TOGETHER) {
            let session = rows.ids.next();
            let summary = "What was said before, in a few words.".into();
            changes.push(Change::Continue {
                lineage: tip.lineage,
                from: tip.session,
                session,
                summary,
                kept_from: None,
            });
            tip.session = session;
            changes.push(Change::Point(Some(tip)));
        }
        left -= left.min(TOGETHER);
        rows.commit(talk.conversation, changes).await?;
    }
    Ok((talk, tip))
}

/// Gathering the facts and judging them, in nanoseconds: the median of many batches.
fn judged_ns(rows: &Rows, open: &OpenNotification, tip: Current) -> anyhow::Result<f64> {
    let (policy, now) = (Policy::default(), rows.clock.now());
    let judge = || {
        let present = Present {
            current: Some(tip),
            compressing: false,
            windows: &[],
            profile_known: true,
            account_known: true,
            now,
        };
        verdict::judge(&facts::facts(black_box(open), black_box(&present)), &policy)
    };
    ensure!(
        judge() == Verdict::Deliver { window: None },
        "the verdict is {:?}",
        judge()
    );
    let mut samples = Samples::default();
    for _ in 0..BATCHES {
        let begun = Instant::now();
        for _ in 0..BATCH {
            black_box(judge());
        }
        samples.add_ms(begun.elapsed().as_secs_f64() * 1e3 / f64::from(BATCH));
    }
    Ok(samples.median_ms() * 1e6)
}
