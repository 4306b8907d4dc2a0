//! No hot statement looks at other conversations' rows: SQLite's own plan says so.

use homing_domain::ids::*;
use homing_domain::key::{ChatType, KeySettings};
use homing_domain::notification::{Kind, State};
use homing_domain::origin::Origin;
use homing_domain::owner::Owner;
use homing_domain::process::{Consumption, Ending};
use homing_domain::session::{Boundary, Current};
use homing_domain::time::Timestamp;
use homing_ports::inbox::Inbound;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::*;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::{end, place, raw_fresh};
use crate::plan;
use crate::read;

async fn explain(connection: &mut SqliteConnection, sql: &str) -> Vec<String> {
    let rows = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")))
        .fetch_all(connection)
        .await
        .unwrap();
    rows.iter()
        .map(|row| row.get::<String, _>("detail"))
        .collect()
}

#[tokio::test]
async fn a_hot_query_never_scans_a_table_and_never_sorts_one() {
    let place = place();
    let mut connection = raw_fresh(&place).await;
    for sql in read::hot() {
        for line in explain(&mut connection, sql).await {
            assert!(!line.starts_with("SCAN"), "{sql}\n{line}");
            // The windows of one conversation and the notifications of one process are few.
            let few = sql.contains("FROM windows")
                || sql.contains("WHERE process = ?")
                || sql.contains("WHERE delegation = ?");
            assert!(few || !line.contains("TEMP B-TREE"), "{sql}\n{line}");
        }
    }
    end(connection).await;
}

/// What waits is found by what waits: a conversation's long past costs nothing.
#[tokio::test]
async fn a_question_about_what_is_open_walks_its_partial_index() {
    let place = place();
    let mut connection = raw_fresh(&place).await;
    let open = [
        "finished_at IS NULL",
        "settled_at IS NULL",
        "ended_at IS NULL",
        "closed_at IS NULL",
    ];
    let cancel = Change::CancelQueued {
        lineage: LineageId::from_number(1),
        reason: String::new(),
    };
    let commit = Commit {
        conversation: ConversationId::from_number(1),
        at: Timestamp(1),
        changes: vec![cancel],
    };
    let cancel = plan::commit(&commit).pop().unwrap().sql;
    let mut asked = 0;
    let asks = |sql: &&str| open.iter().any(|condition| sql.contains(condition));
    for sql in read::hot().filter(asks).chain([cancel]) {
        let plan = explain(&mut connection, sql).await.join("\n");
        let partial = ["_waiting (", "_open (", "_running (", "_live ("];
        assert!(
            partial.iter().any(|name| plan.contains(name)),
            "{sql}\n{plan}"
        );
        asked += 1;
    }
    assert!(asked >= 7, "the hot list lost some");
    end(connection).await;
}

/// The few that look at everything look at what is open, or at a bounded end of an index.
#[tokio::test]
async fn a_global_query_walks_a_partial_index_or_stops_at_a_limit() {
    let place = place();
    let mut connection = raw_fresh(&place).await;
    for sql in read::global() {
        for line in explain(&mut connection, sql)
            .await
            .iter()
            .filter(|line| line.starts_with("SCAN"))
        {
            let partial = ["_waiting", "_open", "_running", "_live"]
                .iter()
                .any(|name| line.contains(name));
            let bounded = sql.ends_with("LIMIT ? + 0") && !sql.contains("WHERE");
            assert!(
                partial
                    || bounded
                    || line == "SCAN tallies"
                    || line.starts_with("SCAN conversations USING COVERING INDEX"),
                "{sql}\n{line}"
            );
        }
    }
    end(connection).await;
}

/// What refers to a removed row is asked of each of them.
#[tokio::test]
async fn removing_old_rows_scans_nothing() {
    let place = place();
    let mut connection = raw_fresh(&place).await;
    for sql in crate::writer::CLEAN {
        let plan = explain(&mut connection, sql).await;
        let scans = plan.iter().any(|line| line.starts_with("SCAN"));
        assert!(!scans, "{sql}\n{plan:#?}");
    }
    end(connection).await;
}

#[tokio::test]
async fn a_write_finds_its_rows_by_id() {
    let place = place();
    let mut connection = raw_fresh(&place).await;
    let commit = Commit {
        conversation: ConversationId::from_number(1),
        at: Timestamp(1),
        changes: one_of_each(),
    };
    let steps = plan::commit(&commit).into_iter();
    let at = Timestamp(1);
    let inbound = inbound();
    let key = inbound.origin.key(KeySettings::default());
    let accept = plan::accept(
        &inbound,
        &key,
        InboundId::from_number(1),
        commit.conversation,
        at,
    );
    let open = plan::open_conversation(&key, &inbound.origin, commit.conversation, at);
    for step in steps.chain(accept).chain(open) {
        assert_eq!(
            step.sql.matches('?').count(),
            step.values.len(),
            "{}",
            step.sql
        );
        for line in explain(&mut connection, step.sql).await {
            // The row that an INSERT … SELECT without FROM makes is a scan of nothing.
            assert!(
                !line.starts_with("SCAN") || line == "SCAN CONSTANT ROW",
                "{}\n{line}",
                step.sql
            );
        }
    }
    end(connection).await;
}

fn inbound() -> Inbound {
    Inbound {
        origin: origin(),
        platform_id: "1".into(),
        author: None,
        text: "hello".into(),
        window: None,
        raw: None,
        quoted: None,
        attachments: Vec::new(),
        together: None,
    }
}

fn origin() -> Origin {
    Origin {
        profile: "main".into(),
        platform: "simulated".into(),
        account: None,
        chat_type: ChatType::Dm,
        chat: "1".into(),
        thread: None,
        user: None,
        anchor: None,
    }
}

