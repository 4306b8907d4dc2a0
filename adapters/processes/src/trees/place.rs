//! Where cgroups may be made: our own place in the hierarchy (cgroup v2), if it is ours to divide.
//!
//! Whoever starts us says where we are: a unit's cgroup, or, where that has a part for us (systemd's `DelegateSubgroup=gateway`, or an earlier
//! gateway that moved itself), the leaf [`LEAF`] in it. Divided is what is above that leaf.
//!
//! **Invariant:** only looks; writes nothing.
//! **Absent on purpose:** fixed paths. Hybrid machines have the v2 hierarchy elsewhere than pure ones, and containers see a part of it.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use homing_shim::cgroup::PROCS;
use rustix::fs::{Access, access};

/// The name of the part in which a gateway itself lives, when what it divides must have no processes of its own.
pub(crate) const LEAF: &str = "gateway";

/// The files from which we learn where we are. For tests to point elsewhere.
#[derive(Debug, Clone)]
pub struct Sources {
    /// In the format of `/proc/self/mountinfo`.
    pub mounts: PathBuf,
    /// In the format of `/proc/self/cgroup`.
    pub own: PathBuf,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            mounts: "/proc/self/mountinfo".into(),
            own: "/proc/self/cgroup".into(),
        }
    }
}

/// A cgroup that we may divide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) delegated: PathBuf,
    /// Its name in the hierarchy as we see it; `/` is all that we see.
    pub(crate) name: PathBuf,
}

pub(crate) fn find(sources: &Sources) -> Result<Place, String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let own = own_cgroup(&read(&sources.own)?)
        .ok_or("this kernel, or this container, has no cgroup v2 hierarchy")?;
    let place = visible(&read(&sources.mounts)?, &own)?;
    if own.file_name().is_some_and(|name| name == LEAF)
        && let Some(above) = above(&place)
        && divisible(&above.delegated).is_ok()
    {
        return Ok(above);
    }
    divisible(&place.delegated)?;
    Ok(place)
}

fn above(place: &Place) -> Option<Place> {
    Some(Place {
        delegated: place.delegated.parent()?.to_owned(),
        name: place.name.parent()?.to_owned(),
    })
}

/// The v2 hierarchy is number 0 and has no controllers in its name.
fn own_cgroup(text: &str) -> Option<PathBuf> {
    text.lines()
        .find_map(|line| line.strip_prefix("0::"))
        .map(PathBuf::from)
}

/// Where our cgroup is among the mounted file systems.
fn visible(mounts: &str, own: &Path) -> Result<Place, String> {
    let mut mounted = mounts.lines().filter_map(cgroup2_mount).peekable();
    if mounted.peek().is_none() {
        return Err("no cgroup v2 file system is mounted".into());
    }
    // A namespace begins below us, or beside: its paths lead out of what can be seen.
    let leads_out = own.components().any(|part| part == Component::ParentDir);
    mounted
        .filter(|_| !leads_out)
        .filter_map(|(root, mount)| {
            let delegated = mount.join(own.strip_prefix(root).ok()?);
            delegated.is_dir().then_some(delegated)
        })
        // `/a/` and `/a` are one; the first has no parent's name to compare.
        .map(|delegated| Place {
            delegated: delegated.components().collect(),
            name: own.to_owned(),
        })
        .next()
        .ok_or_else(|| format!("our own cgroup {} is not in what is mounted", own.display()))
}

/// Root of the mount in its hierarchy, and mount point, if the line is about cgroup v2.
fn cgroup2_mount(line: &str) -> Option<(PathBuf, PathBuf)> {
    let (before, after) = line.split_once(" - ")?;
    if after.split(' ').next()? != "cgroup2" {
        return None;
    }
    let mut fields = before.split(' ').skip(3);
    Some((unescaped(fields.next()?), unescaped(fields.next()?)))
}

/// Spaces and the like are written as `\040`.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escape = (*first == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match escape {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

