//! How many files the gateway may have open: one pidfd for each process it watches, beside everything else.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit of open files, before and after; `u64::MAX` is "no limit".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    pub before: u64,
    pub now: u64,
}

/// Raises the soft limit of open files to the hard one. For the binary to call once, early.
pub fn raise_open_files_limit() -> io::Result<OpenFiles> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            },
        )?;
    }
    Ok(OpenFiles {
        before: limit.current.unwrap_or(u64::MAX),
        now: limit.maximum.unwrap_or(u64::MAX),
    })
}
