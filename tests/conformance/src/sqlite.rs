//! The SQLite store as the suite sees it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use homing_ports::store::Store;
use homing_ports::{IdSource, SystemClock};
use homing_store_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::{Place, StoreFactory};

/// Stores in files of their own.
#[derive(Debug)]
pub struct SqliteFiles {
    /// Where the program `homing-appender` is: only a test knows.
    pub appender: &'static str,
}

#[derive(Debug)]
pub struct SqliteFile {
    folder: TempDir,
    appender: &'static str,
}

impl SqliteFile {
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("homing.db")
    }
}

impl SqliteFiles {
    pub fn file(&self) -> SqliteFile {
        SqliteFile {
            folder: tempfile::tempdir().unwrap(),
            appender: self.appender,
        }
    }
}

impl StoreFactory for SqliteFiles {
    fn place(&self) -> Box<dyn Place> {
        Box::new(self.file())
    }
}

#[async_trait]
impl Place for SqliteFile {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(
            SqliteStore::open(&self.path(), IdSource::new(Arc::new(SystemClock)))
                .await
                .unwrap(),
        )
    }

    fn appender(&self) -> Command {
        let mut command = Command::new(self.appender);
        command.arg("sqlite").arg(self.path());
        command
    }
}
