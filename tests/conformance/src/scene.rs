//! One conversation on a stage: what checks say, said shortly.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::notification::{Kind, State};
use homing_domain::origin::Origin;
use homing_domain::owner::Owner;
use homing_domain::process::Ending;
use homing_domain::session::{Boundary, Current};
use homing_domain::time::Timestamp;
use homing_ports::clock::FreshId;
use homing_ports::inbox::{Accepted, Inbound};
use homing_ports::platform::OutgoingKind;
use homing_ports::store::*;
use homing_ports::{IdSource, SystemClock};

use crate::Place;

/// A store that was taken over, and a conversation in it with a current session.
#[derive(Clone)]
pub struct Scene {
    pub store: Arc<dyn Store>,
    pub ids: IdSource,
    pub key: SessionKey,
    pub origin: Origin,
    pub conversation: ConversationId,
    pub current: Current,
    pub clock: Arc<AtomicI64>,
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scene")
            .field("key", &self.key)
            .field("current", &self.current)
            .finish_non_exhaustive()
    }
}

impl Scene {
    pub async fn at(place: &dyn Place) -> Scene {
        let store = place.open().await;
        store.take_over(Timestamp(1)).await.unwrap();
        Scene::with(store, IdSource::new(Arc::new(SystemClock)), "1").await
    }

    /// A conversation in a store that someone took over: found there with its session, or begun.
    pub async fn with(store: Arc<dyn Store>, ids: IdSource, chat: &str) -> Scene {
        let key = key(chat);
        let origin = Origin::from_key(&key);
        let row = store
            .open_conversation(&key, &origin, Timestamp(1))
            .await
            .unwrap();
        let current = row.current.unwrap_or_else(|| Current {
            session: ids.next(),
            lineage: ids.next(),
        });
        let clock = Arc::new(AtomicI64::new(1_000));
        let scene = Scene {
            store,
            ids,
            key,
            origin,
            conversation: row.id,
            current,
            clock,
        };
        if row.current.is_none() {
            scene
                .done(vec![start(current), Change::Point(Some(current))])
                .await;
        }
        scene
    }

    /// Another conversation of the same store, with ids that follow this one's.
    pub async fn neighbour(&self, chat: &str) -> Scene {
        Scene::with(self.store.clone(), self.ids.clone(), chat).await
    }

    pub fn now(&self) -> Timestamp {
        Timestamp(self.clock.fetch_add(1, Ordering::Relaxed))
    }

    pub fn id<T: FreshId>(&self) -> T {
        self.ids.next()
    }

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

    pub async fn try_commit(&self, changes: Vec<Change>) -> StoreResult<Committed> {
        self.store
            .commit(Commit {
                conversation: self.conversation,
                at: self.now(),
                changes,
            })
            .await
    }

    pub async fn commit(&self, changes: Vec<Change>) -> Committed {
        self.try_commit(changes).await.unwrap()
    }

