//! Starting: folder, spec, lock, supervisor, its answer.
//!
//! Blocks on the disk and on the supervisor's answer; belongs on a thread that may. `std::process::Command` starts the supervisor by `posix_spawn`: no
//! page table of a large gateway is copied, and nothing of ours runs between fork and exec.
//!
//! **Invariant:** [`StartError::Supervisor`] and [`StartError::CannotRun`] are only said when nothing was executed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use homing_domain::ids::ProcessId;
use homing_ports::processes::{Input, Program, StartError, StartRequest, Started};
use homing_shim::folder::{CONTROL, Folder, INPUT, SPEC};
use homing_shim::spec::{self, OutputWakes, Spec};
use homing_shim::started as shim;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::trees::{self, Groups};
use crate::{MARKER, Places, UNFINISHED, fate};

/// A freshly written executable can be "busy" while a child of another thread, between fork and exec, still has it open for writing.
const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// Starts it, in a cgroup of its own where there are some. Also gives the handle by which the supervisor's end is seen and by which it is reaped; without one (too many files) it runs all the
/// same, and its end is told by its own wake only.
pub(crate) fn start(
    places: &Places,
    groups: &Groups,
    request: &StartRequest,
    open_files: u64,
) -> Result<(Started, io::Result<OwnedFd>), StartError> {
    let mut spec = spec(request, open_files)?;
    if places.folder(request.process).path().exists() {
        return Err(StartError::StartedBefore(request.process));
    }
    let cgroup = groups.make(request.process);
    spec.cgroup = cgroup.as_ref().map(|cgroup| cgroup.path().to_owned());
    let started = supervise(places, request.process, &spec);
    if let (Err(_), Some(cgroup)) = (&started, &cgroup) {
        trees::remove_soon(cgroup);
    }
    started
}

fn supervise(
    places: &Places,
    process: ProcessId,
    spec: &Spec,
) -> Result<(Started, io::Result<OwnedFd>), StartError> {
    let failed = |source| StartError::Supervisor { process, source };
    let folder = places.folder(process);
    let lock = create(places, process, spec)?;
    let mut child = spawn(places, &folder, lock).map_err(|error| {
        remove(folder.path());
        failed(error)
    })?;

    let started = match child.answer() {
        Answer::Started(started) => started,
        Answer::CannotRun(why) => {
            child.reap();
            return Err(StartError::CannotRun(why));
        }
        Answer::Failed(why) => {
            child.reap();
            remove(folder.path());
            return Err(failed(io::Error::other(why)));
        }
        Answer::None => {
            // It was killed. If `started` is there, the program may have been executed: then its fate tells the rest, and it is not reaped before
            // it is watched: its end is what makes anybody look.
            match folder.started() {
                Ok(Some(started)) => started,
                Ok(None) => {
                    child.reap();
                    remove(folder.path());
                    return Err(failed(io::Error::other(
                        "it was killed while it was starting",
                    )));
                }
                Err(error) => {
                    child.reap();
                    return Err(failed(io::Error::other(error)));
                }
            }
        }
    };
    if let Some(why) = &started.outside {
        tracing::warn!(process.id = %process, why, "it is not in its cgroup, and has no limits");
    }
    Ok((fate::started(&started), child.handle()))
}

fn spec(request: &StartRequest, open_files: u64) -> Result<Spec, StartError> {
    let arguments: Vec<OsString> = match &request.program {
        Program::Shell(text) => vec!["/bin/sh".into(), "-c".into(), text.into()],
        Program::Arguments(arguments) => arguments.iter().map(OsString::from).collect(),
    };
    if arguments.first().is_none_or(|program| program.is_empty()) {
        return Err(StartError::CannotRun(
            "there is no program to run".to_owned(),
        ));
    }
    let mut environment = environment(request)?;
    environment.push(marker(request.process).into());
    let has_zero = |text: &OsStr| text.as_bytes().contains(&0);
    if arguments
        .iter()
        .chain(&environment)
        .any(|text| has_zero(text))
        || has_zero(request.directory.as_os_str())
    {
        return Err(StartError::CannotRun(
            "an argument, a variable or the directory has a zero byte in it".to_owned(),
        ));
    }
    Ok(Spec {
        process: request.process.number(),
        arguments,
        directory: request.directory.clone(),
        environment,
        input: match request.input {
            Input::Empty => spec::Input::Empty,
            Input::Open => spec::Input::Open,
        },
        terminal: request.terminal.map(|size| spec::TerminalSize {
            rows: size.rows,
            columns: size.columns,
        }),
        wakes: if request.signal_output {
            OutputWakes::Wanted
        } else {
            OutputWakes::Silent
        },
        head: request.keep.head,
        tail: request.keep.tail,
        open_files,
        cgroup: None,
    })
}

