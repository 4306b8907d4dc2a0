//! What has become of a process, from its folder alone.
//!
//! | `exit` | lock | `started` | fate |
//! |---|---|---|---|
//! | there | – | – | ended, or never ran, as it says |
//! | no | held | there | running |
//! | no | held | no | starting: for milliseconds; looked at again |
//! | no | free | no | never ran |
//! | no | free | another boot's | lost: machine restarted |
//! | no | free | this boot's | lost: supervisor gone |
//! | damaged | – | – | lost: folder damaged |
//!
//! A fate that only we know is written down as `exit` while we hold the lock, so that it does not change later (a supervisor that is gone stays that
//! after the next reboot too). Before anything is declared lost, what is left of its tree is killed: a lost process must not be at work.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use homing_domain::ids::ProcessId;
use homing_domain::process::{Ending, LostReason};
use homing_domain::time::Timestamp;
use homing_ports::processes::{ExitRecord, Fate, Identity, ProcessError, Started};
use homing_shim::exit::{self, Exit};
use homing_shim::folder::{EXIT, Folder, LockState, ReadError};
use homing_shim::machine;
use homing_shim::output;
use homing_shim::started as shim;

use crate::GOING;
use crate::errors::folder_error;
use crate::start::marker;
use crate::trees;

/// A held lock is believed at once if the supervisor lives. If it does not, a child between fork and exec may have a copy of the lock for a moment;
/// if it has not said `started`, it is about to. Both take milliseconds; this is for a machine in trouble.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);
/// Looks at a tree that is being killed.
const MOST_ROUNDS: u32 = 500;

/// What one look found.
enum Look {
    Fate(Fate),
    /// Nobody looks after it, and nothing says how it ended.
    Abandoned {
        lock: Option<fs::File>,
        found: Found,
    },
    /// In between: look again.
    Unsettled,
}

/// What is known of an abandoned one.
enum Found {
    NeverStarted,
    Started(shim::Started),
    Damaged,
}

pub(crate) fn fate(process: ProcessId, folder: &Folder, now: Timestamp) -> io::Result<Fate> {
    let patience = Instant::now() + PATIENCE;
    loop {
        match look(folder)? {
            Look::Fate(fate) => return Ok(fate),
            Look::Abandoned { lock, found } => {
                let fate = conclude(process, folder, found, now)?;
                drop(lock);
                return Ok(fate);
            }
            Look::Unsettled if Instant::now() < patience => thread::sleep(PAUSE),
            Look::Unsettled => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "its lock is held, and nobody is there who holds it",
                ));
            }
        }
    }
}

fn look(folder: &Folder) -> io::Result<Look> {
    if let Some(look) = ended(folder)? {
        return Ok(look);
    }
    let lock = match folder.try_lock()? {
        LockState::Held => return living(folder),
        LockState::Free(lock) => Some(lock),
        LockState::Missing => None,
    };
    // It may have ended between our two looks; under the lock nothing changes any more.
    if let Some(look) = ended(folder)? {
        return Ok(look);
    }
    let found = match folder.started() {
        Ok(None) => Found::NeverStarted,
        // The lock is made before anything else and never removed.
        Ok(Some(_)) if lock.is_none() => Found::Damaged,
        Ok(Some(started)) => Found::Started(started),
        Err(ReadError::Damaged(error)) => damaged(folder, &error),
        Err(ReadError::Io(error)) => return Err(error),
    };
    Ok(Look::Abandoned { lock, found })
}

fn ended(folder: &Folder) -> io::Result<Option<Look>> {
    match folder.exit() {
        Ok(None) => Ok(None),
        Ok(Some(exit)) => Ok(Some(Look::Fate(from_exit(exit)))),
        Err(ReadError::Damaged(error)) => Ok(Some(Look::Abandoned {
            lock: None,
            found: damaged(folder, &error),
        })),
        Err(ReadError::Io(error)) => Err(error),
    }
}

fn living(folder: &Folder) -> io::Result<Look> {
    match folder.started() {
        Ok(Some(record)) if machine::lives(record.supervisor) => {
            Ok(Look::Fate(Fate::Running(started(&record))))
        }
        Ok(_) => Ok(Look::Unsettled),
        Err(ReadError::Damaged(error)) => Ok(Look::Abandoned {
            lock: None,
            found: damaged(folder, &error),
        }),
        Err(ReadError::Io(error)) => Err(error),
    }
}

fn damaged(folder: &Folder, error: &homing_shim::record::RecordError) -> Found {
    tracing::warn!(folder = %folder.path().display(), %error, "a run folder is damaged");
    Found::Damaged
}

/// Ends what is left, and writes down what that makes of it.
fn conclude(process: ProcessId, folder: &Folder, found: Found, now: Timestamp) -> io::Result<Fate> {
    let fate = match found {
        Found::NeverStarted => {
            let why = "its supervisor ended before it could execute it".to_owned();
            write_down(process, folder, exit::Ending::NotRun(why), now)?
        }
        Found::Started(started) if started.boot != machine::boot_id()? => {
            write_down(process, folder, lost(LostReason::MachineRestarted), now)?
        }
        Found::Started(started) => {
            end_what_is_left(process, folder, Some(started.program));
            write_down(process, folder, lost(LostReason::SupervisorGone), now)?
        }
        Found::Damaged => {
            keep_the_evidence(folder)?;
            // Here a supervisor may be at work. It does not overwrite an exit record, so this one comes first.
            let fate = write_down(process, folder, lost(LostReason::FolderDamaged), now)?;
            end_what_is_left(process, folder, None);
            fate
        }
    };
    if let Some(cgroup) = trees::of(process, folder) {
        trees::remove_soon(&cgroup);
    }
    Ok(fate)
}

