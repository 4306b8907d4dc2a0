//! How a whole tree of processes is ended here, and what of it can be limited.
//!
//! **Invariant:** what is said is what is done. A limit is called enforceable only if the next process gets it, or would if one were set.
//! **Absent on purpose:** a guess. Whatever is not used has its reason, in words for the person who can change it.

mod controllers;
mod groups;
mod place;

use std::fmt;
use std::path::{Path, PathBuf};

use homing_shim::folder::Folder;
use homing_shim::record::{Record, Writer};

pub use place::Sources;

pub(crate) use groups::{Groups, of, remove, remove_soon};

/// The file beside the run folders in which a gateway says what it uses.
const RECORD: &str = "trees";

/// How a tree is ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trees {
    /// Each program is born in a cgroup of its own below `root`, and `cgroup.kill` ends all of it. The sweep still follows.
    Cgroup {
        root: PathBuf,
        memory: Enforcement,
        pids: Enforcement,
    },
    /// Signals to its process group and to all of its descendants. What was left by a supervisor that was killed, moved to a session of its own
    /// *and* threw its environment away, is not found.
    GroupAndSweep { why: String },
}

/// Whether a limit can be set on a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enforcement {
    Possible,
    Impossible(String),
}

/// The most that each process's whole tree may use. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeLimits {
    /// Bytes. What is over it is ended by the kernel's out-of-memory killer, inside this tree only.
    pub memory_max: Option<u64>,
    /// Processes and threads. A fork beyond it fails.
    pub pids_max: Option<u64>,
}

impl TreeLimits {
    fn wanted(self) -> bool {
        self != Self::default()
    }
}

/// What a gateway started here would use. Only looks.
pub fn trees() -> Trees {
    Trees::look(&Sources::default())
}

/// What the gateway over this data folder uses, as it has written it down; `None` if none has yet.
pub fn trees_of(data: &Path) -> Option<Trees> {
    let content = std::fs::read(data.join("run").join(RECORD)).ok()?;
    Trees::parse(&content)
}

impl Trees {
    /// As [`trees`], from other sources.
    pub fn look(sources: &Sources) -> Self {
        match place::find(sources) {
            Ok(place) => Trees::Cgroup {
                root: place.delegated.clone(),
                memory: controllers::possible(&place, controllers::MEMORY),
                pids: controllers::possible(&place, controllers::PIDS),
            },
            Err(why) => Trees::GroupAndSweep { why },
        }
    }

