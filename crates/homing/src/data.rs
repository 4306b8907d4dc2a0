//! The data folder: made private, held by one gateway at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};

/// The store's file in a data folder.
pub fn store_path(data: &Path) -> PathBuf {
    data.join("homing.db")
}

/// The socket of a running gateway.
pub fn control_path(data: &Path) -> PathBuf {
    data.join("control.sock")
}

/// A data folder that is ours until this is dropped, or the gateway dies: the kernel holds the lock (OWN-92: no pids as truth).
#[derive(Debug)]
pub struct DataFolder {
    pub path: PathBuf,
    _lock: File,
}

/// Makes the folder and takes its lock.
pub fn take(path: &Path) -> anyhow::Result<DataFolder> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("making the data folder {}", path.display()))?;
    let path = path
        .canonicalize()
        .with_context(|| format!("finding the data folder {}", path.display()))?;
    let lock_path = path.join("gateway.lock");
    let mut lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(&lock_path)
        .with_context(|| format!("opening {}", lock_path.display()))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            let holder = match lock.read_to_string(&mut holder) {
                Ok(_) if !holder.trim().is_empty() => format!(" (pid {})", holder.trim()),
                Ok(_) | Err(_) => String::new(),
            };
            bail!(
                "the data folder {} is in use by another gateway{holder}; stop that one, or give this one a folder of its own with --data",
                path.display()
            );
        }
        Err(error) => {
            return Err(error).with_context(|| format!("locking {}", lock_path.display()));
        }
    }
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())?;
    Ok(DataFolder { path, _lock: lock })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_gateway_at_a_time_and_the_second_is_told_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/data");
        let first = take(&path).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        let refusal = take(&path).unwrap_err().to_string();
        assert!(
            refusal.contains(&format!("pid {}", std::process::id())) && refusal.contains("--data"),
            "{refusal}"
        );
        drop(first);
        take(&path).unwrap();
    }
}
