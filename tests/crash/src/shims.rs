//! Killing supervisors: only those below a data folder of ours, by pid and start time.

use std::fs;
use std::path::Path;

use homing_domain::ids::ProcessId;
use homing_shim::folder::{EXIT, Folder};
use homing_shim::machine::{self, Signalled};
use rustix::process::Signal;

use crate::random::Random;

/// SIGKILL to one supervisor whose program has not ended yet, if there is one. Whose it was.
pub fn kill_one(data: &Path, random: &mut Random) -> Option<ProcessId> {
    let living: Vec<ProcessId> = fs::read_dir(data.join("run"))
        .ok()?
        .flatten()
        .filter(|entry| !entry.path().join(EXIT).exists())
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    let process = *random.pick(&living)?;
    let folder = Folder::new(data.join("run").join(process.to_string()));
    let started = folder.started().ok()??;
    match machine::signal(started.supervisor, Signal::KILL.as_raw()) {
        Ok(Signalled::Sent) => Some(process),
        _ => None,
    }
}
