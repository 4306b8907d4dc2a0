//! The real store, which can be told not to answer.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::inbox::{Accepted, Edited, Inbound};
use homing_ports::store::*;
use homing_store_sqlite::SqliteStore;

#[derive(Debug)]
pub struct Fallible {
    inner: SqliteStore,
    fails: AtomicBool,
}

impl Fallible {
    pub fn new(inner: SqliteStore, fails: bool) -> Fallible {
        Fallible {
            inner,
            fails: AtomicBool::new(fails),
        }
    }

    pub fn set_failing(&self, fails: bool) {
        self.fails.store(fails, Ordering::Release);
    }

    pub fn fails(&self) -> bool {
        self.fails.load(Ordering::Acquire)
    }

    /// The store as it is, whatever the gateway is shown of it.
    pub fn beneath(&self) -> &SqliteStore {
        &self.inner
    }

    pub async fn close(&self) -> StoreResult<()> {
        self.inner.close().await
    }

    fn check(&self) -> StoreResult<()> {
        if self.fails() {
            Err(StoreError::Unavailable("it fails on purpose".into()))
        } else {
            Ok(())
        }
    }
}

macro_rules! fallible {
    ($port:ident; $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl $port for Fallible {
            $(async fn $name(&self, $($argument: $type),*) -> StoreResult<$answer> {
                self.check()?;
                self.inner.$name($($argument),*).await
            })*
        }
    };
}

fallible! { Store;
    take_over(at: Timestamp) -> u64;
    clean(before: Timestamp, limit: u32) -> u64;
    accept(inbound: Inbound, key: SessionKey, at: Timestamp) -> Accepted;
    edit_inbound(account: &AccountName, platform_id: &str, text: &str) -> Edited;
    move_chat(account: &AccountName, from: &str, to: &str) -> Vec<ConversationId>;
    open_conversation(key: &SessionKey, origin: &Origin, at: Timestamp) -> ConversationRow;
    commit(commit: Commit) -> Committed;
}

homing_ports::every_query! { fallible, Queries }
