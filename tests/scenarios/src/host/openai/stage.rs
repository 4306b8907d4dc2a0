//! The turns that run, as the model server knows them.
//!
//! **Invariant:** a turn is on the stage exactly for as long as the agent runs it; what it was held for ends with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::ids::{DelegationId, TurnId};
use homing_domain::key::SessionKey;
use homing_simulators::model;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::heard::Heard;
use super::tools::Watched;
use crate::host::acting::Who;
use crate::host::script::Lingers;

#[derive(Debug, Default)]
pub struct Stage(Mutex<Vec<Arc<Turn>>>);

/// What a turn is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    Person,
    SubAgent {
        id: DelegationId,
        task: String,
    },
    /// Processes and delegations.
    Background(Vec<String>),
}

#[derive(Debug)]
pub struct Turn {
    id: TurnId,
    pub at: SessionKey,
    pub role: Role,
    pub tools: Arc<Watched>,
    pub over: CancellationToken,
    orders: mpsc::UnboundedSender<Order>,
    /// Taken by the request that waits.
    ordered: tokio::sync::Mutex<mpsc::UnboundedReceiver<Order>>,
    part: Mutex<Part>,
}

/// What the runner wants of a turn that is held.
#[derive(Debug)]
pub enum Order {
    /// Its result goes to whoever waits.
    Call {
        name: &'static str,
        arguments: serde_json::Value,
        to: oneshot::Sender<String>,
    },
    Release,
    /// A sub-agent's summary, or what it failed with.
    Finish(Result<String, String>),
}

/// How far a turn has come.
#[derive(Debug, Default)]
struct Part {
    is_held: bool,
    lingers: Option<Lingers>,
    calls: u32,
    next: Next,
}

/// What the next request of a turn is.
#[derive(Debug, Default)]
pub enum Next {
    #[default]
    First,
    /// It brings the result of this call.
    Result {
        id: String,
        to: oneshot::Sender<String>,
        spoken: Spoken,
    },
    /// It brings the results of calls, or what people said meanwhile.
    Last(Spoken),
}

/// What a turn's last word is made of.
#[derive(Debug, Clone, Default)]
pub struct Spoken {
    /// The text that it answers.
    pub text: String,
    /// Messages of its first request.
    pub begun: usize,
    pub calls: Vec<model::Call>,
}

impl Stage {
    /// Until the guard is dropped.
    pub fn enter(
        self: &Arc<Stage>,
        id: TurnId,
        at: SessionKey,
        role: Role,
        tools: Arc<Watched>,
    ) -> OnStage {
        let (orders, ordered) = mpsc::unbounded_channel();
        let turn = Arc::new(Turn {
            id,
            at,
            role,
            tools,
            over: CancellationToken::new(),
            orders,
            ordered: tokio::sync::Mutex::new(ordered),
            part: Mutex::default(),
        });
        self.lock().push(Arc::clone(&turn));
        OnStage {
            stage: Arc::clone(self),
            turn,
        }
    }

    /// The running turn that this request is of, as its own words say. One that was cancelled may still be there beside the one that came after it.
    pub fn that_asks(&self, heard: Heard<'_>) -> Option<Arc<Turn>> {
        let all = self.lock();
        all.iter().rev().find(|turn| turn.may_say(heard)).cloned()
    }

    pub fn held(&self, who: &Who) -> Option<Arc<Turn>> {
        let is_it = |turn: &&Arc<Turn>| match (&turn.role, who) {
            (Role::Person, Who::Turn(at)) => turn.at == *at,
            (Role::SubAgent { id, .. }, Who::SubAgent(wanted)) => id == wanted,
            _ => false,
        };
        let all = self.lock();
        all.iter()
            .rev()
            .filter(is_it)
            .find(|turn| turn.part().is_held)
            .cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Turn>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    fn may_say(&self, heard: Heard<'_>) -> bool {
        heard.is_at(&self.at)
            && match &self.role {
                Role::SubAgent { task, .. } => heard.is_sub_agents() && heard.task() == task.trim(),
                Role::Person | Role::Background(_) => !heard.is_sub_agents(),
            }
    }

    /// It stays until the runner says otherwise; a turn that is over does not.
    pub fn stays(&self, lingers: Lingers, is_held: bool) {
        let mut part = self.part();
        if self.over.is_cancelled() {
            return;
        }
        part.lingers.get_or_insert(lingers);
        part.is_held |= is_held;
    }

    /// It goes on: from now on the runner waits for it. `false` if it is over.
    pub fn end(&self, order: Order) -> bool {
        self.let_go();
        self.orders.send(order).is_ok()
    }

    pub fn order(&self, order: Order) -> bool {
        self.orders.send(order).is_ok()
    }

    pub async fn ordered(&self) -> Option<Order> {
        self.ordered.lock().await.recv().await
    }

    pub fn next(&self) -> Next {
        std::mem::take(&mut self.part().next)
    }

    pub fn expect(&self, next: Next) {
        self.part().next = next;
    }

    /// A name for a call that no other has in the whole history.
    pub fn call_id(&self) -> String {
        let mut part = self.part();
        part.calls += 1;
        format!("call_{}_{}", self.id, part.calls)
    }

    fn let_go(&self) {
        let mut part = self.part();
        (part.is_held, part.lingers) = (false, None);
    }

    fn part(&self) -> MutexGuard<'_, Part> {
        self.part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn that the agent runs, for as long as it does.
#[derive(Debug)]
pub struct OnStage {
    stage: Arc<Stage>,
    turn: Arc<Turn>,
}

impl Drop for OnStage {
    fn drop(&mut self) {
        self.stage
            .lock()
            .retain(|turn| !Arc::ptr_eq(turn, &self.turn));
        self.turn.over.cancel();
        self.turn.let_go();
    }
}
