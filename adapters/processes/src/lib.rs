//! Background processes under supervisors of their own: the `Processes` port.
//!
//! A process is a run folder, a supervisor (the shim) in a session of its own, and the program in a process group of its own. The gateway may be
//! killed at any moment: supervisors go on, keep the output and write down the end. What the folder holds is described in `homing_shim`.
//!
//! **Invariants.** What [`Processes::fate`] says is read from the folder. The folder's lock is taken before the supervisor exists and passed on to
//! it as an open file, so "nobody holds it" always means "nobody will start it any more". A process that is declared lost is dead: what is left
//! of its tree is killed first. A pid is only signalled through a pidfd whose start time was compared (OWN-92).
//!
//! **The supervisor is a program of its own**, built by `build.rs`, embedded, and written to `<data>/bin/`. Measured on two
//! cores of x86-64, Linux 6.18, glibc, ext4:
//!
//! | how it is built | file | resident | of that its own |
//! |---|---|---|---|
//! | static, not position-independent (ours) | 1,134 KiB | 1,064–1,096 kB | 88 kB |
//! | static, position-independent | 1,165 KiB | 1,124 kB | 112 kB |
//! | dynamic, release | 347 KiB | 1,972 kB | 156 kB |
//! | dynamic, debug | 5,185 KiB | 2,336 kB | 176 kB |
//!
//! What is not its own is the file in the page cache, shared by all supervisors. A mode of the main binary would be dynamic and position-independent,
//! with far more to relocate than the third row, which so is the least it could take. `start()` takes 4.8 ms (median of 50; the 47th 5.2 ms), most of it
//! two fsyncs of files and two of folders. It is a child of the gateway that started it and is reaped through its pidfd; afterwards it belongs to
//! init, or to a gateway that *is* pid 1 of its container, which reaps it the same way.
//!
//! **The environment** of a program is exactly the one it is given, and one entry more: `HOMING_PROCESS_ID`, by which its tree is found again when
//! its supervisor was killed.
//!
//! **Its tree** is ended as a whole. Where a part of the cgroup v2 hierarchy is delegated to us, each program is born in a cgroup of its own, which
//! nothing it starts can leave by sessions, parents or environments; the supervisor stays outside. Elsewhere it is the group and a sweep. Which of
//! the two, and what can be limited, is a value with a reason ([`Trees`]). It costs no time: making the cgroup takes 0.02 ms, being born in it
//! nothing (measured; moving there would be a wait of up to 10 ms for the kernel).
//!
//! **Absent on purpose:** owners (OWN-20 puts them into the store before `start`), a list of processes in memory that anything would depend on,
//! and unix sockets (their paths have a length limit; FIFOs do not).

mod errors;
mod fate;
mod input;
mod install;
mod limits;
mod start;
mod trees;
mod watch;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::ProcessId;
use homing_ports::Clock;
use homing_ports::processes::{
    Fate, KillOutcome, OutputChunk, ProcessError, ProcessWake, Processes, StartError, StartRequest,
    Started,
};
use homing_shim::control::Command;
use homing_shim::exit;
use homing_shim::folder::{ACK, Folder};
use homing_shim::output;
use tokio::sync::{Semaphore, mpsc};

pub use errors::OpenError;
pub use limits::{OpenFiles, raise_open_files_limit};
pub use trees::{Enforcement, Sources, TreeLimits, Trees, trees, trees_of};

use errors::folder_error;
use input::Inputs;
use trees::Groups;
use watch::Watches;

/// The one variable a program gets that it was not given: its process id's text.
pub const MARKER: &str = "HOMING_PROCESS_ID";

/// How the name of a folder ends that is being made or removed. A process id never has one.
const UNFINISHED: &str = "new";
const GOING: &str = "gone";

/// Starts at the same time. Each holds a thread while the disk works, and leaves as many of the gateway's to everything else.
const STARTS_AT_ONCE: usize = 8;

/// Processes under shims, below one data folder. One per data folder at a time.
pub struct ShimProcesses {
    places: Places,
    clock: Arc<dyn Clock>,
    watches: Watches,
    inputs: Inputs,
    starts: Semaphore,
    open_files_of_programs: u64,
    groups: Arc<Groups>,
}

impl fmt::Debug for ShimProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShimProcesses")
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}

/// Where things lie.
#[derive(Debug, Clone)]
struct Places {
    run: PathBuf,
    shim: PathBuf,
}

