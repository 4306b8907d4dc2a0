//! The SQLite store passes the suite.

#![allow(clippy::unwrap_used, reason = "tests")]

use homing_conformance::sqlite::SqliteFiles;

const FILES: SqliteFiles = SqliteFiles {
    appender: env!("CARGO_BIN_EXE_homing-appender"),
};

homing_conformance::store_suite!(FILES);
