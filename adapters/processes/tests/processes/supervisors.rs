//! The supervisor itself: small, alone, and gone when it is done.

use std::time::{Duration, Instant};

use homing_domain::ids::ProcessId;
use homing_ports::processes::{Processes, Started};

use crate::bench::{Bench, until};

#[tokio::test]
async fn it_is_small_also_after_much_output() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.shell("seq 1 500000; echo done; exec sleep 1000");
    request.signal_output = true;
    let process = request.process;
    let started = gateway.start(request).await.unwrap();
    let begin = resident(&started);
    // Not by text: there is much of it.
    while !gateway
        .processes
        .tail(process, 5)
        .await
        .unwrap()
        .bytes
        .ends_with(b"done\n")
    {
        gateway
            .wake(homing_ports::processes::ProcessWake::Output(process))
            .await;
    }
    let after = resident(&started);
    println!("supervisor: {begin} kB at the start, {after} kB after 3.4 MB of output");
    assert!(after < 1_500, "{after} kB");
    end(&mut gateway, process).await;
}

#[tokio::test]
async fn it_sleeps_when_nothing_happens() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.shell("echo ready; exec 1>&- 2>&-; exec sleep 1000");
    request.signal_output = true;
    let process = request.process;
    let started = gateway.start(request).await.unwrap();
    gateway.says(process, "ready").await;
    // Both: who waits wakes up, who spins does not wait.
    let work = || (field(&started, "voluntary_ctxt_switches:"), ticks(&started));
    until("it comes to rest", || {
        let before = work();
        std::thread::sleep(Duration::from_millis(200));
        before == work()
    })
    .await;
    end(&mut gateway, process).await;
}

#[tokio::test]
async fn it_leaves_no_zombie() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let request = bench.shell("exit 0");
    let process = request.process;
    let started = gateway.start(request).await.unwrap();
    gateway.ended(process).await;
    until("it is reaped", || {
        !std::path::Path::new(&format!("/proc/{}", started.supervisor.pid)).exists()
    })
    .await;
}

#[tokio::test]
async fn signals_meant_for_others_do_not_end_it() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let request = bench.shell("exec sleep 1000");
    let process = request.process;
    let started = gateway.start(request).await.unwrap();
    let identity = |one: homing_ports::processes::Identity| homing_shim::machine::Identity {
        pid: one.pid,
        start_time: one.start_time,
    };
    for signal in [15, 1, 2, 3] {
        let _ = homing_shim::machine::signal(identity(started.supervisor), signal).unwrap();
    }
    // As systemd does it: the program too. The supervisor is there to write it down.
    let _ = homing_shim::machine::signal(identity(started.program), 15).unwrap();
    assert_eq!(
        gateway.ended(process).await.ending,
        homing_domain::process::Ending::Signal(15)
    );
}

#[tokio::test]
async fn starting_takes_milliseconds() {
    for (bench, how) in [(Bench::sweeping(), "no cgroup"), (Bench::new(), "as here")] {
        measure_starts(&bench, how).await;
    }
}

async fn measure_starts(bench: &Bench, how: &str) {
    let mut gateway = bench.gateway();
    let mut times = Vec::new();
    for _ in 0..50 {
        let request = bench.shell("exit 0");
        let process = request.process;
        let begin = Instant::now();
        gateway.start(request).await.unwrap();
        times.push(begin.elapsed());
        gateway.ended(process).await;
    }
    times.sort_unstable();
    // Printed, not asserted: a machine may be busy.
    println!(
        "start(), {how}: median {:?}, 95 % below {:?}, most {:?}",
        times[25], times[47], times[49]
    );
}

#[test]
fn without_a_runtime_it_says_so() {
    let data = tempfile::tempdir().unwrap();
    let opened = homing_processes::ShimProcesses::open(
        data.path(),
        std::sync::Arc::new(homing_ports::SystemClock),
    );
    assert!(matches!(
        opened,
        Err(homing_processes::OpenError::NoRuntime)
    ));
}

#[test]
fn the_limit_of_open_files_is_raised_to_the_hard_one() {
    let first = homing_processes::raise_open_files_limit().unwrap();
    let second = homing_processes::raise_open_files_limit().unwrap();
    assert_eq!((second.before, second.now), (first.now, first.now));
}

fn resident(started: &Started) -> u64 {
    field(started, "VmRSS:")
}

fn field(started: &Started, name: &str) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", started.supervisor.pid)).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Processor time it has used.
fn ticks(started: &Started) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", started.supervisor.pid)).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap())
        .sum()
}

async fn end(gateway: &mut crate::bench::Gateway, process: ProcessId) {
    let _ = gateway
        .processes
        .kill(process, Duration::ZERO)
        .await
        .unwrap();
    gateway.ended(process).await;
}
