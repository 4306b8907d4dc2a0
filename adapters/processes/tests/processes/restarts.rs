//! The gateway goes away at any moment; processes do not.

use std::time::Duration;

use homing_domain::process::{Ending, LostReason};
use homing_ports::processes::{Fate, Input, ProcessError, Processes};
use homing_shim::folder::{EXIT, STARTED};
use homing_shim::machine;

use crate::bench::{Bench, code, tree, until};

#[tokio::test]
async fn a_running_process_is_adopted_by_the_next_gateway() {
    let bench = Bench::new();
    let first = bench.gateway();
    let mut request = bench.shell("echo before; read line; echo after $line");
    request.input = Input::Open;
    let process = request.process;
    let started = first.start(request).await.unwrap();
    drop(first);

    let mut second = bench.gateway();
    assert_eq!(
        second.processes.adopt(process).await.unwrap(),
        Fate::Running(started.clone())
    );
    assert_eq!(
        second.processes.adopt(process).await.unwrap(),
        Fate::Running(started)
    );
    second.processes.write(process, b"restart\n").await.unwrap();
    assert_eq!(second.ended(process).await.ending, code(0));
    assert_eq!(second.text(process).await, "before\nafter restart\n");
}

#[tokio::test]
async fn an_end_while_nobody_was_there_is_found() {
    let bench = Bench::new();
    let first = bench.gateway();
    let request = bench.shell("while [ ! -e go ]; do sleep 0.01; done; echo alone; exit 9");
    let process = request.process;
    first.start(request).await.unwrap();
    drop(first);
    std::fs::write(bench.data.path().join("go"), "").unwrap();
    until("it ends", || bench.path(process).join(EXIT).exists()).await;

    let second = bench.gateway();
    match second.processes.adopt(process).await.unwrap() {
        Fate::Ended(exit) => assert_eq!((exit.ending, exit.output_total), (code(9), 6)),
        other => panic!("{other:?}"),
    }
    assert_eq!(second.text(process).await, "alone\n");
    second.processes.acknowledge(process).await.unwrap();
    second.processes.forget(process).await.unwrap();
    assert!(matches!(
        second.processes.adopt(process).await,
        Err(ProcessError::Unknown(_))
    ));
}

#[tokio::test]
async fn with_its_supervisor_killed_it_is_lost_and_dead() {
    for bench in [Bench::new(), Bench::sweeping()] {
        lost_and_dead(&bench).await;
    }
}

async fn lost_and_dead(bench: &Bench) {
    let mut gateway = bench.gateway();
    std::fs::write(
        bench.data.path().join("deep"),
        "trap '' TERM HUP\necho deep\nwhile :; do sleep 1; done\n",
    )
    .unwrap();
    let mut request = bench.shell("setsid sh deep & exec sleep 1000");
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    gateway.says(process, "deep").await;
    kill_supervisor(bench, process).await;

    let exit = gateway.ended(process).await;
    assert_eq!(
        (exit.ending, exit.output_total),
        (Ending::Lost(LostReason::SupervisorGone), 5)
    );
    assert_eq!(tree(process), []);
    // It stays that, also for a gateway on a later boot.
    drop(gateway);
    assert_eq!(
        bench.gateway().processes.adopt(process).await.unwrap(),
        Fate::Ended(exit)
    );
}

#[tokio::test]
async fn a_supervisor_killed_while_nobody_was_there_is_found_by_adopting() {
    let bench = Bench::new();
    let first = bench.gateway();
    let request = bench.shell("exec sleep 1000");
    let process = request.process;
    first.start(request).await.unwrap();
    drop(first);
    kill_supervisor(&bench, process).await;
    let second = bench.gateway();
    match second.processes.adopt(process).await.unwrap() {
        Fate::Ended(exit) => assert_eq!(exit.ending, Ending::Lost(LostReason::SupervisorGone)),
        other => panic!("{other:?}"),
    }
    assert_eq!(tree(process), []);
}

