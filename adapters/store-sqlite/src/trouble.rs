//! What SQLite's errors mean for the caller and for the writer.

use homing_ports::store::StoreError;

/// How bad an error of the database is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The schema refused this statement; the transaction is intact.
    Refused,
    /// The transaction is lost; the next one may succeed (busy, disk full).
    Passing,
    /// What is on disk can no longer be vouched for: after a failed write or fsync, pages may look clean.
    Fatal,
}

// Primary result codes of SQLite: https://www.sqlite.org/rescode.html
const ERROR: i32 = 1;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const NO_MEMORY: i32 = 7;
const INTERRUPT: i32 = 9;
const FULL: i32 = 13;
const TOO_BIG: i32 = 18;
const CONSTRAINT: i32 = 19;

pub(crate) fn severity(error: &sqlx::Error) -> Severity {
    let sqlx::Error::Database(database) = error else {
        return match error {
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => Severity::Passing,
            _ => Severity::Fatal,
        };
    };
    let code = database
        .code()
        .and_then(|code| code.parse::<i32>().ok())
        .unwrap_or(0);
    match code & 0xff {
        CONSTRAINT | TOO_BIG => Severity::Refused,
        BUSY | LOCKED | NO_MEMORY | INTERRUPT | FULL | ERROR => Severity::Passing,
        _ => Severity::Fatal,
    }
}

/// Never an absence (OWN-40): whatever went wrong, the answer is "cannot say now".
pub(crate) fn unavailable(doing: &str, error: &sqlx::Error) -> StoreError {
    StoreError::Unavailable(format!("{doing}: {error}"))
}
