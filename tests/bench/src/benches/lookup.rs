//! Finding the session of a key, or making it, among many conversations.

use std::hint::black_box;

use anyhow::ensure;

use crate::line::topic;
use crate::place::Place;
use crate::report::Figures;
use crate::rows::Rows;
use crate::samples::Samples;

const CONVERSATIONS: [usize; 4] = [1, 1_000, 5_000, 100_000];
const WARM_UP: usize = 200;
const FOUND: usize = 3_000;
const MADE: usize = 50;
/// Topics that are made while it is measured, far behind those that are there.
const FRESH: usize = 1_000_000;

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let rows = Rows::open(folder.path()).await?;
    let (mut figures, mut tails, mut made) =
        (Figures::default(), Figures::default(), Figures::default());
    let mut there = 0;
    for (index, count) in CONVERSATIONS.into_iter().enumerate() {
        // What was made while the last size was measured is there as well.
        let fill = there..count.saturating_sub(index * MADE).max(1);
        there = fill.end;
        rows.fill(fill, |rows, number| async move {
            rows.talk(topic(number)).await.map(drop)
        })
        .await?;
        let samples = find(&rows, there).await?;
        figures.add(format!("us_{count}"), samples.median_us());
        tails.add(format!("p99_us_{count}"), samples.p99_us());
        let mut samples = Samples::default();
        for number in 0..MADE {
            samples
                .time(rows.talk(topic(FRESH + index * MADE + number)))
                .await?;
        }
        made.add(format!("made_us_{count}"), samples.median_us());
    }
    figures.append(tails);
    figures.append(made);
    figures.add("found_each", FOUND as f64);
    rows.close().await?;
    Ok(figures)
}

async fn find(rows: &Rows, there: usize) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for round in 0..WARM_UP + FOUND {
        // Spread over all of them, the same in every run.
        let origin = topic(round.wrapping_mul(2_654_435_761) % there);
        let mut one = Samples::default();
        let talk = one.time(rows.talk(origin)).await?;
        if round >= WARM_UP {
            samples.add_ms(one.median_ms());
        }
        black_box(talk);
    }
    ensure!(samples.count() == FOUND, "not every conversation was found");
    Ok(samples)
}
