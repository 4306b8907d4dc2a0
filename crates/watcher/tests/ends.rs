//! Ends that are seen and ends that are wanted: none of them gets lost between two steps.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod doubles;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use doubles::{Hurried, Notebook, Obedient, Seen, running};
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::Origin;
use homing_domain::owner::Owner;
use homing_domain::process::{Consumption, Ending, ProcessState};
use homing_domain::time::Timestamp;
use homing_ports::IdSource;
use homing_ports::processes::{ExitRecord, Fate, ProcessWake};
use homing_ports::store::{Change, ProcessKind, ProcessRow, Watched};
use homing_watcher::{KILL_TRIES, Limits, Watcher, WatcherParts};
use tokio::sync::{Notify, mpsc};

const GRACE: Duration = Duration::from_secs(5);
const FIRST: ProcessId = ProcessId::from_number(1);
const SECOND: ProcessId = ProcessId::from_number(2);

/// A watcher that has adopted what lives.
struct Stage {
    watcher: Watcher,
    store: Arc<Notebook>,
    processes: Arc<Obedient>,
    clock: Arc<Hurried>,
    wakes: mpsc::UnboundedSender<ProcessWake>,
    looks: mpsc::UnboundedReceiver<ProcessId>,
    kills: mpsc::UnboundedReceiver<(ProcessId, bool)>,
    given_up: mpsc::UnboundedReceiver<(ProcessId, String)>,
}

impl Stage {
    async fn with(live: Vec<ProcessRow>, refusals: u32) -> Stage {
        let (wakes, hears) = mpsc::unbounded_channel();
        let (looked, looks) = mpsc::unbounded_channel();
        let (killed, kills) = mpsc::unbounded_channel();
        let (gives_up, given_up) = mpsc::unbounded_channel();
        let store = Arc::new(Notebook {
            live: Mutex::new(live),
            ..Notebook::default()
        });
        let processes = Arc::new(Obedient {
            wakes: Mutex::new(Some(hears)),
            next_looks: Mutex::default(),
            looks: looked,
            written: Mutex::default(),
            unreadable: Mutex::default(),
            refusals: Mutex::new(refusals),
            kills: killed,
        });
        let clock = Arc::new(Hurried::default());
        let watcher = Watcher::start(WatcherParts {
            store: store.clone(),
            processes: processes.clone(),
            clock: clock.clone(),
            ids: IdSource::new(clock.clone()),
            wake: Arc::new(|_| {}),
            retry: (Duration::from_millis(250), Duration::from_secs(1)),
            wrote: Arc::new(|_| {}),
            limits: Limits::default(),
            not_stopped: Arc::new(move |_, process, why| gives_up.send((process, why)).unwrap()),
        });
        watcher.recover().await.unwrap();
        Stage {
            watcher,
            store,
            processes,
            clock,
            wakes,
            looks,
            kills,
            given_up,
        }
    }

    fn next_looks(&self, process: ProcessId, seen: impl IntoIterator<Item = Seen>) {
        let looks: VecDeque<Seen> = seen.into_iter().collect();
        self.processes
            .next_looks
            .lock()
            .unwrap()
            .insert(process, looks);
    }

    async fn end_is_committed(&self, process: ProcessId) {
        let is_end = |change: &Change| matches!(change, Change::ProcessEnded { process: ended, .. } if *ended == process);
        while !self.store.committed.lock().unwrap().iter().any(is_end) {
            bounded(self.store.changed.notified()).await;
        }
    }
}

/// A signal that never comes is a failed test, not one that hangs.
async fn bounded<T>(signal: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), signal)
        .await
        .unwrap_or_else(|_| panic!("what was waited for never came"))
}

fn process(id: ProcessId, consumed: Option<Consumption>) -> ProcessRow {
    let key: SessionKey = "agent:main:telegram:group:-100:42".parse().unwrap();
    ProcessRow {
        id,
        owner: Owner {
            conversation: ConversationId::from_number(1),
            session: SessionId::from_number(1),
            lineage: LineageId::from_number(1),
            origin: Origin::from_key(&key),
            window: None,
            delegation: None,
        },
        kind: ProcessKind::Task,
        command: "make".into(),
        directory: "/srv".into(),
        notify: true,
        watch: Vec::new(),
        state: ProcessState::Running,
        ending: None,
        created_at: Timestamp(0),
        ended_at: None,
        output_total: 0,
        output_tail: Vec::new(),
        failure: None,
        consumed,
        watched: Watched::default(),
    }
}

