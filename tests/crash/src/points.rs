//! At every named point, at several hits of it: a small story is played, the gateway dies there, another one takes over, and all is checked.
//!
//! **Invariant:** the story goes on across the crash as people would: it waits until what it asked for is answered, whoever answers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use homing_ports::crash::{EXIT_CODE, POINTS};
use homing_ports::store::Queries as _;
use tokio::sync::oneshot;

use crate::check;
use crate::child::Child;
use crate::host::Stall;
use crate::programs::End;
use crate::report;
use crate::world::{How, World};

/// Which hits of each point.
pub const HITS: [u32; 4] = [1, 2, 3, 5];
/// So many that every point is hit as often.
const THREADS: u64 = 5;
const PHASE: Duration = Duration::from_secs(20);
/// Stories that are played at the same time; each mostly waits.
const AT_ONCE: usize = 4;

#[derive(serde::Serialize)]
struct Printed {
    points: usize,
    points_covered: usize,
    crashes: usize,
    faults: usize,
}

/// `true` if every point was hit as often as wanted and nothing was found.
pub async fn run(place: &Path, only: &[String], json: bool) -> anyhow::Result<bool> {
    if let Some(unknown) = only.iter().find(|name| !POINTS.contains(&name.as_str())) {
        bail!(
            "there is no point `{unknown}`; there are {}",
            POINTS.join(", ")
        );
    }
    let wanted: Vec<&'static str> = POINTS
        .iter()
        .copied()
        .filter(|name| only.is_empty() || only.iter().any(|one| one == name))
        .collect();
    let jobs: Arc<Vec<(&'static str, u32)>> = Arc::new(
        wanted
            .iter()
            .flat_map(|name| HITS.map(|hit| (*name, hit)))
            .collect(),
    );
    let next = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..AT_ONCE)
        .map(|_| tokio::spawn(work(Arc::clone(&jobs), Arc::clone(&next), place.to_owned())))
        .collect();
    let (mut covered, mut faults) = (Vec::new(), 0);
    for worker in workers {
        let (hit, found) = worker.await??;
        covered.extend(hit);
        faults += found;
    }
    let points_covered = wanted
        .iter()
        .filter(|name| HITS.iter().all(|hit| covered.contains(&(**name, *hit))))
        .count();
    let printed = Printed {
        points: wanted.len(),
        points_covered,
        crashes: covered.len(),
        faults,
    };
    report::figures("crash-points", &printed, json)?;
    Ok(points_covered == wanted.len() && faults == 0)
}