#[tokio::test]
async fn another_boot_means_lost_and_nobody_is_signalled() {
    let bench = Bench::new();
    let gateway = bench.gateway();
    let process = bench.id();
    let mut bystander = stranger();
    let identity = machine::identity(bystander.id() as i32).unwrap();
    leave_behind(&bench, process, identity, "another-boot");
    match gateway.processes.fate(process).await.unwrap() {
        Fate::Ended(exit) => assert_eq!(exit.ending, Ending::Lost(LostReason::MachineRestarted)),
        other => panic!("{other:?}"),
    }
    assert!(machine::lives(identity));
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

/// OWN-92: the pid in the record is somebody else's by now.
#[tokio::test]
async fn a_recycled_pid_is_never_signalled() {
    let bench = Bench::new();
    let gateway = bench.gateway();
    let process = bench.id();
    let mut bystander = stranger();
    let identity = machine::identity(bystander.id() as i32).unwrap();
    let before = machine::Identity {
        start_time: identity.start_time - 1,
        ..identity
    };
    leave_behind(&bench, process, before, &machine::boot_id().unwrap());
    match gateway.processes.fate(process).await.unwrap() {
        Fate::Ended(exit) => assert_eq!(exit.ending, Ending::Lost(LostReason::SupervisorGone)),
        other => panic!("{other:?}"),
    }
    assert!(machine::lives(identity));
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn nothing_was_executed_without_a_started_record() {
    let bench = Bench::new();
    let gateway = bench.gateway();
    let process = bench.id();
    std::fs::create_dir(bench.path(process)).unwrap();
    drop(bench.folder(process).create_lock().unwrap());
    assert!(matches!(
        gateway.processes.fate(process).await.unwrap(),
        Fate::NeverRan(_)
    ));
    assert!(matches!(
        gateway.processes.fate(bench.id()).await,
        Err(ProcessError::Unknown(_))
    ));
}

#[tokio::test]
async fn damage_is_lost_and_not_a_guess() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let ended = bench.shell("exit 0");
    let process = ended.process;
    gateway.run(ended).await;
    std::fs::write(bench.path(process).join(EXIT), "format=1\ncode=0\n").unwrap();
    let lost = |fate| match fate {
        Fate::Ended(exit) => assert_eq!(exit.ending, Ending::Lost(LostReason::FolderDamaged)),
        other => panic!("{other:?}"),
    };
    lost(gateway.processes.fate(process).await.unwrap());
    lost(gateway.processes.fate(process).await.unwrap());

    // At work, with a supervisor: lost means dead, and stays lost.
    let running = bench.shell("exec sleep 1000");
    let process = running.process;
    gateway.start(running).await.unwrap();
    std::fs::write(bench.path(process).join(STARTED), b"\xff\x00=").unwrap();
    lost(gateway.processes.fate(process).await.unwrap());
    assert_eq!(tree(process), []);
    gateway
        .wake(homing_ports::processes::ProcessWake::Ended(process))
        .await;
    lost(gateway.processes.fate(process).await.unwrap());
}

/// Between fork and exec a child of the gateway may hold a copy of a lock.
#[tokio::test]
async fn a_lock_that_nobody_alive_holds_is_looked_at_again() {
    let bench = Bench::new();
    let gateway = bench.gateway();
    let request = bench.shell("exec sleep 1000");
    let process = request.process;
    gateway.start(request).await.unwrap();
    let copy = std::fs::File::open(bench.path(process).join("lock")).unwrap();
    kill_supervisor(&bench, process).await;
    copy.lock().unwrap();
    let held = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        drop(copy);
    });
    match gateway.processes.fate(process).await.unwrap() {
        Fate::Ended(exit) => assert_eq!(exit.ending, Ending::Lost(LostReason::SupervisorGone)),
        other => panic!("{other:?}"),
    }
    held.join().unwrap();
}

/// Also waits until it is dead: SIGKILL is only a request to the scheduler.
pub async fn kill_supervisor(bench: &Bench, process: homing_domain::ids::ProcessId) {
    let supervisor = bench.folder(process).started().unwrap().unwrap().supervisor;
    assert_eq!(
        machine::signal(supervisor, 9).unwrap(),
        machine::Signalled::Sent
    );
    until("the supervisor dies", || !machine::lives(supervisor)).await;
}

fn stranger() -> std::process::Child {
    std::process::Command::new("sleep")
        .arg("1000")
        .spawn()
        .unwrap()
}

/// A folder as a supervisor leaves it that was killed.
fn leave_behind(
    bench: &Bench,
    process: homing_domain::ids::ProcessId,
    identity: machine::Identity,
    boot: &str,
) {
    std::fs::create_dir(bench.path(process)).unwrap();
    let folder = bench.folder(process);
    drop(folder.create_lock().unwrap());
    let started = homing_shim::started::Started {
        supervisor: identity,
        program: identity,
        boot: boot.to_owned(),
        at: 1,
        outside: None,
    };
    folder.write(STARTED, &started.to_text()).unwrap();
}
