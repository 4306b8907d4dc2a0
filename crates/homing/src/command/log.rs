//! `homing log`: output straight from the run folder, so it works while no gateway runs too.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use homing_shim::folder::Folder;
use homing_shim::output;
use serde_json::json;

use super::{block_on, find_process, print, reader};
use crate::arguments::Log;

/// Most bytes printed at once.
const LIMIT: usize = 16 * 1024 * 1024;

pub fn run(arguments: &Log) -> anyhow::Result<ExitCode> {
    let process = block_on(async {
        let store = reader(&arguments.place.data).await?;
        find_process(&store, &arguments.process).await
    })?;
    let folder = Folder::new(
        arguments
            .place
            .data
            .join("run")
            .join(process.id.to_string()),
    );
    let chunk = match arguments.from {
        Some(from) => output::read(&folder, from, LIMIT),
        None => output::tail(&folder, arguments.tail.min(LIMIT)),
    }
    .with_context(|| {
        format!(
            "reading the output of {} in {}",
            process.id,
            folder.path().display()
        )
    })?;
    if arguments.place.json {
        let text = String::from_utf8_lossy(&chunk.bytes);
        print(
            &json!({"id": process.id, "from": chunk.from, "total": chunk.total, "text": text})
                .to_string(),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    match std::io::stdout().lock().write_all(&chunk.bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        written => written.context("printing")?,
    }
    Ok(ExitCode::SUCCESS)
}
