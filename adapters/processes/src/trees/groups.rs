//! The cgroups of our processes: made before a supervisor is started, found again by the run folder, removed when nobody lives there.
//!
//! They lie in `<our place>/homing.<which data folder>/<process id>`. Whoever tidies up behind a service (systemd does when it stops) may remove
//! every empty one at any time: what is missing is made again, and a program whose cgroup went at the last moment is started without.
//!
//! **Invariant:** a cgroup is only ever killed or removed if its name is the process's own id.
//! **Absent on purpose:** a list. The directory is the list.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use homing_domain::ids::ProcessId;
use homing_shim::cgroup::{Cgroup, Removed};
use homing_shim::folder::Folder;

use super::controllers::{MEMORY, PIDS, hand_down};
use super::place::{Place, Sources, find};
use super::{Enforcement, TreeLimits, Trees};

const PREFIX: &str = "homing.";
/// Somebody may tidy between our making the root and our making a child in it, but not for ever.
const TRIES: u32 = 5;

#[derive(Debug)]
pub(crate) struct Groups {
    trees: Trees,
    /// Where we are, if that is divided.
    place: Option<Place>,
    limits: TreeLimits,
    run: PathBuf,
}

impl Groups {
    /// Divides our place if it can be, and removes what ended processes left there. `run` says which data folder it is for.
    pub(crate) fn open(run: &Path, sources: &Sources) -> Self {
        let (trees, place) = match find(sources).and_then(|place| divide(place, run)) {
            Ok((trees, place)) => (trees, Some(place)),
            Err(why) => (Trees::GroupAndSweep { why }, None),
        };
        trees.write_down(run);
        Self {
            trees,
            place,
            limits: TreeLimits::default(),
            run: run.to_owned(),
        }
    }

    pub(crate) fn trees(&self) -> &Trees {
        &self.trees
    }

    /// Hands down what the limits need. What cannot be is then not enforced, and said so.
    pub(crate) fn limit(&mut self, limits: TreeLimits) {
        self.limits = limits;
        let (Trees::Cgroup { root, memory, pids }, Some(place)) = (&mut self.trees, &self.place)
        else {
            return;
        };
        if limits.memory_max.is_some() {
            *memory = hand_down(place, root, MEMORY);
        }
        if limits.pids_max.is_some() {
            *pids = hand_down(place, root, PIDS);
        }
        self.trees.write_down(&self.run);
    }

    /// A cgroup for it, with its limits. `None` where there are none; a process without one is ended by the sweep.
    pub(crate) fn make(&self, process: ProcessId) -> Option<Cgroup> {
        let Trees::Cgroup { root, memory, pids } = &self.trees else {
            return None;
        };
        let cgroup = Cgroup::new(root.join(process.to_string()));
        let told = |error: &io::Error| {
            tracing::warn!(process.id = %process, cgroup = %cgroup.path().display(), %error, "it has no cgroup of its own, and no limits");
        };
        self.make_directory(root, &cgroup).inspect_err(told).ok()?;
        set_limits(&cgroup, self.limits, memory, pids)
            .inspect_err(|error| {
                told(error);
                remove_soon(&cgroup);
            })
            .ok()?;
        Some(cgroup)
    }

    fn make_directory(&self, root: &Path, cgroup: &Cgroup) -> io::Result<()> {
        let mut tries = 0;
        loop {
            match fs::create_dir(cgroup.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => {
                    tries += 1;
                    self.make_root(root)?;
                }
                other => return other,
            }
        }
    }

    /// It was removed while it was empty.
    fn make_root(&self, root: &Path) -> io::Result<()> {
        fs::create_dir_all(root)?;
        if let (true, Some(place)) = (self.limits.wanted(), &self.place) {
            for controller in [MEMORY, PIDS] {
                if let Enforcement::Impossible(why) = hand_down(place, root, controller) {
                    tracing::debug!(controller, why, "a controller is not handed down again");
                }
            }
        }
        Ok(())
    }
}

fn set_limits(
    cgroup: &Cgroup,
    limits: TreeLimits,
    memory: &Enforcement,
    pids: &Enforcement,
) -> io::Result<()> {
    for (limit, enforcement, file) in [
        (limits.memory_max, memory, "memory.max"),
        (limits.pids_max, pids, "pids.max"),
    ] {
        if let (Some(limit), Enforcement::Possible) = (limit, enforcement) {
            cgroup.set(file, &limit.to_string())?;
        }
    }
    Ok(())
}

impl Drop for Groups {
    /// Where nothing runs, nothing of ours stays.
    fn drop(&mut self) {
        if let Trees::Cgroup { root, .. } = &self.trees {
            let _ = fs::remove_dir(root);
        }
    }
}

