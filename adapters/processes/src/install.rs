//! The embedded supervisor, as a file that can be executed.
//!
//! **Invariant:** `<data>/bin/homing-shim-<hash>` is whole and is the one this gateway was built with: written under another name, fsynced, renamed,
//! and compared byte by byte when found. Supervisors that run from an older one keep it alive in the kernel when its name goes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::errors::OpenError;
use crate::{GOING, UNFINISHED};

static SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/homing-shim"));
const NAME: &str = "homing-shim-";

pub(crate) fn create_private(path: &Path) -> Result<(), OpenError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| OpenError::Folder {
        path: path.to_owned(),
        source,
    })
}

/// Returns where it is.
pub(crate) fn install(bin: &Path) -> Result<PathBuf, OpenError> {
    create_private(bin)?;
    let path = bin.join(format!("{NAME}{}", env!("HOMING_SHIM_HASH")));
    if !fs::read(&path).is_ok_and(|found| found == SHIM) {
        write(bin, &path).map_err(|source| OpenError::Supervisor {
            path: path.clone(),
            source,
        })?;
    }
    remove_others(bin, &path);
    Ok(path)
}

/// Folders that a gateway died over: nothing was executed in them yet, or they were being forgotten.
pub(crate) fn remove_unfinished(run: &Path) {
    let Ok(entries) = fs::read_dir(run) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path
            .extension()
            .is_some_and(|extension| extension == UNFINISHED || extension == GOING)
        {
            let _ = fs::remove_dir_all(path);
        }
    }
}

fn write(bin: &Path, path: &Path) -> io::Result<()> {
    let temporary = bin.join(format!("new-{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o700)
        .open(&temporary)?;
    file.write_all(SHIM)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary, path)?;
    File::open(bin)?.sync_all()
}

/// Those of other versions. Best effort: one left over is only space.
fn remove_others(bin: &Path, ours: &Path) {
    let Ok(entries) = fs::read_dir(bin) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_one = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(NAME));
        if is_one && path != ours {
            let _ = fs::remove_file(path);
        }
    }
}
