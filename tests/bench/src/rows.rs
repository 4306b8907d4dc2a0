//! Rows as a gateway would have written them, for stores that are full before a bench begins.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use homing_domain::ids::*;
use homing_domain::notification::{Kind, State};
use homing_domain::origin::Origin;
use homing_domain::owner::Owner;
use homing_domain::process::Ending;
use homing_domain::session::Current;
use homing_ports::store::*;
use homing_ports::{Clock, IdSource, SystemClock};
use homing_store_sqlite::SqliteStore;

use crate::line::{STORE_FILE, topic};

/// Commits on their way at the same time while a store is filled.
const AT_ONCE: usize = 128;

/// A store with what is needed to write into it. Clones are the same.
#[derive(Clone)]
pub struct Rows {
    pub store: SqliteStore,
    pub ids: IdSource,
    pub clock: Arc<dyn Clock>,
}

/// A conversation with its current session.
#[derive(Debug, Clone)]
pub struct Talk {
    pub conversation: ConversationId,
    pub origin: Origin,
    pub current: Current,
}

impl Talk {
    pub fn owner(&self) -> Owner {
        Owner {
            conversation: self.conversation,
            session: self.current.session,
            lineage: self.current.lineage,
            origin: self.origin.clone(),
            window: None,
            delegation: None,
        }
    }
}

impl Rows {
    pub async fn open(folder: &Path) -> anyhow::Result<Rows> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ids = IdSource::new(clock.clone());
        let store = SqliteStore::open(&folder.join(STORE_FILE), ids.clone())
            .await
            .context("opening the store")?;
        Ok(Rows { store, ids, clock })
    }

    pub async fn close(&self) -> anyhow::Result<()> {
        self.store.close().await.context("closing the store")
    }

    pub async fn commit(
        &self,
        conversation: ConversationId,
        changes: Vec<Change>,
    ) -> anyhow::Result<()> {
        match self
            .store
            .commit(Commit {
                conversation,
                at: self.clock.now(),
                changes,
            })
            .await?
        {
            Committed::Done => Ok(()),
            Committed::Unmet { index, what } => {
                bail!("the store did not take change {index}: {what}")
            }
        }
    }

    /// Finds the conversation of a topic and its session, or makes them.
    pub async fn talk(&self, origin: Origin) -> anyhow::Result<Talk> {
        let key = origin.key(Default::default());
        let row = self
            .store
            .open_conversation(&key, &origin, self.clock.now())
            .await?;
        if let Some(current) = row.current {
            return Ok(Talk {
                conversation: row.id,
                origin,
                current,
            });
        }
        let current = self.fresh();
        self.commit(row.id, begin(current).into()).await?;
        Ok(Talk {
            conversation: row.id,
            origin,
            current,
        })
    }

    pub fn fresh(&self) -> Current {
        Current {
            session: self.ids.next(),
            lineage: self.ids.next(),
        }
    }

    pub fn message(&self, talk: &Talk, role: Role) -> Change {
        Change::Append(NewMessage {
            id: self.ids.next(),
            session: talk.current.session,
            turn: None,
            role,
            author: None,
            text: "What a person might say, or an agent answer, in a line or two of text.".into(),
            data: None,
        })
    }

    /// A process as it stands before it runs.
    pub fn process(&self, talk: &Talk) -> NewProcess {
        NewProcess {
            id: self.ids.next(),
            owner: talk.owner(),
            turn: None,
            kind: ProcessKind::Task,
            command: "sleep 300".into(),
            directory: "/".into(),
            notify: true,
            watch: Vec::new(),
        }
    }

    /// A process of the current lineage that has ended, and the notification of it.
    pub fn ended_process(&self, talk: &Talk) -> (NotificationId, Vec<Change>) {
        let new = self.process(talk);
        let (process, notification) = (new.id, self.ids.next());
        let changes = vec![
            Change::AddProcess(new),
            Change::ProcessStarted { process },
            Change::ProcessEnded {
                process,
                ending: Ending::Code(0),
                ended_at: self.clock.now(),
                output_total: 5,
                output_tail: b"done\n".to_vec(),
            },
            Change::AddNotification {
                notification,
                source: Source::Process(process),
                kind: Kind::Completed,
                sequence: 0,
                content: String::new(),
                more: 0,
            },
        ];
        (notification, changes)
    }

    /// Topics from `range`, each with a notification that is held: its lineage is parked, since the conversation is at another one.
    pub async fn fill_held(&self, range: std::ops::Range<usize>) -> anyhow::Result<()> {
        self.fill(range, |rows, number| async move {
            let talk = rows.talk(topic(number)).await?;
            let (notification, mut changes) = rows.ended_process(&talk);
            changes.push(Change::Decide(Decision {
                notification,
                from: State::Pending,
                to: State::Held,
                reason: Some("parked".into()),
                facts: "the owner's lineage is open, but the conversation is at another one".into(),
                turn: None,
                failed_attempt: false,
            }));
            changes.extend(begin(rows.fresh()));
            rows.commit(talk.conversation, changes).await
        })
        .await
    }

    /// Does something for every number, many side by side.
    pub async fn fill<W>(
        &self,
        range: std::ops::Range<usize>,
        work: impl Fn(Rows, usize) -> W + Copy + Send + 'static,
    ) -> anyhow::Result<()>
    where
        W: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let mut tasks = tokio::task::JoinSet::new();
        for first in range.clone().take(AT_ONCE) {
            let (rows, numbers) = (self.clone(), (first..range.end).step_by(AT_ONCE));
            tasks.spawn(async move {
                for number in numbers {
                    work(rows.clone(), number).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok(())
    }
}

/// A new lineage with its first session, current from now on.
pub fn begin(current: Current) -> [Change; 2] {
    let start = Change::StartLineage {
        lineage: current.lineage,
        session: current.session,
        parent: None,
        title: None,
    };
    [start, Change::Point(Some(current))]
}
