//! Delegations: sub-agents that a session started and did not wait for (OWN-23, 93, 100, 101).
//!
//! **Invariant:** a delegation is a row with its owner before it runs, and its result is committed, together with the notification that
//! tells it, before anyone acts on it. Whoever ends it first has ended it; what comes later is not heard.
//! **Absent on purpose:** telling. A finished delegation is judged and told like a finished process.

mod batch;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::ids::{DelegationId, LineageId, MessageId, SessionId, TurnId};
use homing_domain::owner::Owner;
use homing_ports::agent::{
    AgentError, ToolError, Toolbox, TurnAbout, TurnAnswer, TurnRequest, TurnStream,
};
use homing_ports::store::{Change, Committed, DelegationState, NewDelegation, NewMessage, Role};
use homing_tools::{Bound, SessionTools};
use tokio_util::sync::CancellationToken;

pub(crate) use batch::{interrupt, recover, stop};
pub(crate) use waiting::ended;

use crate::conversation::{Wake, explain_failure};
use crate::inside::Inside;

/// Characters of a task that name its session.
const TITLE: usize = 60;

/// Those that run in this gateway.
#[derive(Debug, Default)]
pub(crate) struct Delegations {
    running: Mutex<HashMap<DelegationId, CancellationToken>>,
    /// The first of those that somebody waits for: what they found is not told meanwhile.
    waited_for: Mutex<HashSet<DelegationId>>,
    /// Slots are counted and taken by one at a time.
    beginning: tokio::sync::Mutex<()>,
}

impl Delegations {
    fn lock(&self) -> MutexGuard<'_, HashMap<DelegationId, CancellationToken>> {
        // Whole after every operation: a panic elsewhere cannot have torn it.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waited_for(&self) -> MutexGuard<'_, HashSet<DelegationId>> {
        self.waited_for
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_waited_for(&self, first: DelegationId) -> bool {
        self.waited_for().contains(&first)
    }

    /// Its agent is told to stop. What it says afterwards is not heard.
    pub fn cancel(&self, delegation: DelegationId) {
        if let Some(cancel) = self.lock().remove(&delegation) {
            cancel.cancel();
        }
    }
}

/// Commits the row under its guards and starts the sub-agent in a task of its own.
pub(crate) async fn begin(
    inside: &Arc<Inside>,
    owner: Owner,
    key: &str,
    tasks: Vec<String>,
    guards: Vec<Change>,
) -> Result<Vec<DelegationId>, ToolError> {
    let _one_at_a_time = inside.delegations.beginning.lock().await;
    let running = inside.store.running_delegations(owner.lineage).await?.len();
    let slots = inside.settings.delegations_at_once;
    if running + tasks.len() > slots {
        return Err(ToolError::Refused(format!(
            "{running} sub-agents run for this session already, at most {slots} may at a time; wait for one to finish, or start fewer"
        )));
    }
    let batch = inside.ids.next::<DelegationId>();
    let mut changes = guards;
    let mut begun = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.into_iter().enumerate() {
        let new = NewDelegation {
            id: match index {
                0 => batch,
                _ => inside.ids.next::<DelegationId>(),
            },
            session: inside.ids.next::<SessionId>(),
            lineage: inside.ids.next::<LineageId>(),
            owner: owner.clone(),
            task: task.clone(),
            batch: Some(batch),
        };
        begun.push((new.id, new.session, task.clone()));
        changes.push(Change::StartLineage {
            lineage: new.lineage,
            session: new.session,
            parent: Some(owner.session),
            title: Some(task.chars().take(TITLE).collect()),
        });
        changes.push(message(inside, new.session, Role::Person, task));
        changes.push(Change::AddDelegation(new));
    }
    match inside.commit(owner.conversation, changes).await? {
        Committed::Done => {}
        Committed::Unmet { .. } => return Err(ToolError::SessionEnded),
    }
    let ids = begun.iter().map(|(id, ..)| *id).collect();
    for (id, session, task) in begun {
        let cancel = inside.stopping.child_token();
        inside.delegations.lock().insert(id, cancel.clone());
        let (inside, key, owner) = (inside.clone(), key.to_owned(), owner.clone());
        tokio::spawn(async move { run(&inside, id, session, owner, key, task, cancel).await });
    }
    Ok(ids)
}

async fn run(
    inside: &Arc<Inside>,
    id: DelegationId,
    session: SessionId,
    owner: Owner,
    key: String,
    task: String,
    cancel: CancellationToken,
) {
    inside.counters.add(&inside.counters.turns);
    let conversation = owner.conversation;
    let result = ask(inside, id, session, owner, key, task, cancel.clone()).await;
    // Ended by someone else: by a boundary, a closed window, or this gateway's end, after which the next one tells of it.
    if cancel.is_cancelled() {
        inside.delegations.cancel(id);
        inside.counters.done(&inside.counters.turns);
        return;
    }
    let (state, text) = match result {
        Ok(answer) => (DelegationState::Finished, answer.text),
        Err(error) => (DelegationState::Failed, explain_failure(&error)),
    };
    let mut wait = inside.settings.retry_first;
    while let Err(error) = batch::finish(inside, id, state, &text).await {
        tracing::warn!(delegation.id = %id, %error, "a result could not be stored yet; trying again");
        let pause = inside.clock.sleep_until(inside.now().plus(wait));
        if inside.stopping.run_until_cancelled(pause).await.is_none() {
            break;
        }
        wait = (wait * 2).min(inside.settings.retry_longest);
    }
    inside.delegations.cancel(id);
    inside
        .mailboxes
        .wake(inside, conversation, Wake::Notifications);
    inside.counters.done(&inside.counters.turns);
}

async fn ask(
    inside: &Arc<Inside>,
    id: DelegationId,
    session: SessionId,
    owner: Owner,
    key: String,
    task: String,
    cancel: CancellationToken,
) -> Result<TurnAnswer, AgentError> {
    let parsed = key
        .parse()
        .map_err(|error| AgentError::Failed(format!("{error}")))?;
    let agent = inside.directory.agent(&owner.origin.profile);
    let (Some(agent), Some(workshop)) = (agent, inside.workshop.get()) else {
        return Err(AgentError::Failed(format!(
            "no agent is configured for profile `{}`",
            owner.origin.profile
        )));
    };
    let request = TurnRequest {
        turn: inside.ids.next::<TurnId>(),
        key: parsed,
        session,
        window: owner.window,
        model: None,
        about: TurnAbout::Delegated {
            delegation: id,
            task,
        },
        stream: TurnStream::unread(),
    };
    // OWN-23: what it starts belongs to the root, and is marked as the delegation's.
    let owner = Owner {
        delegation: Some(id),
        ..owner
    };
    let tools = SessionTools::new(
        workshop.clone(),
        owner,
        key,
        Bound::Delegation(id),
        cancel.clone(),
    )
    .with_history_of(session);
    let tools: Arc<dyn Toolbox> = Arc::new(tools);
    let asked = tokio::spawn(async move { agent.turn(request, tools, cancel).await });
    asked
        .await
        .unwrap_or_else(|error| Err(AgentError::Failed(format!("the agent broke off: {error}"))))
}

fn message(inside: &Inside, session: SessionId, role: Role, text: String) -> Change {
    Change::Append(NewMessage {
        id: inside.ids.next::<MessageId>(),
        session,
        turn: None,
        role,
        author: None,
        text,
        data: None,
    })
}
