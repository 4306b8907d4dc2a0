//! With a real cgroup v2 hierarchy: what no session, no double fork and no cleared environment gets away from.
//!
//! It is mounted for the test, which root may do. Anybody else gets `skipped: …`, counted, and not a green that means nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use homing_domain::ids::ProcessId;
use homing_domain::process::{Ending, LostReason};
use homing_ports::processes::{Fate, KillOutcome, Processes};
use homing_processes::{Enforcement, Sources, TreeLimits, Trees};
use homing_shim::cgroup::Cgroup;
use homing_shim::control;
use homing_shim::folder::{Folder, SPEC};
use homing_shim::machine::{self, Identity};
use homing_shim::spec::{self, Spec};

use crate::bench::{Bench, Gateway, code, until};
use crate::restarts::kill_supervisor;

const SOON: Duration = Duration::from_millis(100);

/// A session of its own, orphaned twice over, without the marker, deaf to every request.
const RUNAWAY: &str = "( (exec env -i setsid sh runaway) & )";

static SKIPPED: AtomicU32 = AtomicU32::new(0);

/// A part of the hierarchy that is ours alone.
struct Hierarchy {
    folder: tempfile::TempDir,
    delegated: PathBuf,
    sources: Sources,
}

impl Hierarchy {
    /// `None` has been told.
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mount = folder.path().join("cgroup");
        fs::create_dir(&mount).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "cgroup2", "none"])
            .arg(&mount)
            .output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
            println!("skipped: cgroup v2 cannot be mounted here ({count} so far)");
            return None;
        }
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        let name = format!("homing-test{}.scope", name.replace('.', "-"));
        let delegated = mount.join(&name);
        fs::create_dir(&delegated).unwrap();
        let sources = Sources {
            mounts: folder.path().join("mountinfo"),
            own: folder.path().join("own"),
        };
        let line = format!("9 8 0:1 / {} rw - cgroup2 none rw\n", mount.display());
        fs::write(&sources.mounts, line).unwrap();
        fs::write(&sources.own, format!("0::/{name}\n")).unwrap();
        Some(Self {
            folder,
            delegated,
            sources,
        })
    }

    fn bench(&self) -> Bench {
        let bench = Bench::on(self.sources.clone());
        let script = "trap '' TERM HUP\necho runaway $$\nwhile :; do sleep 1; done\n";
        fs::write(bench.data.path().join("runaway"), script).unwrap();
        bench
    }
}

impl Drop for Hierarchy {
    fn drop(&mut self) {
        let whole = Cgroup::new(&self.delegated);
        let _ = whole.kill();
        while !whole.members().is_empty() {}
        let _ = whole.remove();
        let mount = self.folder.path().join("cgroup");
        let _ = Command::new("umount").arg("-l").arg(mount).status();
    }
}

fn cgroup(bench: &Bench, process: ProcessId) -> Cgroup {
    Cgroup::new(
        bench
            .folder(process)
            .spec()
            .unwrap()
            .unwrap()
            .cgroup
            .unwrap(),
    )
}

/// Starts it and waits until the runaway is on its own.
async fn start(bench: &Bench, gateway: &mut Gateway, text: &str) -> (ProcessId, Identity) {
    let mut request = bench.shell(text);
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    let text = gateway.says(process, "\n").await;
    let line = text.lines().find_map(|line| line.strip_prefix("runaway "));
    let runaway = machine::identity(line.unwrap().parse().unwrap()).unwrap();
    (process, runaway)
}

async fn is_gone(path: &Path) {
    until("the cgroup is removed", || !path.exists()).await;
}

#[tokio::test]
async fn a_kill_ends_the_runaway_and_leaves_no_cgroup() {
    let Some(hierarchy) = Hierarchy::mount() else {
        return;
    };
    let bench = hierarchy.bench();
    let mut gateway = bench.gateway();
    let (process, runaway) =
        start(&bench, &mut gateway, &format!("{RUNAWAY}; exec sleep 1000")).await;
    let cgroup = cgroup(&bench, process);
    let started = bench.folder(process).started().unwrap().unwrap();
    assert_eq!(started.outside, None);
    let members = cgroup.members();
    assert!(members.contains(&runaway) && members.contains(&started.program));
    assert!(!members.contains(&started.supervisor), "it must survive");

    let asked = gateway.processes.kill(process, SOON).await.unwrap();
    assert_eq!(asked, KillOutcome::Asked);
    assert_eq!(gateway.ended(process).await.ending, Ending::Signal(15));
    assert!(!machine::lives(runaway));
    assert_eq!(bench.folder(process).exit().unwrap().unwrap().left, 0);
    is_gone(cgroup.path()).await;
}

