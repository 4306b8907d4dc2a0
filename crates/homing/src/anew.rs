//! Starting this program anew, before anything else: the same process with the same arguments and open files, and another environment.
//!
//! A program cannot change what the kernel shows of the environment it was started with: `/proc/PID/environ`, for everybody who may look, and what a
//! gateway runs may look at its own user's processes. So a key that came in a variable is handed over in a pipe, as the standard input that nothing here
//! reads otherwise, to a program that was started without that variable. The allocator's settings are put in on the same occasion.
//!
//! **Invariant:** once [`begin`] has returned, no secret that the settings name is in the environment, and other programs of this user cannot read this
//! one's memory (root can). If that cannot be brought about, nothing starts.
//! **Absent on purpose:** hiding a secret's file. Whatever runs as the same user can read that, too.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use homing_config::Config;

use crate::{memory, secret};

/// There are secrets in the standard input.
const HANDED: &str = "HOMING_SECRETS_ON_STDIN";

/// Returns in a program that was started as it has to be.
pub fn begin(config: &Config) -> anyhow::Result<()> {
    if !config.secrets().is_empty() {
        be_unreadable()?;
    }
    if std::env::var_os(HANDED).is_some() {
        return secret::receive(std::io::stdin().lock());
    }
    let secrets = secret::in_environment(config);
    let allocator = memory::to_be_frugal();
    if secrets.is_empty() && allocator.is_none() {
        return Ok(());
    }
    match start_anew(&secrets, allocator) {
        Err(error) if secrets.is_empty() => {
            tracing::debug!(%error, "the allocator keeps its usual settings");
            Ok(())
        }
        done => done.context(
            "hiding a secret that came in a variable; name a file instead, as in `{ file = \"PATH\" }`",
        ),
    }
}

/// Only returns if it cannot be done.
fn start_anew(secrets: &[(String, String)], allocator: Option<(&str, &str)>) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("finding this program")?;
    let mut arguments = std::env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).envs(allocator);
    if !secrets.is_empty() {
        for (name, _) in secrets {
            command.env_remove(name);
        }
        command.env(HANDED, "1").stdin(in_a_pipe(secrets)?);
    }
    Err(command.exec()).context("starting this program anew")
}

/// All of it is in the pipe before anybody reads: it has to fit.
fn in_a_pipe(secrets: &[(String, String)]) -> anyhow::Result<Stdio> {
    let bytes = secret::handed_over(secrets);
    if bytes.len() > secret::MOST {
        bail!("it has {} bytes, which is more than a key", bytes.len());
    }
    let (reader, mut writer) = std::io::pipe().context("making a pipe")?;
    std::io::Write::write_all(&mut writer, &bytes).context("writing to a pipe")?;
    Ok(reader.into())
}

/// Neither its memory nor its environment, and no core dump has it either. What it starts is not concerned.
fn be_unreadable() -> anyhow::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .context("keeping other programs from reading this one's memory")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    /// What it means for others is asked by the tests of the whole program, unless they run as root.
    #[test]
    fn a_program_can_make_itself_unreadable() {
        super::be_unreadable().unwrap();
        let behavior = dumpable_behavior().unwrap();
        assert!(matches!(behavior, DumpableBehavior::NotDumpable));
    }
}
