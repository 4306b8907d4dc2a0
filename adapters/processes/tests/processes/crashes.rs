//! A supervisor killed at any moment of its start leaves a fate that is true.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use homing_domain::ids::ProcessId;
use homing_ports::processes::{Fate, ProcessError, Processes};
use homing_shim::machine;

use crate::bench::{Bench, tree};

/// Kills in steps of 50 microseconds over the whole time a start takes, and beyond.
const KILLS: u32 = 120;
const STEP: Duration = Duration::from_micros(50);

#[tokio::test]
async fn whatever_ran_is_never_said_not_to_have_run() {
    let bench = Bench::new();
    let gateway = bench.gateway();
    let mut told = [0; 3];
    for number in 0..KILLS {
        let mut request = bench.shell("echo > \"$RAN\"; exec sleep 1000");
        let process = request.process;
        let ran = bench.data.path().join(format!("ran-{process}"));
        request
            .environment
            .push(("RAN".into(), ran.to_str().unwrap().into()));
        let killer = kill_later(bench.path(process), process, STEP * number);
        let started = gateway.start(request).await;
        killer.stop();

        let fate = gateway.processes.fate(process).await;
        let did_not = match (&started, &fate) {
            (Ok(_), Ok(Fate::Ended(_))) => 0,
            (Ok(_), Ok(Fate::Running(_))) => 1,
            (Err(_), Ok(Fate::NeverRan(_)) | Err(ProcessError::Unknown(_))) => 2,
            other => panic!("{other:?}"),
        };
        told[did_not] += 1;
        if did_not == 2 {
            assert!(!ran.exists(), "it ran, and {started:?}, {fate:?}");
        }
        if did_not == 1 {
            let _ = gateway
                .processes
                .kill(process, Duration::ZERO)
                .await
                .unwrap();
        } else {
            assert_eq!(tree(process), [], "{fate:?}, and still at work");
        }
    }
    println!(
        "of {KILLS} supervisors: {} lost, {} still ran, {} never ran",
        told[0], told[1], told[2]
    );
}

struct Killer {
    give_up: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Killer {
    fn stop(self) {
        self.give_up.store(true, Ordering::Release);
        self.thread.join().unwrap();
    }
}

/// Waits for the supervisor of `process`, then so long, then kills it.
fn kill_later(folder: std::path::PathBuf, process: ProcessId, delay: Duration) -> Killer {
    let give_up = Arc::new(AtomicBool::new(false));
    let thread = std::thread::spawn({
        let give_up = give_up.clone();
        move || {
            while !give_up.load(Ordering::Acquire) {
                let found = folder.exists().then(|| supervisor_of(process)).flatten();
                if let Some(supervisor) = found {
                    let moment = Instant::now() + delay;
                    while Instant::now() < moment {
                        std::hint::spin_loop();
                    }
                    let _ = machine::signal(supervisor, 9);
                    while machine::lives(supervisor) {}
                    return;
                }
            }
        }
    });
    Killer { give_up, thread }
}

/// By its command line; newest first, since pids grow. Its child has the same one until it is the program, and is hit sometimes: that is another
/// moment in which a start can be cut off.
fn supervisor_of(process: ProcessId) -> Option<machine::Identity> {
    let mut pids: Vec<i32> = std::fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable_by(|a, b| b.cmp(a));
    let name = process.to_string();
    let is_it = |pid: &i32| {
        let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"))
            .unwrap_or_default();
        String::from_utf8_lossy(&line)
            .trim_end_matches('\0')
            .ends_with(&name)
    };
    pids.into_iter()
        .take(40)
        .find(is_it)
        .and_then(machine::identity)
}