#[tokio::test]
async fn without_its_supervisor_the_runaway_is_ended_by_its_cgroup_only() {
    let Some(hierarchy) = Hierarchy::mount() else {
        return;
    };
    let bench = hierarchy.bench();
    let mut gateway = bench.gateway();
    let text = format!("{RUNAWAY}; exec sleep 1000");
    let (process, runaway) = start(&bench, &mut gateway, &text).await;
    kill_supervisor(&bench, process).await;
    let lost = Ending::Lost(LostReason::SupervisorGone);
    assert_eq!(gateway.ended(process).await.ending, lost);
    assert!(!machine::lives(runaway));
    is_gone(cgroup(&bench, process).path()).await;

    // What the sweep does not find, and `homing doctor` says.
    let sweeping = Bench::sweeping();
    fs::copy(
        bench.data.path().join("runaway"),
        sweeping.data.path().join("runaway"),
    )
    .unwrap();
    let mut gateway = sweeping.gateway();
    let (process, runaway) = start(&sweeping, &mut gateway, &text).await;
    kill_supervisor(&sweeping, process).await;
    assert_eq!(gateway.ended(process).await.ending, lost);
    assert!(machine::lives(runaway));
    let _ = machine::signal(runaway, 9).unwrap();
}

#[tokio::test]
async fn a_cgroup_inside_its_cgroup_is_no_way_out() {
    let Some(hierarchy) = Hierarchy::mount() else {
        return;
    };
    let bench = hierarchy.bench();
    let mut gateway = bench.gateway();
    let divide = "read own < path; mkdir -p $own/a/b; echo 0 > $own/a/b/cgroup.procs";
    let mut request = bench.shell(&format!(
        "while [ ! -e path ]; do sleep 0.01; done; ({divide}); {RUNAWAY}; exec sleep 1000"
    ));
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    let cgroup = cgroup(&bench, process);
    let path = format!("{}\n", cgroup.path().display());
    fs::write(bench.data.path().join("path.new"), path).unwrap();
    fs::rename(
        bench.data.path().join("path.new"),
        bench.data.path().join("path"),
    )
    .unwrap();
    gateway.says(process, "runaway").await;
    assert!(cgroup.path().join("a/b").is_dir());
    // A gateway that opens meanwhile leaves what is inhabited alone.
    drop(gateway);
    let mut gateway = bench.gateway();
    gateway.processes.adopt(process).await.unwrap();
    assert!(cgroup.path().join("a/b").is_dir());

    let asked = gateway.processes.kill(process, Duration::ZERO).await;
    assert_eq!(asked.unwrap(), KillOutcome::Asked);
    gateway.ended(process).await;
    is_gone(cgroup.path()).await;
}

#[tokio::test]
async fn who_moved_to_another_cgroup_is_found_by_the_sweep() {
    let Some(hierarchy) = Hierarchy::mount() else {
        return;
    };
    let bench = hierarchy.bench();
    let mut gateway = bench.gateway();
    let elsewhere = hierarchy.delegated.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let text = format!(
        "(echo 0 > {}/cgroup.procs; {RUNAWAY}); exec sleep 1000",
        elsewhere.display()
    );
    // `echo 0` moves the subshell, and the runaway is born where it is.
    let (process, runaway) = start(&bench, &mut gateway, &text).await;
    assert!(!cgroup(&bench, process).members().contains(&runaway));
    assert!(Cgroup::new(&elsewhere).members().contains(&runaway));
    let _ = gateway.processes.kill(process, SOON).await.unwrap();
    gateway.ended(process).await;
    assert!(!machine::lives(runaway));
}

