//! Waiting for delegations that were started together: who waited has the result, and is not told again.

use std::sync::Arc;

use homing_domain::ids::{ConversationId, DelegationId};
use homing_domain::notification::State;
use homing_ports::agent::ToolError;
use homing_ports::store::{
    Change, Committed, Decision, DelegationState, NotificationRow, Source, StoreError,
};
use tokio::sync::broadcast;

use crate::conversation::Wake;
use crate::inside::Inside;

/// Nothing of the batch is told while this is held; afterwards what was not taken is.
struct Waited {
    inside: Arc<Inside>,
    conversation: ConversationId,
    first: DelegationId,
}

impl Waited {
    fn begin(inside: &Arc<Inside>, conversation: ConversationId, first: DelegationId) -> Self {
        inside.delegations.waited_for().insert(first);
        inside.counters.changed.notify_waiters();
        Self {
            inside: inside.clone(),
            conversation,
            first,
        }
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        self.inside.delegations.waited_for().remove(&self.first);
        self.inside
            .mailboxes
            .wake(&self.inside, self.conversation, Wake::Notifications);
    }
}

/// Waits until all of these have ended; answers with what they found. The hints of commits say when to look.
pub(crate) async fn ended(
    inside: &Arc<Inside>,
    conversation: ConversationId,
    delegations: &[DelegationId],
    guards: Vec<Change>,
) -> Result<Vec<(DelegationId, DelegationState, String)>, ToolError> {
    let Some(first) = delegations.first().copied() else {
        return Ok(Vec::new());
    };
    let _waited = Waited::begin(inside, conversation, first);
    let mut hints = inside.changes.subscribe();
    loop {
        if let Some(found) = found(inside, delegations).await? {
            take(inside, conversation, first, guards).await?;
            return Ok(found);
        }
        loop {
            match hints.recv().await {
                Ok(changed) if changed == conversation => break,
                Ok(_of_another) => {}
                Err(broadcast::error::RecvError::Lagged(_)) => break,
                Err(broadcast::error::RecvError::Closed) => return Err(ToolError::Cancelled),
            }
        }
    }
}

async fn found(
    inside: &Inside,
    delegations: &[DelegationId],
) -> Result<Option<Vec<(DelegationId, DelegationState, String)>>, StoreError> {
    let mut found = Vec::with_capacity(delegations.len());
    for id in delegations {
        match inside.store.delegation(*id).await? {
            Some(row) if row.state != DelegationState::Running => {
                found.push((*id, row.state, row.result.unwrap_or_default()));
            }
            Some(_) | None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// What tells them is consumed, for whoever waited still runs.
async fn take(
    inside: &Inside,
    conversation: ConversationId,
    first: DelegationId,
    guards: Vec<Change>,
) -> Result<(), ToolError> {
    let told = inside
        .store
        .notifications_of(Source::Delegation(first))
        .await?;
    let mut changes = guards;
    let open = told.iter().filter(|row| row.settled_at.is_none());
    changes.extend(open.flat_map(consumed));
    match inside.commit(conversation, changes).await? {
        Committed::Done => Ok(()),
        Committed::Unmet { .. } => Err(ToolError::SessionEnded),
    }
}

fn consumed(row: &NotificationRow) -> Vec<Change> {
    let step = |from, to, reason: &str| {
        Change::Decide(Decision {
            notification: row.id,
            from,
            to,
            reason: Some(reason.to_owned()),
            facts: "the agent waited for it".into(),
            turn: None,
            failed_attempt: false,
        })
    };
    let consumed = step(State::Pending, State::Consumed, "waited");
    match row.state {
        State::Pending => vec![consumed],
        held => vec![step(held, State::Pending, "released"), consumed],
    }
}
