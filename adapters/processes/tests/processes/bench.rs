//! One data folder, and gateways that come and go over it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use homing_domain::ids::ProcessId;
use homing_domain::process::Ending;
use homing_ports::processes::{
    ExitRecord, Fate, Input, OutputKeep, ProcessWake, Processes, Program, StartError, StartRequest,
    Started,
};
use homing_ports::{IdSource, SystemClock};
use homing_processes::{ShimProcesses, Sources};
use homing_shim::folder::Folder;
use homing_shim::machine;
use tokio::sync::mpsc::UnboundedReceiver;

/// How long anything may take before the test says that it does not happen.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Bench {
    pub data: tempfile::TempDir,
    ids: IdSource,
    sources: Sources,
}

pub struct Gateway {
    pub processes: ShimProcesses,
    pub wakes: UnboundedReceiver<ProcessWake>,
    seen: Vec<ProcessWake>,
}

impl Bench {
    /// With cgroups if this machine has them for us.
    pub fn new() -> Self {
        Self::on(Sources::default())
    }

    /// Without cgroups, wherever it runs.
    pub fn sweeping() -> Self {
        Self::on(Sources {
            mounts: "/nowhere".into(),
            own: "/nowhere".into(),
        })
    }

    pub fn on(sources: Sources) -> Self {
        Self {
            data: tempfile::tempdir().unwrap(),
            ids: IdSource::new(Arc::new(SystemClock)),
            sources,
        }
    }

    pub fn gateway(&self) -> Gateway {
        let processes = self.open();
        let wakes = processes.wakes().unwrap();
        Gateway {
            processes,
            wakes,
            seen: Vec::new(),
        }
    }

    pub fn open(&self) -> ShimProcesses {
        let clock = Arc::new(SystemClock);
        ShimProcesses::open_from(self.data.path(), clock, &self.sources).unwrap()
    }

    pub fn id(&self) -> ProcessId {
        self.ids.next()
    }

    pub fn shell(&self, text: &str) -> StartRequest {
        self.request(Program::Shell(text.to_owned()))
    }

    pub fn request(&self, program: Program) -> StartRequest {
        StartRequest {
            process: self.id(),
            program,
            directory: self.data.path().to_owned(),
            environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
            input: Input::Empty,
            terminal: None,
            signal_output: false,
            keep: OutputKeep::default(),
        }
    }

    pub fn folder(&self, process: ProcessId) -> Folder {
        Folder::new(self.path(process))
    }

    pub fn path(&self, process: ProcessId) -> PathBuf {
        self.data.path().join("run").join(process.to_string())
    }
}

impl Drop for Bench {
    /// A test that fails half-way must not leave anything running.
    fn drop(&mut self) {
        for entry in std::fs::read_dir(self.data.path().join("run"))
            .unwrap()
            .flatten()
        {
            let entry_of = format!(
                "{}={}",
                homing_processes::MARKER,
                entry.file_name().to_string_lossy()
            );
            for one in machine::carriers(&entry_of) {
                let _ = machine::signal(one, 9);
            }
        }
    }
}

impl Gateway {
    pub async fn start(&self, request: StartRequest) -> Result<Started, StartError> {
        self.processes.start(request).await
    }

    /// Starts it and waits for its end.
    pub async fn run(&mut self, request: StartRequest) -> ExitRecord {
        let process = request.process;
        self.start(request).await.unwrap();
        self.ended(process).await
    }

    /// Waits for a wake; wakes that come before it are remembered for later calls.
    pub async fn wake(&mut self, wanted: ProcessWake) {
        if let Some(index) = self.seen.iter().position(|seen| *seen == wanted) {
            self.seen.remove(index);
            return;
        }
        let wait = async {
            loop {
                match self.wakes.recv().await.unwrap() {
                    wake if wake == wanted => return,
                    other => self.seen.push(other),
                }
            }
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .unwrap_or_else(|_| panic!("{wanted:?} does not come"));
    }

    pub async fn ended(&mut self, process: ProcessId) -> ExitRecord {
        self.wake(ProcessWake::Ended(process)).await;
        match self.processes.fate(process).await.unwrap() {
            Fate::Ended(exit) => exit,
            other => panic!("it is {other:?}"),
        }
    }

    /// Waits until its output has `wanted` in it; it must be started with `signal_output`.
    pub async fn says(&mut self, process: ProcessId, wanted: &str) -> String {
        loop {
            let text = self.text(process).await;
            if text.contains(wanted) {
                return text;
            }
            self.wake(ProcessWake::Output(process)).await;
        }
    }

    pub async fn text(&self, process: ProcessId) -> String {
        String::from_utf8(self.bytes(process).await).unwrap()
    }

    /// Everything kept, from the first byte on.
    pub async fn bytes(&self, process: ProcessId) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let chunk = self
                .processes
                .output(process, bytes.len() as u64, 1 << 20)
                .await
                .unwrap();
            if chunk.bytes.is_empty() {
                return bytes;
            }
            bytes.extend(chunk.bytes);
        }
    }
}

pub fn code(code: i32) -> Ending {
    Ending::Code(code)
}

/// Waits for a state of the machine that nobody signals.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < give_up, "{what}");
        tokio::task::yield_now().await;
    }
}

/// Everything that carries the process's marker.
pub fn tree(process: ProcessId) -> Vec<machine::Identity> {
    machine::carriers(&format!("{}={process}", homing_processes::MARKER))
}
