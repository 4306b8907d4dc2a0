//! A program's own cgroup (v2): everything it starts is born in it, whatever it does with sessions, parents and its environment.
//!
//! **Invariant:** nothing here makes a file: on a path that is no cgroup every call is an error or finds nobody.
//! **Absent on purpose:** where cgroups may be made and what may be limited. The gateway knows; a supervisor is given a path.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::machine::{self, Identity};

/// Lists who is in it; who writes a pid moves that process into it.
pub const PROCS: &str = "cgroup.procs";
const KILL: &str = "cgroup.kill";
const EVENTS: &str = "cgroup.events";

const PAUSE: Duration = Duration::from_millis(2);
const TRIES: u32 = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    path: PathBuf,
}

/// What a try to remove it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Removed {
    /// It is gone, or was before.
    Gone,
    /// Somebody lives in it.
    Populated,
}

impl Cgroup {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory, for a child to be born in.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// Writes one of its files, which is a setting or an order.
    pub fn set(&self, file: &str, value: &str) -> io::Result<()> {
        OpenOptions::new()
            .write(true)
            .open(self.path.join(file))?
            .write_all(value.as_bytes())
    }

    /// SIGKILL to everything in it and below it, in one step that nothing can fork out of. Since Linux 5.14.
    pub fn kill(&self) -> io::Result<()> {
        self.set(KILL, "1")
    }

    /// Everybody alive in it and below it. Who is not visible from here (another pid namespace) is passed over.
    pub fn members(&self) -> Vec<Identity> {
        let mut found = Vec::new();
        for group in self.family() {
            let text = fs::read_to_string(group.join(PROCS)).unwrap_or_default();
            let pids = text.lines().filter_map(|line| line.parse::<i32>().ok());
            found.extend(
                pids.filter(|pid| *pid > 1)
                    .filter_map(machine::identity)
                    .filter(|one| machine::lives(*one)),
            );
        }
        found
    }

    /// Removes it, with what cgroups the program made below it, if nobody lives there.
    pub fn remove(&self) -> io::Result<Removed> {
        // Looked at first: a program that lives may have empty ones below, and wants to keep them.
        let events = fs::read_to_string(self.path.join(EVENTS)).unwrap_or_default();
        if events.lines().any(|line| line == "populated 1") {
            return Ok(Removed::Populated);
        }
        for group in self.family().into_iter().rev() {
            match fs::remove_dir(group) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    return Ok(Removed::Populated);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Removed::Gone)
    }

    /// As [`Cgroup::remove`], when everybody in it has just been killed or reaped: the kernel may need a moment to see that.
    pub fn remove_soon(&self) -> io::Result<Removed> {
        for _ in 0..TRIES {
            match self.remove()? {
                Removed::Gone => return Ok(Removed::Gone),
                Removed::Populated => thread::sleep(PAUSE),
            }
        }
        Ok(Removed::Populated)
    }

    /// It and all below it, parents first. A program may divide its cgroup.
    fn family(&self) -> Vec<PathBuf> {
        let mut family = vec![self.path.clone()];
        let mut next = 0;
        while let Some(group) = family.get(next) {
            let entries = fs::read_dir(group).into_iter().flatten().flatten();
            let below = entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path());
            let below: Vec<PathBuf> = below.collect();
            family.extend(below);
            next += 1;
        }
        family
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn where_no_cgroup_is_nothing_is_made_and_nobody_found() {
        let folder = tempfile::tempdir().unwrap();
        let plain = Cgroup::new(folder.path().join("plain"));
        fs::create_dir(plain.path()).unwrap();
        assert!(plain.kill().is_err());
        assert!(plain.set("memory.max", "1").is_err());
        assert_eq!(fs::read_dir(plain.path()).unwrap().count(), 0);
        assert_eq!(plain.members(), []);
        assert_eq!(plain.remove().unwrap(), Removed::Gone);
        assert_eq!(plain.remove().unwrap(), Removed::Gone);
    }

    #[test]
    fn members_are_found_below_too_and_only_once_alive() {
        let folder = tempfile::tempdir().unwrap();
        let group = Cgroup::new(folder.path());
        let below = folder.path().join("below");
        fs::create_dir(&below).unwrap();
        // 0: somebody of another pid namespace. 1: never ours. The last: nobody.
        fs::write(folder.path().join(PROCS), "0\n1\n2147483647\n").unwrap();
        fs::write(below.join(PROCS), format!("{}\n", std::process::id())).unwrap();
        let us = machine::identity(std::process::id() as i32).unwrap();
        assert_eq!(group.members(), [us]);
    }
}
