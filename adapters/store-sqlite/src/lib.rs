//! The store on SQLite: one file, one writer, a few readers.
//!
//! **Invariant:** what a write answered is on disk (WAL, `synchronous=FULL`); all writes go through one task in one connection, many of them in
//! one transaction (`writer`). What a [`Change`](homing_ports::store::Change) means is a pure list of statements with the rows each must find
//! (`plan`), and the schema in `migrations/sqlite` refuses what no statement should ever write.
//! **Absent on purpose:** decisions, retries, and `sqlx` in any public type but the source of an error.

mod columns;
mod delegate;
mod moving;
mod open;
mod plan;
mod read;
mod rows;
mod run;
mod store;
mod thread;
mod trouble;
mod values;
mod writer;

#[cfg(test)]
mod tests;

pub use open::OpenError;
pub use store::{SqliteReader, SqliteStore};
