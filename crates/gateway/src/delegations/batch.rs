//! Ends of delegations. Those that were started together are told together, once, when the last of them has ended.
//!
//! **Invariant:** an end is committed with what was found, and the last end of a batch with the notification that tells all of it. Which end is the
//! last is checked in the same transaction: one that is not requires that another one still runs.
//! **Absent on purpose:** locks. Ends come from sub-agents, boundaries, windows and recovery; the store decides who was first.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use homing_domain::block;
use homing_domain::ids::{DelegationId, NotificationId};
use homing_domain::notification::{Kind, State};
use homing_ports::store::{
    Change, Committed, Decision, DelegationRow, DelegationState, Role, Source, StoreError,
};
use homing_tools::Counting;

use super::message;
use crate::inside::Inside;

/// Bytes of what an interrupted delegation had produced that are kept.
const PRODUCED: usize = 4_000;
/// Bytes of a notification that tells several; each has an equal share.
const TOLD_TOGETHER: usize = 7_000;
/// Messages of its own history that are looked at for what it had said.
const SAID: u32 = 200;
/// Looks at a batch before its end is given up: more than can be started together.
const LOOKS: usize = 1_000;
/// Characters of a task in a list of several.
const TASK: usize = 80;

/// How one of them ends.
struct End {
    row: DelegationRow,
    state: DelegationState,
    result: String,
}

/// What ends these, and what tells each batch that is over then.
async fn end(inside: &Inside, ends: &[End]) -> Result<Vec<Change>, StoreError> {
    let mut changes: Vec<Change> = ends
        .iter()
        .map(|end| Change::EndDelegation {
            delegation: end.row.id,
            state: end.state,
            result: end.result.clone(),
        })
        .collect();
    let mut batches: BTreeMap<DelegationId, Vec<DelegationRow>> = BTreeMap::new();
    for end in ends {
        let first = end.row.batch.unwrap_or(end.row.id);
        if batches.contains_key(&first) {
            continue;
        }
        let rows = match end.row.batch {
            Some(_) => inside.store.batch(first).await?,
            None => vec![end.row.clone()],
        };
        batches.insert(first, rows);
    }
    for (first, mut rows) in batches {
        for row in &mut rows {
            if let Some(end) = ends.iter().find(|end| end.row.id == row.id) {
                row.state = end.state;
                row.result = Some(end.result.clone());
            }
        }
        let runs = rows
            .iter()
            .find(|row| row.state == DelegationState::Running);
        changes.push(match runs {
            // It will be the last, or require another one in its turn.
            Some(row) => Change::RequireDelegation(row.id),
            None => Change::AddNotification {
                notification: inside.ids.next::<NotificationId>(),
                source: Source::Delegation(first),
                kind: Kind::Delegation,
                sequence: 0,
                content: together(&rows),
                more: 0,
            },
        });
    }
    Ok(changes)
}

/// What is told of a batch. Pure.
fn together(rows: &[DelegationRow]) -> String {
    if let [one] = rows {
        return one.result.clone().unwrap_or_default();
    }
    let share = TOLD_TOGETHER / rows.len().max(1);
    let texts: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let task: String = row.task.replace('\n', " ").chars().take(TASK).collect();
            let result = row.result.as_deref().unwrap_or_default();
            let shown = &result[..result.floor_char_boundary(share)];
            let cut = match shown.len() < result.len() {
                true => format!("\n(the first {} of {} bytes)", shown.len(), result.len()),
                false => String::new(),
            };
            format!(
                "{}. {} – {} – {task}\n{shown}{cut}",
                index + 1,
                row.id,
                row.state.name()
            )
        })
        .collect();
    texts.join("\n\n")
}

/// A sub-agent has ended by itself. Done if somebody else has ended it first.
pub(super) async fn finish(
    inside: &Inside,
    id: DelegationId,
    state: DelegationState,
    text: &str,
    counting: &Counting,
) -> Result<(), StoreError> {
    // Unmet says that another one of the batch, or this one, has ended meanwhile. Each such end happens once.
    for _ in 0..LOOKS {
        let row = inside.store.delegation(id).await?;
        let Some(row) = row.filter(|row| row.state == DelegationState::Running) else {
            return Ok(());
        };
        let due = counting.due();
        let (conversation, session) = (row.owner.conversation, row.session);
        let ends = [End {
            row,
            state,
            result: text.to_owned(),
        }];
        let mut changes = end(inside, &ends).await?;
        changes.push(message(inside, session, Role::Agent, text.to_owned()));
        changes.extend(due.change());
        let committed = inside.commit(conversation, changes).await?;
        due.settle(&committed);
        if committed == Committed::Done {
            return Ok(());
        }
    }
    tracing::error!(delegation.id = %id, "a sub-agent's end does not fit what the store has; the next start interrupts it");
    Ok(())
}