#[tokio::test]
async fn what_goes_on_after_the_end_is_counted_and_can_still_be_ended() {
    let Some(hierarchy) = Hierarchy::mount() else {
        return;
    };
    let bench = hierarchy.bench();
    let mut gateway = bench.gateway();
    // Once with a supervisor, once after it was killed.
    for supervised in [true, false] {
        let text = format!("{RUNAWAY}; while [ ! -e go ]; do sleep 0.01; done; exit 3");
        let (process, runaway) = start(&bench, &mut gateway, &text).await;
        let cgroup = cgroup(&bench, process);
        fs::write(bench.data.path().join("go"), "").unwrap();
        assert_eq!(gateway.ended(process).await.ending, code(3));
        fs::remove_file(bench.data.path().join("go")).unwrap();
        // The runaway, and perhaps the `sleep` it waits for.
        let left = bench.folder(process).exit().unwrap().unwrap().left;
        assert!((1..=2).contains(&left), "{left}");
        assert!(cgroup.members().contains(&runaway));
        if !supervised {
            kill_supervisor(&bench, process).await;
        }
        let asked = gateway.processes.kill(process, Duration::ZERO).await;
        assert_eq!(asked.unwrap(), KillOutcome::AlreadyEnded);
        until("the runaway dies", || !machine::lives(runaway)).await;
        if !supervised {
            gateway.processes.forget(process).await.unwrap();
        }
        is_gone(cgroup.path()).await;
    }
}

#[tokio::test]
async fn the_next_gateway_finds_the_living_and_removes_the_rest() {
    let Some(hierarchy) = Hierarchy::mount() else {
        return;
    };
    let bench = hierarchy.bench();
    let mut first = bench.gateway();
    let text = format!("{RUNAWAY}; exec sleep 1000");
    let (process, runaway) = start(&bench, &mut first, &text).await;
    let cgroup = cgroup(&bench, process);
    let root = cgroup.path().parent().unwrap();
    drop(first);
    let stale = root.join(bench.id().to_string());
    let foreign = root.join("not-ours");
    let emptied = hierarchy.delegated.join("homing.of-another-folder");
    for path in [&stale, &foreign, &emptied] {
        fs::create_dir(path).unwrap();
    }

    let mut second = bench.gateway();
    assert!(!stale.exists() && !emptied.exists() && foreign.exists());
    fs::remove_dir(foreign).unwrap();
    let adopted = second.processes.adopt(process).await.unwrap();
    assert!(matches!(adopted, Fate::Running(_)));
    assert!(cgroup.members().contains(&runaway));
    let _ = second.processes.kill(process, SOON).await.unwrap();
    second.ended(process).await;
    assert!(!machine::lives(runaway));
    is_gone(cgroup.path()).await;
    // Where nothing runs, nothing stays.
    drop(second);
    assert!(!root.exists());
}

#[tokio::test]
async fn a_root_that_somebody_tidied_away_is_made_again() {
    let Some(hierarchy) = Hierarchy::mount() else {
        return;
    };
    let bench = hierarchy.bench();
    let mut gateway = bench.gateway();
    let Trees::Cgroup { root, .. } = gateway.processes.trees().clone() else {
        panic!("{}", gateway.processes.trees());
    };
    fs::remove_dir(&root).unwrap();
    assert_eq!(gateway.run(bench.shell("exit 4")).await.ending, code(4));
    assert!(root.is_dir());
}

#[tokio::test]
async fn what_does_not_run_leaves_no_cgroup() {
    let Some(hierarchy) = Hierarchy::mount() else {
        return;
    };
    let bench = hierarchy.bench();
    let gateway = bench.gateway();
    let mut request = bench.shell("true");
    request.directory = "/nowhere".into();
    let process = request.process;
    gateway.start(request).await.unwrap_err();
    assert!(!cgroup(&bench, process).path().exists());
}

