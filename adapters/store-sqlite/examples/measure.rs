//! Figures of the store on this machine: `cargo run --release -p homing-store-sqlite --example measure`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement: it prints, and fails loudly"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::Origin;
use homing_domain::session::Current;
use homing_domain::time::Timestamp;
use homing_ports::inbox::{Accepted, Inbound};
use homing_ports::platform::OutgoingKind;
use homing_ports::store::*;
use homing_ports::{IdSource, SystemClock};
use homing_store_sqlite::SqliteStore;

const AT: Timestamp = Timestamp(1_790_000_000_000);

struct Talk {
    conversation: ConversationId,
    current: Current,
    origin: Origin,
    key: SessionKey,
}

#[tokio::main]
async fn main() {
    let folder =
        tempfile::tempdir_in(std::env::args().nth(1).unwrap_or_else(|| ".".into())).unwrap();
    let path = folder.path().join("homing.db");
    let ids = IdSource::new(Arc::new(SystemClock));
    println!(
        "anonymous memory before           {:>8} KiB",
        anonymous_kib()
    );
    let store = SqliteStore::open(&path, ids.clone()).await.unwrap();
    store.take_over(AT).await.unwrap();
    println!(
        "anonymous memory, opened          {:>8} KiB",
        anonymous_kib()
    );

    for tasks in [1, 8, 64] {
        let appended = appends(&store, &ids, tasks, Duration::from_secs(2)).await;
        println!(
            "durable single appends/s by {tasks:<2}    {:>8.0}   ({:.0} µs of CPU each)",
            appended.0, appended.1
        );
    }
    for tasks in [1, 8, 64] {
        let (messages, cpu) = messages(&store, &ids, tasks, Duration::from_secs(3)).await;
        println!(
            "whole messages/s by {tasks:<2}            {messages:>8.0}   ({cpu:.0} µs of CPU each; 5 commits, 10 changes)"
        );
    }
    println!(
        "anonymous memory after the load   {:>8} KiB",
        anonymous_kib()
    );

    let begun = Instant::now();
    fill(&store, 100_000).await;
    println!(
        "100,000 conversations made in     {:>8} ms",
        begun.elapsed().as_millis()
    );
    lookups(&store).await;
    println!(
        "anonymous memory at the end       {:>8} KiB",
        anonymous_kib()
    );
    store.close().await.unwrap();

    let begun = Instant::now();
    let store = SqliteStore::open(&path, ids).await.unwrap();
    println!(
        "opening the existing store        {:>8} µs",
        begun.elapsed().as_micros()
    );
    store.close().await.unwrap();
}

async fn talk(store: &SqliteStore, ids: &IdSource, name: String) -> Talk {
    let key: SessionKey = format!("agent:main:simulated:dm:{name}").parse().unwrap();
    let origin = Origin::from_key(&key);
    let conversation = store.open_conversation(&key, &origin, AT).await.unwrap().id;
    let current = Current {
        session: ids.next(),
        lineage: ids.next(),
    };
    let start = Change::StartLineage {
        lineage: current.lineage,
        session: current.session,
        parent: None,
        title: None,
    };
    done(
        store,
        conversation,
        vec![start, Change::Point(Some(current))],
    )
    .await;
    Talk {
        conversation,
        current,
        origin,
        key,
    }
}

async fn done(store: &SqliteStore, conversation: ConversationId, changes: Vec<Change>) {
    let committed = store
        .commit(Commit {
            conversation,
            at: AT,
            changes,
        })
        .await
        .unwrap();
    assert_eq!(committed, Committed::Done);
}

fn append(ids: &IdSource, talk: &Talk, turn: Option<TurnId>, role: Role) -> Change {
    let text = "What a person might say, or an agent answer, in a line or two of text.".into();
    Change::Append(NewMessage {
        id: ids.next(),
        session: talk.current.session,
        turn,
        role,
        author: None,
        text,
        data: None,
    })
}

async fn appends(store: &SqliteStore, ids: &IdSource, tasks: usize, span: Duration) -> (f64, f64) {
    per_second(tasks, span, |task| {
        let (store, ids) = (store.clone(), ids.clone());
        async move {
            let talk = talk(&store, &ids, format!("append-{tasks}-{task}")).await;
            let mut count = 0;
            let begun = Instant::now();
            while begun.elapsed() < span {
                done(
                    &store,
                    talk.conversation,
                    vec![append(&ids, &talk, None, Role::Person)],
                )
                .await;
                count += 1;
            }
            count
        }
    })
    .await
}

