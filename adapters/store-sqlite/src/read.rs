//! Reading: a few connections that cannot write, one statement a question.
//!
//! **Invariant:** a question about a conversation touches that conversation's rows only, through an index; the plan of every statement in a `HOT` list is
//! tested for it. One statement is one snapshot, so what one answer says belongs together.
//! **Why `INDEXED BY`:** without statistics SQLite takes an index of all of a conversation's rows for as good as the partial one of what is open,
//! and a long past would be walked for every message. The hint makes the plan a fact, and an error if the index is gone.
//! **Why `LIMIT ? + 0`:** SQLite looks at the value of a bare `LIMIT ?` when it plans, and so prepares the statement anew after every binding.
//! **Absent on purpose:** a cache. What was answered is what was committed a moment ago, by whomever.

mod agents;
mod context;
mod conversations;
mod endings;
mod outbox;
mod work;

use std::path::Path;

use homing_ports::store::StoreResult;
use sqlx::sqlite::{SqliteArguments, SqlitePool};

use crate::open;
use crate::rows::Fields;
use crate::trouble::unavailable;
use crate::values::Value;

/// Every statement that is asked on the way of a message or a notification, for the test of their plans.
#[cfg(test)]
pub(crate) fn hot() -> impl Iterator<Item = &'static str> {
    [
        agents::HOT,
        context::HOT,
        conversations::HOT,
        outbox::HOT,
        work::HOT,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The few that look at every conversation.
#[cfg(test)]
pub(crate) fn global() -> impl Iterator<Item = &'static str> {
    [conversations::GLOBAL, outbox::GLOBAL, work::GLOBAL]
        .into_iter()
        .flatten()
        .copied()
}

#[derive(Debug, Clone)]
pub(crate) struct Readers {
    pool: SqlitePool,
}

type Reader<T> = fn(&mut Fields<'_>) -> StoreResult<T>;

impl Readers {
    pub(crate) fn new(pool: SqlitePool) -> Self {
        Readers { pool }
    }

    pub(crate) fn beside_writer(path: &Path) -> Self {
        Readers::new(open::readers(path))
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }

    /// For the test that this fails.
    #[cfg(test)]
    pub(crate) async fn try_write(&self) -> Result<(), sqlx::Error> {
        sqlx::query("DELETE FROM conversations")
            .execute(&self.pool)
            .await
            .map(|_| ())
    }

    async fn all<T>(
        &self,
        sql: &'static str,
        values: Vec<Value>,
        read: Reader<T>,
    ) -> StoreResult<Vec<T>> {
        let rows = sqlx::query_with(sql, bound(values))
            .fetch_all(&self.pool)
            .await
            .map_err(|error| unavailable("reading", &error))?;
        rows.iter().map(|row| read(&mut Fields::of(row))).collect()
    }

    async fn one<T>(
        &self,
        sql: &'static str,
        values: Vec<Value>,
        read: Reader<T>,
    ) -> StoreResult<Option<T>> {
        let row = sqlx::query_with(sql, bound(values))
            .fetch_optional(&self.pool)
            .await
            .map_err(|error| unavailable("reading", &error))?;
        row.map(|row| read(&mut Fields::of(&row))).transpose()
    }

    /// Asked for newest first, answered oldest first.
    async fn newest<T>(
        &self,
        sql: &'static str,
        values: Vec<Value>,
        read: Reader<T>,
    ) -> StoreResult<Vec<T>> {
        let mut rows = self.all(sql, values, read).await?;
        rows.reverse();
        Ok(rows)
    }
}

fn bound(values: Vec<Value>) -> SqliteArguments {
    let mut arguments = SqliteArguments::default();
    values
        .into_iter()
        .for_each(|value| value.bind(&mut arguments));
    arguments
}
