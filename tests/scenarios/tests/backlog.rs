//! A conversation with more to send than is read ahead at once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::key::SessionKey;
use homing_domain::origin::Origin;
use homing_domain::split::{Limit, Unit};
use homing_domain::time::Timestamp;
use homing_gateway::{Gateway, Parts, Settings};
use homing_ports::inbox::Inbound;
use homing_ports::platform::{
    Capabilities, Outgoing, OutgoingKind, Platform, Receipt, Repeats, SendError,
};
use homing_ports::store::{Change, Commit, Committed, NewOutgoing, Queries, Store};
use homing_ports::{Clock, FixedDirectory, IdSource, SystemClock};
use homing_processes::ShimProcesses;
use homing_store_sqlite::SqliteStore;
use tokio::sync::{Semaphore, mpsc};

/// More than twice what is read ahead.
const BACKLOG: usize = 450;

/// Takes one message for each permit, and says what it took.
struct Patient {
    permits: Semaphore,
    taken: mpsc::UnboundedSender<String>,
}

#[async_trait]
impl Platform for Patient {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            limit: Limit {
                unit: Unit::Chars,
                max: 4_000,
            },
            repeats: Repeats::Deduplicates,
            live: Default::default(),
        }
    }

    async fn send(&self, outgoing: Outgoing) -> Result<Receipt, SendError> {
        self.permits.acquire().await.unwrap().forget();
        self.taken.send(outgoing.text).unwrap();
        Ok(Receipt {
            message: None,
            landed: None,
        })
    }
}

fn queued(ids: &IdSource, origin: &Origin, text: String) -> Change {
    Change::Enqueue(NewOutgoing {
        id: ids.next(),
        lineage: None,
        turn: None,
        kind: OutgoingKind::Notice,
        origin: origin.clone(),
        window: None,
        text,
        extras: Default::default(),
    })
}

async fn bounded<T>(signal: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), signal)
        .await
        .unwrap_or_else(|_| panic!("what was waited for never came"))
}

// OWN-66: in order per conversation, however much waits. A reply that is said meanwhile is behind all of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backlog_longer_than_what_is_read_ahead_leaves_in_order() {
    let data = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let ids = IdSource::new(clock.clone());
    let store = SqliteStore::open(&data.path().join("homing.db"), ids.clone())
        .await
        .unwrap();
    store.take_over(clock.now()).await.unwrap();
    let key: SessionKey = "agent:main:simulated:dm:1".parse().unwrap();
    let origin = Origin::from_key(&key);
    let row = store
        .open_conversation(&key, &origin, Timestamp(1))
        .await
        .unwrap();
    let backlog: Vec<String> = (0..BACKLOG)
        .map(|number| format!("item {number}"))
        .collect();
    let changes = backlog
        .iter()
        .map(|text| queued(&ids, &origin, text.clone()))
        .collect();
    let commit = Commit {
        conversation: row.id,
        at: clock.now(),
        changes,
    };
    assert_eq!(store.commit(commit).await.unwrap(), Committed::Done);

    let (taken, mut arrived) = mpsc::unbounded_channel();
    let platform = Arc::new(Patient {
        permits: Semaphore::new(0),
        taken,
    });
    let mut directory = FixedDirectory::default();
    directory
        .platforms
        .insert(origin.account_name(), platform.clone());
    let store = Arc::new(store);
    let processes = ShimProcesses::open(data.path(), clock.clone()).unwrap();
    let gateway = Gateway::start(Parts {
        store: store.clone(),
        processes: Arc::new(processes),
        directory: Arc::new(directory),
        clock,
        ids,
        settings: Settings::default(),
    })
    .await
    .unwrap();
    // The first item is under way when someone asks for something.
    let inbound = Inbound::new(origin, "1", "/help");
    let _new = gateway.inbox().accept(inbound).await.unwrap();
    let replied = async {
        while store.outbox_waiting(row.id, 1_000).await.unwrap().len() <= BACKLOG {
            let _again =
                tokio::time::timeout(Duration::from_millis(20), gateway.activity_changed()).await;
        }
    };
    bounded(replied).await;

    platform.permits.add_permits(BACKLOG + 1);
    for expected in &backlog {
        assert_eq!(bounded(arrived.recv()).await.as_ref(), Some(expected));
    }
    let reply = bounded(arrived.recv()).await.unwrap();
    assert!(reply.contains("/help"), "{reply}");
    let _left = gateway.stop(Duration::from_secs(10)).await;
    assert!(store.outbox_waiting(row.id, 10).await.unwrap().is_empty());
}