fn divisible(cgroup: &Path) -> Result<(), String> {
    for path in [cgroup.to_owned(), cgroup.join(PROCS)] {
        access(&path, Access::WRITE_OK).map_err(|error| {
            format!(
                "our cgroup is not delegated to us ({}: {}); with systemd, `Delegate=yes` does that",
                path.display(),
                std::io::Error::from(error)
            )
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// A made-up machine: mounts and our cgroup as text, cgroups as folders.
    struct Machine {
        folder: tempfile::TempDir,
    }

    impl Machine {
        fn new(cgroups: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in cgroups {
                let path = folder.path().join("cg v2").join(name);
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join(PROCS), "").unwrap();
            }
            Self { folder }
        }

        fn mount(&self) -> PathBuf {
            self.folder.path().join("cg v2")
        }

        /// With the mount's root in the hierarchy.
        fn find(&self, root: &str, own: &str) -> Result<Place, String> {
            let escaped = self.mount().display().to_string().replace(' ', "\\040");
            let mounts = format!(
                "23 28 0:21 / /proc rw,relatime - proc proc rw\n\
                 35 31 0:30 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
                 41 31 0:38 {root} {escaped} rw,nosuid shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n"
            );
            self.find_in(&mounts, own)
        }

        fn find_in(&self, mounts: &str, own: &str) -> Result<Place, String> {
            let sources = Sources {
                mounts: self.folder.path().join("mountinfo"),
                own: self.folder.path().join("cgroup"),
            };
            fs::write(&sources.mounts, mounts).unwrap();
            fs::write(&sources.own, own).unwrap();
            find(&sources)
        }
    }

    #[test]
    fn our_own_cgroup_is_ours_to_divide() {
        let machine = Machine::new(&["system.slice/homing.service"]);
        let place = machine
            .find("/", "4:memory:/x\n0::/system.slice/homing.service\n")
            .unwrap();
        assert_eq!(place.name, Path::new("/system.slice/homing.service"));
        assert_eq!(
            place.delegated,
            machine.mount().join("system.slice/homing.service")
        );
        // A container that sees its own cgroup as all there is, and one that has a part of the machine's hierarchy mounted.
        let all = Machine::new(&[""]);
        assert_eq!(all.find("/", "0::/\n").unwrap().delegated, all.mount());
        let part = Machine::new(&["inner"]);
        let place = part.find("/docker/1f", "0::/docker/1f/inner\n").unwrap();
        assert_eq!(place.delegated, part.mount().join("inner"));
    }

    #[test]
    fn from_the_leaf_of_a_gateway_it_is_the_one_above() {
        let machine = Machine::new(&["homing.service/gateway"]);
        fs::write(machine.mount().join("homing.service").join(PROCS), "").unwrap();
        let place = machine.find("/", "0::/homing.service/gateway\n").unwrap();
        assert_eq!(place.name, Path::new("/homing.service"));
        assert_eq!(place.delegated, machine.mount().join("homing.service"));
        // Where that is not ours, the leaf itself can still be divided.
        let alone = Machine::new(&["gateway"]);
        let place = alone.find("/", "0::/gateway\n").unwrap();
        assert_eq!(place.delegated, alone.mount().join("gateway"));
    }

    #[test]
    fn whatever_is_missing_has_its_reason() {
        let machine = Machine::new(&["a"]);
        let why = |root: &str, own: &str| machine.find(root, own).unwrap_err();
        assert!(why("/", "4:memory:/x\n").contains("no cgroup v2 hierarchy"));
        assert!(why("/", "0::/b\n").contains("/b is not in what is mounted"));
        assert!(why("/", "0::/../a\n").contains("not in what is mounted"));
        assert!(why("/elsewhere", "0::/a\n").contains("not in what is mounted"));
        let none = machine.find_in(
            "23 28 0:21 / /proc rw - proc proc rw\nnonsense\n",
            "0::/a\n",
        );
        assert!(none.unwrap_err().contains("no cgroup v2 file system"));
        fs::remove_file(machine.mount().join("a").join(PROCS)).unwrap();
        assert!(why("/", "0::/a\n").contains("Delegate=yes"));
        let absent = find(&Sources {
            mounts: "/nowhere".into(),
            own: "/nowhere".into(),
        });
        assert!(absent.unwrap_err().starts_with("/nowhere: "));
    }

    #[test]
    fn escapes_are_only_what_they_are() {
        for (text, path) in [
            ("/a\\040b\\134", "/a b\\"),
            ("/a\\9", "/a\\9"),
            ("\\04", "\\04"),
            ("\\777", "\\777"),
        ] {
            assert_eq!(unescaped(text), Path::new(path));
        }
    }
}
