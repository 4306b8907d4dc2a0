//! Opening a store: files, schema, and the settings that durability rests on.
//!
//! **Invariant:** a connection that this module hands out has its settings asserted, not assumed: WAL, `synchronous=FULL`, foreign keys. A file is
//! changed only once it is known to be ours and not newer than we are.
//! **Absent on purpose:** memory-mapped reading (an I/O error would be a SIGBUS instead of an answer), and a migrator that is asked when
//! nothing is to do: the schema's version is one number in the file's header.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use homing_ports::IdSource;
use homing_ports::store::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, Row};

use crate::read::Readers;

/// Scripts that lead from an empty file to today's schema; the schema's version is how many of them have run.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/sqlite/0001_initial.sql"),
    include_str!("../../../migrations/sqlite/0002_platforms_and_agents.sql"),
    include_str!("../../../migrations/sqlite/0003_questions_of_sub_agents.sql"),
    include_str!("../../../migrations/sqlite/0004_read_and_not_told.sql"),
    include_str!("../../../migrations/sqlite/0005_old_letters.sql"),
];
pub(crate) const KNOWN: i64 = MIGRATIONS.len() as i64;
/// `HOMG` in the file's header says whose file it is.
const APPLICATION: i64 = 0x484f_4d47;

/// Writers wait this long for each other. There is one per gateway, so this only ever matters at a take-over.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Page caches in KiB. Small, since an idle gateway stays below 8 MB; the kernel's cache is behind them.
const WRITER_CACHE_KIB: u32 = 2048;
const READER_CACHE_KIB: u32 = 512;
const READERS: u32 = 3;
/// Prepared statements per connection. The writer's are whole commits of a few shapes, each with and without the beginning of a transaction.
const WRITER_STATEMENTS: usize = 64;
const READER_STATEMENTS: usize = 32;
/// The log is cut to this length after it has grown beyond it.
const LOG_LIMIT: u32 = 16 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("there is no store at {}", .0.display())]
    Absent(PathBuf),
    #[error("creating {}", path.display())]
    Create {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is a database of something else", .0.display())]
    Foreign(PathBuf),
    #[error(
        "the store was written by an older Homing (schema {found}, this one reads {known}); start the gateway once, it brings the store up to date"
    )]
    Older { found: i64, known: i64 },
    #[error("{} was not closed and its index is missing; start the gateway once, it recovers the store", .0.display())]
    Unrecovered(PathBuf),
    #[error("the database keeps `{setting}` at {found} where {wanted} is needed")]
    Setting {
        setting: &'static str,
        found: String,
        wanted: &'static str,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{doing} {}", path.display())]
    Database {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: sqlx::Error,
    },
}

/// Opens the one connection that writes.
pub(crate) async fn writer(path: &Path, ids: &IdSource) -> Result<SqliteConnection, OpenError> {
    create(path)?;
    let failed = |doing| {
        move |source| OpenError::Database {
            doing,
            path: path.to_owned(),
            source,
        }
    };
    let options = options(path, WRITER_CACHE_KIB, WRITER_STATEMENTS)
        .pragma("synchronous", "FULL")
        .pragma("foreign_keys", "ON")
        .pragma("journal_size_limit", LOG_LIMIT.to_string());
    let mut connection = options.connect().await.map_err(failed("opening"))?;
    let found = version(&mut connection, path).await?;
    connection
        .execute("PRAGMA journal_mode = WAL")
        .await
        .map_err(failed("setting up"))?;
    assert_settings(&mut connection).await?;
    if found < KNOWN {
        migrate(&mut connection)
            .await
            .map_err(failed("migrating"))?;
    }
    let newest = newest_id(&mut connection)
        .await
        .map_err(failed("reading"))?;
    ids.continue_after(newest);
    Ok(connection)
}

/// Opens for reading only, beside a gateway or without one.
pub(crate) async fn reader(path: &Path) -> Result<Readers, OpenError> {
    if !path.exists() {
        return Err(OpenError::Absent(path.to_owned()));
    }
    let log = beside(path, "-wal");
    let logged = log.metadata().is_ok_and(|metadata| metadata.len() > 0);
    let indexed = beside(path, "-shm").exists();
    // Without its index, SQLite would have to create one. A store that was closed has no log either and is read as it lies there.
    if logged && !indexed {
        return Err(OpenError::Unrecovered(path.to_owned()));
    }
    let options = options(path, READER_CACHE_KIB, READER_STATEMENTS)
        .read_only(true)
        .pragma("query_only", "ON")
        .immutable(!indexed);
    let pool = pool(1).connect_lazy_with(options);
    let failed = |source| OpenError::Database {
        doing: "opening",
        path: path.to_owned(),
        source,
    };
    let mut connection = pool.acquire().await.map_err(failed)?;
    let found = version(&mut connection, path).await?;
    drop(connection);
    match found < KNOWN {
        true => Err(OpenError::Older {
            found,
            known: KNOWN,
        }),
        false => Ok(Readers::new(pool)),
    }
}

