//! The real store, of which commits with a certain text can be made to fail.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::inbox::{Accepted, Edited, Inbound};
use homing_ports::store::*;
use homing_store_sqlite::SqliteStore;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    pub questions: u64,
    /// Accepted messages included.
    pub commits: u64,
}

#[derive(Debug)]
pub struct Fragile {
    inner: SqliteStore,
    failing: AtomicU32,
    failing_turns: AtomicU32,
    questions: AtomicU64,
    commits: AtomicU64,
    /// Operations until one fails; 0: none will.
    until_failure: AtomicU64,
}

impl Fragile {
    pub fn new(inner: SqliteStore) -> Self {
        Self {
            inner,
            failing: AtomicU32::new(0),
            failing_turns: AtomicU32::new(0),
            questions: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            until_failure: AtomicU64::new(0),
        }
    }

    /// The operation with this number from now on, from 1, is not answered: a question, or a commit that is not made.
    pub fn fail_one(&self, number: u64) {
        self.until_failure.store(number, Ordering::Release);
    }

    /// It is still to come.
    pub fn is_to_fail(&self) -> bool {
        self.until_failure.load(Ordering::Acquire) > 0
    }

    fn stumbles(&self) -> StoreResult<()> {
        let fewer = |left: u64| left.checked_sub(1);
        let left = self
            .until_failure
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer);
        match left {
            Ok(1) => Err(StoreError::Unavailable("it fails on purpose".into())),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// So many commits that put something into the outbox are not answered.
    pub fn fail_enqueueing(&self, times: u32) {
        self.failing.store(times, Ordering::Release);
    }

    /// So many commits that begin a turn are not answered.
    pub fn fail_beginning(&self, times: u32) {
        self.failing_turns.store(times, Ordering::Release);
    }

    /// So far: what was asked, and what was written.
    pub fn work(&self) -> Work {
        Work {
            questions: self.questions.load(Ordering::Acquire),
            commits: self.commits.load(Ordering::Acquire),
        }
    }

    pub fn failures_left(&self) -> u32 {
        self.failing.load(Ordering::Acquire)
    }
}

macro_rules! passed_on {
    ($port:ident; $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl $port for Fragile {
            $(async fn $name(&self, $($argument: $type),*) -> StoreResult<$answer> {
                self.stumbles()?;
                self.questions.fetch_add(1, Ordering::AcqRel);
                self.inner.$name($($argument),*).await
            })*
        }
    };
}

homing_ports::every_query! { passed_on, Queries }

#[async_trait]
impl Store for Fragile {
    async fn take_over(&self, at: Timestamp) -> StoreResult<u64> {
        self.inner.take_over(at).await
    }
    async fn accept(
        &self,
        inbound: Inbound,
        key: SessionKey,
        at: Timestamp,
    ) -> StoreResult<Accepted> {
        self.stumbles()?;
        self.commits.fetch_add(1, Ordering::AcqRel);
        self.inner.accept(inbound, key, at).await
    }
    async fn edit_inbound(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> StoreResult<Edited> {
        self.inner.edit_inbound(account, platform_id, text).await
    }
    async fn move_chat(
        &self,
        account: &AccountName,
        from: &str,
        to: &str,
    ) -> StoreResult<Vec<ConversationId>> {
        self.inner.move_chat(account, from, to).await
    }
    async fn open_conversation(
        &self,
        key: &SessionKey,
        origin: &Origin,
        at: Timestamp,
    ) -> StoreResult<ConversationRow> {
        self.inner.open_conversation(key, origin, at).await
    }
    async fn clean(&self, before: Timestamp, limit: u32) -> StoreResult<u64> {
        self.inner.clean(before, limit).await
    }
    async fn commit(&self, commit: Commit) -> StoreResult<Committed> {
        self.stumbles()?;
        let enqueues = |change: &Change| matches!(change, Change::Enqueue(_));
        let begins = |change: &Change| matches!(change, Change::StartTurn { .. });
        let changes = &commit.changes;
        if changes.iter().any(enqueues) && is_next(&self.failing)
            || changes.iter().any(begins) && is_next(&self.failing_turns)
        {
            return Err(StoreError::Unavailable("it fails on purpose".into()));
        }
        self.commits.fetch_add(1, Ordering::AcqRel);
        self.inner.commit(commit).await
    }
}

/// One fewer is left, if any was.
fn is_next(left: &AtomicU32) -> bool {
    let fewer = |left: u32| left.checked_sub(1);
    left.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer)
        .is_ok()
}
