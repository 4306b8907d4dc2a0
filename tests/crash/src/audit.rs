//! The durability audit: the system calls of a gateway, in their order. Nothing is sent to a platform before it is on disk that it is being
//! sent, and no message is confirmed that is not.
//!
//! **How several conversations are told apart:** what is written to the store's log is read, page by page. A send counts as sound when a page
//! that was synced before it says of this very item that this very attempt is being made; whose sync that was does not matter.
//! **`--sync off`** shows that the audit can fail: strace then answers every sync with success and the kernel never sees it, which is what
//! `synchronous=OFF` does to the disk.
//! **Absent on purpose:** a power cut. That a sync reaches the platters is the disk's promise.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::programs::End;
use crate::report;
use crate::trace::Trace;
use crate::world::{How, World};

/// What writes, what syncs, what sends.
const CALLS: &str = "write,writev,pwrite64,pwritev,sendto,sendmsg,fsync,fdatasync";
const PHASE: Duration = Duration::from_secs(60);
/// Conversations, on every kind of platform.
const THREADS: u64 = 6;
/// Messages of a conversation that are said without waiting for what the others do, and how often.
const SAID: usize = 4;
const TIMES: usize = 5;
/// What leaves at least: an answer to each.
const SENDS: u64 = THREADS * (SAID * TIMES) as u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Sync {
    On,
    /// Syncs are answered and not made: must be found.
    Off,
}

#[derive(serde::Serialize)]
struct Printed {
    sends: u64,
    unsynced_sends: u64,
    confirmations: u64,
    unsynced_confirmations: u64,
    log_writes: u64,
    syncs: u64,
}

/// `true` if nothing was found.
pub async fn run(place: &Path, sync: Sync, json: bool) -> anyhow::Result<bool> {
    let traced = Command::new("strace")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !traced.is_ok_and(|status| status.success()) {
        bail!("strace is not installed: apt-get install strace");
    }
    let world = World::new(place, THREADS).await?;
    let file = world.data().join("trace");
    let child = world.start_under(&tracer(&file, sync), How::default())?;
    let told = story(&world).await;
    child.let_go().await?;
    told?;
    let trace = Trace::read(&std::fs::read_to_string(&file).context("reading the trace")?);
    let printed = Printed {
        sends: trace.sends,
        unsynced_sends: trace.unsynced_sends,
        confirmations: trace.confirmations,
        unsynced_confirmations: trace.unsynced_confirmations,
        log_writes: trace.log_writes,
        syncs: trace.syncs,
    };
    report::figures("durability-audit", &printed, json)?;
    if trace.sends < SENDS || trace.confirmations == 0 || trace.log_writes == 0 {
        bail!("the trace does not show what was done; is it another strace, or another SQLite?");
    }
    Ok(trace.unsynced_sends + trace.unsynced_confirmations == 0)
}

fn tracer(file: &Path, sync: Sync) -> Vec<String> {
    let mut line = vec![
        "strace".to_owned(),
        "--follow-forks".into(),
        // Paths and addresses of descriptors.
        "-yy".into(),
        // A page of the store as a whole.
        "--string-limit=4200".into(),
        format!("--output={}", file.display()),
        format!("--trace={CALLS}"),
    ];
    if sync == Sync::Off {
        line.push("--inject=fsync,fdatasync:retval=0".into());
    }
    line
}

/// All conversations at a time.
async fn story(world: &World) -> anyhow::Result<()> {
    let people = &world.people;
    let everywhere = || 1..=THREADS;
    for _ in 0..TIMES {
        for _ in 0..SAID {
            everywhere().for_each(|thread| people.say(thread));
        }
        world.quiet(PHASE).await?;
    }
    for thread in everywhere() {
        people.start(thread, "start", End::Code(3), 10 * thread, 2);
        people.start(thread, "start", End::Code(4), 200, 2);
        people.say(thread);
    }
    world.quiet(PHASE).await?;
    for thread in everywhere() {
        people.command(thread, "/compress");
        people.start(thread, "start", End::Code(5), 100, 2);
        people.say(thread);
    }
    world.quiet(PHASE).await?;
    for thread in everywhere() {
        people.start(thread, "start", End::Code(6), 300, 2);
        people.new_session(thread);
        people.say(thread);
    }
    world.quiet(PHASE).await
}
