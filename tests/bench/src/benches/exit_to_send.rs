//! How soon a result comes home: from a program's end to its message at the platform.
//!
//! Three ways a program can end: at once (often before its own start is recorded, and while the answer "Started" is on its way), later (nothing
//! else happens in its conversation), and all at the same moment. The headline is the first, with the starts spread over time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use homing_agent_shell::ShellAgent;
use homing_domain::ids::ProcessId;
use homing_simulators::Sent;

use crate::line::{Line, PATIENCE, Reader, topic_of, write};
use crate::machine::Anchor;
use crate::place::Place;
use crate::report::Figures;
use crate::samples::Samples;
use crate::stamp;

const CONVERSATIONS: usize = 20;
/// Between two programs of one conversation: 40 starts a second over all.
const PACE: Duration = Duration::from_millis(500);
const LATER: Duration = Duration::from_millis(150);
const INSTANT_ROUNDS: usize = 15;
const LATER_ROUNDS: usize = 10;
const BURST_ROUNDS: usize = 5;

pub async fn run(place: &Place) -> anyhow::Result<Figures> {
    let folder = place.fresh()?;
    let bench = Bench::start(folder.path()).await?;
    let mut figures = Figures::default();

    bench.rounds(2, None, Pace::Spread).await?;
    let instant = bench.rounds(INSTANT_ROUNDS, None, Pace::Spread).await?;
    figures.add("p50_ms", instant.sent.median_ms());
    figures.add("p99_ms", instant.sent.p99_ms());
    let later = bench
        .rounds(LATER_ROUNDS, Some(LATER), Pace::Spread)
        .await?;
    let burst = bench.rounds(BURST_ROUNDS, None, Pace::Together).await?;
    figures.add("lost", (instant.lost + later.lost + burst.lost) as f64);
    figures.add(
        "exits",
        (instant.sent.count() + later.sent.count() + burst.sent.count()) as f64,
    );
    figures.add("max_ms", instant.sent.percentile_ms(100.0));
    figures.add("recorded_p50_ms", instant.recorded.median_ms());
    figures.add("claimed_p50_ms", instant.claimed.median_ms());
    figures.add("delivered_p50_ms", instant.delivered.median_ms());
    figures.add("later_p50_ms", later.sent.median_ms());
    figures.add("later_p99_ms", later.sent.p99_ms());
    figures.add("later_recorded_p50_ms", later.recorded.median_ms());
    figures.add("later_claimed_p50_ms", later.claimed.median_ms());
    figures.add("later_delivered_p50_ms", later.delivered.median_ms());
    figures.add("burst_p50_ms", burst.sent.median_ms());
    figures.add("burst_p99_ms", burst.sent.p99_ms());
    bench.line.end().await?;
    Ok(figures)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Each conversation's programs come [`PACE`] apart, the conversations one after another.
    Spread,
    /// All conversations at once, the next round when all have answered.
    Together,
}

/// From the end of a program to each station of its result.
#[derive(Debug, Default)]
struct Outcome {
    recorded: Samples,
    claimed: Samples,
    delivered: Samples,
    sent: Samples,
    lost: usize,
}

struct Bench {
    line: Line,
    anchor: Anchor,
}

impl Bench {
    async fn start(folder: &Path) -> anyhow::Result<Bench> {
        let anchor = Anchor::new();
        let line = Line::start(folder, Arc::new(ShellAgent)).await?;
        line.quiet().await?;
        Ok(Bench { line, anchor })
    }

    async fn rounds(
        &self,
        rounds: usize,
        wait: Option<Duration>,
        pace: Pace,
    ) -> anyhow::Result<Outcome> {
        let mut reader = Reader::new(&self.line.server);
        let mut outcome = Outcome::default();
        for round in 0..rounds {
            let begun = Instant::now();
            let mut missing = CONVERSATIONS;
            for number in 0..CONVERSATIONS {
                if pace == Pace::Spread {
                    tokio::time::sleep(
                        PACE.mul_f64(number as f64 / CONVERSATIONS as f64)
                            .saturating_sub(begun.elapsed()),
                    )
                    .await;
                }
                let wait = wait.map(|wait| wait + offbeat(number + 3 * round));
                write(&self.line.server, number, stamp::request(wait)?);
            }
            while missing > 0 {
                let sent = reader.next(PATIENCE).await?;
                if sent.is_empty() {
                    break;
                }
                missing -= sent
                    .iter()
                    .filter(|sent| self.take(sent, &mut outcome))
                    .count();
            }
            outcome.lost += missing;
            if pace == Pace::Spread {
                tokio::time::sleep(PACE.saturating_sub(begun.elapsed())).await;
            }
        }
        self.line.quiet().await?;
        Ok(outcome)
    }

    /// Whether it tells a program's end.
    fn take(&self, sent: &Sent, outcome: &mut Outcome) -> bool {
        let (Some(stamp), Some(_)) = (stamp::read(&sent.body.text), topic_of(sent)) else {
            return false;
        };
        outcome.sent.add_ms(self.anchor.ms_since(stamp, sent.at));
        if let Some(process) = process_in(&sent.body.text) {
            let moments = self.line.journal.moments(process);
            let stations = [
                (moments.recorded, &mut outcome.recorded),
                (moments.claimed, &mut outcome.claimed),
                (moments.delivered, &mut outcome.delivered),
            ];
            for (moment, samples) in stations {
                if let Some(moment) = moment {
                    samples.add_ms(self.anchor.ms_since(stamp, moment));
                }
            }
        }
        true
    }
}

/// Shifts the ends of programs against the starts of others, which come in a steady beat.
fn offbeat(number: usize) -> Duration {
    let beat = PACE / CONVERSATIONS as u32;
    beat.mul_f64((number % 7) as f64 / 7.0)
}

/// The process that a message is about.
fn process_in(text: &str) -> Option<ProcessId> {
    let words =
        text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    words
        .filter(|word| word.starts_with(ProcessId::PREFIX))
        .find_map(|word| word.parse().ok())
}
