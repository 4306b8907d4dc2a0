//! The kernel's controllers, which limits need: whether they may be handed down here, and handing them down.
//!
//! A cgroup that hands controllers down may have no processes of its own, so the gateway moves to a leaf beside its programs. That has a price where
//! somebody else starts the gateway: systemd starts a service in the unit's own cgroup, which then takes no process as long as programs live below
//! it, and the gateway could not come back to them (systemd issue 24064; since pull request 41304 known to hold for `DelegateSubgroup=` too).
//! Coming home comes before limits: in a `.service`, controllers are left alone. In a `.scope` nobody is started a second time, and a container
//! starts with a cgroup of its own.
//!
//! **Invariant:** what is not possible changes nothing; only processes that are ours to move are moved.
//! **Absent on purpose:** taking controllers back. Programs that outlive the gateway keep their limits.

use std::fs;
use std::io;
use std::path::Path;

use homing_shim::cgroup::{Cgroup, PROCS};

use super::Enforcement;
use super::place::{LEAF, Place};

pub(crate) const MEMORY: &str = "memory";
pub(crate) const PIDS: &str = "pids";

const AVAILABLE: &str = "cgroup.controllers";
const HANDED_DOWN: &str = "cgroup.subtree_control";
/// Every cgroup but the root of the whole hierarchy has it. The root may have processes whatever it hands down.
const NOT_THE_ROOT: &str = "cgroup.events";

/// Whether it can be handed down from here, were it asked for.
pub(crate) fn possible(place: &Place, controller: &str) -> Enforcement {
    match obstacle(place, controller) {
        None => Enforcement::Possible,
        Some(why) => Enforcement::Impossible(why),
    }
}

fn obstacle(place: &Place, controller: &str) -> Option<String> {
    if !lists(&place.delegated.join(AVAILABLE), controller) {
        return Some("cgroup v2 has no such controller here (it is not handed down to us, or the older cgroup v1 has it)".into());
    }
    if lists(&place.delegated.join(HANDED_DOWN), controller) {
        return None;
    }
    if place.name.extension().is_some_and(|kind| kind == "service") {
        let why = "systemd could not start the gateway again while programs live; limit them together, by `MemoryMax=` and `TasksMax=` of the unit";
        return Some(why.into());
    }
    let is_scope = place.name.extension().is_some_and(|kind| kind == "scope");
    if !is_scope && place.name.parent().is_some() {
        let why = format!(
            "who starts the gateway in the cgroup {} may not be able to do it again while programs live; a systemd scope or a container can",
            place.name.display()
        );
        return Some(why);
    }
    match strangers(&place.delegated) {
        Ok(0) => None,
        Ok(count) => Some(format!(
            "{count} other processes live in the gateway's cgroup; start it alone in a scope (`systemd-run --user --scope -p Delegate=yes homing serve`)"
        )),
        Err(error) => Some(format!(
            "{}: {error}",
            place.delegated.join(PROCS).display()
        )),
    }
}

fn lists(file: &Path, controller: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|one| one == controller))
}

/// Who would have to be moved and is not ours to move. The first process of a container only waits for its children.
fn strangers(cgroup: &Path) -> io::Result<usize> {
    if !cgroup.join(NOT_THE_ROOT).exists() {
        return Ok(0);
    }
    let ours = |pid: &str| pid == "1" || pid == std::process::id().to_string();
    let text = fs::read_to_string(cgroup.join(PROCS))?;
    Ok(text.lines().filter(|pid| !ours(pid)).count())
}

/// Hands it down to `root`'s children, so that each has its files.
pub(crate) fn hand_down(place: &Place, root: &Path, controller: &str) -> Enforcement {
    if let impossible @ Enforcement::Impossible(_) = possible(place, controller) {
        return impossible;
    }
    let order = format!("+{controller}");
    let top = Cgroup::new(&place.delegated);
    let done = match top.set(HANDED_DOWN, &order) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
            make_room(&place.delegated).and_then(|()| top.set(HANDED_DOWN, &order))
        }
        other => other,
    };
    match done.and_then(|()| Cgroup::new(root).set(HANDED_DOWN, &order)) {
        Ok(()) => Enforcement::Possible,
        Err(error) => Enforcement::Impossible(format!(
            "handing the controller down from {}: {error}",
            place.delegated.display()
        )),
    }
}

