//! A platform has moved a chat: every stored route to it changes in one transaction (OWN-72).
//!
//! **Invariant:** runs in a transaction that the caller opened and ends. A conversation of the new place that exists already keeps its key and
//! its history; the old one then keeps its own key, and only its routes change, since origins route and keys address (OWN-5).
//! **Absent on purpose:** speed. It happens once in a group's life, so it may look at every conversation.

use std::collections::BTreeSet;

use homing_domain::ids::ConversationId;
use homing_domain::key::SessionKey;
use homing_domain::origin::AccountName;
use homing_ports::store::{StoreError, StoreResult};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    pub account: AccountName,
    pub from: String,
    pub to: String,
}

#[derive(Debug)]
pub(crate) enum Stopped {
    Database(sqlx::Error),
    Store(StoreError),
}

impl From<sqlx::Error> for Stopped {
    fn from(error: sqlx::Error) -> Self {
        Stopped::Database(error)
    }
}

/// Of a row with an origin: it is at the place that moves. The chat is ?2, then platform, profile and account.
macro_rules! there {
    () => {
        "json_extract(origin, '$.chat') = ?2 AND json_extract(origin, '$.platform') = ?3 \
         AND json_extract(origin, '$.profile') = ?4 AND coalesce(json_extract(origin, '$.account'), '') = ?5"
    };
}
/// The origin at the new place, ?1. Anchors go: message ids begin anew there.
macro_rules! moved {
    () => {
        "json_remove(json_set(origin, '$.chat', ?1), '$.anchor')"
    };
}

/// ?1 is the new chat here, too.
const FIND: &str = concat!(
    "SELECT id, key FROM conversations WHERE ?1 IS NOT NULL AND ",
    there!(),
    " ORDER BY id"
);
const KEY: &str = "UPDATE OR IGNORE conversations SET key = ? WHERE id = ?";
/// Whatever conversation they are in: a notice to the operator's place waits in the conversation that it is about.
const ROUTES: &[&str] = &[
    concat!(
        "UPDATE conversations SET origin = ",
        moved!(),
        " WHERE ",
        there!(),
        " RETURNING id"
    ),
    concat!(
        "UPDATE inbound SET origin = ",
        moved!(),
        " WHERE finished_at IS NULL AND ",
        there!(),
        " RETURNING conversation"
    ),
    // What waits, and what may be told again. A message that it was to replace is left behind.
    concat!(
        "UPDATE outbox SET origin = ",
        moved!(),
        ", extras = json_remove(extras, '$.replaces'), not_before = min(not_before, created_at) \
         WHERE (settled_at IS NULL OR (state = 'dead' AND told_again_by IS NULL)) AND ",
        there!(),
        " RETURNING conversation"
    ),
    concat!(
        "UPDATE processes SET origin = ",
        moved!(),
        " WHERE ",
        there!(),
        " RETURNING conversation"
    ),
    concat!(
        "UPDATE delegations SET origin = ",
        moved!(),
        " WHERE ",
        there!(),
        " RETURNING conversation"
    ),
];
const PREVIEWS: &str = "UPDATE turns SET preview = NULL WHERE conversation = ? AND ended_at IS NULL AND preview IS NOT NULL";

/// Moves, and answers with the conversations whose routes changed.
pub(crate) async fn run(
    connection: &mut SqliteConnection,
    chat: &Move,
) -> Result<Vec<ConversationId>, Stopped> {
    for row in bound(FIND, chat).fetch_all(&mut *connection).await? {
        let (id, key): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
        let key = moved_key(id, &key, &chat.to).map_err(Stopped::Store)?;
        sqlx::query(KEY)
            .bind(key)
            .bind(id)
            .execute(&mut *connection)
            .await?;
        sqlx::query(PREVIEWS)
            .bind(id)
            .execute(&mut *connection)
            .await?;
    }
    let mut moved = BTreeSet::new();
    for sql in ROUTES {
        for row in bound(sql, chat).fetch_all(&mut *connection).await? {
            moved.insert(row.try_get::<i64, _>(0)?);
        }
    }
    Ok(moved.into_iter().map(ConversationId::from_column).collect())
}

fn bound<'q>(
    sql: &'static str,
    chat: &'q Move,
) -> sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments> {
    let AccountName {
        profile,
        platform,
        account,
    } = &chat.account;
    sqlx::query(sql)
        .bind(&chat.to)
        .bind(&chat.from)
        .bind(platform)
        .bind(profile)
        .bind(account.as_deref().unwrap_or(""))
}

fn moved_key(id: i64, key: &str, to: &str) -> StoreResult<String> {
    let parsed: SessionKey = key
        .parse()
        .map_err(|error| StoreError::Damaged(format!("conversations {id}: {error}")))?;
    Ok(SessionKey {
        chat: to.to_owned(),
        ..parsed
    }
    .to_string())
}
