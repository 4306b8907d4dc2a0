//! `homing kill`: needs a running gateway, which records that the end was wanted.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::json;

use super::{block_on, find_process, print, reader};
use crate::arguments::Kill;
use crate::control::{Action, Answer, client};

pub fn run(arguments: &Kill) -> anyhow::Result<ExitCode> {
    let process = full_id(arguments)?;
    let answer = client::ask(&arguments.place.data, Action::Kill { process })?;
    let (process, said) = match &answer {
        Answer::Asked { process } => (process, "stopping"),
        Answer::AlreadyEnded { process } => (process, "ended before"),
        other => bail!("an answer that does not fit: {other:?}"),
    };
    match arguments.place.json {
        true => print(
            &json!({"id": process, "stopping": matches!(answer, Answer::Asked { .. })}).to_string(),
        )?,
        false => print(&format!("{process}: {said}"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A program that Homing started names its processes in full: it cannot read the store.
fn full_id(arguments: &Kill) -> anyhow::Result<String> {
    if arguments
        .process
        .parse::<homing_domain::ids::ProcessId>()
        .is_ok()
    {
        return Ok(arguments.process.clone());
    }
    block_on(async {
        let store = reader(&arguments.place.data).await?;
        Ok(find_process(&store, &arguments.process)
            .await?
            .id
            .to_string())
    })
}