/// Moves ourselves (and a container's first process) to the leaf.
fn make_room(cgroup: &Path) -> io::Result<()> {
    if strangers(cgroup)? > 0 {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    let leaf = Cgroup::new(cgroup.join(LEAF));
    match fs::create_dir(leaf.path()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for pid in fs::read_to_string(cgroup.join(PROCS))?.lines() {
        leaf.set(PROCS, pid)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    #![allow(clippy::print_stdout, reason = "what is skipped is said")]
    use super::*;

    /// A cgroup as files, by its name, its processes, and what it hands down.
    fn place(name: &str, procs: &str, handed_down: &str) -> (tempfile::TempDir, Place) {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        write(AVAILABLE, "cpuset cpu io memory pids\n");
        write(HANDED_DOWN, handed_down);
        write(NOT_THE_ROOT, "populated 1\n");
        write(PROCS, procs);
        let place = Place {
            delegated: folder.path().to_owned(),
            name: name.into(),
        };
        (folder, place)
    }

    fn why(name: &str, procs: &str, controller: &str) -> String {
        let (_folder, place) = place(name, procs, "");
        match possible(&place, controller) {
            Enforcement::Possible => String::new(),
            Enforcement::Impossible(why) => why,
        }
    }

    #[test]
    fn alone_in_a_scope_or_a_container_they_are_possible() {
        let us = std::process::id();
        assert_eq!(
            why("/user.slice/run-1.scope", &format!("{us}\n"), MEMORY),
            ""
        );
        assert_eq!(why("/", &format!("1\n{us}\n"), PIDS), "");
        assert_eq!(why("/", "", PIDS), "");
    }

    #[test]
    fn a_service_that_could_not_be_started_again_has_none() {
        let told = why("/system.slice/homing.service", "", MEMORY);
        assert!(told.contains("MemoryMax="), "{told}");
        // Unless somebody has arranged for it.
        let (_folder, place) = place("/system.slice/homing.service", "", "memory pids\n");
        assert_eq!(possible(&place, MEMORY), Enforcement::Possible);
        let told = why("/openrc.homing", "", MEMORY);
        assert!(told.contains("/openrc.homing"), "{told}");
    }

    #[test]
    fn strangers_and_missing_controllers_are_named() {
        let told = why("/a.scope", "1\n7\n8\n", MEMORY);
        assert!(told.starts_with("2 other processes"), "{told}");
        assert!(why("/a.scope", "", "rdma").contains("no such controller"));
        // `memory` is not found in `hugememory`.
        assert!(why("/a.scope", "", "mem").contains("no such controller"));
    }

    /// The only controller that a machine with the old hierarchies usually leaves to the new one; the kernel treats it as it treats `memory`.
    #[test]
    fn in_a_real_hierarchy_the_gateway_makes_room_for_it() {
        const CONTROLLER: &str = "hugetlb";
        let top = match super::super::place::find(&super::super::Sources::default()) {
            Ok(top) if lists(&top.delegated.join(AVAILABLE), CONTROLLER) => top.delegated,
            other => {
                println!("skipped: no {CONTROLLER} to hand down here: {other:?}");
                return;
            }
        };
        if top.join(NOT_THE_ROOT).exists() {
            println!("skipped: {} has processes", top.display());
            return;
        }
        let handed_down_before = lists(&top.join(HANDED_DOWN), CONTROLLER);
        Cgroup::new(&top).set(HANDED_DOWN, "+hugetlb").unwrap();
        let name = format!("homing-test-{}.scope", std::process::id());
        let scope = Cgroup::new(top.join(&name));
        let root = Cgroup::new(scope.path().join("homing.1"));
        fs::create_dir_all(root.path()).unwrap();
        let place = Place {
            delegated: scope.path().to_owned(),
            name: Path::new("/").join(name),
        };
        let us = std::process::id().to_string();
        scope.set(PROCS, &us).unwrap();
        assert_eq!(
            hand_down(&place, root.path(), CONTROLLER),
            Enforcement::Possible
        );
        let leaf = fs::read_to_string(scope.path().join(LEAF).join(PROCS)).unwrap();
        assert_eq!(leaf.trim_end(), us);
        let child = Cgroup::new(root.path().join("prc"));
        fs::create_dir(child.path()).unwrap();
        assert!(child.path().join("hugetlb.2MB.max").exists());
        // Now nobody can come into the unit's own cgroup: what systemd would meet at a restart.
        assert_eq!(
            scope.set(PROCS, &us).unwrap_err().kind(),
            io::ErrorKind::ResourceBusy
        );
        Cgroup::new(&top).set(PROCS, &us).unwrap();
        // A stranger among us is not moved.
        let mut stranger = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        scope.set(HANDED_DOWN, "-hugetlb").unwrap_err();
        root.set(HANDED_DOWN, "-hugetlb").unwrap();
        scope.set(HANDED_DOWN, "-hugetlb").unwrap();
        scope.set(PROCS, &stranger.id().to_string()).unwrap();
        match hand_down(&place, root.path(), CONTROLLER) {
            Enforcement::Impossible(why) => assert!(why.starts_with("1 other"), "{why}"),
            Enforcement::Possible => panic!("a stranger was moved"),
        }
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        let _ = scope.remove().unwrap();
        if !handed_down_before {
            Cgroup::new(&top).set(HANDED_DOWN, "-hugetlb").unwrap();
        }
    }

    #[test]
    fn handing_down_writes_both_or_says_why_not() {
        let (folder, place) = place("/a.scope", "", "");
        let root = folder.path().join("homing.1");
        fs::create_dir(&root).unwrap();
        match hand_down(&place, &root, MEMORY) {
            Enforcement::Impossible(why) => assert!(why.starts_with("handing"), "{why}"),
            Enforcement::Possible => panic!("the root hands nothing down"),
        }
        fs::write(root.join(HANDED_DOWN), "").unwrap();
        assert_eq!(hand_down(&place, &root, MEMORY), Enforcement::Possible);
        for cgroup in [folder.path(), &root] {
            let text = fs::read_to_string(cgroup.join(HANDED_DOWN)).unwrap();
            assert_eq!(text, "+memory");
        }
    }
}