fn divide(place: Place, run: &Path) -> Result<(Trees, Place), String> {
    remove_empty_roots(&place.delegated);
    let root = place.delegated.join(name(run));
    let made = match fs::create_dir(&root) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    };
    made.map_err(|error| format!("making {}: {error}", root.display()))?;
    usable(&root).inspect_err(|_| drop(fs::remove_dir(&root)))?;
    remove_ended(&root);
    let trees = Trees::Cgroup {
        root,
        memory: super::controllers::possible(&place, MEMORY),
        pids: super::controllers::possible(&place, PIDS),
    };
    Ok((trees, place))
}

/// The same for every gateway over the same data folder: FNV-1a of where it is.
fn name(run: &Path) -> String {
    let real = fs::canonicalize(run).unwrap_or_else(|_| run.to_owned());
    let bytes = real.as_os_str().as_bytes().iter();
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{PREFIX}{hash:016x}")
}

/// Below a threaded cgroup, processes cannot live.
fn usable(root: &Path) -> Result<(), String> {
    match fs::read_to_string(root.join("cgroup.type")) {
        Ok(kind) if kind.trim_end() == "domain" => Ok(()),
        Ok(kind) => Err(format!(
            "a cgroup in ours is of the type `{}`, in which programs cannot live",
            kind.trim_end()
        )),
        Err(error) => Err(format!("{}: {error}", root.join("cgroup.type").display())),
    }
}

/// Of gateways that were killed, over data folders that may not exist any more. One that is needed is made again.
fn remove_empty_roots(delegated: &Path) {
    let Ok(entries) = fs::read_dir(delegated) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // Fails for every one that is in use.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Those of ended processes. One in which somebody lives cannot be removed.
fn remove_ended(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else {
        return;
    };
    let is_ours = |name: &str| name.parse::<ProcessId>().is_ok();
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(is_ours) {
            remove(&Cgroup::new(entry.path()));
        }
    }
}

/// The cgroup that its record names. A record that a program has changed must not make us kill anybody else.
pub(crate) fn of(process: ProcessId, folder: &Folder) -> Option<Cgroup> {
    let path = folder.spec().ok()??.cgroup?;
    let its_own = path
        .file_name()
        .is_some_and(|name| *name == *process.to_string());
    (its_own && path.is_absolute()).then(|| Cgroup::new(path))
}

/// Where somebody may well live.
pub(crate) fn remove(cgroup: &Cgroup) {
    tell(cgroup, cgroup.remove());
}

/// Where everybody has just been killed, or nobody ever was.
pub(crate) fn remove_soon(cgroup: &Cgroup) {
    tell(cgroup, cgroup.remove_soon());
}

/// Best effort: one that stays costs little, and is tried again when a gateway opens.
fn tell(cgroup: &Cgroup, removed: io::Result<Removed>) {
    match removed {
        Ok(Removed::Gone) => {}
        Ok(Removed::Populated) => {
            tracing::debug!(cgroup = %cgroup.path().display(), "somebody still lives in it");
        }
        Err(error) => {
            tracing::debug!(cgroup = %cgroup.path().display(), %error, "it cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn limits_are_written_where_they_are_enforced_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let cgroup = Cgroup::new(folder.path());
        let limits = TreeLimits {
            memory_max: Some(2 << 30),
            pids_max: Some(512),
        };
        let (yes, no) = (Enforcement::Possible, Enforcement::Impossible("so".into()));
        set_limits(&cgroup, limits, &no, &no).unwrap();
        set_limits(&cgroup, TreeLimits::default(), &yes, &yes).unwrap();
        // The kernel makes the files; we never do.
        assert!(set_limits(&cgroup, limits, &yes, &yes).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(folder.path().join("memory.max"), "").unwrap();
        fs::write(folder.path().join("pids.max"), "").unwrap();
        set_limits(&cgroup, limits, &yes, &yes).unwrap();
        let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(
            (read("memory.max"), read("pids.max")),
            ("2147483648".into(), "512".into())
        );
    }

    /// A program can write into its own run folder.
    #[test]
    fn a_record_that_names_another_cgroup_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let run = Folder::new(folder.path());
        let process = ProcessId::from_number(7);
        let named = |path: String| {
            let mut writer = homing_shim::record::Writer::new();
            for (key, value) in [
                ("process", "7"),
                ("argument", "true"),
                ("directory", "/"),
                ("input", "empty"),
                ("output_wakes", "silent"),
                ("head", "0"),
                ("tail", "0"),
                ("open_files", "0"),
            ] {
                writer.text(key, value);
            }
            writer.text("cgroup", &path);
            run.write(homing_shim::folder::SPEC, &writer.finish())
                .unwrap();
            of(process, &run).map(|cgroup| cgroup.path().display().to_string())
        };
        let own = format!("/sys/fs/cgroup/homing.1/{process}");
        assert_eq!(named(own.clone()), Some(own));
        assert_eq!(named("/sys/fs/cgroup/gateway".into()), None);
        assert_eq!(named(process.to_string()), None);
        assert_eq!(named(format!("/a/{process}/..")), None);
    }
}