impl Places {
    fn folder(&self, process: ProcessId) -> Folder {
        Folder::new(self.run.join(process.to_string()))
    }
}

impl ShimProcesses {
    /// Creates `run/` and `bin/` below `data`, installs the supervisor and begins to listen for wakes. To be called inside a tokio runtime.
    pub fn open(data: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::open_from(data, clock, &Sources::default())
    }

    /// As [`ShimProcesses::open`], where the machine is described elsewhere than in `/proc/self`.
    pub fn open_from(
        data: &Path,
        clock: Arc<dyn Clock>,
        sources: &Sources,
    ) -> Result<Self, OpenError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let data = std::path::absolute(data).map_err(|source| OpenError::Folder {
            path: data.to_owned(),
            source,
        })?;
        let run = data.join("run");
        install::create_private(&run)?;
        install::remove_unfinished(&run);
        let shim = install::install(&data.join("bin"))?;
        let watches = Watches::open(&run, &runtime)?;
        let groups = Arc::new(Groups::open(&run, sources));
        Ok(Self {
            places: Places { run, shim },
            clock,
            watches,
            inputs: Inputs::default(),
            starts: Semaphore::new(STARTS_AT_ONCE),
            open_files_of_programs: 0,
            groups,
        })
    }

    /// The soft limit of open files that programs get, which is best the one from before [`raise_open_files_limit`]: some programs close, or reserve
    /// for, every descriptor up to the limit.
    #[must_use]
    pub fn with_open_files_of_programs(mut self, limit: u64) -> Self {
        self.open_files_of_programs = limit;
        self
    }

    /// What the tree of each process started from now on may use. Ask [`Trees::not_enforced`] whether it is so.
    #[must_use]
    pub fn with_limits(mut self, limits: TreeLimits) -> Self {
        // Nobody else has it yet: copies are made by starts only, and those need what we return.
        if let Some(groups) = Arc::get_mut(&mut self.groups) {
            groups.limit(limits);
        }
        self
    }

    /// How a whole tree is ended here, and what can be limited.
    pub fn trees(&self) -> &Trees {
        self.groups.trees()
    }

    /// Runs what waits for the disk where it may wait.
    async fn on_disk<T: Send + 'static>(
        &self,
        process: ProcessId,
        work: impl FnOnce(Folder) -> Result<T, ProcessError> + Send + 'static,
    ) -> Result<T, ProcessError> {
        let folder = self.places.folder(process);
        let result = tokio::task::spawn_blocking(move || match folder.path().is_dir() {
            true => work(folder),
            false => Err(ProcessError::Unknown(process)),
        });
        result
            .await
            .unwrap_or_else(|stopped| Err(folder_error(process)(io::Error::other(stopped))))
    }

    /// Nobody listens: it has ended meanwhile, or its supervisor lives and cannot be told. Then only its cgroup can be ended from here.
    async fn kill_unheard(&self, process: ProcessId) -> Result<KillOutcome, ProcessError> {
        let now = self.clock.now();
        self.on_disk(process, move |folder| {
            let failed = folder_error(process);
            // Asked before: what is ended here may be recorded as ended a moment later.
            let fate = fate::fate(process, &folder, now).map_err(&failed)?;
            let killed = fate::end_what_nobody_looks_after(process, &folder);
            match fate {
                Fate::Ended(_) | Fate::NeverRan(_) => Ok(KillOutcome::AlreadyEnded),
                Fate::Running(_) if killed => Ok(KillOutcome::Asked),
                Fate::Running(_) => Err(failed(io::Error::new(
                    io::ErrorKind::NotConnected,
                    "its supervisor lives and does not listen to commands",
                ))),
            }
        })
        .await
    }

    async fn command(
        &self,
        process: ProcessId,
        command: Command,
    ) -> Result<input::Delivered, ProcessError> {
        input::command(&self.places.folder(process), command)
            .await
            .map_err(folder_error(process))
    }
}

