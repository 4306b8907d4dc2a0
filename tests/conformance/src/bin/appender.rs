//! Appends message after message and says so, until it is killed: `homing-appender sqlite PATH`.
//!
//! Writes the text of a message to its standard output once the store has acknowledged it. After a failed write it says `failed: …`, tries once more,
//! says `then: …`, and ends.

#![allow(clippy::print_stdout, reason = "what it says is what it is for")]

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use homing_conformance::Scene;
use homing_ports::store::{Committed, Store};
use homing_ports::{Clock, IdSource, SystemClock};
use homing_store_sqlite::SqliteStore;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().context("which store: `sqlite`")?;
    let address = arguments.next().context("where it is")?;
    ensure!(kind == "sqlite", "there is no store of kind `{kind}` yet");
    let ids = IdSource::new(Arc::new(SystemClock));
    let store = SqliteStore::open(Path::new(&address), ids.clone()).await?;
    store.take_over(SystemClock.now()).await?;
    let tasks: Vec<_> = (0..4)
        .map(|task| tokio::spawn(append(store.clone(), ids.clone(), task)))
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn append(store: SqliteStore, ids: IdSource, task: u32) -> anyhow::Result<()> {
    let scene = Scene::with(Arc::new(store.clone()), ids, &format!("appender-{task}")).await;
    let run = std::process::id();
    for number in 0_u64.. {
        let text = format!("{run}-{task}-{number}");
        match scene.append(&text).await {
            Ok(Committed::Done) => say(&text)?,
            Ok(unmet) => bail!("{unmet:?}"),
            Err(error) => {
                say(&format!("failed: {error}"))?;
                let then = scene.append(&text).await;
                say(&format!("then: {then:?}, failed() = {:?}", store.failed()))?;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// One write per line, so that a kill never leaves half of one.
fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    Ok(out.flush()?)
}
