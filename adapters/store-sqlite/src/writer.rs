//! The writer: the only task that writes, one transaction for as many jobs as wait (group commit).
//!
//! **Invariant:** a job is answered after the COMMIT that holds it, or after its own changes were undone and everything it could have seen is
//! committed. The epoch is checked inside every transaction. Callers that go away change nothing: a transaction is never in a `select!`, never
//! under a timeout, never in a future that a caller can drop.
//!
//! **How a batch goes:** first all jobs run one after another in one transaction. If one of them finds what it did not expect, the transaction is
//! rolled back and all run again, each behind a savepoint. So the usual case pays for no savepoint, and an unmet job costs one repetition however many
//! there are. Jobs are therefore kept whole until they are answered.
//!
//! **Absent on purpose:** going on after a failed write or fsync. The pages may look clean afterwards; the writer stops and says why.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use homing_domain::ids::{ConversationId, InboundId};
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::inbox::{Accepted, Edited, Inbound};
use homing_ports::store::{Commit, Committed, ConversationRow, StoreError, StoreResult};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Executor, Row};
use tokio::sync::{mpsc, oneshot};

use crate::plan::{self, Step};
use crate::rows::{self, Fields};
use crate::run::{Stopped, run};
use crate::trouble::{Severity, severity, unavailable};

/// The most jobs in one transaction: what a commit's fsync is shared by, and what one unmet job can make run twice.
pub(crate) const BATCH: usize = 256;

/// Something to write. Runs any number of times with the same meaning.
#[derive(Debug)]
pub(crate) enum Job {
    Accept {
        inbound: Box<Inbound>,
        key: SessionKey,
        id: InboundId,
        conversation: ConversationId,
        at: Timestamp,
    },
    Open {
        key: SessionKey,
        origin: Origin,
        id: ConversationId,
        at: Timestamp,
    },
    Edit {
        account: AccountName,
        platform_id: String,
        text: String,
    },
    Commit(Commit),
}

/// What became of a job.
#[derive(Debug)]
pub(crate) enum Outcome {
    Accepted(Accepted),
    Edited(Edited),
    Opened(Box<ConversationRow>),
    Committed(Committed),
}

#[derive(Debug)]
pub(crate) enum Request {
    Write(Box<Job>, oneshot::Sender<StoreResult<Outcome>>),
    TakeOver(Timestamp, oneshot::Sender<StoreResult<u64>>),
    Clean(Clean, oneshot::Sender<StoreResult<u64>>),
    MoveChat(
        crate::moving::Move,
        oneshot::Sender<StoreResult<Vec<ConversationId>>>,
    ),
    Close(oneshot::Sender<StoreResult<()>>),
}

/// What is to be removed: settled and older than this id, so many rows of each table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clean {
    pub below: i64,
    pub limit: u32,
}

/// What the writer tells everyone.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The epoch of this handle; 0 until it takes over.
    pub epoch: AtomicU64,
    /// Why nothing can be written any more.
    pub failed: OnceLock<String>,
}

type Waiting = (Box<Job>, oneshot::Sender<StoreResult<Outcome>>);

pub(crate) struct Writer {
    connection: SqliteConnection,
    requests: mpsc::Receiver<Request>,
    shared: Arc<Shared>,
}

/// How a transaction ended without a commit.
enum Undone {
    /// A job needs a savepoint around it.
    Again,
    /// All of its jobs get this answer.
    All(StoreError),
}

impl Writer {
    pub(crate) fn new(
        connection: SqliteConnection,
        requests: mpsc::Receiver<Request>,
        shared: Arc<Shared>,
    ) -> Self {
        Writer {
            connection,
            requests,
            shared,
        }
    }

