//! The durability audit: the system calls of a gateway, in their order. Nothing is sent to the platform while the store's log has something that
//! is not synced, and no message is confirmed that was not synced before.
//!
//! **How it stays simple:** one conversation, one thing at a time, so that whatever is in the log when something is sent belongs to what is sent.
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
const PHASE: Duration = Duration::from_secs(30);
/// Messages that are said one after another.
const SAID: usize = 30;

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
    let world = World::new(place, 1).await?;
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
    if trace.sends < SAID as u64 || trace.log_writes == 0 {
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
        "--string-limit=160".into(),
        format!("--output={}", file.display()),
        format!("--trace={CALLS}"),
    ];
    if sync == Sync::Off {
        line.push("--inject=fsync,fdatasync:retval=0".into());
    }
    line
}

/// One thing at a time.
async fn story(world: &World) -> anyhow::Result<()> {
    let people = &world.people;
    for _ in 0..SAID {
        people.say(1);
        world.quiet(PHASE).await?;
    }
    people.start(1, "start", End::Code(3), 300, 2);
    world.quiet(PHASE).await?;
    people.command(1, "/compress");
    world.quiet(PHASE).await?;
    people.new_session(1);
    world.quiet(PHASE).await?;
    people.say(1);
    world.quiet(PHASE).await
}
