//! Delegations: sub-agents that a session started and did not wait for (OWN-23, 93, 100, 101).
//!
//! **Invariant:** a delegation is a row with its owner before it runs, and its result is committed, together with the notification that
//! tells it, before anyone acts on it. Whoever ends it first has ended it; what comes later is not heard.
//! **Absent on purpose:** telling. A finished delegation is judged and told like a finished process.

mod batch;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::ids::{ConversationId, DelegationId, LineageId, MessageId, SessionId, TurnId};
use homing_domain::owner::Owner;
use homing_ports::agent::{
    AgentError, ToolError, Toolbox, TurnAbout, TurnAnswer, TurnRequest, TurnStream,
};
use homing_ports::store::{
    Change, Committed, DelegationState, NewDelegation, NewMessage, Role, TurnEnd, TurnKind,
};
use homing_tools::{Bound, Counting, SessionTools};
use tokio_util::sync::CancellationToken;

pub(crate) use batch::{interrupt, recover, stop};
pub(crate) use waiting::ended;

use crate::conversation::{Wake, explain_failure, told_with};
use crate::inside::Inside;

/// Characters of a task that name its session.
const TITLE: usize = 60;

/// Those that run in this gateway.
#[derive(Debug, Default)]
pub(crate) struct Delegations {
    running: Mutex<HashMap<DelegationId, CancellationToken>>,
    /// The first of those that somebody waits for: what they found is not told meanwhile.
    waited_for: Mutex<HashSet<DelegationId>>,
    /// The first of those of which one asks a person, once for each question.
    asking: Mutex<Vec<DelegationId>>,
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

    fn asking(&self) -> MutexGuard<'_, Vec<DelegationId>> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Turns that wait for sub-agents of which one waits for a person.
    pub fn stalled(&self) -> usize {
        let asking = self.asking();
        let waited_for = self.waited_for();
        let is_asked = |first: &&DelegationId| asking.contains(first);
        waited_for.iter().filter(is_asked).count()
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

/// A sub-agent waits for a person for as long as this is held.
pub(crate) struct Asks {
    inside: Arc<Inside>,
    first: DelegationId,
}

impl Asks {
    pub fn begin(inside: &Arc<Inside>, first: DelegationId) -> Self {
        inside.delegations.asking().push(first);
        Self {
            inside: inside.clone(),
            first,
        }
    }
}

impl Drop for Asks {
    fn drop(&mut self) {
        let mut asking = self.inside.delegations.asking();
        let position = asking.iter().position(|first| *first == self.first);
        if let Some(index) = position {
            asking.swap_remove(index);
        }
    }
}

impl std::fmt::Debug for Asks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Asks").field(&self.first).finish()
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
        // What it uses is counted for a turn of its own, which is over at once: nobody waits for it.
        let turn = inside.ids.next::<TurnId>();
        let sub_agent = SubAgent {
            id: new.id,
            session: new.session,
            owner: owner.clone(),
            key: key.to_owned(),
            task: task.clone(),
            counting: Counting::of(turn),
        };
        begun.push(sub_agent);
        changes.extend([
            Change::StartLineage {
                lineage: new.lineage,
                session: new.session,
                parent: Some(owner.session),
                title: Some(task.chars().take(TITLE).collect()),
            },
            Change::StartTurn {
                turn,
                session: new.session,
                lineage: new.lineage,
                kind: TurnKind::Background,
            },
            Change::EndTurn {
                turn,
                end: TurnEnd::Done,
                error: None,
            },
        ]);
        changes.push(message(inside, new.session, Role::Person, task));
        changes.push(Change::AddDelegation(new));
    }
    match inside.commit(owner.conversation, changes).await? {
        Committed::Done => {}
        Committed::Unmet { .. } => return Err(ToolError::SessionEnded),
    }
    let ids = begun.iter().map(|sub_agent| sub_agent.id).collect();
    for sub_agent in begun {
        let cancel = inside.stopping.child_token();
        let running = (sub_agent.id, cancel.clone());
        inside.delegations.lock().insert(running.0, running.1);
        let inside = inside.clone();
        tokio::spawn(async move { run(&inside, sub_agent, cancel).await });
    }
    Ok(ids)
}

/// One that is about to run.
struct SubAgent {
    id: DelegationId,
    /// Its own.
    session: SessionId,
    owner: Owner,
    key: String,
    task: String,
    counting: Counting,
}

async fn run(inside: &Arc<Inside>, sub_agent: SubAgent, cancel: CancellationToken) {
    inside.counters.add(&inside.counters.turns);
    let (id, conversation) = (sub_agent.id, sub_agent.owner.conversation);
    let counting = sub_agent.counting.clone();
    let (stream, said) = TurnStream::new();
    let result = ask(inside, sub_agent, stream, cancel.clone()).await;
    // Ended by someone else: by a boundary, a closed window, or this gateway's end, after which the next one tells of it.
    if cancel.is_cancelled() {
        inside.delegations.cancel(id);
        count(inside, conversation, &counting).await;
        inside.counters.done(&inside.counters.turns);
        return;
    }
    let (state, text) = match result {
        Ok(answer) => (DelegationState::Finished, answer.text),
        Err(error) => {
            let text = told_with(&said.borrow().text, &explain_failure(&error));
            (DelegationState::Failed, text)
        }
    };
    let mut wait = inside.settings.retry_first;
    while let Err(error) = batch::finish(inside, id, state, &text, &counting).await {
        tracing::warn!(delegation.id = %id, %error, "a result could not be stored yet; trying again");
        let pause = inside.clock.sleep_until(inside.now().plus(wait));
        if inside.stopping.run_until_cancelled(pause).await.is_none() {
            break;
        }
        wait = (wait * 2).min(inside.settings.retry_longest);
    }
    count(inside, conversation, &counting).await;
    inside.delegations.cancel(id);
    inside
        .mailboxes
        .wake(inside, conversation, Wake::Notifications);
    inside.counters.done(&inside.counters.turns);
}

/// What it used since it last recorded something, where its end was somebody else's step.
async fn count(inside: &Inside, conversation: ConversationId, counting: &Counting) {
    let due = counting.due();
    let Some(change) = due.change() else { return };
    match inside.commit(conversation, vec![change]).await {
        Ok(committed) => due.settle(&committed),
        Err(error) => {
            tracing::warn!(conversation.id = %conversation, %error, "what a sub-agent used last is not counted")
        }
    }
}

async fn ask(
    inside: &Arc<Inside>,
    sub_agent: SubAgent,
    stream: TurnStream,
    cancel: CancellationToken,
) -> Result<TurnAnswer, AgentError> {
    let SubAgent {
        id,
        session,
        owner,
        key,
        task,
        counting,
    } = sub_agent;
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
        turn: counting.turn(),
        key: parsed,
        session,
        window: owner.window,
        model: None,
        about: TurnAbout::Delegated {
            delegation: id,
            task,
        },
        stream,
        used: counting.meter(),
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
    .with_history_of(session)
    .counting(counting);
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
