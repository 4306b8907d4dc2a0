//! Wakes: what supervisors say through the FIFO, and the end of each supervisor as its pidfd shows it.
//!
//! **Invariant:** for every watched process at least one `Ended` comes, also if its supervisor is killed and can say nothing. One that was told
//! by the FIFO is not told again by the pidfd.
//! **Absent on purpose:** facts. Nothing here is remembered that a later look at the folder would not show; a full or lost FIFO costs time only.
#![expect(
    unsafe_code,
    reason = "tokio's way to wait for a descriptor asks for a promise that only its owner can give"
)]

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::ids::ProcessId;
use homing_ports::processes::ProcessWake;
use homing_shim::folder::WAKE;
use homing_shim::machine;
use homing_shim::wake::{LENGTH, Wake, WakeKind};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::io::AsyncReadExt;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::errors::OpenError;
use crate::start::make_fifo;

/// Listens until the last copy is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Watches {
    shared: Arc<Shared>,
    _listener: Arc<Listener>,
}

#[derive(Debug)]
struct Shared {
    runtime: Handle,
    watched: Mutex<HashMap<ProcessId, Watch>>,
    wakes: mpsc::UnboundedSender<ProcessWake>,
    receiver: Mutex<Option<mpsc::UnboundedReceiver<ProcessWake>>>,
}

#[derive(Debug)]
struct Watch {
    /// The FIFO has told its end.
    told: bool,
    task: AbortHandle,
}

/// Ends every task of ours with it. The tasks hold [`Shared`], never this.
#[derive(Debug)]
struct Listener {
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
        self.shared
            .watched()
            .values()
            .for_each(|watch| watch.task.abort());
    }
}

impl Shared {
    fn watched(&self) -> MutexGuard<'_, HashMap<ProcessId, Watch>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, wake: ProcessWake) {
        // Nobody listens: then nobody waits either, and the folder keeps the facts.
        let _ = self.wakes.send(wake);
    }

    /// The FIFO says that it has ended.
    fn hear_end(&self, process: ProcessId) {
        if let Some(watch) = self.watched().get_mut(&process) {
            watch.told = true;
        }
        self.send(ProcessWake::Ended(process));
    }

    /// Its pidfd shows that its supervisor is gone.
    fn see_end(&self, process: ProcessId) {
        let told = self
            .watched()
            .remove(&process)
            .is_some_and(|watch| watch.told);
        if !told {
            self.send(ProcessWake::Ended(process));
        }
    }
}

impl Watches {
    pub(crate) fn open(run: &Path, runtime: &Handle) -> Result<Self, OpenError> {
        let path = run.join(WAKE);
        let failed = |source| OpenError::Wake {
            path: path.clone(),
            source,
        };
        match make_fifo(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            _ => {}
        }
        // For both, so that it does not end whenever the last supervisor closes it.
        let fifo = pipe::OpenOptions::new()
            .read_write(true)
            .open_receiver(&path)
            .map_err(failed)?;
        let (wakes, receiver) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            runtime: runtime.clone(),
            watched: Mutex::default(),
            wakes,
            receiver: Mutex::new(Some(receiver)),
        });
        let task = runtime.spawn(listen(fifo, shared.clone())).abort_handle();
        Ok(Self {
            _listener: Arc::new(Listener {
                shared: shared.clone(),
                task,
            }),
            shared,
        })
    }

    pub(crate) fn take_wakes(&self) -> Option<mpsc::UnboundedReceiver<ProcessWake>> {
        self.shared
            .receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Watches a supervisor of an earlier gateway. One that is gone already is not worth a wake: who asks for this looks next.
    pub(crate) fn watch_identity(&self, process: ProcessId, supervisor: machine::Identity) {
        if self.shared.watched().contains_key(&process) {
            return;
        }
        match machine::open(supervisor) {
            Ok(None) => {}
            Ok(Some(handle)) => self.watch(process, Ok(handle)),
            Err(error) => self.watch(process, Err(error)),
        }
    }

    /// Watches a supervisor by its pidfd. Without one, there still is the wake it sends itself.
    pub(crate) fn watch(&self, process: ProcessId, supervisor: io::Result<OwnedFd>) {
        let _runtime = self.shared.runtime.enter();
        match supervisor.and_then(register) {
            Ok(handle) => {
                // Held over the spawn, so that a supervisor that is gone already finds its entry.
                let mut watched = self.shared.watched();
                let task = self
                    .shared
                    .runtime
                    .spawn(see(process, handle, self.shared.clone()))
                    .abort_handle();
                watched.insert(process, Watch { told: false, task });
            }
            Err(error) => {
                tracing::warn!(process.id = %process, %error, "a supervisor is not watched; should it be killed, that is found later")
            }
        }
    }
}

fn register(supervisor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` keeps its descriptor open, and the same, until it is dropped; nothing here takes it out of the `AsyncFd`.
    let registered = unsafe { AsyncFd::register_with_interest(supervisor, Interest::READABLE) };
    registered.map_err(io::Error::from)
}

async fn see(process: ProcessId, supervisor: AsyncFd<OwnedFd>, shared: Arc<Shared>) {
    if let Err(error) = supervisor.readable().await {
        // The runtime is ending.
        tracing::debug!(process.id = %process, %error, "a supervisor is not watched any more");
        return;
    }
    reap(&supervisor);
    shared.see_end(process);
}

/// If it is our child (or we are the init of a container), it stays a zombie until this. Anybody else's child is an ignored error.
fn reap(supervisor: &AsyncFd<OwnedFd>) {
    let _ = waitid(
        WaitId::PidFd(supervisor.get_ref().as_fd()),
        WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
    );
}

async fn listen(mut fifo: pipe::Receiver, shared: Arc<Shared>) {
    let mut bytes = [0; LENGTH];
    loop {
        if let Err(error) = fifo.read_exact(&mut bytes).await {
            tracing::error!(%error, "the wake FIFO cannot be read; only ends are seen from here on");
            return;
        }
        match Wake::parse(&bytes) {
            Some(Wake {
                process,
                kind: WakeKind::Output,
            }) => shared.send(ProcessWake::Output(ProcessId::from_number(process))),
            Some(Wake {
                process,
                kind: WakeKind::Ended,
            }) => shared.hear_end(ProcessId::from_number(process)),
            None => tracing::warn!("something that is no wake is in the wake FIFO"),
        }
    }
}