/// The entry by which a process's tree is found when its supervisor is gone.
pub(crate) fn marker(process: ProcessId) -> String {
    format!("{MARKER}={process}")
}

fn environment(request: &StartRequest) -> Result<Vec<OsString>, StartError> {
    let own = |name: &str| name == MARKER;
    let given = request.environment.iter().filter(|(name, _)| !own(name));
    given
        .map(
            |(name, value)| match name.is_empty() || name.contains('=') {
                true => Err(StartError::CannotRun(format!(
                    "`{name}` cannot be the name of an environment variable"
                ))),
                false => Ok(format!("{name}={value}").into()),
            },
        )
        .collect()
}

/// Makes the folder under another name and renames it when its lock is held: whoever sees a run folder sees one that somebody looks after, also
/// while it is starting.
fn create(places: &Places, process: ProcessId, spec: &Spec) -> Result<File, StartError> {
    let (folder, new) = (
        places.folder(process),
        places.folder(process).path().with_extension(UNFINISHED),
    );
    let failed = |source| StartError::Supervisor { process, source };
    if folder.path().exists() {
        return Err(StartError::StartedBefore(process));
    }
    match DirBuilder::new().mode(0o700).create(&new) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(StartError::StartedBefore(process));
        }
        Err(source) => return Err(failed(source)),
    }
    let filled = fill(&Folder::new(&new), spec).and_then(|lock| {
        fs::rename(&new, folder.path())?;
        Ok(lock)
    });
    let lock = match filled {
        Ok(lock) => lock,
        Err(error) => {
            remove(&new);
            let before = error.kind() == io::ErrorKind::DirectoryNotEmpty;
            return Err(if before {
                StartError::StartedBefore(process)
            } else {
                failed(error)
            });
        }
    };
    // Before anything is executed, so that after a power cut a program that ran has a folder.
    File::open(&places.run)
        .and_then(|run| run.sync_all())
        .map_err(|error| {
            remove(folder.path());
            failed(error)
        })?;
    Ok(lock)
}

fn fill(new: &Folder, spec: &Spec) -> io::Result<File> {
    let lock = new.create_lock()?;
    make_fifo(&new.file(CONTROL))?;
    if spec.input == spec::Input::Open {
        make_fifo(&new.file(INPUT))?;
    }
    // The names become lasting together with `started`, which the supervisor syncs before it executes anything.
    new.write_unsynced_name(SPEC, &spec.to_text())?;
    Ok(lock)
}

pub(crate) fn make_fifo(path: &Path) -> io::Result<()> {
    Ok(mknodat(
        CWD,
        path,
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )?)
}

/// Nothing ran: the id may be tried again.
fn remove(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::warn!(folder = %folder.display(), %error, "the folder of a process that was not started stays");
    }
}

/// A supervisor that was started and has not answered.
struct Child {
    process: std::process::Child,
    answer: File,
}

enum Answer {
    Started(shim::Started),
    CannotRun(String),
    Failed(String),
    /// It went without one.
    None,
}

fn spawn(places: &Places, folder: &Folder, lock: File) -> io::Result<Child> {
    let (answer, answers) = io::pipe()?;
    let mut command = Command::new(&places.shim);
    command
        .arg(folder.path())
        .env_clear()
        .current_dir("/")
        .stdin(lock)
        .stdout(answers)
        .stderr(Stdio::null());
    let mut tries = 0;
    let process = loop {
        match command.spawn() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES =>
            {
                tries += 1;
                std::thread::sleep(BUSY_PAUSE);
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let why = format!(
                    "{}: {error}; is its file system mounted noexec?",
                    places.shim.display()
                );
                return Err(io::Error::new(error.kind(), why));
            }
            other => break other?,
        }
    };
    // Our copies of the lock and of the pipe's other end go with the command.
    drop(command);
    Ok(Child {
        process,
        answer: File::from(OwnedFd::from(answer)),
    })
}

impl Child {
    fn answer(&mut self) -> Answer {
        let mut text = String::new();
        if let Err(error) = self.answer.read_to_string(&mut text) {
            tracing::warn!(%error, "the answer of a supervisor cannot be read");
        }
        match text.split_once('\n') {
            Some(("started", record)) => {
                shim::Started::parse(record.as_bytes()).map_or(Answer::None, Answer::Started)
            }
            Some(("cannot_run", why)) => Answer::CannotRun(why.to_owned()),
            Some(("failed", why)) => Answer::Failed(why.to_owned()),
            _ => Answer::None,
        }
    }

    fn reap(&mut self) {
        // It has answered that nothing runs, or is gone; either way it ends now.
        let _ = self.process.wait();
    }

    /// It is our child, so its pid is its own until it is reaped.
    fn handle(&self) -> io::Result<OwnedFd> {
        let pid = Pid::from_raw(self.process.id() as i32).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(pidfd_open(pid, PidfdFlags::NONBLOCK)?)
    }
}
