//! Random work in several conversations, while the gateway, or supervisors, are killed at random moments. Then everything is brought up and checked.
//!
//! **Invariant:** the next gateway is started once the last one has been waited for: two never write the same store.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use homing_domain::ids::ProcessId;
use homing_simulators::{Server, Which};
use tokio_util::sync::CancellationToken;

use crate::accounts::{KINDS, account};
use crate::check::{self, Figures, Found};
use crate::host::clock::Hurried;
use crate::people::People;
use crate::planted::{self, Planted};
use crate::random::Random;
use crate::report;
use crate::shims;
use crate::world::{How, World};

/// Conversations of a round: two on each kind of platform.
const THREADS: u64 = 6;
/// Rounds are checked one by one, so that what is found is near to what caused it.
const ROUND: Duration = Duration::from_secs(12);
const CALM: Duration = Duration::from_millis(150);
/// How long a gateway lives, at most.
const SHORT: Duration = Duration::from_millis(100);
/// One in so many lives longer: what takes its time must also be met by a crash, or not at all.
const LONG: (u64, Duration) = (40, Duration::from_millis(1_800));
/// What is accepted but not answered yet, at most: the work must not outgrow a gateway that hardly ever runs.
const UNDER_WAY: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kill {
    Gateway,
    /// Supervisors; the gateway lives through a round.
    Shim,
    Both,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub seconds: u64,
    pub kill: Kill,
    pub seed: u64,
    pub place: PathBuf,
    pub json: bool,
}

/// One round's settings.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    pub seed: u64,
    pub lasts: Duration,
    pub kill: Kill,
    /// Between two kills of supervisors while a gateway lives through its round, at most.
    pub calm: Duration,
    pub planted: Option<Planted>,
    pub drain: Duration,
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub found: Found,
    pub crashes: u64,
    pub shim_kills: u64,
    pub recoveries: Vec<Duration>,
    /// Where it can be looked at, if something was found.
    pub kept: Option<PathBuf>,
}

#[derive(serde::Serialize)]
struct Printed {
    seed: u64,
    crashes: u64,
    shim_kills: u64,
    #[serde(flatten)]
    figures: Figures,
    recovery_ms_p50: f64,
    recovery_ms_p99: f64,
    kill_seconds: f64,
}

/// `true` if nothing was found.
pub async fn run(options: Options) -> anyhow::Result<bool> {
    let (mut total, mut figures, mut sound) = (Outcome::default(), Figures::default(), true);
    let mut left = Duration::from_secs(options.seconds);
    let mut seed = options.seed;
    while !left.is_zero() {
        let lasts = left.min(ROUND);
        left -= lasts;
        let outcome = round(
            Round {
                seed,
                lasts,
                kill: options.kill,
                calm: CALM,
                planted: None,
                drain: Duration::from_secs(60),
            },
            &options.place,
        )
        .await?;
        figures.add(&outcome.found.figures);
        total.crashes += outcome.crashes;
        total.shim_kills += outcome.shim_kills;
        total.recoveries.extend(outcome.recoveries);
        report::faults(&format!("seed {seed}, logged"), &outcome.found.errors);
        if !outcome.found.faults.is_empty() {
            sound = false;
            report::faults(&format!("seed {seed}"), &outcome.found.faults);
            if let Some(kept) = outcome.kept {
                report::note(&format!("seed {seed}: kept in {}", kept.display()));
            }
        }
        seed = seed.wrapping_add(1);
    }
    let printed = Printed {
        seed: options.seed,
        crashes: total.crashes,
        shim_kills: total.shim_kills,
        figures,
        recovery_ms_p50: percentile(&mut total.recoveries, 50),
        recovery_ms_p99: percentile(&mut total.recoveries, 99),
        kill_seconds: options.seconds as f64,
    };
    report::figures("crash-loop", &printed, options.json)?;
    Ok(sound)
}

fn percentile(spans: &mut [Duration], percent: usize) -> f64 {
    spans.sort_unstable();
    let index = (spans.len() * percent / 100).min(spans.len().saturating_sub(1));
    let ms = spans
        .get(index)
        .map_or(0.0, |span| span.as_secs_f64() * 1e3);
    (ms * 10.0).round() / 10.0
}

