//! Forbidden states are refused by the schema itself: raw SQL, no code of ours in between.

use sqlx::AssertSqlSafe;
use sqlx::Executor;
use sqlx::sqlite::SqliteConnection;

use super::{end, place, raw_fresh};

/// Conversation 1 with lineage 10: session 100 compressed into 101. Lineage 11 with session 110, closed. A process and its notification.
/// A delegation with session 120 of its own.
const BASE: &str = "
    INSERT INTO conversations (id, key, origin, created_at, active_at) VALUES (1, 'k1', '{}', 0, 0), (2, 'k2', '{}', 0, 0);
    INSERT INTO lineages (id, conversation, tip) VALUES (10, 1, 101), (20, 2, 200);
    INSERT INTO lineages (id, conversation, tip, closed_by, closed_at) VALUES (11, 1, 110, 'reset', 5);
    INSERT INTO sessions (id, conversation, lineage, started_at, ended_by, ended_at) VALUES (100, 1, 10, 0, 'compressed', 1), (110, 1, 11, 0, 'reset', 5);
    INSERT INTO sessions (id, conversation, lineage, started_at, continues) VALUES (101, 1, 10, 1, 100);
    INSERT INTO sessions (id, conversation, lineage, started_at) VALUES (200, 2, 20, 0);
    INSERT INTO turns (id, conversation, session, lineage, kind, started_at) VALUES (1, 1, 101, 10, 'foreground', 0);
    INSERT INTO processes (id, conversation, session, lineage, origin, kind, command, directory, notify, watch, created_at)
        VALUES (1, 1, 101, 10, '{}', 'task', 'make', '/', 1, '[]', 0);
    INSERT INTO lineages (id, conversation, tip) VALUES (12, 1, 120);
    INSERT INTO sessions (id, conversation, lineage, started_at, parent) VALUES (120, 1, 12, 1, 101);
    INSERT INTO delegations (id, conversation, session, lineage, own_session, own_lineage, origin, task, created_at)
        VALUES (1, 1, 101, 10, 120, 12, '{}', 'look', 0);
    INSERT INTO notifications (id, conversation, process, kind, sequence, content, created_at) VALUES (1, 1, 1, 'completed', 0, '', 0);
    INSERT INTO history_entries (lineage, notification, session, at) VALUES (10, 1, 101, 0);
    INSERT INTO inbound (id, conversation, profile, platform, account, platform_id, origin, text, received_at)
        VALUES (1, 1, 'main', 'telegram', '', '7', '{}', 'hello', 0);
    INSERT INTO outbox (id, conversation, kind, origin, text, not_before, created_at) VALUES (1, 1, 'reply', '{}', 'hi', 0, 0);
    INSERT INTO windows (id, conversation, opened_at, active_at) VALUES (1, 1, 0, 0);
";

