//! Matches that wait when their process ends: told with its end, once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "shared with other tests, which need more of it")]
mod doubles;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use doubles::{HeldUp, Hurried, Notebook, Obedient, Seen};
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::Origin;
use homing_domain::owner::Owner;
use homing_domain::process::{Ending, ProcessState};
use homing_domain::time::Timestamp;
use homing_domain::watch::Limiter;
use homing_ports::IdSource;
use homing_ports::processes::{ExitRecord, Fate, ProcessWake};
use homing_ports::store::{Change, ProcessKind, ProcessRow, Watched};
use homing_watcher::{Limits, Watcher, WatcherParts};
use tokio::sync::{Notify, mpsc};

const PROCESS: ProcessId = ProcessId::from_number(1);

/// Its patterns have matched twice, and nobody was told.
fn watched() -> ProcessRow {
    let key: SessionKey = "agent:main:telegram:group:-100:42".parse().unwrap();
    ProcessRow {
        id: PROCESS,
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
        watch: vec!["warning".into()],
        state: ProcessState::Running,
        ending: None,
        created_at: Timestamp(0),
        ended_at: None,
        output_total: 0,
        output_tail: Vec::new(),
        failure: None,
        consumed: None,
        watched: Watched {
            scanned: 20,
            limiter: Limiter {
                // A timer tells them when this window is over.
                window: Some(Timestamp(0)),
                waiting: 2,
                ..Limiter::default()
            },
            lines: vec!["warning 1".into(), "warning 2".into()],
        },
    }
}

fn exit() -> Seen {
    let record = ExitRecord {
        ending: Ending::Code(0),
        ended_at: Timestamp(1),
        output_total: 20,
    };
    Seen {
        fate: Fate::Ended(record),
        held_until: None,
    }
}

/// Lets everything run that can.
async fn meanwhile() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// A signal that never comes is a failed test, not one that hangs.
async fn bounded<T>(signal: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), signal)
        .await
        .unwrap_or_else(|_| panic!("what was waited for never came"))
}

/// A watcher of that process.
struct Stage {
    watcher: Watcher,
    store: Arc<Notebook>,
    processes: Arc<Obedient>,
    wakes: mpsc::UnboundedSender<ProcessWake>,
    looks: mpsc::UnboundedReceiver<ProcessId>,
    /// Each time the conversation was woken.
    wakings: mpsc::UnboundedReceiver<()>,
}

impl Stage {
    fn with(store: Notebook, written: &str, looks: impl IntoIterator<Item = Seen>) -> Stage {
        let (wakes, hears) = mpsc::unbounded_channel();
        let (looked, looked_at) = mpsc::unbounded_channel();
        let (kills, _killed) = mpsc::unbounded_channel();
        let (woken, wakings) = mpsc::unbounded_channel();
        let store = Arc::new(store);
        let next_looks = BTreeMap::from([(PROCESS, looks.into_iter().collect())]);
        let processes = Arc::new(Obedient {
            wakes: Mutex::new(Some(hears)),
            next_looks: Mutex::new(next_looks),
            looks: looked,
            written: Mutex::new(written.into()),
            unreadable: Mutex::default(),
            refusals: Mutex::new(0),
            kills,
        });
        let clock = Arc::new(Hurried::default());
        let watcher = Watcher::start(WatcherParts {
            store: store.clone(),
            processes: processes.clone(),
            clock: clock.clone(),
            ids: IdSource::new(clock),
            wake: Arc::new(move |_| {
                let _nobody_counts = woken.send(());
            }),
            retry: (Duration::from_millis(250), Duration::from_secs(1)),
            wrote: Arc::new(|_| {}),
            limits: Limits::default(),
            not_stopped: Arc::new(|_, _, _| {}),
        });
        Stage {
            watcher,
            store,
            processes,
            wakes,
            looks: looked_at,
            wakings,
        }
    }

    async fn committed(&self, is_it: impl Fn(&Change) -> bool) {
        while !self.store.committed.lock().unwrap().iter().any(&is_it) {
            bounded(self.store.changed.notified()).await;
        }
    }

    /// What was told, oldest first.
    fn told(&self) -> Vec<String> {
        let committed = self.store.committed.lock().unwrap();
        let told = committed.iter().filter_map(|change| match change {
            Change::AddNotification { content, .. } => Some(content.clone()),
            _ => None,
        });
        told.collect()
    }
}

fn is_end(change: &Change) -> bool {
    matches!(change, Change::ProcessEnded { .. })
}