/// The readers of a gateway. They are connected when they are first used.
pub(crate) fn readers(path: &Path) -> SqlitePool {
    let options = options(path, READER_CACHE_KIB, READER_STATEMENTS).pragma("query_only", "ON");
    pool(READERS).connect_lazy_with(options)
}

fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .min_connections(0)
        .max_connections(connections)
        .test_before_acquire(false)
        .acquire_timeout(BUSY_TIMEOUT)
        .idle_timeout(Duration::from_secs(60))
        .max_lifetime(None)
}

fn options(path: &Path, cache_kib: u32, statements: usize) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(statements)
        // A negative size is in KiB.
        .pragma("cache_size", format!("-{cache_kib}"))
        .pragma("temp_store", "MEMORY")
        .pragma("trusted_schema", "OFF")
        // What is in messages is nobody's business in a log.
        .disable_statement_logging()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Folder and file for this user alone; what exists is left as it is. SQLite gives its log the file's mode.
fn create(path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Create {
        path: path.to_owned(),
        source,
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed)?;
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        // The name is as durable as what will be written under it.
        Ok(_) => File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// The schema's version: 0 for an empty file. Refuses foreign files and newer schemas.
async fn version(connection: &mut SqliteConnection, path: &Path) -> Result<i64, OpenError> {
    let failed = |source| OpenError::Database {
        doing: "reading",
        path: path.to_owned(),
        source,
    };
    let header = "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), \
                  EXISTS (SELECT 1 FROM sqlite_schema)";
    let row = connection.fetch_one(header).await.map_err(failed)?;
    let found: i64 = row.try_get(0).map_err(failed)?;
    let application: i64 = row.try_get(1).map_err(failed)?;
    let used: bool = row.try_get(2).map_err(failed)?;
    if used && application != APPLICATION {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    if found > KNOWN {
        return Err(StoreError::Newer {
            found,
            known: KNOWN,
        }
        .into());
    }
    Ok(found)
}

async fn assert_settings(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    // 2 is FULL: a commit is answered after its fsync.
    let wanted = [
        ("journal_mode", "PRAGMA journal_mode", "wal"),
        ("synchronous", "PRAGMA synchronous", "2"),
        ("foreign_keys", "PRAGMA foreign_keys", "1"),
        (
            "ignore_check_constraints",
            "PRAGMA ignore_check_constraints",
            "0",
        ),
        ("busy_timeout", "PRAGMA busy_timeout", "5000"),
    ];
    for (setting, sql, wanted) in wanted {
        let row = connection.fetch_one(sql).await.ok();
        let found = row
            .and_then(|row| row.try_get_unchecked::<String, _>(0).ok())
            .unwrap_or_else(|| "nothing".into());
        if found != wanted {
            return Err(OpenError::Setting {
                setting,
                found,
                wanted,
            });
        }
    }
    Ok(())
}

/// All missing scripts in one transaction. Looks again inside it, since another gateway may have been first.
async fn migrate(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    connection.execute("BEGIN IMMEDIATE").await?;
    let found: i64 = connection
        .fetch_one("PRAGMA user_version")
        .await?
        .try_get(0)?;
    for script in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        sqlx::raw_sql(*script).execute(&mut *connection).await?;
    }
    let stamp =
        format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {KNOWN}; COMMIT");
    sqlx::raw_sql(AssertSqlSafe(stamp))
        .execute(&mut *connection)
        .await?;
    Ok(())
}

/// The highest id in any table: each is the end of a primary key, found without a scan.
async fn newest_id(connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let newest = "SELECT max(coalesce((SELECT max(id) FROM conversations), 0), coalesce((SELECT max(id) FROM lineages), 0), \
                  coalesce((SELECT max(id) FROM sessions), 0), coalesce((SELECT max(id) FROM messages), 0), \
                  coalesce((SELECT max(id) FROM inbound), 0), coalesce((SELECT max(id) FROM turns), 0), \
                  coalesce((SELECT max(id) FROM processes), 0), coalesce((SELECT max(id) FROM delegations), 0), \
                  coalesce((SELECT max(id) FROM notifications), 0), coalesce((SELECT max(id) FROM outbox), 0), \
                  coalesce((SELECT max(id) FROM windows), 0), coalesce((SELECT max(id) FROM approvals), 0))";
    Ok(connection
        .fetch_one(newest)
        .await?
        .try_get::<i64, _>(0)?
        .unsigned_abs())
}