/// What nobody may write, under what it would mean.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "a conversation that points at a session without its lineage, at another conversation's, or at none that is there (OWN-10)",
        &[
            "UPDATE conversations SET session = 101 WHERE id = 1",
            "UPDATE conversations SET lineage = 10 WHERE id = 1",
            "UPDATE conversations SET session = 101, lineage = 11 WHERE id = 1",
            "UPDATE conversations SET session = 200, lineage = 20 WHERE id = 1",
            "UPDATE conversations SET session = 999, lineage = 10 WHERE id = 1",
        ],
    ),
    (
        "a question that nobody asks, that two ask, that is answered and open, or answered twice",
        &[
            "INSERT INTO approvals (id, conversation, session, lineage, command, why, created_at, expires_at) VALUES (1, 1, 101, 10, 'rm', '', 0, 1)",
            "INSERT INTO approvals (id, conversation, session, lineage, turn, delegation, command, why, created_at, expires_at) VALUES (1, 1, 101, 10, 1, 1, 'rm', '', 0, 1)",
            "INSERT INTO approvals (id, conversation, session, lineage, turn, command, why, state, created_at, expires_at) VALUES (1, 1, 101, 10, 1, 'rm', '', 'denied', 0, 1)",
            "INSERT INTO approvals (id, conversation, session, lineage, delegation, command, why, created_at, expires_at) VALUES (1, 1, 200, 10, 1, 'rm', '', 0, 1)",
            "INSERT INTO approvals (id, conversation, session, lineage, turn, command, why, state, created_at, expires_at, settled_at) VALUES (1, 1, 101, 10, 1, 'rm', '', 'denied', 0, 1, 1); \
             UPDATE approvals SET state = 'approved_once' WHERE id = 1",
        ],
    ),
    (
        "two conversations of one key",
        &[
            "INSERT INTO conversations (id, key, origin, created_at, active_at) VALUES (3, 'k1', '{}', 0, 0)",
        ],
    ),
    (
        "a second continuation of a session, one in another lineage, one of itself (OWN-11)",
        &[
            "INSERT INTO sessions (id, conversation, lineage, started_at, continues, ended_by, ended_at) VALUES (102, 1, 10, 1, 100, 'reset', 2)",
            "INSERT INTO sessions (id, conversation, lineage, started_at, continues, ended_by, ended_at) VALUES (102, 1, 11, 1, 101, 'reset', 2)",
            "INSERT INTO sessions (id, conversation, lineage, started_at, continues, ended_by, ended_at) VALUES (102, 1, 10, 1, 102, 'reset', 2)",
        ],
    ),
    (
        "a second open session in a lineage",
        &[
            "INSERT INTO sessions (id, conversation, lineage, started_at, continues) VALUES (102, 1, 10, 1, 101)",
        ],
    ),
    (
        "a branch that is also a continuation (OWN-12)",
        &[
            "INSERT INTO sessions (id, conversation, lineage, started_at, continues, parent, ended_by, ended_at) VALUES (102, 1, 10, 1, 101, 100, 'reset', 2)",
        ],
    ),
    (
        "a session in another conversation's lineage",
        &["INSERT INTO sessions (id, conversation, lineage, started_at) VALUES (102, 1, 20, 1)"],
    ),
    (
        "an ended session without its reason, a reason without an end, a reason that is none",
        &[
            "UPDATE sessions SET ended_at = 5 WHERE id = 101",
            "UPDATE sessions SET ended_by = 'reset' WHERE id = 101",
            "UPDATE sessions SET ended_by = 'boredom', ended_at = 5 WHERE id = 101",
        ],
    ),
    (
        "a second end of a session (OWN-13)",
        &[
            "UPDATE sessions SET ended_by = 'idle', ended_at = 9 WHERE id = 110",
            "UPDATE sessions SET ended_by = NULL, ended_at = NULL WHERE id = 110",
        ],
    ),
    (
        "a lineage closed by nobody, closed at no time, closed by compression, closed again, opened again (OWN-13)",
        &[
            "UPDATE lineages SET closed_at = 5 WHERE id = 10",
            "UPDATE lineages SET closed_by = 'reset' WHERE id = 10",
            "UPDATE lineages SET closed_by = 'compressed', closed_at = 5 WHERE id = 10",
            "UPDATE lineages SET closed_by = 'idle', closed_at = 9 WHERE id = 11",
            "UPDATE lineages SET closed_by = NULL, closed_at = NULL WHERE id = 11",
        ],
    ),
    (
        "the same message of a platform twice, with or without an account (OWN-70)",
        &[
            "INSERT INTO inbound (id, conversation, profile, platform, account, platform_id, origin, text, received_at) VALUES (2, 1, 'main', 'telegram', '', '7', '{}', 'hello', 0)",
            "INSERT INTO inbound (id, conversation, profile, platform, account, platform_id, origin, text, received_at) VALUES (2, 1, 'main', 'telegram', NULL, '7', '{}', 'hello', 0)",
        ],
    ),
    (
        "a message taken by no turn, queued with a turn, done at no time",
        &[
            "UPDATE inbound SET state = 'taken' WHERE id = 1",
            "UPDATE inbound SET turn = 1 WHERE id = 1",
            "UPDATE inbound SET state = 'done' WHERE id = 1",
            "UPDATE inbound SET finished_at = 1 WHERE id = 1",
        ],
    ),
    (
        "a turn that ended without saying how, in a session of another lineage, of no kind",
        &[
            "UPDATE turns SET ended_at = 1 WHERE id = 1",
            "UPDATE turns SET ended_by = 'done' WHERE id = 1",
            "UPDATE turns SET error = 'running and failed' WHERE id = 1",
            "INSERT INTO turns (id, conversation, session, lineage, kind, started_at) VALUES (2, 1, 101, 11, 'foreground', 0)",
            "INSERT INTO turns (id, conversation, session, lineage, kind, started_at) VALUES (2, 1, 101, 10, 'sideways', 0)",
        ],
    ),
    (
        "a process that ended in no way, in two ways, or while it runs; an unknown ending shown as a code (OWN-91)",
        &[
            "UPDATE processes SET state = 'exited', ended_at = 1 WHERE id = 1",
            "UPDATE processes SET state = 'exited', ended_at = 1, exit_code = 0, signal = 9 WHERE id = 1",
            "UPDATE processes SET state = 'exited', exit_code = 0 WHERE id = 1",
            "UPDATE processes SET exit_code = 0 WHERE id = 1",
            "UPDATE processes SET ended_at = 1 WHERE id = 1",
            "UPDATE processes SET state = 'lost', ended_at = 1 WHERE id = 1",
            "UPDATE processes SET state = 'lost', ended_at = 1, exit_code = 0, lost_reason = 'supervisor_gone' WHERE id = 1",
            "UPDATE processes SET state = 'lost', ended_at = 1, lost_reason = 'whatever' WHERE id = 1",
            "UPDATE processes SET state = 'failed', ended_at = 1 WHERE id = 1",
            "UPDATE processes SET consumed = 'eaten' WHERE id = 1",
            "UPDATE processes SET notify = 2 WHERE id = 1",
        ],
    ),
    (
        "the same notification twice; one of no source, of two, of the wrong one (OWN-60)",
        &[
            "INSERT INTO notifications (id, conversation, process, kind, sequence, content, created_at) VALUES (2, 1, 1, 'completed', 0, '', 0)",
            "INSERT INTO notifications (id, conversation, kind, sequence, content, created_at) VALUES (2, 1, 'completed', 1, '', 0)",
            "INSERT INTO notifications (id, conversation, process, delegation, kind, sequence, content, created_at) VALUES (2, 1, 1, 1, 'delegation', 1, '', 0)",
            "INSERT INTO notifications (id, conversation, process, kind, sequence, content, created_at) VALUES (2, 1, 1, 'delegation', 0, '', 0)",
            "INSERT INTO notifications (id, conversation, delegation, kind, sequence, content, created_at) VALUES (2, 1, 1, 'completed', 0, '', 0)",
            "INSERT INTO notifications (id, conversation, process, kind, sequence, content, created_at) VALUES (2, 1, 9, 'completed', 0, '', 0)",
        ],
    ),
    (
        "a notification settled at no time, open with a time, held or dropped for no reason, claimed by no turn, delivered nowhere",
        &[
            "UPDATE notifications SET state = 'consumed' WHERE id = 1",
            "UPDATE notifications SET settled_at = 1 WHERE id = 1",
            "UPDATE notifications SET state = 'held', held_since = 1 WHERE id = 1",
            "UPDATE notifications SET state = 'held', reason = 'parked' WHERE id = 1",
            "UPDATE notifications SET state = 'dropped', settled_at = 1 WHERE id = 1",
            "UPDATE notifications SET state = 'dropped', settled_at = 1, reason = 'expired', held_since = 1 WHERE id = 1",
            "UPDATE notifications SET state = 'claimed' WHERE id = 1",
            "UPDATE notifications SET state = 'delivered', settled_at = 1 WHERE id = 1",
            "UPDATE notifications SET state = 'mislaid' WHERE id = 1",
        ],
    ),
    (
        "a notification twice in a lineage's history (OWN-65)",
        &[
            "INSERT INTO history_entries (lineage, notification, session, at) VALUES (10, 1, 101, 1)",
        ],
    ),
    (
        "an item that left at no time, waits with a time, was sent at no attempt, died of nothing",
        &[
            "UPDATE outbox SET state = 'sent', attempt = 1 WHERE id = 1",
            "UPDATE outbox SET settled_at = 1 WHERE id = 1",
            "UPDATE outbox SET state = 'sending' WHERE id = 1",
            "UPDATE outbox SET state = 'sent', settled_at = 1 WHERE id = 1",
            "UPDATE outbox SET state = 'dead', settled_at = 1 WHERE id = 1",
            "UPDATE outbox SET state = 'cancelled', settled_at = 1 WHERE id = 1",
            "UPDATE outbox SET state = 'uncertain', attempt = 1 WHERE id = 1",
            "UPDATE outbox SET platform_message = 'm' WHERE id = 1",
            "INSERT INTO outbox (id, conversation, lineage, kind, origin, text, not_before, created_at) VALUES (2, 1, 99, 'reply', '{}', 'hi', 0, 0)",
        ],
    ),
    (
        "a delegation that ended while it runs, or in a way that is none",
        &[
            "UPDATE delegations SET ended_at = 1 WHERE id = 1",
            "UPDATE delegations SET state = 'finished' WHERE id = 1",
            "UPDATE delegations SET result = 'early' WHERE id = 1",
            "UPDATE delegations SET state = 'vanished', ended_at = 1 WHERE id = 1",
            "UPDATE delegations SET own_session = 999 WHERE id = 1",
        ],
    ),
    (
        "a text where a number belongs",
        &[
            "UPDATE outbox SET attempt = 'many' WHERE id = 1",
            "UPDATE processes SET exit_code = 'zero' WHERE id = 1",
        ],
    ),
];

