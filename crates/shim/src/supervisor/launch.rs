//! From a spec to a running program.
//!
//! The order carries the weight: fork (into the program's cgroup, if it has one) → the child waits at a gate → `started` on disk → the gate opens →
//! execve. A supervisor that dies anywhere before the gate opens leaves a child that sees the gate fall and leaves without having executed anything.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use homing_shim::cgroup::{Cgroup, PROCS};
use homing_shim::exit::{Ending, Exit};
use homing_shim::folder::{CONTROL, EXIT, Folder, INPUT, STARTED};
use homing_shim::machine;
use homing_shim::spec::{Input, Spec};
use homing_shim::started::Started;

use super::sys::{self, Fork};

/// Where a program without a slash is looked up if its environment has no `PATH`.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// What the gateway is told, once.
#[derive(Debug)]
pub enum Answer {
    /// With the record, so that nobody has to read it back.
    Started(Started),
    CannotRun(String),
    Failed(String),
}

/// The pipe for it.
#[derive(Debug)]
pub struct AnswerPipe(File);

impl AnswerPipe {
    pub fn give(mut self, answer: &Answer) -> io::Result<()> {
        let text = match answer {
            Answer::Started(started) => format!("started\n{}", started.to_text()),
            Answer::CannotRun(why) => format!("cannot_run\n{why}"),
            Answer::Failed(why) => format!("failed\n{why}"),
        };
        self.0.write_all(text.as_bytes())
    }
}

/// Takes what the gateway passed on, and leaves the gateway's session.
pub fn take_over() -> io::Result<(OwnedFd, AnswerPipe)> {
    sys::close_inherited();
    let lock = sys::move_up(0)?;
    let answer = sys::move_up(1)?;
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    for standard in 0..3 {
        sys::become_standard(null.as_fd(), standard)?;
    }
    sys::detach()?;
    Ok((lock, AnswerPipe(sys::file(answer))))
}

#[derive(Debug)]
pub enum Launched {
    Running(Box<Program>),
    CannotRun(String),
}

/// A running program and our ends of everything it is connected to.
#[derive(Debug)]
pub struct Program {
    pub started: Started,
    pub spec: Spec,
    pub folder: Folder,
    pub pid: i32,
    pub children: OwnedFd,
    pub control: File,
    pub output: File,
    pub input: OpenInput,
}

/// Our part in its standard input.
#[derive(Debug)]
pub enum OpenInput {
    Closed,
    /// The program reads the FIFO itself; this end keeps it from seeing an end too early.
    Direct {
        _keeper: File,
    },
    /// We type what is in the FIFO into the terminal.
    Typed {
        keeper: Option<File>,
        source: File,
    },
}

/// The program's ends.
struct Ends {
    input: File,
    output: OwnedFd,
    terminal: bool,
}

pub fn launch(path: &OsStr) -> io::Result<Launched> {
    std::env::set_current_dir(path)?;
    let folder = Folder::new(".");
    let spec = folder
        .spec()
        .map_err(io::Error::other)?
        .ok_or_else(|| io::Error::other("there is no spec"))?;
    let children = sys::prepare_signals()?;
    let control = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(CONTROL)?;
    let (output, ends, input) = connect(&spec)?;
    let command = Command::prepare(&spec)?;

    let (gate, opener) = sys::pipe()?;
    let (failure, reporter) = sys::pipe()?;
    let birth = give_birth(spec.cgroup.as_deref())?;
    let child = match birth.fork {
        Fork::Child => {
            drop(opener);
            command.run(sys::file(gate), sys::file(reporter), ends);
        }
        Fork::Parent { child } => child,
    };
    drop((gate, reporter, ends));
    let started = record_start(&folder, child, birth.outside)?;
    sys::file(opener).write_all(b"!")?;

    let mut why = String::new();
    sys::file(failure).read_to_string(&mut why)?;
    if why.is_empty() {
        return Ok(Launched::Running(Box::new(Program {
            started,
            spec,
            folder,
            pid: child,
            children,
            control,
            output,
            input,
        })));
    }
    let exit = Exit {
        ending: Ending::NotRun(why.clone()),
        at: sys::now(),
        output_total: 0,
        left: 0,
    };
    folder.write(EXIT, &exit.to_text())?;
    Ok(Launched::CannotRun(why))
}

/// A child, and why it is not where it should be.
struct Birth {
    fork: Fork,
    outside: Option<String>,
}

/// Forks into the program's cgroup. Where the kernel is older, or clone3 forbidden, the child is moved there while it waits at its gate. A program
/// outside is still a program: the sweep ends its tree, and the record says why.
fn give_birth(cgroup: Option<&Path>) -> io::Result<Birth> {
    let Some(cgroup) = cgroup.map(Cgroup::new) else {
        return Ok(Birth {
            fork: sys::fork()?,
            outside: None,
        });
    };
    let born_inside = cgroup
        .open()
        .and_then(|directory| sys::fork_into(directory.as_fd()));
    if let Ok(fork) = born_inside {
        return Ok(Birth {
            fork,
            outside: None,
        });
    }
    let fork = sys::fork()?;
    let outside = match fork {
        Fork::Child => None,
        Fork::Parent { child } => cgroup
            .set(PROCS, &child.to_string())
            .err()
            .map(|error| format!("{}: {}", cgroup.path().display(), plain(&error))),
    };
    Ok(Birth { fork, outside })
}

fn record_start(folder: &Folder, child: i32, outside: Option<String>) -> io::Result<Started> {
    let identity = |pid| {
        machine::identity(pid)
            .ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat cannot be read")))
    };
    let started = Started {
        supervisor: identity(std::process::id() as i32)?,
        program: identity(child)?,
        boot: machine::boot_id()?,
        at: sys::now(),
        outside,
    };
    folder.write(STARTED, &started.to_text())?;
    Ok(started)
}

