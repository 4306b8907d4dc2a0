//! How opening can fail, and the one way a folder's trouble is told.

use std::io;
use std::path::PathBuf;

use homing_domain::ids::ProcessId;
use homing_ports::processes::ProcessError;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("processes are opened outside a tokio runtime")]
    NoRuntime,
    #[error("making the folder {}", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("installing the supervisor as {}", path.display())]
    Supervisor {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("opening the wake FIFO {}", path.display())]
    Wake {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

pub(crate) fn folder_error(process: ProcessId) -> impl Fn(io::Error) -> ProcessError {
    move |source| ProcessError::Folder { process, source }
}