/// What settles for good, then what would move it again.
const FINAL: &[(&str, &str, &[&str])] = &[
    (
        "what was told stays told",
        "UPDATE notifications SET state = 'delivered', settled_at = 1, session = 101 WHERE id = 1",
        &[
            "UPDATE notifications SET state = 'pending', settled_at = NULL WHERE id = 1",
            "UPDATE notifications SET state = 'dropped', reason = 'x' WHERE id = 1",
        ],
    ),
    (
        "a dropped one is taken back to where it is open, never to another end",
        "UPDATE notifications SET state = 'dropped', settled_at = 1, reason = 'session_reset' WHERE id = 1",
        &[
            "UPDATE notifications SET state = 'consumed' WHERE id = 1",
            "UPDATE notifications SET state = 'delivered', session = 101 WHERE id = 1",
        ],
    ),
    (
        "what left has left",
        "UPDATE outbox SET state = 'sent', attempt = 1, settled_at = 1 WHERE id = 1",
        &[
            "UPDATE outbox SET state = 'queued', settled_at = NULL WHERE id = 1",
            "UPDATE outbox SET state = 'dead', reason = 'x' WHERE id = 1",
        ],
    ),
    (
        "a process ends once (OWN-24)",
        "UPDATE processes SET state = 'exited', ended_at = 1, exit_code = 0 WHERE id = 1",
        &[
            "UPDATE processes SET state = 'lost', exit_code = NULL, lost_reason = 'supervisor_gone' WHERE id = 1",
            "UPDATE processes SET state = 'running', exit_code = NULL, ended_at = NULL WHERE id = 1",
        ],
    ),
];

