//! Run folders that an earlier version has left are read by this one: an upgrade takes over what runs (OWN-90).

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

use homing_domain::ids::ProcessId;
use homing_domain::process::{Ending, LostReason};
use homing_ports::SystemClock;
use homing_ports::processes::{Fate, ProcessError, Processes};
use homing_processes::ShimProcesses;
use homing_shim::machine::{self, Identity};
use tempfile::TempDir;

const ENDED: &str = "prc_070k8zaqmjncw";
const LIVING: &str = "prc_070k8zaqmjncx";

/// The folders of a format, copied to where a gateway finds them.
struct Found {
    data: TempDir,
    processes: ShimProcesses,
}

impl Found {
    fn new() -> Found {
        let data = TempDir::new().unwrap();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/run-format-1");
        for process in [ENDED, LIVING] {
            let folder = data.path().join("run").join(process);
            fs::create_dir_all(&folder).unwrap();
            for file in fs::read_dir(fixture.join(process)).unwrap() {
                let file = file.unwrap();
                fs::copy(file.path(), folder.join(file.file_name())).unwrap();
            }
        }
        let processes = ShimProcesses::open(data.path(), Arc::new(SystemClock)).unwrap();
        Found { data, processes }
    }

    fn living(&self) -> PathBuf {
        self.data.path().join("run").join(LIVING)
    }

    /// Says who supervises and runs it, in which boot.
    fn fill_in(&self, who: Identity, boot: &str) {
        let path = self.living().join("started");
        let identity = format!("{} {}", who.pid, who.start_time);
        let text = fs::read_to_string(&path).unwrap();
        let filled = text
            .replace("@SUPERVISOR@", &identity)
            .replace("@PROGRAM@", &identity)
            .replace("@BOOT@", boot);
        fs::write(path, filled).unwrap();
    }

    async fn fate(&self, process: &str) -> Fate {
        self.processes.adopt(id(process)).await.unwrap()
    }
}

fn id(process: &str) -> ProcessId {
    process.parse().unwrap()
}

/// Stands for a supervisor and its program.
struct Somebody(Child);

impl Somebody {
    fn new() -> Somebody {
        Somebody(Command::new("sleep").arg("60").spawn().unwrap())
    }

    fn identity(&self) -> Identity {
        machine::identity(i32::try_from(self.0.id()).unwrap()).unwrap()
    }
}

impl Drop for Somebody {
    fn drop(&mut self) {
        // It may have been ended as what is left of a lost process.
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

#[tokio::test]
async fn an_end_is_read_with_its_code_and_its_output() {
    let found = Found::new();
    let Fate::Ended(record) = found.fate(ENDED).await else {
        panic!("it has ended");
    };
    assert_eq!(record.ending, Ending::Code(2));
    assert_eq!(record.ended_at.millis(), 1_795_980_879_554);
    assert_eq!(record.output_total, 12);
    let tail = found.processes.tail(id(ENDED), 100).await.unwrap();
    assert_eq!(tail.bytes, b"output w1 0\n");
    let command = homing_shim::folder::Folder::new(found.data.path().join("run").join(ENDED));
    let spec = command.spec().unwrap().unwrap();
    assert_eq!(spec.process, id(ENDED).number());
    assert_eq!(spec.arguments[0], "/bin/sh");
    assert_eq!(spec.environment.len(), 11);
}

#[tokio::test]
async fn what_runs_is_taken_over_and_its_output_is_read() {
    let (found, somebody) = (Found::new(), Somebody::new());
    found.fill_in(somebody.identity(), &machine::boot_id().unwrap());
    let lock = File::options()
        .read(true)
        .write(true)
        .open(found.living().join("lock"))
        .unwrap();
    lock.try_lock().unwrap();
    let Fate::Running(started) = found.fate(LIVING).await else {
        panic!("it runs");
    };
    assert_eq!(started.supervisor.pid, somebody.identity().pid);
    let output = found.processes.output(id(LIVING), 0, 100).await.unwrap();
    assert_eq!(output.bytes, b"so far\n");
    assert!(matches!(
        found.processes.forget(id(LIVING)).await,
        Err(ProcessError::Running(_))
    ));
}

#[tokio::test]
async fn what_nobody_supervises_any_more_is_lost_and_ended() {
    let (found, somebody) = (Found::new(), Somebody::new());
    let identity = somebody.identity();
    found.fill_in(identity, &machine::boot_id().unwrap());
    let Fate::Ended(record) = found.fate(LIVING).await else {
        panic!("it is lost");
    };
    assert_eq!(record.ending, Ending::Lost(LostReason::SupervisorGone));
    assert!(!machine::lives(identity));
}

#[tokio::test]
async fn what_ran_in_another_boot_is_lost_and_nobody_is_signalled() {
    let (found, mut somebody) = (Found::new(), Somebody::new());
    found.fill_in(somebody.identity(), "00000000-0000-0000-0000-000000000000");
    let Fate::Ended(record) = found.fate(LIVING).await else {
        panic!("it is lost");
    };
    assert_eq!(record.ending, Ending::Lost(LostReason::MachineRestarted));
    assert!(somebody.0.try_wait().unwrap().is_none());
}