    /// Runs until it is closed or every handle is gone.
    pub(crate) async fn run(mut self) {
        let mut batch: Vec<Waiting> = Vec::new();
        let mut next = self.requests.recv().await;
        while let Some(request) = next.take() {
            match request {
                Request::Write(job, answer) => {
                    batch.push((job, answer));
                    while batch.len() < BATCH {
                        match self.requests.try_recv() {
                            Ok(Request::Write(job, answer)) => batch.push((job, answer)),
                            Ok(other) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.write(&mut batch).await;
                }
                Request::TakeOver(at, answer) => {
                    let _ = answer.send(self.take_over(at).await);
                }
                Request::Clean(clean, answer) => {
                    let _ = answer.send(self.clean(clean).await);
                }
                Request::MoveChat(chat, answer) => {
                    let _ = answer.send(self.move_chat(&chat).await);
                }
                Request::Close(answer) => {
                    let _ = answer.send(self.close().await);
                    return;
                }
            }
            if next.is_none() {
                next = self.requests.recv().await;
            }
        }
        if let Err(error) = self.close().await {
            tracing::warn!(%error, "the store was not closed cleanly; its log is read at the next start");
        }
    }

    async fn write(&mut self, batch: &mut Vec<Waiting>) {
        let done = match self.transaction(batch, Run::Together).await {
            Err(Undone::Again) => self.transaction(batch, Run::Apart).await,
            done => done,
        };
        match done {
            Ok(outcomes) => {
                for ((_, answer), outcome) in batch.drain(..).zip(outcomes) {
                    let _ = answer.send(outcome);
                }
            }
            Err(Undone::All(error)) => {
                for (_, answer) in batch.drain(..) {
                    let _ = answer.send(Err(error.clone()));
                }
            }
            // A transaction with savepoints never asks for another.
            Err(Undone::Again) => batch.clear(),
        }
    }

    /// One transaction over all jobs: commits and answers with an outcome for each, or leaves nothing behind.
    async fn transaction(
        &mut self,
        batch: &[Waiting],
        how: Run,
    ) -> Result<Vec<StoreResult<Outcome>>, Undone> {
        let mut opening = None;
        match how {
            // The first job's steps begin the transaction.
            Run::Together => opening = Some(self.may_write().map_err(Undone::All)?),
            Run::Apart => self.begin().await.map_err(Undone::All)?,
        }
        let mut outcomes = Vec::with_capacity(batch.len());
        for (job, _) in batch {
            let outcome = match how {
                Run::Together => match self.job(job, opening.take()).await {
                    Ok(outcome) => Ok(outcome),
                    // Alone in its transaction: nothing else is undone with it, and nothing it saw is uncommitted.
                    Err(Trouble::Only(outcome)) if batch.len() == 1 => {
                        self.rollback().await;
                        return Ok(vec![outcome]);
                    }
                    Err(Trouble::Only(_)) => {
                        self.rollback().await;
                        return Err(Undone::Again);
                    }
                    Err(Trouble::Lost(error)) => {
                        return Err(Undone::All(self.lost("writing", error).await));
                    }
                    Err(Trouble::Fenced(now)) => {
                        self.rollback().await;
                        let ours = self.shared.epoch.load(Ordering::Acquire);
                        return Err(Undone::All(StoreError::Fenced { ours, now }));
                    }
                },
                Run::Apart => match self.job_behind_savepoint(job).await {
                    Ok(outcome) => outcome,
                    Err(error) => return Err(Undone::All(self.lost("writing", error).await)),
                },
            };
            outcomes.push(outcome);
        }
        match self.connection.execute("COMMIT").await {
            Ok(_) => Ok(outcomes),
            Err(error) => Err(Undone::All(self.lost("committing", error).await)),
        }
    }

    /// Begins a transaction and checks that no other gateway has taken over.
    async fn begin(&mut self) -> StoreResult<()> {
        let ours = self.may_write()?;
        match run(&mut self.connection, plan::begin(ours).into()).await {
            Ok(_) => Ok(()),
            Err(Stopped::Fenced(now)) => {
                self.rollback().await;
                Err(StoreError::Fenced { ours, now })
            }
            Err(Stopped::Lost(error) | Stopped::Refused { error, .. }) => {
                Err(self.lost("beginning", error).await)
            }
            Err(Stopped::Unmet { .. } | Stopped::NoConversation) => Err(nothing_returned()),
        }
    }

    /// The epoch that it is written in, unless nothing can be written any more.
    fn may_write(&self) -> StoreResult<u64> {
        match self.shared.failed.get() {
            Some(reason) => Err(StoreError::Unavailable(reason.clone())),
            None => Ok(self.shared.epoch.load(Ordering::Acquire)),
        }
    }

    /// `opening`: the transaction begins with it, in this epoch.
    async fn job(&mut self, job: &Job, opening: Option<u64>) -> Result<Outcome, Trouble> {
        let mut steps = job.steps();
        if let Some(epoch) = opening {
            steps.splice(0..0, plan::begin(epoch));
        }
        match run(&mut self.connection, steps).await {
            Ok(row) => job
                .outcome(row.as_ref())
                .map_err(|error| Trouble::Only(Err(error))),
            Err(Stopped::Lost(error)) => Err(Trouble::Lost(error)),
            Err(Stopped::Fenced(now)) => Err(Trouble::Fenced(now)),
            Err(stopped) => Err(Trouble::Only(job.stopped(stopped))),
        }
    }

    async fn job_behind_savepoint(
        &mut self,
        job: &Job,
    ) -> Result<StoreResult<Outcome>, sqlx::Error> {
        self.connection.execute("SAVEPOINT job").await?;
        let outcome = match self.job(job, None).await {
            Ok(outcome) => Ok(outcome),
            Err(Trouble::Only(outcome)) => {
                self.connection.execute("ROLLBACK TO job").await?;
                outcome
            }
            Err(Trouble::Lost(error)) => return Err(error),
            // Seen where the transaction began, and nothing in it takes over.
            Err(Trouble::Fenced(_)) => return Err(sqlx::Error::RowNotFound),
        };
        self.connection.execute("RELEASE job").await?;
        Ok(outcome)
    }

    /// The transaction is gone. Says so, and stops for good if what is on disk can no longer be vouched for.
    async fn lost(&mut self, doing: &str, error: sqlx::Error) -> StoreError {
        let answer = unavailable(doing, &error);
        if severity(&error) == Severity::Fatal {
            let reason = format!(
                "the store stopped writing after an error ({doing}: {error}); restart the gateway once the disk is sound"
            );
            tracing::error!(%reason, "the store failed");
            let _ = self.shared.failed.set(reason);
        }
        self.rollback().await;
        answer
    }

    /// SQLite may have rolled back by itself; then this says that no transaction is active, which is what we want.
    async fn rollback(&mut self) {
        if let Err(error) = self.connection.execute("ROLLBACK").await {
            tracing::debug!(%error, "nothing to roll back");
        }
    }

    async fn take_over(&mut self, at: Timestamp) -> StoreResult<u64> {
        if let Some(reason) = self.shared.failed.get() {
            return Err(StoreError::Unavailable(reason.clone()));
        }
        // One statement is a transaction of its own.
        let taken = sqlx::query("INSERT INTO instances (epoch, taken_at) SELECT coalesce(max(epoch), 0) + 1, ? FROM instances RETURNING epoch")
            .bind(at.millis())
            .fetch_one(&mut self.connection)
            .await;
        match taken.and_then(|row| row.try_get::<i64, _>(0)) {
            Ok(epoch) => {
                self.shared
                    .epoch
                    .store(epoch.unsigned_abs(), Ordering::Release);
                Ok(epoch.unsigned_abs())
            }
            Err(error) => Err(self.lost("taking over", error).await),
        }
    }

    /// Every route to a chat, in one transaction (OWN-72).
    async fn move_chat(&mut self, chat: &crate::moving::Move) -> StoreResult<Vec<ConversationId>> {
        self.begin().await?;
        let moved = match crate::moving::run(&mut self.connection, chat).await {
            Ok(moved) => moved,
            Err(crate::moving::Stopped::Database(error)) => {
                return Err(self.lost("moving a chat", error).await);
            }
            Err(crate::moving::Stopped::Store(error)) => {
                self.rollback().await;
                return Err(error);
            }
        };
        match self.connection.execute("COMMIT").await {
            Ok(_) => Ok(moved),
            Err(error) => Err(self.lost("moving a chat", error).await),
        }
    }

    async fn clean(&mut self, clean: Clean) -> StoreResult<u64> {
        self.begin().await?;
        let mut removed = 0;
        for sql in CLEAN {
            let done = sqlx::query(sql)
                .bind(clean.below)
                .bind(clean.limit)
                .execute(&mut self.connection)
                .await;
            match done {
                Ok(done) => removed += done.rows_affected(),
                Err(error) => return Err(self.lost("removing old rows", error).await),
            }
        }
        match self.connection.execute("COMMIT").await {
            Ok(_) => Ok(removed),
            Err(error) => Err(self.lost("committing", error).await),
        }
    }

    /// Moves what is in the log into the file, so that the next start has nothing to do.
    async fn close(self) -> StoreResult<()> {
        let mut connection = self.connection;
        if self.shared.failed.get().is_none() {
            let truncated = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await;
            truncated.map_err(|error| unavailable("writing the log into the file", &error))?;
        }
        connection
            .close()
            .await
            .map_err(|error| unavailable("closing", &error))
    }
}

/// Ids sort by age, so the oldest rows are found without an index of their own.
pub(crate) const CLEAN: [&str; 2] = [
    "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE id < ? AND settled_at IS NOT NULL ORDER BY id LIMIT ?)",
    "DELETE FROM inbound WHERE id IN (SELECT id FROM inbound WHERE id < ? AND finished_at IS NOT NULL ORDER BY id LIMIT ?)",
];

#[derive(Debug, Clone, Copy)]
enum Run {
    Together,
    Apart,
}

/// Why a job has no outcome yet.
enum Trouble {
    /// This job alone ends so.
    Only(StoreResult<Outcome>),
    Lost(sqlx::Error),
    /// Another gateway has taken over, with this epoch.
    Fenced(u64),
}

impl Job {
    fn steps(&self) -> Vec<Step> {
        match self {
            Job::Accept {
                inbound,
                key,
                id,
                conversation,
                at,
            } => plan::accept(inbound, key, *id, *conversation, *at),
            Job::Open {
                key,
                origin,
                id,
                at,
            } => plan::open_conversation(key, origin, *id, *at),
            Job::Edit {
                account,
                platform_id,
                text,
            } => plan::edit_inbound(account, platform_id, text),
            Job::Commit(commit) => plan::commit(commit),
        }
    }

    fn outcome(&self, row: Option<&SqliteRow>) -> StoreResult<Outcome> {
        match self {
            Job::Commit(_) => Ok(Outcome::Committed(Committed::Done)),
            Job::Accept { id, .. } => {
                let mut fields = Fields::of(row.ok_or_else(nothing_returned)?);
                let inbound = fields.id(InboundId::from_column)?;
                let conversation = fields.id(ConversationId::from_column)?;
                let fresh = inbound == *id;
                Ok(Outcome::Accepted(match fresh {
                    true => Accepted::New {
                        inbound,
                        conversation,
                    },
                    false => Accepted::Repeat {
                        inbound,
                        conversation,
                    },
                }))
            }
            Job::Edit { .. } => {
                let Some(row) = row else {
                    return Ok(Outcome::Edited(Edited::Unknown));
                };
                let mut fields = Fields::of(row);
                let conversation = fields.id(ConversationId::from_column)?;
                Ok(Outcome::Edited(match fields.take()? {
                    true => Edited::Changed { conversation },
                    false => Edited::TooLate,
                }))
            }
            Job::Open { .. } => {
                let row = rows::conversation(&mut Fields::of(row.ok_or_else(nothing_returned)?))?;
                Ok(Outcome::Opened(Box::new(row)))
            }
        }
    }

    /// A commit that met another state is an answer; anything else that the schema refuses is not (an id that exists, for one).
    fn stopped(&self, stopped: Stopped) -> StoreResult<Outcome> {
        match (self, stopped) {
            (Job::Commit(commit), Stopped::NoConversation) => {
                Ok(Outcome::Committed(Committed::Unmet {
                    index: 0,
                    what: plan::no_conversation(commit),
                }))
            }
            (Job::Commit(commit), Stopped::Unmet { change }) => {
                Ok(Outcome::Committed(Committed::Unmet {
                    index: change,
                    what: plan::expectation(commit, change),
                }))
            }
            (Job::Commit(commit), Stopped::Refused { change, error }) => {
                let what = format!("{} ({error})", plan::expectation(commit, change));
                Ok(Outcome::Committed(Committed::Unmet {
                    index: change,
                    what,
                }))
            }
            (_, Stopped::Refused { error, .. } | Stopped::Lost(error)) => {
                Err(unavailable("writing", &error))
            }
            (_, Stopped::Unmet { .. } | Stopped::NoConversation | Stopped::Fenced(_)) => {
                Err(nothing_returned())
            }
        }
    }
}

fn nothing_returned() -> StoreError {
    StoreError::Unavailable("a statement returned nothing where it returns a row".into())
}