async fn refused(connection: &mut SqliteConnection, meaning: &str, sql: &'static str) {
    match connection.execute(sql).await {
        Ok(done) => panic!(
            "{meaning}\nwas allowed ({} rows): {sql}",
            done.rows_affected()
        ),
        // STRICT tables say `datatype`; every other refusal is a constraint.
        Err(error) => assert!(
            error.to_string().contains("constraint")
                || error.to_string().contains("(code: 1811)")
                || error.to_string().contains("cannot store"),
            "{sql}: {error}"
        ),
    }
}

#[tokio::test]
async fn a_forbidden_row_is_refused() {
    let place = place();
    let mut connection = raw_fresh(&place).await;
    connection.execute(BASE).await.unwrap();
    for (meaning, statements) in FORBIDDEN {
        for sql in *statements {
            refused(&mut connection, meaning, sql).await;
        }
    }
    end(connection).await;
}

#[tokio::test]
async fn what_is_final_does_not_move() {
    for (meaning, settle, moves) in FINAL {
        let place = place();
        let mut connection = raw_fresh(&place).await;
        connection.execute(BASE).await.unwrap();
        connection.execute(*settle).await.unwrap();
        for sql in *moves {
            refused(&mut connection, meaning, sql).await;
        }
        end(connection).await;
    }
}

/// Every name an enum of the domain has is a name the schema knows, and the schema knows no other.
#[tokio::test]
async fn the_schemas_names_are_the_domains() {
    use homing_domain::notification::{Kind, State};
    use homing_domain::process::{Consumption, LostReason, ProcessState};
    use homing_domain::session::Boundary;
    use homing_ports::platform::OutgoingKind;
    use homing_ports::store::{OutboxState, ProcessKind, Role};

    let place = place();
    let mut connection = raw_fresh(&place).await;
    let list = |names: Vec<&str>| {
        names
            .iter()
            .map(|name| format!("'{name}'"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let checks = [
        (
            "messages",
            format!("role IN ({})", list(Role::ALL.map(Role::name).to_vec())),
        ),
        (
            "notifications",
            format!("kind IN ({})", list(Kind::ALL.map(Kind::name).to_vec())),
        ),
        (
            "notifications",
            format!("state IN ({})", list(State::ALL.map(State::name).to_vec())),
        ),
        (
            "processes",
            format!(
                "kind IN ({})",
                list(ProcessKind::ALL.map(ProcessKind::name).to_vec())
            ),
        ),
        (
            "processes",
            format!(
                "state IN ({})",
                list(ProcessState::ALL.map(ProcessState::name).to_vec())
            ),
        ),
        (
            "processes",
            format!(
                "lost_reason IN ({})",
                list(LostReason::ALL.map(LostReason::name).to_vec())
            ),
        ),
        (
            "processes",
            format!(
                "consumed IN ({})",
                list(Consumption::ALL.map(Consumption::name).to_vec())
            ),
        ),
        (
            "lineages",
            format!(
                "closed_by IN ({})",
                list(Boundary::ALL.map(Boundary::name).to_vec())
            ),
        ),
        (
            "outbox",
            format!(
                "kind IN ({})",
                list(OutgoingKind::ALL.map(OutgoingKind::name).to_vec())
            ),
        ),
        (
            "outbox",
            format!(
                "state IN ({})",
                list(OutboxState::ALL.map(OutboxState::name).to_vec())
            ),
        ),
    ];
    for (table, check) in checks {
        let sql = format!("SELECT sql FROM sqlite_schema WHERE name = '{table}'");
        let schema: String = sqlx::query_scalar(AssertSqlSafe(sql))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert!(
            schema.contains(&check),
            "{table} does not have: CHECK ({check})"
        );
    }
    end(connection).await;
}
