//! The folder itself: names, whole-or-absent records, the lock.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::record::RecordError;
use crate::spec::Spec;
use crate::started::Started;

pub const SPEC: &str = "spec";
pub const LOCK: &str = "lock";
pub const CONTROL: &str = "control";
pub const INPUT: &str = "input";
pub const STARTED: &str = "started";
pub const EXIT: &str = "exit";
pub const ACK: &str = "ack";
/// Beside the folders, not inside one.
pub const WAKE: &str = "wake";

/// A record's largest size: a spec holds at most what `execve` takes (2 MiB on a usual machine), each byte written as three.
const RECORD_LIMIT: u64 = 8 * 1024 * 1024;

/// One process's folder.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// Why a record could not be read.
#[derive(Debug)]
pub enum ReadError {
    Io(io::Error),
    Damaged(RecordError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => error.fmt(f),
            ReadError::Damaged(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// What a try for the lock found.
#[derive(Debug)]
#[must_use]
pub enum LockState {
    /// Nobody looks after the process; while this is held nobody else can declare its end.
    Free(File),
    Held,
    /// There is no lock file.
    Missing,
}

impl Folder {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn spec(&self) -> Result<Option<Spec>, ReadError> {
        self.read(SPEC, Spec::parse)
    }

    pub fn started(&self) -> Result<Option<Started>, ReadError> {
        self.read(STARTED, Started::parse)
    }

    pub fn exit(&self) -> Result<Option<Exit>, ReadError> {
        self.read(EXIT, Exit::parse)
    }

    fn read<T>(
        &self,
        name: &'static str,
        parse: fn(&[u8]) -> Result<T, RecordError>,
    ) -> Result<Option<T>, ReadError> {
        let file = match File::open(self.file(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ReadError::Io(error)),
        };
        let mut content = Vec::new();
        file.take(RECORD_LIMIT + 1)
            .read_to_end(&mut content)
            .map_err(ReadError::Io)?;
        if content.len() as u64 > RECORD_LIMIT {
            return Err(ReadError::Damaged(RecordError {
                file: name,
                line: 0,
                what: format!("it is larger than {RECORD_LIMIT} bytes"),
            }));
        }
        parse(&content).map(Some).map_err(ReadError::Damaged)
    }

    /// Writes a record so that after a crash it is there whole, or not at all; on return it is there.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        self.write_unsynced_name(name, text)?;
        self.sync()
    }

    /// As [`Folder::write`], but the name may be lost in a crash until the next [`Folder::sync`].
    pub fn write_unsynced_name(&self, name: &str, text: &str) -> io::Result<()> {
        let temporary = self.file(&format!("{name}.new"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        fs::rename(&temporary, self.file(name))
    }

    /// Makes the names in the folder last.
    pub fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// Creates the lock file and takes it. Passed on to the supervisor as an open file, so that there is no moment without a holder.
    pub fn create_lock(&self) -> io::Result<File> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.file(LOCK))?;
        file.try_lock()?;
        Ok(file)
    }

    pub fn try_lock(&self) -> io::Result<LockState> {
        let file = match OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.file(LOCK))
        {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LockState::Missing),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Ok(()) => Ok(LockState::Free(file)),
            Err(TryLockError::WouldBlock) => Ok(LockState::Held),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