/// What interrupts delegations, with what they had produced: it will be judged like any other notification.
pub(crate) async fn interrupt(
    inside: &Inside,
    rows: &[DelegationRow],
) -> Result<Vec<Change>, StoreError> {
    let mut ends = Vec::with_capacity(rows.len());
    for row in rows {
        ends.push(End {
            row: row.clone(),
            state: DelegationState::Interrupted,
            result: produced(inside, row).await?,
        });
    }
    end(inside, &ends).await
}

/// What interrupts delegations because a person wanted that: their end is no news (OWN-38, 101), unless one that was started with them has
/// something to tell.
pub(crate) async fn stop(
    inside: &Inside,
    rows: &[DelegationRow],
    reason: &str,
) -> Result<Vec<Change>, StoreError> {
    let mut changes = interrupt(inside, rows).await?;
    let mut consumed = Vec::new();
    for change in &changes {
        let Change::AddNotification {
            notification,
            source: Source::Delegation(first),
            ..
        } = change
        else {
            continue;
        };
        let batch = inside.store.batch(*first).await?;
        let all_stopped = batch
            .iter()
            .all(|one| rows.iter().any(|stopped| stopped.id == one.id));
        if all_stopped {
            consumed.push(Change::Decide(Decision {
                notification: *notification,
                from: State::Pending,
                to: State::Consumed,
                reason: Some(reason.to_owned()),
                facts: "it was stopped on purpose".into(),
                turn: None,
                failed_attempt: false,
            }));
        }
    }
    changes.extend(consumed);
    Ok(changes)
}

/// Those that an earlier gateway left running are interrupted (OWN-93), a whole batch at a time.
pub(crate) async fn recover(inside: &Inside) -> Result<usize, StoreError> {
    let left = inside.store.all_running_delegations().await?;
    let mut batches: BTreeMap<DelegationId, Vec<DelegationRow>> = BTreeMap::new();
    for row in &left {
        let first = row.batch.unwrap_or(row.id);
        batches.entry(first).or_default().push(row.clone());
    }
    for (first, rows) in batches {
        let Some(conversation) = rows.first().map(|row| row.owner.conversation) else {
            continue;
        };
        let changes = interrupt(inside, &rows).await?;
        if let Committed::Unmet { what, .. } = inside.commit(conversation, changes).await? {
            tracing::warn!(delegation.id = %first, what, "interrupted delegations were ended by someone else");
        }
    }
    Ok(left.len())
}

/// What it had produced: what it had said in its own history, and the output of what it ran.
async fn produced(inside: &Inside, row: &DelegationRow) -> Result<String, StoreError> {
    let mut text = String::new();
    for said in inside.store.history(row.session, SAID).await? {
        if said.role == Role::Agent && !said.text.trim().is_empty() {
            let _infallible = writeln!(text, "{}\n", said.text.trim());
        }
    }
    for process in inside.store.processes_of_delegation(row.id).await? {
        let output = match inside.processes.tail(process.id, PRODUCED).await {
            Ok(chunk) => block::output(&chunk.bytes, chunk.total, PRODUCED),
            Err(_) => block::output(&process.output_tail, process.output_total, PRODUCED),
        };
        let state = process.ending.map_or_else(
            || process.state.name().to_owned(),
            |ending| ending.to_string(),
        );
        let _infallible = writeln!(
            text,
            "{} – {} – {state}\n{output}",
            process.id,
            crate::commands::inline_code(&process.command)
        );
    }
    let from = text.ceil_char_boundary(text.len().saturating_sub(PRODUCED));
    Ok(text.split_off(from))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use homing_domain::ids::{ConversationId, LineageId, SessionId};
    use homing_domain::key::SessionKey;
    use homing_domain::origin::Origin;
    use homing_domain::owner::Owner;
    use homing_domain::time::Timestamp;

    fn row(number: u64, state: DelegationState, result: &str) -> DelegationRow {
        let key: SessionKey = "agent:main:telegram:dm:1".parse().unwrap();
        DelegationRow {
            id: DelegationId::from_number(number),
            owner: Owner {
                conversation: ConversationId::from_number(1),
                session: SessionId::from_number(1),
                lineage: LineageId::from_number(1),
                origin: Origin::from_key(&key),
                window: None,
                delegation: None,
            },
            session: SessionId::from_number(number),
            lineage: LineageId::from_number(number),
            task: format!("task\n{number}"),
            batch: Some(DelegationId::from_number(1)),
            state,
            result: Some(result.into()),
            created_at: Timestamp(1),
            ended_at: Some(Timestamp(2)),
        }
    }

    #[test]
    fn one_is_told_as_it_is_and_several_each_with_a_share() {
        let one = row(1, DelegationState::Finished, "found");
        assert_eq!(together(std::slice::from_ref(&one)), "found");
        let long = "ä".repeat(TOLD_TOGETHER);
        let text = together(&[
            one,
            row(2, DelegationState::Failed, &long),
            row(3, DelegationState::Interrupted, "half"),
        ]);
        assert!(text.len() < TOLD_TOGETHER, "{}", text.len());
        for part in [
            "1. ",
            "finished – task 1\nfound",
            "2. ",
            "failed",
            "(the first 2332 of 14000 bytes)",
            "3. ",
            "interrupted – task 3\nhalf",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