/// Kills for as long as it lasts, drains, checks.
pub async fn round(round: Round, place: &Path) -> anyhow::Result<Outcome> {
    let mut world = World::new(place, THREADS).await?;
    world.planted = round.planted;
    world.clock = Some(Hurried::from_now());
    let mut random = Random::new(round.seed);
    // Consoles are open before anything begins, or most of a short round would pass without one.
    for thread in 1..=THREADS {
        world.people.open_window(thread);
    }
    let over = CancellationToken::new();
    let people = tokio::spawn(write(
        world.people.clone(),
        Arc::clone(&world.server),
        Random::new(random.number()),
        over.clone(),
    ));
    let weather = tokio::spawn(weather(
        Arc::clone(&world.server),
        Random::new(random.number()),
        over.clone(),
    ));
    let mut outcome = Outcome::default();
    let mut killed = BTreeSet::new();
    let done = kill(&world, round, &mut random, &mut killed, &mut outcome).await;
    over.cancel();
    people.await?;
    weather.await?;
    done?;
    outcome.shim_kills = killed.len() as u64;
    if let Err(error) = world.drain(round.drain).await {
        outcome.found.faults.push(format!("{error:#}"));
    }
    let quiet_faults = std::mem::take(&mut outcome.found.faults);
    outcome.found = check::check(&world, &killed).await?;
    outcome.found.faults.splice(0..0, quiet_faults);
    if !outcome.found.faults.is_empty() && round.planted.is_none() {
        outcome.kept = Some(world.keep());
    }
    Ok(outcome)
}

fn life(random: &mut Random, short: Duration) -> Duration {
    let (one_in, long) = LONG;
    match random.one_in(one_in) {
        true => random.span(long),
        false => random.span(short),
    }
}

async fn kill(
    world: &World,
    round: Round,
    random: &mut Random,
    killed: &mut BTreeSet<ProcessId>,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + round.lasts;
    while Instant::now() < deadline {
        let mut child = world.start(How::default())?;
        // Only those that were let to become ready are measured: the killed ones would leave out the slow.
        if random.one_in(3) || round.kill == Kill::Shim {
            outcome.recoveries.extend(child.ready().await?);
        }
        match round.kill {
            Kill::Gateway => tokio::time::sleep(life(random, SHORT)).await,
            Kill::Both => {
                tokio::time::sleep(life(random, SHORT / 2)).await;
                if random.one_in(2) {
                    killed.extend(shims::kill_one(&world.data(), random));
                }
                tokio::time::sleep(random.span(SHORT / 2)).await;
            }
            Kill::Shim => {
                while Instant::now() < deadline {
                    tokio::time::sleep(random.span(round.calm)).await;
                    killed.extend(shims::kill_one(&world.data(), random));
                }
            }
        }
        child.kill().await?;
        outcome.crashes += 1;
        world.server_has_heard().await;
        if round.planted == Some(Planted::CutLog) {
            planted::cut_log(&world.data(), random)?;
        }
    }
    Ok(())
}

/// People write, whether anyone listens or not.
async fn write(people: People, server: Arc<Server>, mut random: Random, over: CancellationToken) {
    while !over.is_cancelled() {
        if server.unconfirmed() < UNDER_WAY {
            people.act(&mut random);
        }
        let pause = tokio::time::sleep(random.span(Duration::from_millis(50)));
        let _until_over = over.run_until_cancelled(pause).await;
    }
}

/// The platform is away, is slow, or loses the connection after it has taken a message. It is well again when this returns.
async fn weather(server: Arc<Server>, mut random: Random, over: CancellationToken) {
    while !over.is_cancelled() {
        let kind = random.pick(&KINDS).copied().unwrap_or(KINDS[0]);
        let here = Which::Account(account(kind));
        let pause = tokio::time::sleep(random.span(Duration::from_millis(500)));
        let _until_over = over.run_until_cancelled(pause).await;
        match random.below(4) {
            0 => {
                server.down(here.clone());
                tokio::time::sleep(random.span(Duration::from_millis(120))).await;
                server.up(&here);
            }
            1 => server.slow_next(here.clone(), random.span(Duration::from_millis(60))),
            _ => server.drop_next(here.clone()),
        }
    }
}
