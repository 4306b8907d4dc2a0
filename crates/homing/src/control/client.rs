//! The command line's end of the control socket.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use super::token::Secret;
use super::{Action, Answer, LINE_LIMIT, Request};
use crate::data;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks the gateway of a data folder as its operator; or, inside a program that Homing started, as that program.
pub fn ask(folder: &Path, action: Action) -> anyhow::Result<Answer> {
    let (socket, token) = access(folder)?;
    let stream = match UnixStream::connect(&socket) {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused
            ) =>
        {
            bail!(
                "no gateway runs in {}; start it with `homing serve`, or name its data folder with --data",
                folder.display()
            )
        }
        Err(error) => {
            return Err(error).with_context(|| format!("connecting to {}", socket.display()));
        }
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_string(&Request { token, action })?;
    line.push('\n');
    (&stream)
        .write_all(line.as_bytes())
        .context("asking the gateway")?;
    let mut text = String::new();
    BufReader::new(&stream)
        .take(LINE_LIMIT)
        .read_line(&mut text)
        .context("waiting for the gateway's answer")?;
    match serde_json::from_str(&text).context("reading the gateway's answer")? {
        Answer::Error(problem) => bail!("{problem}"),
        answer => Ok(answer),
    }
}

fn access(folder: &Path) -> anyhow::Result<(PathBuf, String)> {
    if let (Ok(socket), Ok(token)) = (
        std::env::var("HOMING_CONTROL"),
        std::env::var("HOMING_TOKEN"),
    ) {
        return Ok((socket.into(), token));
    }
    match Secret::read(folder)? {
        Some(secret) => Ok((data::control_path(folder), secret.operator())),
        None => bail!(
            "no gateway has run in {}; name its data folder with --data",
            folder.display()
        ),
    }
}
