//! Which processes there are, told apart beyond their pids, and signals that cannot hit a stranger.
//!
//! **Invariant:** [`signal`] opens a pidfd first and compares the start time after, so a recycled pid is never signalled (OWN-92).
//! **Absent on purpose:** waiting, and `/proc/PID/task/TID/children`: that file needs a kernel option many machines lack; the parents in
//! `/proc/PID/stat` say the same.
#![expect(
    unsafe_code,
    reason = "pidfd_open and pidfd_send_signal have no safe form in libc"
)]

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A pid alone is recycled (at 32,768 on a usual machine); with its start time it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    pub pid: i32,
    /// Clock ticks since boot.
    pub start_time: u64,
}

/// What we need of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub state: u8,
    pub parent: i32,
    pub start_time: u64,
}

impl Stat {
    /// Not a zombie, nor on its way out.
    pub fn lives(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// What became of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Signalled {
    Sent,
    /// There is no such process (any more), or its pid is somebody else's now.
    Gone,
}

/// This boot of the machine.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim_end()
        .to_owned())
}

/// The second field may hold anything, brackets and newlines included; the last `)` ends it.
pub fn parse_stat(content: &[u8]) -> Option<Stat> {
    let after = content.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = content[after..]
        .split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    let parent = text_number(fields.next()?)?;
    // `state` is field 3; field 22 is the start time.
    let start_time = text_number(fields.nth(17)?)?;
    Some(Stat {
        state,
        parent,
        start_time,
    })
}

fn text_number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

pub fn identity(pid: i32) -> Option<Identity> {
    stat(pid).map(|stat| Identity {
        pid,
        start_time: stat.start_time,
    })
}

pub fn lives(identity: Identity) -> bool {
    stat(identity.pid).is_some_and(|stat| stat.start_time == identity.start_time && stat.lives())
}

/// A handle to exactly this process, or `None` if it is gone.
pub fn open(identity: Identity) -> io::Result<Option<OwnedFd>> {
    // SAFETY: pidfd_open takes two integers and touches no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_open, identity.pid, 0) };
    if result < 0 {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::ESRCH) {
            Ok(None)
        } else {
            Err(error)
        };
    }
    // SAFETY: the kernel has just given us this descriptor, close-on-exec; nobody else owns it.
    let handle = unsafe { OwnedFd::from_raw_fd(result as i32) };
    // The handle keeps the pid from meaning somebody else while we look.
    match stat(identity.pid) {
        Some(stat) if stat.start_time == identity.start_time => Ok(Some(handle)),
        _ => Ok(None),
    }
}

pub fn signal(identity: Identity, number: i32) -> io::Result<Signalled> {
    let Some(handle) = open(identity)? else {
        return Ok(Signalled::Gone);
    };
    // SAFETY: the descriptor is a pidfd that we own for the whole call; a null siginfo asks for the same as kill(2).
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            handle.as_raw_fd(),
            number,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
    if result == 0 {
        return Ok(Signalled::Sent);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(Signalled::Gone),
        error => Err(error),
    }
}

/// Everything alive whose chain of parents reaches one of `roots`; the roots themselves are not in it.
pub fn descendants(roots: &[i32]) -> Vec<Identity> {
    let all = everybody();
    let mut family = roots.to_vec();
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        next += 1;
        for (pid, stat) in all.iter().filter(|(_, stat)| stat.parent == parent) {
            if family.contains(pid) {
                continue;
            }
            family.push(*pid);
            // A zombie may still have living children: it is followed, not listed.
            if stat.lives() {
                found.push(Identity {
                    pid: *pid,
                    start_time: stat.start_time,
                });
            }
        }
    }
    found
}

/// Everything alive with exactly `entry` (`NAME=value`) in the environment it was executed with. Needs no supervisor to be found.
pub fn carriers(entry: &str) -> Vec<Identity> {
    let carries = |pid: i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|one| one == entry.as_bytes())
    };
    let living = everybody().into_iter().filter(|(_, stat)| stat.lives());
    living
        .filter(|(pid, _)| carries(*pid))
        .map(|(pid, stat)| Identity {
            pid,
            start_time: stat.start_time,
        })
        .collect()
}

fn everybody() -> Vec<(i32, Stat)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_panics(content in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_stat(&content);
        }

        #[test]
        fn a_name_cannot_forge_fields(name in "[ -~\n]{0,15}") {
            let content = format!("77 ({name}) S 5 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 2 3\n");
            prop_assert_eq!(parse_stat(content.as_bytes()), Some(Stat { state: b'S', parent: 5, start_time: 98765 }));
        }
    }

    #[test]
    fn a_recycled_pid_is_not_signalled() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let real = identity(child.id() as i32).unwrap();
        let stranger = Identity {
            start_time: real.start_time + 1,
            ..real
        };
        assert_eq!(signal(stranger, libc::SIGKILL).unwrap(), Signalled::Gone);
        assert!(!lives(stranger));
        assert!(lives(real));
        assert_eq!(signal(real, libc::SIGKILL).unwrap(), Signalled::Sent);
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()),
            Some(libc::SIGKILL)
        );
        assert_eq!(signal(real, libc::SIGKILL).unwrap(), Signalled::Gone);
    }
}