// OWN-84. The timer comes while the end is being recorded.
#[tokio::test]
async fn a_match_is_not_told_beside_the_end_that_tells_it() {
    let store = Notebook {
        live: Mutex::new(vec![watched()]),
        held_up: Some(HeldUp::default()),
        ..Notebook::default()
    };
    let stage = Stage::with(store, "", [exit()]);
    let held_up = stage.store.held_up.as_ref().unwrap();
    stage.wakes.send(ProcessWake::Ended(PROCESS)).unwrap();
    stage.watcher.recover().await.unwrap();
    bounded(held_up.asked.notified()).await;
    meanwhile().await;
    held_up.go_on.notify_one();
    stage.committed(is_end).await;
    meanwhile().await;
    assert_eq!(stage.told(), ["warning 1\nwarning 2"]);
}

// OWN-84. The end has to be recorded twice, and its output is read by the timer in between.
#[tokio::test]
async fn a_match_in_a_last_line_without_an_end_is_told_however_often_the_end_is_recorded() {
    let store = Notebook {
        live: Mutex::new(vec![watched()]),
        refused_ends: Mutex::new(1),
        ..Notebook::default()
    };
    let release = Arc::new(Notify::new());
    let again = Seen {
        held_until: Some(release.clone()),
        ..exit()
    };
    let written = "warning 1\nwarning 2\nwarning 3";
    let mut stage = Stage::with(store, written, [exit(), again]);
    stage.wakes.send(ProcessWake::Ended(PROCESS)).unwrap();
    stage.watcher.recover().await.unwrap();
    for _ in 0..2 {
        bounded(stage.looks.recv()).await;
    }
    stage.wakes.send(ProcessWake::Output(PROCESS)).unwrap();
    stage
        .committed(|change| matches!(change, Change::Watched { .. }))
        .await;
    release.notify_one();
    stage.committed(is_end).await;
    assert_eq!(stage.told(), ["warning 1\nwarning 2", "warning 3"]);
}

// OWN-80. A step of watching is stored, and its answer is lost on the way.
#[tokio::test]
async fn a_match_is_told_though_the_answer_about_the_one_before_was_lost() {
    let mut row = watched();
    row.watched = Watched::default();
    let store = Notebook {
        live: Mutex::new(vec![row]),
        lost_answers: Mutex::new(1),
        ..Notebook::default()
    };
    let mut stage = Stage::with(store, "warning 1\n", []);
    stage.watcher.recover().await.unwrap();
    stage.wakes.send(ProcessWake::Output(PROCESS)).unwrap();
    stage
        .committed(|change| matches!(change, Change::Watched { .. }))
        .await;
    bounded(stage.wakings.recv()).await;
    let more = b"warning 2\n";
    stage.processes.written.lock().unwrap().extend(more);
    stage.wakes.send(ProcessWake::Output(PROCESS)).unwrap();
    while stage.told().len() < 2 {
        bounded(stage.store.changed.notified()).await;
    }
    assert_eq!(stage.told(), ["warning 1", "warning 2"]);
}

// OWN-80. Output cannot be read in the middle of a look.
#[tokio::test]
async fn a_match_is_told_though_the_output_behind_it_could_not_be_read_then() {
    let mut row = watched();
    row.watched = Watched::default();
    let store = Notebook {
        live: Mutex::new(vec![row]),
        ..Notebook::default()
    };
    let stage = Stage::with(store, "warning 1\n", []);
    *stage.processes.unreadable.lock().unwrap() = 1;
    stage.watcher.recover().await.unwrap();
    let is_read = || *stage.processes.unreadable.lock().unwrap() == 0;
    stage.wakes.send(ProcessWake::Output(PROCESS)).unwrap();
    bounded(async {
        while !is_read() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // Nothing more is written: it is looked at again by itself.
    stage
        .committed(|change| matches!(change, Change::Watched { .. }))
        .await;
    assert_eq!(stage.told(), ["warning 1"]);
}

// OWN-80. Output cannot be read when the process has just ended.
#[tokio::test]
async fn a_last_match_is_told_though_the_output_could_not_be_read_at_once() {
    let store = Notebook {
        live: Mutex::new(vec![watched()]),
        ..Notebook::default()
    };
    let written = "warning 1\nwarning 2\nwarning 3\n";
    let looks = [exit(), exit(), exit()];
    let stage = Stage::with(store, written, looks);
    *stage.processes.unreadable.lock().unwrap() = 2;
    stage.wakes.send(ProcessWake::Ended(PROCESS)).unwrap();
    stage.watcher.recover().await.unwrap();
    stage.committed(is_end).await;
    let told = stage.told().join("\n");
    assert_eq!(told, "warning 1\nwarning 2\nwarning 3");
}