fn connect(spec: &Spec) -> io::Result<(File, Ends, OpenInput)> {
    let (ours, theirs) = match spec.terminal {
        Some(size) => sys::open_terminal(size)?,
        None => sys::pipe()?,
    };
    sys::set_nonblocking(ours.as_fd())?;
    let (input, kept) = match (spec.input, spec.terminal) {
        (Input::Empty, _) => (File::open("/dev/null")?, OpenInput::Closed),
        (Input::Open, None) => {
            let (source, keeper) = open_input()?;
            (source, OpenInput::Direct { _keeper: keeper })
        }
        (Input::Open, Some(_)) => {
            let (source, keeper) = open_input()?;
            sys::set_nonblocking(source.as_fd())?;
            (
                sys::file(theirs.try_clone()?),
                OpenInput::Typed {
                    keeper: Some(keeper),
                    source,
                },
            )
        }
    };
    Ok((
        sys::file(ours),
        Ends {
            input,
            output: theirs,
            terminal: spec.terminal.is_some(),
        },
        kept,
    ))
}

/// The reading end for the program and a writing end to keep. Opened for both at first, since each alone would wait for the other.
fn open_input() -> io::Result<(File, File)> {
    let both = OpenOptions::new().read(true).write(true).open(INPUT)?;
    let source = OpenOptions::new().read(true).open(INPUT)?;
    let keeper = OpenOptions::new().write(true).open(INPUT)?;
    drop(both);
    Ok((source, keeper))
}

/// Everything the child needs, made before the fork.
struct Command {
    directory: CString,
    paths: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    open_files: u64,
}

impl Command {
    fn prepare(spec: &Spec) -> io::Result<Self> {
        let program = spec
            .arguments
            .first()
            .ok_or_else(|| io::Error::other("there is no program"))?;
        Ok(Self {
            directory: c_string(spec.directory.as_os_str().as_bytes())?,
            paths: candidates(program, &spec.environment)?,
            arguments: spec
                .arguments
                .iter()
                .map(|one| c_string(one.as_bytes()))
                .collect::<io::Result<_>>()?,
            environment: spec
                .environment
                .iter()
                .map(|one| c_string(one.as_bytes()))
                .collect::<io::Result<_>>()?,
            open_files: spec.open_files,
        })
    }

    /// The child's life until it is the program.
    fn run(&self, mut gate: File, mut reporter: File, ends: Ends) -> ! {
        let why = match self.become_program(&mut gate, ends) {
            Ok(never) => match never {},
            Err(why) => why,
        };
        let _ = reporter.write_all(why.as_bytes());
        sys::leave();
    }

    fn become_program(
        &self,
        gate: &mut File,
        ends: Ends,
    ) -> Result<std::convert::Infallible, String> {
        let failed =
            |what: &'static str| move |error: io::Error| format!("{what}: {}", plain(&error));
        match ends.terminal {
            true => sys::new_session()
                .and_then(|()| sys::take_controlling_terminal(ends.output.as_fd()))
                .map_err(failed("its terminal"))?,
            false => sys::own_group(0).map_err(failed("its process group"))?,
        }
        for (source, target) in [
            (ends.input.as_fd(), 0),
            (ends.output.as_fd(), 1),
            (ends.output.as_fd(), 2),
        ] {
            sys::become_standard(source, target)
                .map_err(failed("its standard input and output"))?;
        }
        // The gate fell: the supervisor is gone, and `started` may not be on disk. Nothing may be executed.
        gate.read_exact(&mut [0])
            .map_err(failed("its supervisor"))?;

        let directory = OsStr::from_bytes(self.directory.as_bytes());
        std::env::set_current_dir(directory)
            .map_err(|error| format!("the directory {}: {}", directory.display(), plain(&error)))?;
        if self.open_files > 0 {
            sys::set_open_files(self.open_files).map_err(failed("its limit of open files"))?;
        }
        sys::restore_signals();
        Err(self.execute())
    }

    /// As `execvp` does: the first candidate that can be executed; "no permission" outweighs "not there".
    fn execute(&self) -> String {
        let mut worst = io::Error::from_raw_os_error(libc::ENOENT);
        for path in &self.paths {
            let error = sys::execute(path, &self.arguments, &self.environment);
            match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) => {}
                Some(libc::EACCES) => worst = error,
                _ => {
                    worst = error;
                    break;
                }
            }
        }
        let program = self
            .arguments
            .first()
            .map(|one| one.to_string_lossy())
            .unwrap_or_default();
        format!("the program {program}: {}", plain(&worst))
    }
}

/// The system's sentence without std's ` (os error 2)`.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((sentence, _)) => sentence.to_owned(),
        None => text,
    }
}

fn candidates(program: &OsString, environment: &[OsString]) -> io::Result<Vec<CString>> {
    let program = program.as_bytes();
    if program.contains(&b'/') {
        return Ok(vec![c_string(program)?]);
    }
    let path = environment
        .iter()
        .find_map(|pair| pair.as_bytes().strip_prefix(b"PATH="))
        .unwrap_or(DEFAULT_PATH);
    let joined = path
        .split(|byte| *byte == b':')
        .map(|directory| match directory {
            // An empty entry is the working directory, as everywhere.
            b"" => [b"./", program].concat(),
            _ => [directory, b"/", program].concat(),
        });
    joined.map(|path| c_string(&path)).collect()
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::Error::other("the spec has a zero byte in a text"))
}