fn ended() -> Seen {
    Seen {
        fate: Fate::Ended(ExitRecord {
            ending: Ending::Code(0),
            ended_at: Timestamp(1),
            output_total: 0,
        }),
        held_until: None,
    }
}

// A wake comes once. Here it comes while somebody looks who has still seen it running.
#[tokio::test]
async fn a_wake_that_comes_during_a_look_is_not_lost() {
    let mut stage = Stage::with(vec![process(FIRST, None), process(SECOND, None)], 0).await;
    let release = Arc::new(Notify::new());
    let still_running = Seen {
        fate: running(),
        held_until: Some(release.clone()),
    };
    stage.next_looks(FIRST, [still_running, ended()]);
    stage.wakes.send(ProcessWake::Ended(FIRST)).unwrap();
    assert_eq!(bounded(stage.looks.recv()).await, Some(FIRST));
    // Wakes are heard in order, on one thread: once the second process is looked at, this one was heard.
    stage.wakes.send(ProcessWake::Ended(FIRST)).unwrap();
    stage.wakes.send(ProcessWake::Ended(SECOND)).unwrap();
    assert_eq!(bounded(stage.looks.recv()).await, Some(SECOND));
    release.notify_one();
    stage.end_is_committed(FIRST).await;
}

// OWN-38: the gateway died between the mark and the kill.
#[tokio::test]
async fn a_wanted_end_that_a_crash_forgot_is_carried_out_again() {
    let live = vec![
        process(FIRST, None),
        process(SECOND, Some(Consumption::PersonKilled)),
    ];
    let mut stage = Stage::with(live, 0).await;
    assert_eq!(bounded(stage.kills.recv()).await, Some((SECOND, true)));
    assert!(
        stage.kills.try_recv().is_err(),
        "nobody wanted the first to end"
    );
}

// The supervisor's FIFO is full for a while.
#[tokio::test]
async fn a_kill_that_is_not_taken_is_tried_again_until_it_is() {
    let mut stage = Stage::with(vec![process(FIRST, None)], 3).await;
    assert!(stage.watcher.kill(FIRST, GRACE).await.is_err());
    for taken in [false, false, false, true] {
        assert_eq!(bounded(stage.kills.recv()).await, Some((FIRST, taken)));
    }
    stage.next_looks(FIRST, [ended()]);
    stage.wakes.send(ProcessWake::Ended(FIRST)).unwrap();
    stage.end_is_committed(FIRST).await;
    assert!(stage.given_up.try_recv().is_err());
    assert_eq!(*stage.clock.waits.lock().unwrap(), [250, 500, 1_000]);
}

// OWN-38: marked as stopped and alive, its own end would be silent.
#[tokio::test]
async fn a_kill_that_is_never_taken_is_given_up_aloud_and_once() {
    let mut stage = Stage::with(vec![process(FIRST, None)], u32::MAX).await;
    assert!(stage.watcher.kill(FIRST, GRACE).await.is_err());
    let (process, why) = bounded(stage.given_up.recv()).await.unwrap();
    assert_eq!(
        (process, why.as_str()),
        (FIRST, "it does not read what it is sent")
    );
    let mut tries = 0;
    while let Ok(kill) = stage.kills.try_recv() {
        assert_eq!(kill, (FIRST, false));
        tries += 1;
    }
    assert_eq!(tries, KILL_TRIES);
    assert!(stage.given_up.try_recv().is_err());
}

#[tokio::test]
async fn a_process_that_ends_by_itself_is_not_insisted_on() {
    let mut stage = Stage::with(vec![process(FIRST, None)], u32::MAX).await;
    stage.next_looks(FIRST, [ended()]);
    stage.wakes.send(ProcessWake::Ended(FIRST)).unwrap();
    stage.end_is_committed(FIRST).await;
    bounded(stage.watcher.ended(FIRST)).await;
    assert!(stage.watcher.kill(FIRST, GRACE).await.is_err());
    while stage.watcher.busy() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.kills.try_recv(), Ok((FIRST, false)));
    assert!(stage.kills.try_recv().is_err());
    assert!(stage.given_up.try_recv().is_err());
}
