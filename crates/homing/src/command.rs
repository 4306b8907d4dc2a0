//! The commands, one file each, and what those share that read a store beside a running gateway.

pub mod doctor;
pub mod explain;
pub mod kill;
pub mod log;
pub mod ps;
pub mod serve;

use std::path::Path;

use anyhow::{Context, bail};
use homing_domain::ids::ProcessId;
use homing_ports::store::{ProcessRow, Queries};
use homing_store_sqlite::{SqliteReader, SqliteStore};

use crate::data;

/// A runtime for one question.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the runtime")?
        .block_on(work)
}

/// The store of a data folder, read only.
async fn reader(folder: &Path) -> anyhow::Result<SqliteReader> {
    let path = data::store_path(folder);
    if !path.exists() {
        bail!(
            "there is no store in {}; name the gateway's data folder with --data",
            folder.display()
        );
    }
    SqliteStore::open_read_only(&path)
        .await
        .with_context(|| format!("reading the store {}", path.display()))
}

/// A process by its id or the last characters of it.
async fn find_process(store: &SqliteReader, text: &str) -> anyhow::Result<ProcessRow> {
    let id = match text.parse::<ProcessId>() {
        Ok(id) => id,
        Err(_) => match store
            .find_process(None, text.rsplit('_').next().unwrap_or(text))
            .await?
            .as_slice()
        {
            [id] => *id,
            [] => bail!("there is no process `{text}`; `homing ps` lists those that are there"),
            _ => bail!("`{text}` fits several processes; give more of the id"),
        },
    };
    match store.process(id).await? {
        Some(row) => Ok(row),
        None => bail!("there is no process {id}; `homing ps` lists those that are there"),
    }
}

/// A line to standard output. A reader that went away (`homing ps | head`) ends the program quietly.
fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        written => written.context("printing"),
    }
}
