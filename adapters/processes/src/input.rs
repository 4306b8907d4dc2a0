//! Speaking to a living process: commands to its supervisor, bytes to its standard input.
//!
//! Both are FIFOs in its folder, opened for one use. Input is read by the program itself (with a terminal: by the supervisor, which types it), so a
//! program that does not read makes us wait, not the supervisor; after [`PATIENCE`] that is an error.
//!
//! **Invariant:** the bytes of one `write` are not mixed with those of another.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use homing_domain::ids::ProcessId;
use homing_ports::processes::ProcessError;
use homing_shim::control::Command;
use homing_shim::folder::{CONTROL, Folder, INPUT, ReadError};
use homing_shim::spec;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;

use crate::errors::folder_error;

/// How long a reader may let us wait.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Delivered {
    Yes,
    /// No supervisor has the FIFO open.
    NobodyThere,
}

pub(crate) async fn command(folder: &Folder, command: Command) -> io::Result<Delivered> {
    match open(&folder.file(CONTROL))? {
        None => Ok(Delivered::NobodyThere),
        Some(mut fifo) => match write_all(&mut fifo, &command.to_bytes()).await {
            Ok(()) => Ok(Delivered::Yes),
            // It went between our opening and our writing.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Delivered::NobodyThere),
            Err(error) => Err(error),
        },
    }
}

/// `None` if nobody reads it, or it is not there.
fn open(path: &Path) -> io::Result<Option<pipe::Sender>> {
    match pipe::OpenOptions::new().open_sender(path) {
        Ok(fifo) => Ok(Some(fifo)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

async fn write_all(fifo: &mut pipe::Sender, bytes: &[u8]) -> io::Result<()> {
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "it does not read what it is sent");
    tokio::time::timeout(PATIENCE, fifo.write_all(bytes))
        .await
        .map_err(late)?
}

/// Whose turn it is to write, for each process that is written to.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    turns: Mutex<HashMap<ProcessId, Arc<tokio::sync::Mutex<()>>>>,
}

impl Inputs {
    fn turn(&self, process: ProcessId) -> Arc<tokio::sync::Mutex<()>> {
        self.turns
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(process)
            .or_default()
            .clone()
    }

    pub(crate) fn forget(&self, process: ProcessId) {
        self.turns
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&process);
    }

    pub(crate) async fn write(
        &self,
        process: ProcessId,
        folder: &Folder,
        bytes: &[u8],
    ) -> Result<(), ProcessError> {
        self.expect_open(process, folder).await?;
        let turn = self.turn(process);
        let _turn = turn.lock().await;
        let failed = folder_error(process);
        match open(&folder.file(INPUT)).map_err(&failed)? {
            Some(mut fifo) => write_all(&mut fifo, bytes).await.map_err(failed),
            None => Err(failed(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "its standard input is closed",
            ))),
        }
    }

    /// Was it started with an open input at all?
    pub(crate) async fn expect_open(
        &self,
        process: ProcessId,
        folder: &Folder,
    ) -> Result<(), ProcessError> {
        let folder = folder.clone();
        let read = tokio::task::spawn_blocking(move || folder.spec()).await;
        let failed = folder_error(process);
        match read.map_err(|stopped| failed(io::Error::other(stopped)))? {
            Ok(Some(spec)) if spec.input == spec::Input::Open => Ok(()),
            Ok(_) => Err(ProcessError::NoInput(process)),
            Err(ReadError::Io(error)) => Err(failed(error)),
            Err(ReadError::Damaged(error)) => Err(failed(io::Error::other(error))),
        }
    }
}
