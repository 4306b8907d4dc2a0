//! What is true of this store in particular. What every store must do is in `tests/conformance`.

#![allow(clippy::unwrap_used, reason = "tests")]

mod opening;
mod plans;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use homing_ports::{IdSource, SystemClock};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use tempfile::TempDir;

use crate::SqliteStore;

fn ids() -> IdSource {
    IdSource::new(Arc::new(SystemClock))
}

struct Place {
    _folder: TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state").join("homing.db");
    Place {
        _folder: folder,
        path,
    }
}

async fn store(place: &Place) -> SqliteStore {
    SqliteStore::open(&place.path, ids()).await.unwrap()
}

/// A connection with nothing but the schema between it and the rows.
async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .connect()
        .await
        .unwrap()
}

/// A fresh schema in a file that only this connection has.
async fn raw_fresh(place: &Place) -> SqliteConnection {
    store(place).await.close().await.unwrap();
    raw(&place.path).await
}

async fn end(connection: SqliteConnection) {
    connection.close().await.unwrap();
}