type Hit = (&'static str, u32);

async fn work(
    jobs: Arc<Vec<Hit>>,
    next: Arc<AtomicUsize>,
    place: PathBuf,
) -> anyhow::Result<(Vec<Hit>, usize)> {
    let (mut covered, mut faults) = (Vec::new(), 0);
    while let Some((name, hit)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
        let about = format!("{name}, hit {hit}");
        let mut world = World::new(&place, THREADS).await?;
        let found = match play(&world, name, *hit).await {
            Ok(true) => {
                covered.push((*name, *hit));
                check::check(&world, &BTreeSet::new()).await?.faults
            }
            Ok(false) => vec!["the story does not pass it so often".to_owned()],
            Err(error) => vec![format!("{error:#}")],
        };
        if !found.is_empty() {
            report::faults(&about, &found);
            report::note(&format!("{about}: kept in {}", world.keep().display()));
        }
        faults += found.len();
    }
    Ok((covered, faults))
}

/// Whether the point was hit.
async fn play(world: &World, name: &str, hit: u32) -> anyhow::Result<bool> {
    before(world, name).await?;
    let child = world.start(How {
        point: Some((name, hit)),
        ..How::default()
    })?;
    let (over, is_over) = oneshot::channel();
    let (story, kept) = tokio::join!(
        async {
            let told = story(world).await;
            // The keeper waits for this and nothing else.
            let _heard = over.send(());
            told
        },
        keep_up(world, child, is_over)
    );
    story?;
    kept
}

/// Restarts the gateway when it has died at its point. Whether it has.
async fn keep_up(
    world: &World,
    mut child: Child,
    mut over: oneshot::Receiver<()>,
) -> anyhow::Result<bool> {
    let mut hit = false;
    loop {
        tokio::select! {
            _ = &mut over => {
                child.kill().await?;
                return Ok(hit);
            }
            status = child.ended() => {
                let status = status?;
                if status.code() != Some(EXIT_CODE) || hit {
                    bail!("the gateway ended by itself: {status}");
                }
                hit = true;
                child = world.start(How::default())?;
            }
        }
    }
}

/// Points of a restart need something that a first gateway has left under way in every conversation.
async fn before(world: &World, name: &str) -> anyhow::Result<()> {
    let stall = match name {
        "recovery-processes" => None,
        "recovery-sends" => Some(Stall::Sends),
        "recovery-turns" | "recovery-committed" => Some(Stall::Foreground),
        "recovery-claims" => Some(Stall::Background),
        _ => return Ok(()),
    };
    let mut child = world.start(How {
        stall,
        ..How::default()
    })?;
    child
        .ready()
        .await?
        .context("the first gateway does not start")?;
    for thread in 1..=THREADS {
        match stall {
            Some(Stall::Foreground | Stall::Sends) => world.people.say(thread),
            Some(Stall::Background) => {
                world.people.start(thread, "start", End::Code(0), 0, 1);
            }
            None => {
                world.people.start(thread, "start", End::Code(4), 600, 1);
            }
        }
    }
    let deadline = Instant::now() + PHASE;
    while under_way(world, stall).await.unwrap_or(0) < THREADS {
        if Instant::now() > deadline {
            bail!("the first gateway does not come so far");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    child.kill().await?;
    Ok(())
}

async fn under_way(world: &World, stall: Option<Stall>) -> anyhow::Result<u64> {
    let reader = world.reader().await?;
    let totals = reader.totals().await?;
    let count = |counts: &[(String, u64)], wanted: &str| {
        counts
            .iter()
            .filter(|(name, _)| name == wanted)
            .map(|(_, count)| *count)
            .sum()
    };
    Ok(match stall {
        None => totals.live_processes,
        Some(Stall::Sends) => count(&totals.outbox, "sending"),
        Some(Stall::Background) => count(&totals.notifications, "claimed"),
        Some(Stall::Foreground) => {
            let mut turns = 0;
            for conversation in reader.conversations_with_work().await? {
                turns += reader.running_turns(conversation).await?.len() as u64;
            }
            turns
        }
    })
}

/// Passes every point in every conversation.
async fn story(world: &World) -> anyhow::Result<()> {
    let people = &world.people;
    let quiet = || world.quiet(PHASE);
    let everywhere = || 1..=THREADS;
    everywhere().for_each(|thread| people.say(thread));
    quiet().await.context("after the first messages")?;
    for thread in everywhere() {
        people.start(thread, "start", End::Code(0), 0, 2);
        people.start(thread, "both", End::Code(3), 50, 400);
    }
    quiet().await.context("after the first programs")?;
    for thread in everywhere() {
        people.command(thread, "/compress");
        let (_, label) = people.start(thread, "start", End::Code(5), 400, 1);
        people.use_program(thread, "kill", &label);
    }
    quiet().await.context("after the compressions")?;
    let running: Vec<String> = everywhere()
        .map(|thread| people.start(thread, "start", End::Code(6), 150, 3).0)
        .collect();
    answered(world, &running).await?;
    everywhere().for_each(|thread| people.command(thread, "/branch"));
    quiet().await.context("after the branches")?;
    for thread in everywhere() {
        // The answer to `/branch` ends with the session that it left.
        if let Some(trunk) = people.ids_named_in(thread, "ses").last() {
            people.command(thread, &format!("/resume {trunk}"));
        }
    }
    quiet().await.context("after the way back")?;
    let running: Vec<String> = everywhere()
        .map(|thread| people.start(thread, "start", End::Code(7), 150, 3).0)
        .collect();
    answered(world, &running).await?;
    everywhere().for_each(|thread| people.new_session(thread));
    quiet().await.context("after the resets")
}

/// Waits until these messages are answered, or something was interrupted in their place.
async fn answered(world: &World, labels: &[String]) -> anyhow::Result<()> {
    let deadline = Instant::now() + PHASE;
    loop {
        let posts = world.server.sent();
        let is_answered = |label: &String| {
            let begins = format!("answer {label} ");
            posts.iter().any(|post| post.body.text.starts_with(&begins))
        };
        let interrupted = posts
            .iter()
            .filter(|post| post.body.text.starts_with("I was restarted"))
            .count();
        let missing = labels.iter().filter(|label| !is_answered(label)).count();
        if missing <= interrupted {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("{missing} messages are not answered");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
