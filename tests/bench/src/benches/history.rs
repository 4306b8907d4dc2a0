//! How many messages a second become durable in histories.

use std::time::{Duration, Instant};

use homing_ports::store::Role;

use crate::line::topic;
use crate::place::Place;
use crate::report::Figures;
use crate::rows::Rows;
use crate::samples::Samples;

const WRITERS: [usize; 3] = [1, 8, 64];
const WARM_UP: Duration = Duration::from_millis(500);
const SPAN: Duration = Duration::from_secs(3);

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let rows = Rows::open(folder.path()).await?;
    let (mut figures, mut spans) = (Figures::default(), Figures::default());
    for writers in WRITERS {
        append(&rows, writers, WARM_UP).await?;
        let samples = append(&rows, writers, SPAN).await?;
        figures.add(
            format!("per_s_{writers}"),
            samples.count() as f64 / SPAN.as_secs_f64(),
        );
        spans.add(format!("p50_us_{writers}"), samples.median_us());
        spans.add(format!("p99_us_{writers}"), samples.p99_us());
    }
    figures.append(spans);
    rows.close().await?;
    Ok(figures)
}

/// How long each append took that ended in the span.
async fn append(rows: &Rows, writers: usize, span: Duration) -> anyhow::Result<Samples> {
    let mut tasks = tokio::task::JoinSet::new();
    let mut talks = Vec::new();
    for number in 0..writers {
        talks.push(rows.talk(topic(number)).await?);
    }
    let end = Instant::now() + span;
    for talk in talks {
        let rows = rows.clone();
        tasks.spawn(async move {
            let mut took = Vec::new();
            loop {
                let begun = Instant::now();
                rows.commit(talk.conversation, vec![rows.message(&talk, Role::Person)])
                    .await?;
                if Instant::now() > end {
                    return anyhow::Ok(took);
                }
                took.push(begun.elapsed());
            }
        });
    }
    let mut samples = Samples::default();
    while let Some(took) = tasks.join_next().await {
        took??.into_iter().for_each(|span| samples.add(span));
    }
    Ok(samples)
}