async fn messages(store: &SqliteStore, ids: &IdSource, tasks: usize, span: Duration) -> (f64, f64) {
    per_second(tasks, span, |task| {
        let (store, ids) = (store.clone(), ids.clone());
        async move {
            let talk = talk(&store, &ids, format!("message-{tasks}-{task}")).await;
            let mut count = 0;
            let begun = Instant::now();
            while begun.elapsed() < span {
                message(&store, &ids, &talk, format!("{tasks}-{task}-{count}")).await;
                count += 1;
            }
            count
        }
    })
    .await
}

async fn message(store: &SqliteStore, ids: &IdSource, talk: &Talk, platform_id: String) {
    let inbound = Inbound {
        origin: talk.origin.clone(),
        platform_id,
        author: None,
        text: "hello".into(),
        window: None,
        raw: None,
        quoted: None,
        attachments: Vec::new(),
        together: None,
    };
    let Accepted::New { inbound, .. } = store.accept(inbound, talk.key.clone(), AT).await.unwrap()
    else {
        panic!("a repeat")
    };
    let Current { session, lineage } = talk.current;
    let turn: TurnId = ids.next();
    let outbox: OutboxId = ids.next();
    let outgoing = NewOutgoing {
        id: outbox,
        lineage: Some(lineage),
        turn: Some(turn),
        kind: OutgoingKind::Answer,
        origin: talk.origin.clone(),
        window: None,
        text: "An answer of a line or two, as agents give them when asked something simple.".into(),
        extras: Default::default(),
    };
    let start = Change::StartTurn {
        turn,
        session,
        lineage,
        kind: TurnKind::Foreground,
    };
    let first = vec![
        start,
        Change::TakeInbound { inbound, turn },
        append(ids, talk, Some(turn), Role::Person),
    ];
    done(store, talk.conversation, first).await;
    let last = vec![
        Change::RequireGeneration(1),
        append(ids, talk, Some(turn), Role::Agent),
        Change::FinishInbound { inbound },
        Change::EndTurn {
            turn,
            end: TurnEnd::Done,
            error: None,
        },
        Change::Enqueue(outgoing),
    ];
    done(store, talk.conversation, last).await;
    done(
        store,
        talk.conversation,
        vec![Change::Sending { outbox, attempt: 1 }],
    )
    .await;
    done(
        store,
        talk.conversation,
        vec![Change::Sent {
            outbox,
            attempt: 1,
            platform_message: Some("1".into()),
        }],
    )
    .await;
}

/// How often in a second, and how many microseconds of CPU time each took.
async fn per_second<F, W>(tasks: usize, span: Duration, work: F) -> (f64, f64)
where
    F: Fn(usize) -> W,
    W: Future<Output = u32> + Send + 'static,
{
    let before = cpu_ticks();
    let running: Vec<_> = (0..tasks).map(|task| tokio::spawn(work(task))).collect();
    let mut total = 0;
    for task in running {
        total += task.await.unwrap();
    }
    // The kernel counts in hundredths of a second.
    let cpu = (cpu_ticks() - before) as f64 * 10_000.0;
    (
        f64::from(total) / span.as_secs_f64(),
        cpu / f64::from(total),
    )
}

fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn nth(number: u32) -> SessionKey {
    format!("agent:main:telegram:group:-100{number}:{}", number % 7)
        .parse()
        .unwrap()
}

async fn fill(store: &SqliteStore, count: u32) {
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (task..count).step_by(64) {
                    store
                        .open_conversation(&nth(number), &Origin::from_key(&nth(number)), AT)
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn lookups(store: &SqliteStore) {
    let mut by_key = Vec::new();
    let mut opened = Vec::new();
    for round in 0..5_000_u32 {
        let key = nth(round.wrapping_mul(2_654_435_761) % 100_000);
        let begun = Instant::now();
        assert!(store.conversation_by_key(&key).await.unwrap().is_some());
        by_key.push(begun.elapsed());
        let begun = Instant::now();
        store
            .open_conversation(&key, &Origin::from_key(&key), AT)
            .await
            .unwrap();
        opened.push(begun.elapsed());
    }
    for (name, mut times) in [
        ("conversation_by_key", by_key),
        ("open_conversation", opened),
    ] {
        times.sort();
        let at = |part: usize| times[times.len() * part / 100].as_micros();
        println!(
            "{name:<22} at 100,000  {:>8} µs   (p99 {} µs)",
            at(50),
            at(99)
        );
    }
}

fn anonymous_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