/// Every change there is. A new one is missing here until the match below is complete.
fn one_of_each() -> Vec<Change> {
    let lineage = LineageId::from_number(1);
    let session = SessionId::from_number(1);
    let process = ProcessId::from_number(1);
    let turn = TurnId::from_number(1);
    let inbound = InboundId::from_number(1);
    let outbox = OutboxId::from_number(1);
    let window = WindowId::from_number(1);
    let notification = NotificationId::from_number(1);
    let delegation = DelegationId::from_number(1);
    let conversation = ConversationId::from_number(1);
    let owner = Owner {
        conversation,
        session,
        lineage,
        origin: origin(),
        window: None,
        delegation: None,
    };
    let approval = ApprovalId::from_number(1);
    let text = String::new;
    let not_before = Timestamp(1);
    let all = vec![
        Change::RequireGeneration(1),
        Change::StartLineage {
            lineage,
            session,
            parent: None,
            title: None,
        },
        Change::Continue {
            lineage,
            from: session,
            session,
            summary: text(),
            kept_from: None,
        },
        Change::CloseLineage {
            lineage,
            boundary: Boundary::Reset,
        },
        Change::Point(Some(Current { session, lineage })),
        Change::Point(None),
        Change::Title {
            session,
            title: text(),
        },
        Change::Append(NewMessage {
            id: MessageId::from_number(1),
            session,
            turn: None,
            role: Role::Agent,
            author: None,
            text: text(),
            data: None,
        }),
        Change::EnterHistory {
            lineage,
            session,
            notification,
        },
        Change::TakeInbound { inbound, turn },
        Change::FinishInbound { inbound },
        Change::RequeueInbound { inbound },
        Change::RewriteInbound {
            inbound,
            text: text(),
        },
        Change::RepeatInbound {
            inbound,
            text: text(),
            quoted: Some(text()),
            attachments: Vec::new(),
        },
        Change::StartTurn {
            turn,
            session,
            lineage,
            kind: TurnKind::Foreground,
        },
        Change::CountTool { turn },
        Change::EndTurn {
            turn,
            end: TurnEnd::Done,
            error: None,
        },
        Change::AddProcess(NewProcess {
            id: process,
            owner: owner.clone(),
            turn: None,
            kind: ProcessKind::Task,
            command: text(),
            directory: text(),
            notify: true,
            watch: vec![],
        }),
        Change::ProcessStarted { process },
        Change::ProcessFailed {
            process,
            failure: text(),
        },
        Change::ProcessEnded {
            process,
            ending: Ending::Code(0),
            ended_at: not_before,
            output_total: 0,
            output_tail: vec![],
        },
        Change::Consume {
            process,
            lineage,
            how: Consumption::Waited,
        },
        Change::Adopt {
            process,
            owner: owner.clone(),
        },
        Change::Watched {
            process,
            watched: Watched::default(),
        },
        Change::AddNotification {
            notification,
            source: Source::Process(process),
            kind: Kind::Completed,
            sequence: 0,
            content: text(),
            more: 0,
        },
        Change::Decide(Decision {
            notification,
            from: State::Pending,
            to: State::Held,
            reason: None,
            facts: text(),
            turn: None,
            failed_attempt: false,
        }),
        Change::Enqueue(NewOutgoing {
            id: outbox,
            lineage: None,
            turn: None,
            kind: OutgoingKind::Reply,
            origin: origin(),
            window: None,
            text: text(),
            extras: Default::default(),
        }),
        Change::CancelQueued {
            lineage,
            reason: text(),
        },
        Change::Sending { outbox, attempt: 1 },
        Change::Sent {
            outbox,
            attempt: 1,
            platform_message: None,
        },
        Change::SendAgain {
            outbox,
            attempt: 1,
            not_before,
            reason: text(),
        },
        Change::SendUncertain {
            outbox,
            attempt: 1,
            not_before,
            reason: text(),
        },
        Change::SendCancelled {
            outbox,
            attempt: 1,
            reason: text(),
        },
        Change::SendDead {
            outbox,
            attempt: 1,
            reason: text(),
        },
        Change::Undo {
            lineage,
            from: MessageId::from_number(1),
        },
        Change::SetModel(None),
        Change::RequireTurn(turn),
        Change::FinishInboundOf { turn },
        Change::Previewed {
            turn,
            message: text(),
        },
        Change::Used {
            turn,
            usage: Usage::default(),
        },
        Change::ToldAgain { outbox, by: outbox },
        Change::AddApproval(NewApproval {
            id: approval,
            session,
            lineage,
            asker: Asker::Turn(turn),
            person: None,
            command: text(),
            why: text(),
            expires_at: Timestamp(2),
        }),
        Change::AddApproval(NewApproval {
            id: approval,
            session,
            lineage,
            asker: Asker::Delegation(delegation),
            person: None,
            command: text(),
            why: text(),
            expires_at: Timestamp(2),
        }),
        Change::SettleApproval {
            approval,
            state: ApprovalState::Denied,
        },
        Change::OpenWindow { window },
        Change::TouchWindow { window },
        Change::CloseWindow { window },
        Change::AddDelegation(NewDelegation {
            id: delegation,
            owner,
            session,
            lineage,
            task: text(),
            batch: None,
        }),
        Change::RequireDelegation(delegation),
        Change::MoveToBackground { process },
        Change::NotStopped { process },
        Change::ForgetOutput { process },
        Change::EndDelegation {
            delegation,
            state: DelegationState::Finished,
            result: text(),
        },
    ];
    // `Point` and `AddApproval` are there twice.
    let kinds: std::collections::HashSet<_> = all.iter().map(std::mem::discriminant).collect();
    assert_eq!((kinds.len(), all.len()), (51, 53));
    all
}
