//! The handles: [`SqliteStore`] for the gateway, [`SqliteReader`] for a command line beside it.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use async_trait::async_trait;
use homing_domain::ids::ConversationId;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::IdSource;
use homing_ports::inbox::{Accepted, Edited, Inbound};
use homing_ports::store::*;
use tokio::sync::{mpsc, oneshot};

use crate::moving::Move;
use crate::open::{self, OpenError};
use crate::read::Readers;
use crate::writer::{Clean, Job, Outcome, Request, Shared, Writer};

/// Requests that may wait before callers wait.
const QUEUE: usize = 1024;

/// The store of a gateway. Clones are the same store with the same epoch.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    pub(crate) readers: Readers,
    requests: mpsc::Sender<Request>,
    shared: Arc<Shared>,
    ids: IdSource,
}

/// Reads a store that a gateway may have open. Writes nothing, creates nothing, takes no lock that anyone waits for.
#[derive(Debug, Clone)]
pub struct SqliteReader {
    pub(crate) readers: Readers,
}

impl SqliteStore {
    /// Opens the store, creating folders (0700) and file (0600) as needed, and brings its schema up to date.
    ///
    /// Writes are [`StoreError::Fenced`] until [`Store::take_over`], unless no gateway has ever taken over. `ids` continues behind the store's newest
    /// id, so that ids sort by their age even if the clock was set back.
    pub async fn open(path: &Path, ids: IdSource) -> Result<SqliteStore, OpenError> {
        let connection = open::writer(path, &ids).await?;
        let shared = Arc::new(Shared::default());
        let (requests, inbox) = mpsc::channel(QUEUE);
        let writer = Writer::new(connection, inbox, shared.clone());
        thread::Builder::new()
            .name("homing-writer".into())
            .spawn(move || crate::thread::run(writer.run()))
            .map_err(|source| OpenError::Create {
                path: path.to_owned(),
                source,
            })?;
        Ok(SqliteStore {
            readers: Readers::beside_writer(path),
            requests,
            shared,
            ids,
        })
    }

    /// Reads what is there, and nothing else.
    pub async fn open_read_only(path: &Path) -> Result<SqliteReader, OpenError> {
        Ok(SqliteReader {
            readers: open::reader(path).await?,
        })
    }

    /// Why nothing can be written any more, if a write or an fsync failed.
    pub fn failed(&self) -> Option<&str> {
        self.shared.failed.get().map(String::as_str)
    }

    /// Finishes what was asked before, moves the log into the file and closes. Everything asked afterwards is `Unavailable`.
    pub async fn close(&self) -> StoreResult<()> {
        self.readers.close().await;
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Close(answer), answered).await
    }

    async fn write(&self, job: Job) -> StoreResult<Outcome> {
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Write(Box::new(job), answer), answered)
            .await
    }

    async fn ask<T>(
        &self,
        request: Request,
        answered: oneshot::Receiver<StoreResult<T>>,
    ) -> StoreResult<T> {
        let closed =
            || StoreError::Unavailable(self.failed().unwrap_or("the store is closed").to_owned());
        self.requests.send(request).await.map_err(|_| closed())?;
        answered.await.unwrap_or_else(|_| Err(closed()))
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn take_over(&self, at: Timestamp) -> StoreResult<u64> {
        let (answer, answered) = oneshot::channel();
        self.ask(Request::TakeOver(at, answer), answered).await
    }

    async fn clean(&self, before: Timestamp, limit: u32) -> StoreResult<u64> {
        let below = homing_domain::ids::compose(before.millis(), 0);
        let clean = Clean {
            below: below.cast_signed(),
            limit,
        };
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Clean(clean, answer), answered).await
    }

    async fn accept(
        &self,
        inbound: Inbound,
        key: SessionKey,
        at: Timestamp,
    ) -> StoreResult<Accepted> {
        let job = Job::Accept {
            inbound: Box::new(inbound),
            key,
            id: self.ids.next(),
            conversation: self.ids.next(),
            at,
        };
        match self.write(job).await? {
            Outcome::Accepted(accepted) => Ok(accepted),
            other => Err(mixed_up(&other)),
        }
    }

    async fn edit_inbound(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> StoreResult<Edited> {
        let job = Job::Edit {
            account: account.clone(),
            platform_id: platform_id.to_owned(),
            text: text.to_owned(),
        };
        match self.write(job).await? {
            Outcome::Edited(edited) => Ok(edited),
            other => Err(mixed_up(&other)),
        }
    }

    async fn move_chat(
        &self,
        account: &AccountName,
        from: &str,
        to: &str,
    ) -> StoreResult<Vec<ConversationId>> {
        let (answer, answered) = oneshot::channel();
        let chat = Move {
            account: account.clone(),
            from: from.to_owned(),
            to: to.to_owned(),
        };
        self.ask(Request::MoveChat(chat, answer), answered).await
    }

    async fn open_conversation(
        &self,
        key: &SessionKey,
        origin: &Origin,
        at: Timestamp,
    ) -> StoreResult<ConversationRow> {
        if let Some(there) = self.readers.conversation_by_key(key).await? {
            return Ok(there);
        }
        let job = Job::Open {
            key: key.clone(),
            origin: origin.clone(),
            id: self.ids.next(),
            at,
        };
        match self.write(job).await? {
            Outcome::Opened(row) => Ok(*row),
            other => Err(mixed_up(&other)),
        }
    }

    async fn commit(&self, commit: Commit) -> StoreResult<Committed> {
        match self.write(Job::Commit(commit)).await? {
            Outcome::Committed(committed) => Ok(committed),
            other => Err(mixed_up(&other)),
        }
    }
}

/// Each job has its own kind of outcome; the writer never answers with another.
fn mixed_up(outcome: &Outcome) -> StoreError {
    StoreError::Unavailable(format!("the writer answered another question: {outcome:?}"))
}