#[tokio::test]
async fn limits_that_the_kernel_does_not_offer_are_said_not_to_be_enforced() {
    let Some(hierarchy) = Hierarchy::mount() else {
        return;
    };
    let controllers = fs::read_to_string(hierarchy.delegated.join("cgroup.controllers"));
    if controllers.unwrap().contains("memory") {
        println!("skipped: this machine has the controllers");
        return;
    }
    let bench = hierarchy.bench();
    let limits = TreeLimits {
        memory_max: Some(1 << 30),
        pids_max: Some(100),
    };
    let processes = bench.open().with_limits(limits);
    let Trees::Cgroup { root, memory, pids } = processes.trees() else {
        panic!("{}", processes.trees());
    };
    assert!(root.starts_with(&hierarchy.delegated));
    assert_eq!(memory, pids);
    assert!(matches!(memory, Enforcement::Impossible(why) if why.contains("no such controller")));
    let told = processes.trees().not_enforced(limits).unwrap();
    assert!(told.starts_with("`processes.memory_max` and"), "{told}");
    assert_eq!(
        homing_processes::trees_of(bench.data.path()).as_ref(),
        Some(processes.trees())
    );
    // They do not keep anything from running.
    let request = bench.shell("true");
    processes.start(request).await.unwrap();
}

/// Where the kernel does not let a child be born elsewhere, it is moved; and the order to end a whole cgroup is one file. Both as plain files, since
/// what they do in a real hierarchy is also done by the sweep.
#[test]
fn a_supervisor_moves_its_program_and_orders_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let group = folder.path().join("group");
    fs::create_dir(&group).unwrap();
    fs::write(group.join("cgroup.procs"), "").unwrap();
    fs::write(group.join("cgroup.kill"), "").unwrap();
    let inside = supervise(&folder.path().join("inside"), &group);
    assert_eq!(inside.started.outside, None);
    let moved = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    assert_eq!(moved, inside.started.program.pid.to_string());
    fs::write(group.join("cgroup.procs"), "").unwrap();
    inside.kill();
    assert_eq!(fs::read_to_string(group.join("cgroup.kill")).unwrap(), "1");

    let absent = folder.path().join("absent");
    let outside = supervise(&folder.path().join("outside"), &absent);
    let why = outside.started.outside.clone().unwrap();
    assert_eq!(
        why,
        format!("{}: No such file or directory", absent.display())
    );
    outside.kill();
    assert!(!absent.exists());
}

/// A supervisor without a gateway.
struct Supervised {
    folder: Folder,
    started: homing_shim::started::Started,
    supervisor: std::process::Child,
}

fn supervise(path: &Path, cgroup: &Path) -> Supervised {
    fs::create_dir(path).unwrap();
    let folder = Folder::new(path);
    let lock = folder.create_lock().unwrap();
    let fifo = Command::new("mkfifo").arg(path.join("control")).status();
    assert!(fifo.unwrap().success());
    let spec = Spec {
        process: 1,
        arguments: vec!["sleep".into(), "1000".into()],
        directory: "/".into(),
        environment: Vec::new(),
        input: spec::Input::Empty,
        terminal: None,
        wakes: spec::OutputWakes::Silent,
        head: 1,
        tail: 1,
        open_files: 0,
        cgroup: Some(cgroup.to_owned()),
    };
    folder.write(SPEC, &spec.to_text()).unwrap();
    let (answer, answers) = std::io::pipe().unwrap();
    let supervisor = Command::new(shim(path))
        .arg(path)
        .stdin(lock)
        .stdout(answers)
        .spawn()
        .unwrap();
    let text = std::io::read_to_string(answer).unwrap();
    assert!(text.starts_with("started\n"), "{text}");
    Supervised {
        started: folder.started().unwrap().unwrap(),
        folder,
        supervisor,
    }
}

/// The embedded one, as a gateway installs it.
fn shim(beside: &Path) -> PathBuf {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let data = beside.with_extension("data");
    let clock = std::sync::Arc::new(homing_ports::SystemClock);
    drop(homing_processes::ShimProcesses::open(&data, clock).unwrap());
    let mut installed = fs::read_dir(data.join("bin")).unwrap();
    installed.next().unwrap().unwrap().path()
}

impl Supervised {
    fn kill(mut self) {
        let order = control::Command::Kill { grace_ms: 0 }.to_bytes();
        fs::write(self.folder.file("control"), order).unwrap();
        self.supervisor.wait().unwrap();
        let ending = self.folder.exit().unwrap().unwrap().ending;
        assert_eq!(ending, homing_shim::exit::Ending::Signal(9));
    }
}
