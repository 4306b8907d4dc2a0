//! Ending a tree: softly first, then all of it.

use std::time::Duration;

use homing_domain::process::Ending;
use homing_ports::processes::{KillOutcome, Processes};

use crate::bench::{Bench, code, tree, until};

const SOON: Duration = Duration::from_millis(100);
const NEVER: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn a_program_may_end_by_itself_within_its_grace() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request =
        bench.shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done");
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    gateway.says(process, "ready").await;
    assert_eq!(
        gateway.processes.kill(process, NEVER).await.unwrap(),
        KillOutcome::Asked
    );
    assert_eq!(gateway.ended(process).await.ending, code(7));
    assert!(gateway.text(process).await.ends_with("bye\n"));
    assert_eq!(
        gateway.processes.kill(process, NEVER).await.unwrap(),
        KillOutcome::AlreadyEnded
    );
}

#[tokio::test]
async fn a_tree_with_a_session_of_its_own_that_ignores_everything_is_gone_before_the_end_is_told() {
    for bench in [Bench::new(), Bench::sweeping()] {
        a_deep_tree_is_gone(&bench).await;
    }
}

async fn a_deep_tree_is_gone(bench: &Bench) {
    let mut gateway = bench.gateway();
    std::fs::write(
        bench.data.path().join("deep"),
        "trap '' TERM HUP\necho deep $$\nwhile :; do sleep 1; done\n",
    )
    .unwrap();
    std::fs::write(
        bench.data.path().join("middle"),
        "trap '' TERM HUP\nenv -i setsid sh deep &\nwait\n",
    )
    .unwrap();
    let mut request = bench.shell("setsid sh middle & exec sleep 1000");
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    let text = gateway.says(process, "\n").await;
    let deep: i32 = text.trim().strip_prefix("deep ").unwrap().parse().unwrap();
    let deep = homing_shim::machine::identity(deep).unwrap();

    assert_eq!(
        gateway.processes.kill(process, SOON).await.unwrap(),
        KillOutcome::Asked
    );
    let exit = gateway.ended(process).await;
    assert_eq!(exit.ending, Ending::Signal(15));
    // It had thrown the marker away; the chain of parents finds it.
    assert!(!homing_shim::machine::lives(deep));
    assert_eq!(tree(process), []);
    assert_eq!(bench.folder(process).exit().unwrap().unwrap().left, 0);
}

#[tokio::test]
async fn without_grace_it_is_killed_at_once() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.shell("trap '' TERM; echo ready; while :; do sleep 1; done");
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    gateway.says(process, "ready").await;
    assert_eq!(
        gateway
            .processes
            .kill(process, Duration::ZERO)
            .await
            .unwrap(),
        KillOutcome::Asked
    );
    assert_eq!(gateway.ended(process).await.ending, Ending::Signal(9));
}

#[tokio::test]
async fn asked_again_sooner_counts() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.shell("trap '' TERM; echo ready; while :; do sleep 1; done");
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    gateway.says(process, "ready").await;
    assert_eq!(
        gateway.processes.kill(process, NEVER).await.unwrap(),
        KillOutcome::Asked
    );
    assert_eq!(
        gateway
            .processes
            .kill(process, Duration::ZERO)
            .await
            .unwrap(),
        KillOutcome::Asked
    );
    assert_eq!(gateway.ended(process).await.ending, Ending::Signal(9));
}

#[tokio::test]
async fn a_program_that_does_not_read_its_input_can_be_killed() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.shell("exec sleep 1000");
    request.input = homing_ports::processes::Input::Open;
    let process = request.process;
    gateway.start(request).await.unwrap();
    let processes = std::sync::Arc::new(gateway.processes);
    let writer = tokio::spawn({
        let processes = processes.clone();
        async move { processes.write(process, &vec![0; 1 << 20]).await }
    });
    until("the FIFO is full", || {
        processes_input_is_full(&bench, process)
    })
    .await;
    assert_eq!(
        processes.kill(process, Duration::ZERO).await.unwrap(),
        KillOutcome::Asked
    );
    assert!(writer.await.unwrap().is_err());
    while gateway.wakes.recv().await.unwrap()
        != homing_ports::processes::ProcessWake::Ended(process)
    {}
}

fn processes_input_is_full(bench: &Bench, process: homing_domain::ids::ProcessId) -> bool {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let fifo = std::fs::OpenOptions::new()
        .write(true)
        .custom_flags(nonblocking)
        .open(bench.path(process).join("input"));
    fifo.unwrap()
        .write(b"x")
        .is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

// A living process is never reported as ended because its supervisor cannot be told. Where it has a cgroup, that ends it all the same.
#[tokio::test]
async fn a_supervisor_that_cannot_be_told_is_an_error_and_not_an_end() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let request = bench.shell("while :; do sleep 0.01; done");
    let process = request.process;
    gateway.start(request).await.unwrap();
    let (fifo, away) = (
        bench.folder(process).file(homing_shim::folder::CONTROL),
        bench.path(process).join("away"),
    );
    std::fs::rename(&fifo, &away).unwrap();
    let refused = gateway.processes.kill(process, Duration::ZERO).await;
    assert!(
        !matches!(refused, Ok(KillOutcome::AlreadyEnded)),
        "{refused:?}"
    );
    std::fs::rename(&away, &fifo).unwrap();
    let asked = gateway.processes.kill(process, Duration::ZERO).await;
    assert!(asked.is_ok(), "{asked:?}");
    assert_eq!(gateway.ended(process).await.ending, Ending::Signal(9));
}