fn write_down(
    process: ProcessId,
    folder: &Folder,
    ending: exit::Ending,
    now: Timestamp,
) -> io::Result<Fate> {
    let exit = Exit {
        ending,
        at: now.millis(),
        output_total: output::total(folder)?,
        left: 0,
    };
    if let Err(error) = folder.write(EXIT, &exit.to_text()) {
        tracing::warn!(process.id = %process, %error, "the fate of a process cannot be written down; it will be concluded again");
    }
    Ok(from_exit(exit))
}

fn lost(reason: LostReason) -> exit::Ending {
    exit::Ending::Lost(reason.name().to_owned())
}

fn keep_the_evidence(folder: &Folder) -> io::Result<()> {
    match fs::rename(folder.file(EXIT), folder.file("exit.damaged")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Kills everything in its cgroup; the program, if that pid still is the program, everything that carries our marker, and everything below these.
///
/// Without a cgroup, what has moved to a session of its own, lost its parents *and* thrown its environment away is not found.
fn end_what_is_left(process: ProcessId, folder: &Folder, program: Option<machine::Identity>) {
    let entry = marker(process);
    let cgroup = trees::of(process, folder);
    for _ in 0..MOST_ROUNDS {
        let mut family = machine::carriers(&entry);
        if let Some(cgroup) = &cgroup {
            // Refused by an older kernel: then its members die one by one.
            let _ = cgroup.kill();
            family.extend(cgroup.members());
        }
        family.extend(program.filter(|program| machine::lives(*program)));
        let roots: Vec<i32> = family.iter().map(|one| one.pid).collect();
        family.extend(machine::descendants(&roots));
        if family.is_empty() {
            return;
        }
        for one in family {
            // Refused or gone: the next round shows which.
            let _ = machine::signal(one, KILL);
        }
        thread::sleep(PAUSE);
    }
    tracing::warn!(process.id = %process, "something of a lost process cannot be killed");
}

/// Kills what an ended program has left behind when its supervisor, whose task that is, was killed. Only a cgroup says what that is.
/// `true` if everything in it is dead.
pub(crate) fn end_what_nobody_looks_after(process: ProcessId, folder: &Folder) -> bool {
    let Some(cgroup) = trees::of(process, folder) else {
        return false;
    };
    let killed = cgroup.kill().is_ok();
    trees::remove_soon(&cgroup);
    killed
}

const KILL: i32 = rustix::process::Signal::KILL.as_raw();

pub(crate) fn started(record: &shim::Started) -> Started {
    let identity = |one: machine::Identity| Identity {
        pid: one.pid,
        start_time: one.start_time,
    };
    Started {
        supervisor: identity(record.supervisor),
        program: identity(record.program),
        at: Timestamp(record.at),
    }
}

fn from_exit(exit: Exit) -> Fate {
    let ending = match exit.ending {
        exit::Ending::Code(code) => Ending::Code(code),
        exit::Ending::Signal(signal) => Ending::Signal(signal),
        // A reason of a later version is a reason we do not know; that it is lost we do know.
        exit::Ending::Lost(reason) => {
            Ending::Lost(LostReason::parse(&reason).unwrap_or(LostReason::FolderDamaged))
        }
        exit::Ending::NotRun(why) => return Fate::NeverRan(why),
    };
    Fate::Ended(ExitRecord {
        ending,
        ended_at: Timestamp(exit.at),
        output_total: exit.output_total,
    })
}

/// Removes the folder of an ended process. While a supervisor still looks after what the program left behind, it is refused as running.
pub(crate) fn forget(
    process: ProcessId,
    folder: &Folder,
    now: Timestamp,
) -> Result<(), ProcessError> {
    let failed = folder_error(process);
    if let Fate::Running(_) = fate(process, folder, now).map_err(&failed)? {
        return Err(ProcessError::Running(process));
    }
    let lock = free_lock(folder).map_err(&failed)?;
    if matches!(lock, LockState::Held) {
        return Err(ProcessError::Running(process));
    }
    if let Some(cgroup) = trees::of(process, folder) {
        trees::remove(&cgroup);
    }
    // Renamed first, to a name that is no process id: a crash in the middle leaves nothing that looks like a run folder.
    let gone = folder.path().with_extension(GOING);
    fs::rename(folder.path(), &gone)
        .and_then(|()| fs::remove_dir_all(&gone))
        .map_err(failed)
}

/// An ended process's supervisor still holds the lock for the moment between its record and its end.
fn free_lock(folder: &Folder) -> io::Result<LockState> {
    let patience = Instant::now() + Duration::from_millis(500);
    loop {
        match folder.try_lock()? {
            LockState::Held if Instant::now() < patience => thread::sleep(PAUSE),
            other => return Ok(other),
        }
    }
}