#[async_trait]
impl Processes for ShimProcesses {
    async fn start(&self, request: StartRequest) -> Result<Started, StartError> {
        let process = request.process;
        let failed = |source| StartError::Supervisor { process, source };
        let _permit = self
            .starts
            .acquire()
            .await
            .map_err(|closed| failed(io::Error::other(closed)))?;
        let (places, open_files, watches, groups) = (
            self.places.clone(),
            self.open_files_of_programs,
            self.watches.clone(),
            self.groups.clone(),
        );
        // A caller that gives up must not leave a supervisor unwatched, so that is done where it was started.
        let work = move || {
            let (started, supervisor) = start::start(&places, &groups, &request, open_files)?;
            watches.watch(process, supervisor);
            Ok(started)
        };
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|stopped| Err(failed(io::Error::other(stopped))))
    }

    async fn fate(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        let now = self.clock.now();
        self.on_disk(process, move |folder| {
            fate::fate(process, &folder, now).map_err(folder_error(process))
        })
        .await
    }

    async fn adopt(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        // Watched before it is looked at: an end in between is then seen by one of the two.
        let watches = self.watches.clone();
        self.on_disk(process, move |folder| {
            // A damaged record is the fate's to report.
            let Ok(Some(started)) = folder.started() else {
                return Ok(());
            };
            watches.watch_identity(process, started.supervisor);
            Ok(())
        })
        .await?;
        self.fate(process).await
    }

    async fn output(
        &self,
        process: ProcessId,
        from: u64,
        limit: usize,
    ) -> Result<OutputChunk, ProcessError> {
        self.on_disk(process, move |folder| {
            output::read(&folder, from, limit)
                .map(|chunk| with_recorded_total(&folder, chunk))
                .map_err(folder_error(process))
        })
        .await
    }

    async fn tail(&self, process: ProcessId, limit: usize) -> Result<OutputChunk, ProcessError> {
        self.on_disk(process, move |folder| {
            output::tail(&folder, limit)
                .map(|chunk| with_recorded_total(&folder, chunk))
                .map_err(folder_error(process))
        })
        .await
    }

    async fn kill(&self, process: ProcessId, grace: Duration) -> Result<KillOutcome, ProcessError> {
        let fate = self.fate(process).await?;
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        // Also for an ended one: its supervisor may still look after what the program left behind.
        let delivered = self.command(process, Command::Kill { grace_ms }).await?;
        match (fate, delivered) {
            (Fate::Running(_), input::Delivered::Yes) => Ok(KillOutcome::Asked),
            (_, input::Delivered::Yes) => Ok(KillOutcome::AlreadyEnded),
            (_, input::Delivered::NobodyThere) => self.kill_unheard(process).await,
        }
    }

    async fn write(&self, process: ProcessId, bytes: &[u8]) -> Result<(), ProcessError> {
        let Fate::Running(_) = self.fate(process).await? else {
            return Err(ProcessError::Ended(process));
        };
        let folder = self.places.folder(process);
        match self.inputs.write(process, &folder, bytes).await {
            // Closed by the program, or closed because it ended?
            Err(ProcessError::Folder { source, .. })
                if source.kind() == io::ErrorKind::BrokenPipe =>
            {
                match self.fate(process).await? {
                    Fate::Running(_) => Err(folder_error(process)(source)),
                    Fate::Ended(_) | Fate::NeverRan(_) => Err(ProcessError::Ended(process)),
                }
            }
            other => other,
        }
    }

    async fn close_input(&self, process: ProcessId) -> Result<(), ProcessError> {
        let Fate::Running(_) = self.fate(process).await? else {
            return Err(ProcessError::Ended(process));
        };
        self.inputs
            .expect_open(process, &self.places.folder(process))
            .await?;
        match self.command(process, Command::CloseInput).await? {
            input::Delivered::Yes => Ok(()),
            input::Delivered::NobodyThere => Err(ProcessError::Ended(process)),
        }
    }

    async fn acknowledge(&self, process: ProcessId) -> Result<(), ProcessError> {
        let now = self.clock.now();
        let write = move |folder: Folder| {
            folder
                .write(ACK, &exit::acknowledgement(now.millis()))
                .map_err(folder_error(process))
        };
        self.on_disk(process, write).await
    }

    async fn forget(&self, process: ProcessId) -> Result<(), ProcessError> {
        let now = self.clock.now();
        self.on_disk(process, move |folder| fate::forget(process, &folder, now))
            .await?;
        self.inputs.forget(process);
        Ok(())
    }

    fn wakes(&self) -> Option<mpsc::UnboundedReceiver<ProcessWake>> {
        self.watches.take_wakes()
    }
}

/// A full disk can refuse the last bytes; the exit record knows that there were some.
fn with_recorded_total(folder: &Folder, chunk: output::Chunk) -> OutputChunk {
    let recorded = folder
        .exit()
        .ok()
        .flatten()
        .map_or(0, |exit| exit.output_total);
    OutputChunk {
        from: chunk.from,
        bytes: chunk.bytes,
        total: chunk.total.max(recorded),
    }
}
