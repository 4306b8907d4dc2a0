//! Opening: modes, versions, settings; and the reader that leaves no trace.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use homing_domain::key::{KeySettings, SessionKey};
use homing_domain::origin::Origin;
use homing_domain::time::Timestamp;
use homing_ports::store::{Queries, Store};
use sqlx::Executor;

use super::{Place, end, ids, place, raw, store};
use crate::{OpenError, SqliteStore};

fn key() -> SessionKey {
    "agent:main:simulated:dm:1".parse().unwrap()
}

fn files(place: &Place) -> Vec<String> {
    let folder = fs::read_dir(place.path.parent().unwrap()).unwrap();
    let mut names: Vec<String> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

async fn with_one_conversation(place: &Place) -> SqliteStore {
    let store = store(place).await;
    store.take_over(Timestamp(1)).await.unwrap();
    store
        .open_conversation(&key(), &Origin::from_key(&key()), Timestamp(1))
        .await
        .unwrap();
    store
}

#[tokio::test]
async fn folder_and_files_are_this_users_alone() {
    let place = place();
    let store = with_one_conversation(&place).await;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(place.path.parent().unwrap()), 0o700);
    for name in files(&place) {
        assert_eq!(mode(&place.path.with_file_name(&name)), 0o600, "{name}");
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn what_was_closed_is_one_file_and_opens_again_with_everything() {
    let place = place();
    with_one_conversation(&place).await.close().await.unwrap();
    assert_eq!(files(&place), ["homing.db"]);
    let store = store(&place).await;
    assert!(store.conversation_by_key(&key()).await.unwrap().is_some());
    assert_eq!(store.take_over(Timestamp(2)).await.unwrap(), 2);
    store.close().await.unwrap();
}

#[tokio::test]
async fn opening_an_existing_store_is_quick() {
    let place = place();
    with_one_conversation(&place).await.close().await.unwrap();
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        let store = store(&place).await;
        fastest = fastest.min(begun.elapsed());
        store.close().await.unwrap();
    }
    assert!(fastest < Duration::from_millis(50), "{fastest:?}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let place = place();
    with_one_conversation(&place).await.close().await.unwrap();
    let mut connection = raw(&place.path).await;
    connection
        .execute("PRAGMA user_version = 99")
        .await
        .unwrap();
    end(connection).await;
    let before = fs::read(&place.path).unwrap();
    for error in [
        SqliteStore::open(&place.path, ids()).await.unwrap_err(),
        SqliteStore::open_read_only(&place.path).await.unwrap_err(),
    ] {
        assert!(
            error
                .to_string()
                .contains("written by a newer Homing (schema 99"),
            "{error}"
        );
    }
    assert_eq!(fs::read(&place.path).unwrap(), before);
}

#[tokio::test]
async fn a_reader_refuses_an_older_schema_that_it_must_not_migrate() {
    let place = place();
    with_one_conversation(&place).await.close().await.unwrap();
    let mut connection = raw(&place.path).await;
    connection.execute("PRAGMA user_version = 0").await.unwrap();
    end(connection).await;
    let error = SqliteStore::open_read_only(&place.path).await.unwrap_err();
    assert!(
        matches!(error, OpenError::Older { found: 0, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_database_of_something_else_is_refused_and_left_alone() {
    let place = place();
    fs::create_dir_all(place.path.parent().unwrap()).unwrap();
    let mut connection = sqlx::ConnectOptions::connect(
        &sqlx::sqlite::SqliteConnectOptions::new()
            .filename(&place.path)
            .create_if_missing(true),
    )
    .await
    .unwrap();
    connection
        .execute("CREATE TABLE recipes (id INTEGER)")
        .await
        .unwrap();
    end(connection).await;
    let before = fs::read(&place.path).unwrap();
    let error = SqliteStore::open(&place.path, ids()).await.unwrap_err();
    assert!(matches!(error, OpenError::Foreign(_)), "{error}");
    assert_eq!(fs::read(&place.path).unwrap(), before);
    fs::write(
        &place.path,
        "certainly not a database, but long enough to be looked at as if it were one",
    )
    .unwrap();
    assert!(SqliteStore::open(&place.path, ids()).await.is_err());
}

#[tokio::test]
async fn a_reader_of_nothing_says_so_and_creates_nothing() {
    let place = place();
    let error = SqliteStore::open_read_only(&place.path).await.unwrap_err();
    assert!(matches!(error, OpenError::Absent(_)), "{error}");
    assert!(!place.path.parent().unwrap().exists());
}

#[tokio::test]
async fn a_reader_beside_a_gateway_sees_each_commit_and_leaves_no_trace() {
    let place = place();
    let store = with_one_conversation(&place).await;
    let before = files(&place);
    let reader = SqliteStore::open_read_only(&place.path).await.unwrap();
    assert!(reader.conversation_by_key(&key()).await.unwrap().is_some());
    let second: SessionKey = "agent:main:simulated:dm:2".parse().unwrap();
    store
        .open_conversation(&second, &Origin::from_key(&second), Timestamp(2))
        .await
        .unwrap();
    assert!(reader.conversation_by_key(&second).await.unwrap().is_some());
    drop(reader);
    assert_eq!(files(&place), before);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_reader_of_a_closed_store_creates_no_files() {
    let place = place();
    with_one_conversation(&place).await.close().await.unwrap();
    let reader = SqliteStore::open_read_only(&place.path).await.unwrap();
    assert!(reader.conversation_by_key(&key()).await.unwrap().is_some());
    assert_eq!(files(&place), ["homing.db"]);
}

/// What lies on the disk after a `kill -9`, or after a copy of half of it.
#[tokio::test]
async fn a_reader_of_a_crashed_store_reads_its_log_and_refuses_one_without_its_index() {
    let running = place();
    let store = with_one_conversation(&running).await;
    let crashed = place();
    fs::create_dir_all(crashed.path.parent().unwrap()).unwrap();
    for name in files(&running) {
        fs::copy(
            running.path.with_file_name(&name),
            crashed.path.with_file_name(&name),
        )
        .unwrap();
    }
    store.close().await.unwrap();
    let before = files(&crashed);
    assert_eq!(before, ["homing.db", "homing.db-shm", "homing.db-wal"]);
    let reader = SqliteStore::open_read_only(&crashed.path).await.unwrap();
    assert!(reader.conversation_by_key(&key()).await.unwrap().is_some());
    reader.readers.close().await;
    assert_eq!(files(&crashed), before);
    fs::remove_file(crashed.path.with_file_name("homing.db-shm")).unwrap();
    let error = SqliteStore::open_read_only(&crashed.path)
        .await
        .unwrap_err();
    assert!(matches!(error, OpenError::Unrecovered(_)), "{error}");
    let recovered = super::store(&crashed).await;
    assert!(
        recovered
            .conversation_by_key(&key())
            .await
            .unwrap()
            .is_some()
    );
    recovered.close().await.unwrap();
}

#[tokio::test]
async fn the_reader_cannot_write() {
    let place = place();
    let store = with_one_conversation(&place).await;
    let reader = SqliteStore::open_read_only(&place.path).await.unwrap();
    for readers in [&reader.readers, &store.readers] {
        assert!(readers.try_write().await.is_err());
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn ids_continue_behind_the_newest_in_the_store() {
    let place = place();
    let first = with_one_conversation(&place).await;
    let newest = first.conversation_by_key(&key()).await.unwrap().unwrap().id;
    first.close().await.unwrap();
    let mut connection = raw(&place.path).await;
    // A clock that stood at 2094 when that id was made.
    connection
        .execute("UPDATE conversations SET id = 9223372036854000000")
        .await
        .unwrap();
    end(connection).await;
    let ids = ids();
    let again = SqliteStore::open(&place.path, ids.clone()).await.unwrap();
    assert!(ids.number() > 9_223_372_036_854_000_000, "{newest}");
    again.close().await.unwrap();
}

#[tokio::test]
async fn after_close_everything_is_unavailable_and_nothing_hangs() {
    let place = place();
    let store = with_one_conversation(&place).await;
    store.close().await.unwrap();
    let origin = key()
        .to_string()
        .parse::<SessionKey>()
        .map(|key| Origin::from_key(&key))
        .unwrap();
    let write = store
        .open_conversation(&origin.key(KeySettings::default()), &origin, Timestamp(3))
        .await;
    assert!(
        matches!(write, Err(homing_ports::store::StoreError::Unavailable(_))),
        "{write:?}"
    );
    assert!(store.close().await.is_err());
}

#[tokio::test]
async fn a_row_that_cannot_be_is_named() {
    let place = place();
    with_one_conversation(&place).await.close().await.unwrap();
    let mut connection = raw(&place.path).await;
    connection
        .execute("UPDATE conversations SET origin = 'nonsense'")
        .await
        .unwrap();
    end(connection).await;
    let store = store(&place).await;
    let error = store.conversation_by_key(&key()).await.unwrap_err();
    assert!(error.to_string().contains("conversations "), "{error}");
    assert!(
        matches!(error, homing_ports::store::StoreError::Damaged(_)),
        "{error}"
    );
    store.close().await.unwrap();
}

/// A store of the first schema keeps everything it holds, and takes what the newer one adds.
#[tokio::test]
async fn an_older_schema_is_brought_up_to_date_with_its_rows() {
    let place = place();
    fs::create_dir_all(place.path.parent().unwrap()).unwrap();
    fs::write(&place.path, "").unwrap();
    let mut older = raw(&place.path).await;
    sqlx::raw_sql(include_str!(
        "../../../../migrations/sqlite/0001_initial.sql"
    ))
    .execute(&mut older)
    .await
    .unwrap();
    let rows = "PRAGMA application_id = 1213156679; PRAGMA user_version = 1; \
         INSERT INTO conversations (id, key, origin, created_at, active_at) VALUES (1, 'agent:main:console:dm:local:a', \
         '{\"profile\":\"main\",\"platform\":\"console\",\"chat_type\":\"dm\",\"chat\":\"local\",\"thread\":\"a\"}', 1, 1); \
         INSERT INTO lineages (id, conversation, tip) VALUES (2, 1, 3); \
         INSERT INTO sessions (id, conversation, lineage, started_at) VALUES (3, 1, 2, 1); \
         INSERT INTO messages (id, conversation, session, role, text, at) VALUES (4, 1, 3, 'person', 'hello', 1)";
    sqlx::raw_sql(rows).execute(&mut older).await.unwrap();
    end(older).await;
    let store = store(&place).await;
    let session = homing_domain::ids::SessionId::from_number(3);
    let history = store.history(session, 10).await.unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!(history[0].text, "hello");
    assert_eq!(history[0].data, None);
    assert_eq!(store.context(session, 10).await.unwrap().messages, history);
    store.close().await.unwrap();
}

/// What was asked and answered before sub-agents could ask stands as it did.
#[tokio::test]
async fn questions_of_an_older_schema_are_kept_with_their_answers() {
    let place = place();
    fs::create_dir_all(place.path.parent().unwrap()).unwrap();
    fs::write(&place.path, "").unwrap();
    let mut older = raw(&place.path).await;
    for script in [
        include_str!("../../../../migrations/sqlite/0001_initial.sql"),
        include_str!("../../../../migrations/sqlite/0002_platforms_and_agents.sql"),
        "PRAGMA application_id = 1213156679; PRAGMA user_version = 2; \
         INSERT INTO conversations (id, key, origin, created_at, active_at) VALUES (1, 'k', '{}', 1, 1); \
         INSERT INTO lineages (id, conversation, tip) VALUES (2, 1, 3); \
         INSERT INTO sessions (id, conversation, lineage, started_at) VALUES (3, 1, 2, 1); \
         INSERT INTO approvals (id, conversation, session, lineage, turn, person, command, why, state, created_at, expires_at, settled_at) \
         VALUES (5, 1, 3, 2, 4, 'ann', 'rm -r x', 'because', 'approved_always', 1, 2, 2)",
    ] {
        sqlx::raw_sql(script).execute(&mut older).await.unwrap();
    }
    end(older).await;
    let store = store(&place).await;
    let row = store
        .approval(homing_domain::ids::ApprovalId::from_number(5))
        .await
        .unwrap()
        .unwrap();
    let turn = homing_domain::ids::TurnId::from_number(4);
    assert_eq!(row.asker, homing_ports::store::Asker::Turn(turn));
    let lineage = homing_domain::ids::LineageId::from_number(9);
    let stands = store.is_approved(lineage, row.conversation, Some("ann"), "rm -r x");
    assert!(stands.await.unwrap());
    store.close().await.unwrap();
}
