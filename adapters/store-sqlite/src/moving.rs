//! A platform has moved a chat: every stored route to it changes in one transaction (OWN-72).
//!
//! **Invariant:** runs in a transaction that the caller opened and ends. A conversation of the new place that exists already keeps its key and
//! its history; the old one then keeps its own key, and only its routes change, since origins route and keys address (OWN-5).
//! **Absent on purpose:** speed. It happens once in a group's life, so it may look at every conversation.

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

const FIND: &str = "SELECT id, key FROM conversations WHERE json_extract(origin, '$.chat') = ? AND json_extract(origin, '$.platform') = ? \
     AND json_extract(origin, '$.profile') = ? AND coalesce(json_extract(origin, '$.account'), '') = ? ORDER BY id";
const KEY: &str = "UPDATE OR IGNORE conversations SET key = ? WHERE id = ?";
/// Anchors go: message ids begin anew at the new place.
const ROUTES: &[&str] = &[
    "UPDATE conversations SET origin = json_remove(json_set(origin, '$.chat', ?1), '$.anchor') WHERE id = ?2 AND json_extract(origin, '$.chat') = ?3",
    "UPDATE inbound SET origin = json_remove(json_set(origin, '$.chat', ?1), '$.anchor') \
     WHERE conversation = ?2 AND finished_at IS NULL AND json_extract(origin, '$.chat') = ?3",
    "UPDATE outbox SET origin = json_remove(json_set(origin, '$.chat', ?1), '$.anchor'), not_before = min(not_before, created_at) \
     WHERE conversation = ?2 AND settled_at IS NULL AND json_extract(origin, '$.chat') = ?3",
    "UPDATE processes SET origin = json_remove(json_set(origin, '$.chat', ?1), '$.anchor') WHERE conversation = ?2 AND json_extract(origin, '$.chat') = ?3",
    "UPDATE delegations SET origin = json_remove(json_set(origin, '$.chat', ?1), '$.anchor') WHERE conversation = ?2 AND json_extract(origin, '$.chat') = ?3",
];

/// Moves, and answers with the conversations whose routes changed.
pub(crate) async fn run(
    connection: &mut SqliteConnection,
    chat: &Move,
) -> Result<Vec<ConversationId>, Stopped> {
    let AccountName {
        profile,
        platform,
        account,
    } = &chat.account;
    let found = sqlx::query(FIND)
        .bind(&chat.from)
        .bind(platform)
        .bind(profile)
        .bind(account.as_deref().unwrap_or(""))
        .fetch_all(&mut *connection)
        .await?;
    let mut moved = Vec::with_capacity(found.len());
    for row in found {
        let (id, key): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
        let key = moved_key(id, &key, &chat.to).map_err(Stopped::Store)?;
        sqlx::query(KEY)
            .bind(key)
            .bind(id)
            .execute(&mut *connection)
            .await?;
        for sql in ROUTES {
            sqlx::query(*sql)
                .bind(&chat.to)
                .bind(id)
                .bind(&chat.from)
                .execute(&mut *connection)
                .await?;
        }
        moved.push(ConversationId::from_column(id));
    }
    Ok(moved)
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