    #[track_caller]
    pub fn done(&self, changes: Vec<Change>) -> impl Future<Output = ()> + Send + '_ {
        let caller = std::panic::Location::caller();
        async move {
            let committed = self.commit(changes).await;
            assert_eq!(committed, Committed::Done, "at {caller}");
        }
    }

    /// The change is unmet, and what stood before it in its commit did not happen either.
    #[track_caller]
    pub fn unmet(&self, change: Change) -> impl Future<Output = ()> + Send + '_ {
        let caller = std::panic::Location::caller();
        async move {
            let before = self.history().await.len();
            match self
                .commit(vec![self.message("never"), change.clone()])
                .await
            {
                Committed::Unmet { index: 1, what } => assert!(!what.is_empty()),
                other => panic!("{other:?} for {change:?} at {caller}"),
            }
            assert_eq!(
                self.history().await.len(),
                before,
                "half of a commit happened; at {caller}"
            );
        }
    }

    pub fn message(&self, text: &str) -> Change {
        let session = self.current.session;
        Change::Append(NewMessage {
            id: self.id(),
            session,
            turn: None,
            role: Role::Person,
            author: None,
            text: text.into(),
            data: None,
        })
    }

    pub async fn append(&self, text: &str) -> StoreResult<Committed> {
        self.try_commit(vec![self.message(text)]).await
    }

    pub async fn history(&self) -> Vec<String> {
        let rows = self
            .store
            .history(self.current.session, 1_000_000)
            .await
            .unwrap();
        rows.into_iter().map(|row| row.text).collect()
    }

    pub async fn row(&self) -> ConversationRow {
        self.store
            .conversation(self.conversation)
            .await
            .unwrap()
            .unwrap()
    }

    pub fn inbound(&self, platform_id: &str) -> Inbound {
        let text = format!("message {platform_id}");
        Inbound {
            origin: self.origin.clone(),
            platform_id: platform_id.into(),
            author: Some("Ada".into()),
            text,
            window: None,
            raw: Some("{}".into()),
            quoted: None,
            attachments: Vec::new(),
            together: None,
        }
    }

    pub async fn accept(&self, platform_id: &str) -> (bool, InboundId, ConversationId) {
        parts(
            self.store
                .accept(self.inbound(platform_id), self.key.clone(), self.now())
                .await
                .unwrap(),
        )
    }

    /// Ends the lineage and begins another: the changes of a `/new`.
    pub fn reset(&self, next: Current) -> Vec<Change> {
        let lineage = self.current.lineage;
        vec![
            Change::CloseLineage {
                lineage,
                boundary: Boundary::Reset,
            },
            start(next),
            Change::Point(Some(next)),
            Change::CancelQueued {
                lineage,
                reason: "reset".into(),
            },
        ]
    }

    pub fn fresh_session(&self) -> Current {
        Current {
            session: self.id(),
            lineage: self.id(),
        }
    }

    pub fn new_process(&self) -> NewProcess {
        NewProcess {
            id: self.id(),
            owner: self.owner(),
            turn: None,
            kind: ProcessKind::Task,
            command: "make all".into(),
            directory: "/srv".into(),
            notify: true,
            watch: vec!["error".into(), "re:warn.*".into()],
        }
    }

    /// A process that runs.
    pub async fn process(&self) -> ProcessId {
        let process = self.new_process();
        let id = process.id;
        self.done(vec![
            Change::AddProcess(process),
            Change::ProcessStarted { process: id },
        ])
        .await;
        id
    }

    pub fn ended(&self, process: ProcessId, ending: Ending) -> Change {
        Change::ProcessEnded {
            process,
            ending,
            ended_at: self.now(),
            output_total: 7,
            output_tail: b"all\xffok".to_vec(),
        }
    }

    /// A process that ended, and what it has to say.
    pub async fn notification(&self) -> (ProcessId, NotificationId) {
        let process = self.process().await;
        let notification = self.id();
        self.done(vec![
            self.ended(process, Ending::Code(0)),
            says(notification, process),
        ])
        .await;
        (process, notification)
    }

    pub fn decide(&self, notification: NotificationId, from: State, to: State) -> Change {
        let reason = matches!(to, State::Held | State::Dropped).then(|| "because".to_owned());
        let turn = matches!(to, State::Claimed).then(|| self.id());
        Change::Decide(Decision {
            notification,
            from,
            to,
            reason,
            facts: format!("{} to {}", from.name(), to.name()),
            turn,
            failed_attempt: false,
        })
    }

    pub fn enters(&self, notification: NotificationId) -> Change {
        Change::EnterHistory {
            lineage: self.current.lineage,
            session: self.current.session,
            notification,
        }
    }

    pub async fn state(&self, notification: NotificationId) -> State {
        self.store
            .notification(notification)
            .await
            .unwrap()
            .unwrap()
            .state
    }

    pub fn outgoing(&self, text: &str) -> NewOutgoing {
        let lineage = Some(self.current.lineage);
        NewOutgoing {
            id: self.id(),
            lineage,
            turn: None,
            kind: OutgoingKind::Answer,
            origin: self.origin.clone(),
            window: None,
            text: text.into(),
            extras: Default::default(),
        }
    }

    /// An item in the outbox.
    pub async fn queued(&self, text: &str) -> OutboxId {
        let outgoing = self.outgoing(text);
        let id = outgoing.id;
        self.done(vec![Change::Enqueue(outgoing)]).await;
        id
    }

    pub async fn item(&self, id: OutboxId) -> OutboxRow {
        let items = self.store.outbox(self.conversation, 1_000).await.unwrap();
        items.into_iter().find(|item| item.id == id).unwrap()
    }
}

/// Whether it was new, and which.
pub fn parts(accepted: Accepted) -> (bool, InboundId, ConversationId) {
    match accepted {
        Accepted::New {
            inbound,
            conversation,
        } => (true, inbound, conversation),
        Accepted::Repeat {
            inbound,
            conversation,
        } => (false, inbound, conversation),
    }
}

pub fn key(chat: &str) -> SessionKey {
    format!("agent:main:simulated:dm:{chat}").parse().unwrap()
}

pub fn start(current: Current) -> Change {
    Change::StartLineage {
        lineage: current.lineage,
        session: current.session,
        parent: None,
        title: None,
    }
}

pub fn says(notification: NotificationId, process: ProcessId) -> Change {
    Change::AddNotification {
        notification,
        source: Source::Process(process),
        kind: Kind::Completed,
        sequence: 0,
        content: String::new(),
        more: 0,
    }
}
