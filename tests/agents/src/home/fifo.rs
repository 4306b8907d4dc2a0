//! A FIFO between a test and a command: how one says to the other that it is there, or may go on.

use std::path::Path;

use anyhow::Context as _;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe;

use super::LONG;

/// Both ends are open here, so that a command waits for no end to be opened: only for a line.
#[derive(Debug)]
pub struct Fifo {
    reading: BufReader<pipe::Receiver>,
    writing: pipe::Sender,
}

impl Fifo {
    pub(super) fn make(path: &Path) -> anyhow::Result<Fifo> {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).context("making a FIFO")?;
        let mut both = pipe::OpenOptions::new();
        both.read_write(true);
        Ok(Fifo {
            reading: BufReader::new(both.open_receiver(path)?),
            writing: both.open_sender(path)?,
        })
    }

    /// The next line that a command writes.
    pub async fn heard(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        tokio::time::timeout(LONG, self.reading.read_line(&mut line))
            .await
            .context("no command wrote a line")??;
        Ok(line.trim_end().to_owned())
    }

    /// A line for the command that reads.
    pub fn say(&self, line: &str) -> anyhow::Result<()> {
        let line = format!("{line}\n");
        let written = self.writing.try_write(line.as_bytes())?;
        anyhow::ensure!(written == line.len(), "nobody reads");
        Ok(())
    }
}
