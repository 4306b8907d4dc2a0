//! Carries out the steps of a plan in the transaction that is open.
//!
//! **Why steps are joined:** a connection of sqlx lives in a thread of its own, and a round trip to it costs several times what SQLite needs for one
//! of these statements. So the steps of a commit go over as one text of many statements. Commits have few shapes, so the text is found in the
//! connection's cache of prepared statements.

use futures_util::{StreamExt, TryStreamExt};
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Either, Executor, Row};

use crate::plan::{Expect, Step};
use crate::trouble::{Severity, severity};

/// The most statements in one text. Longer plans go in pieces, so that a long list of changes does not fill the cache with shapes of its own.
const TOGETHER: usize = 14;

/// Why the steps did not all succeed.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// A step did not find what it must. The transaction goes on, but not with this job.
    Unmet {
        change: usize,
    },
    NoConversation,
    /// Another gateway has taken over, with this epoch.
    Fenced(u64),
    /// The schema refused a row.
    Refused {
        change: usize,
        error: sqlx::Error,
    },
    /// The transaction is lost.
    Lost(sqlx::Error),
}

/// Runs the steps in order and answers with the last row any of them returned.
pub(crate) async fn run(
    connection: &mut SqliteConnection,
    mut steps: Vec<Step>,
) -> Result<Option<SqliteRow>, Stopped> {
    // What contradicts itself stops it there, and is nothing to ask the database.
    let never = steps.iter().position(|step| step.expect == Expect::Never);
    let never = never.and_then(|at| steps.drain(at..).next());
    let mut last = None;
    let mut steps = steps.into_iter().peekable();
    while steps.peek().is_some() {
        let piece: Vec<Step> = steps.by_ref().take(TOGETHER).collect();
        last = run_piece(connection, piece).await?.or(last);
    }
    if let Some(Step { change, .. }) = never {
        return Err(Stopped::Unmet { change });
    }
    Ok(last)
}

async fn run_piece(
    connection: &mut SqliteConnection,
    steps: Vec<Step>,
) -> Result<Option<SqliteRow>, Stopped> {
    let mut arguments = SqliteArguments::default();
    let mut sql = String::with_capacity(steps.iter().map(|step| step.sql.len() + 2).sum());
    let mut checks = Vec::with_capacity(steps.len());
    for step in steps {
        sql.push_str(step.sql);
        sql.push_str(";\n");
        checks.push((step.expect, step.change));
        step.values
            .into_iter()
            .for_each(|value| value.bind(&mut arguments));
    }

    let mut last = None;
    let mut found = false;
    let mut checks = checks.into_iter();
    let mut results = connection.fetch_many(sqlx::query_with(AssertSqlSafe(sql), arguments));
    // Nothing below may leave this loop early with a statement unfinished: the next command waits for the worker anyway.
    loop {
        let outcome = match results.try_next().await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Ok(last),
            Err(error) => {
                let change = checks.next().map_or(0, |(_, change)| change);
                return Err(match severity(&error) {
                    Severity::Refused => Stopped::Refused { change, error },
                    Severity::Passing | Severity::Fatal => Stopped::Lost(error),
                });
            }
        };
        match outcome {
            Either::Right(row) => {
                found = true;
                last = Some(row);
            }
            Either::Left(done) => {
                let Some((expect, change)) = checks.next() else {
                    continue;
                };
                let stopped = match expect {
                    Expect::Epoch(ours) => {
                        // It is no job's answer.
                        let now = last.take().map_or(Ok(0), |row| row.try_get::<i64, _>(0));
                        match now.map(i64::unsigned_abs) {
                            Ok(now) if now == ours => None,
                            Ok(now) => Some(Stopped::Fenced(now)),
                            Err(error) => Some(Stopped::Lost(error)),
                        }
                    }
                    Expect::One if done.rows_affected() != 1 => Some(Stopped::Unmet { change }),
                    Expect::Some if done.rows_affected() == 0 => Some(Stopped::Unmet { change }),
                    Expect::Found if !found => Some(Stopped::Unmet { change }),
                    Expect::Conversation if !found => Some(Stopped::NoConversation),
                    Expect::One
                    | Expect::Some
                    | Expect::Found
                    | Expect::Conversation
                    | Expect::Any
                    | Expect::Never => None,
                };
                if let Some(stopped) = stopped {
                    // The statements behind this one have no say any more; they are undone with the job.
                    while results.next().await.is_some() {}
                    return Err(stopped);
                }
                found = false;
            }
        }
    }
}
