//! Where a bench works: a folder of its own on a real disk, and the binary it measures.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

/// The kernel's number of a tmpfs.
const TMPFS: u64 = 0x0102_1994;

#[derive(Debug)]
pub struct Place {
    folder: PathBuf,
    binary: PathBuf,
}

impl Place {
    /// `folder` is made if it is not there. Without one, `tmp` in the target folder that this program was built into.
    pub fn open(folder: Option<&Path>, binary: Option<&Path>) -> anyhow::Result<Place> {
        let program = std::env::current_exe().context("finding this program")?;
        let beside = program.parent().context("this program lies in no folder")?;
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => beside.parent().unwrap_or(beside).join("tmp"),
        };
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let folder = folder
            .canonicalize()
            .with_context(|| format!("finding {}", folder.display()))?;
        let binary = binary.map_or_else(|| beside.join("homing"), Path::to_owned);
        Ok(Place { folder, binary })
    }

    /// A fresh folder, removed when it is dropped.
    pub fn fresh(&self) -> anyhow::Result<TempDir> {
        tempfile::Builder::new()
            .prefix("bench-")
            .tempdir_in(&self.folder)
            .with_context(|| format!("making a folder in {}", self.folder.display()))
    }

    pub fn is_in_memory(&self) -> anyhow::Result<bool> {
        let system = rustix::fs::statfs(&self.folder)
            .with_context(|| format!("looking at {}", self.folder.display()))?;
        Ok(u64::try_from(system.f_type).is_ok_and(|kind| kind == TMPFS))
    }

    /// The gateway's binary.
    pub fn binary(&self) -> anyhow::Result<&Path> {
        if !self.binary.is_file() {
            bail!(
                "there is no {}; build it with `cargo build --release -p homing`, or name it with --binary",
                self.binary.display()
            );
        }
        Ok(&self.binary)
    }
}