    /// The limits of `wanted` that are not enforced, each with the reason: one sentence for a log, `None` if there is nothing to say.
    pub fn not_enforced(&self, wanted: TreeLimits) -> Option<String> {
        let of_each = |limit: Option<u64>, setting, controller| {
            limit
                .and(self.obstacle(controller))
                .map(|why| (setting, why))
        };
        let found = [
            of_each(
                wanted.memory_max,
                "processes.memory_max",
                controllers::MEMORY,
            ),
            of_each(wanted.pids_max, "processes.pids_max", controllers::PIDS),
        ];
        let told: Vec<String> = match found {
            [Some((memory, why)), Some((pids, other))] if why == other => {
                vec![format!("`{memory}` and `{pids}` are not enforced: {why}")]
            }
            found => found
                .into_iter()
                .flatten()
                .map(|(setting, why)| format!("`{setting}` is not enforced: {why}"))
                .collect(),
        };
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// How, without what can be limited.
    pub fn how(&self) -> String {
        let ended = "a process and everything it started is ended";
        match self {
            Trees::GroupAndSweep { .. } => {
                format!("{ended} by its group and a sweep of its descendants")
            }
            Trees::Cgroup { root, .. } => {
                format!("{ended} at once by its cgroup, below {}", root.display())
            }
        }
    }

    fn obstacle(&self, controller: &str) -> Option<&str> {
        match self {
            Trees::GroupAndSweep { why } => Some(why),
            Trees::Cgroup { memory, pids, .. } => {
                let which = if controller == controllers::MEMORY {
                    memory
                } else {
                    pids
                };
                match which {
                    Enforcement::Possible => None,
                    Enforcement::Impossible(why) => Some(why),
                }
            }
        }
    }

    fn to_text(&self) -> String {
        let mut writer = Writer::new();
        match self {
            Trees::GroupAndSweep { why } => writer.text("sweep", why),
            Trees::Cgroup { root, memory, pids } => {
                use std::os::unix::ffi::OsStrExt;
                writer.bytes("root", root.as_os_str().as_bytes());
                for (key, enforcement) in [("no_memory", memory), ("no_pids", pids)] {
                    if let Enforcement::Impossible(why) = enforcement {
                        writer.text(key, why);
                    }
                }
            }
        }
        writer.finish()
    }

    fn parse(content: &[u8]) -> Option<Self> {
        let record = Record::parse(RECORD, content).ok()?;
        if let Ok(why) = record.text("sweep") {
            return Some(Trees::GroupAndSweep { why: why.into() });
        }
        let enforcement = |key| match record.text(key) {
            Ok(why) => Enforcement::Impossible(why.into()),
            Err(_) => Enforcement::Possible,
        };
        Some(Trees::Cgroup {
            root: record.text("root").ok()?.into(),
            memory: enforcement("no_memory"),
            pids: enforcement("no_pids"),
        })
    }

    /// Best effort: only `homing doctor` reads it.
    fn write_down(&self, run: &Path) {
        if let Err(error) = Folder::new(run).write_unsynced_name(RECORD, &self.to_text()) {
            tracing::debug!(%error, "how trees are ended is not written down");
        }
    }
}

impl fmt::Display for Trees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Enforcement::{Impossible, Possible};
        f.write_str(&self.how())?;
        let (memory, pids) = match self {
            Trees::GroupAndSweep { why } => {
                return write!(f, ", and its memory and pids are not limited: {why}");
            }
            Trees::Cgroup { memory, pids, .. } => (memory, pids),
        };
        match (memory, pids) {
            (Possible, Possible) => f.write_str("; its memory and pids can be limited"),
            (Impossible(why), Impossible(other)) if why == other => {
                write!(f, "; its memory and pids cannot be limited: {why}")
            }
            (Impossible(why), Impossible(other)) => write!(
                f,
                "; its memory cannot be limited: {why}; nor its pids: {other}"
            ),
            (Possible, Impossible(why)) => {
                write!(f, "; its memory can be limited, its pids cannot: {why}")
            }
            (Impossible(why), Possible) => {
                write!(f, "; its pids can be limited, its memory cannot: {why}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn no(why: &str) -> Enforcement {
        Enforcement::Impossible(why.into())
    }

    fn cgroup(memory: Enforcement, pids: Enforcement) -> Trees {
        Trees::Cgroup {
            root: "/sys/fs/cgroup/a b".into(),
            memory,
            pids,
        }
    }

    #[test]
    fn what_is_written_down_comes_back() {
        for trees in [
            Trees::GroupAndSweep {
                why: "a=b\n100%".into(),
            },
            cgroup(Enforcement::Possible, Enforcement::Possible),
            cgroup(no("memory?"), Enforcement::Possible),
            cgroup(no("why"), no("")),
        ] {
            assert_eq!(Trees::parse(trees.to_text().as_bytes()), Some(trees));
        }
        assert_eq!(Trees::parse(b"format=1\nend=1\n"), None);
    }

    #[test]
    fn only_what_is_wanted_is_told_and_one_reason_once() {
        let both = TreeLimits {
            memory_max: Some(1),
            pids_max: Some(1),
        };
        let pids = TreeLimits {
            memory_max: None,
            ..both
        };
        let told = |trees: &Trees, limits| trees.not_enforced(limits).unwrap_or_default();
        let none = cgroup(no("so"), no("so"));
        assert_eq!(told(&none, TreeLimits::default()), "");
        assert_eq!(
            told(&none, both),
            "`processes.memory_max` and `processes.pids_max` are not enforced: so"
        );
        assert_eq!(
            told(&none, pids),
            "`processes.pids_max` is not enforced: so"
        );
        assert_eq!(told(&cgroup(no("so"), Enforcement::Possible), pids), "");
        assert_eq!(
            told(&cgroup(no("so"), Enforcement::Possible), both),
            "`processes.memory_max` is not enforced: so"
        );
        let sweep = Trees::GroupAndSweep { why: "old".into() };
        assert!(told(&sweep, both).ends_with("are not enforced: old"));
    }

    #[test]
    fn the_sentence_says_which_and_why() {
        let said = cgroup(no("A"), no("A")).to_string();
        assert!(
            said.contains("by its cgroup")
                && said.ends_with("memory and pids cannot be limited: A"),
            "{said}"
        );
        let said = Trees::GroupAndSweep { why: "B".into() }.to_string();
        assert!(said.contains("sweep") && said.ends_with(": B"), "{said}");
        let said = cgroup(Enforcement::Possible, no("C")).to_string();
        assert!(said.ends_with("pids cannot: C"), "{said}");
    }
}
