//! What an agent does within a turn enters the history as it happens, so that a crash leaves what can be read. What models used until then is
//! counted in the same step.

use homing_domain::ids::{MessageId, TurnId};
use homing_ports::agent::{Entry, EntryRole, Steered, ToolError};
use homing_ports::store::{Change, Committed, InboundRow, NewMessage, Role};

use crate::{Bound, SessionTools};

impl SessionTools {
    pub(crate) async fn add_to_history(&self, entry: Entry) -> Result<(), ToolError> {
        let mut changes = self.still_bound();
        changes.push(self.entered(entry));
        match self.commit_counting(changes).await? {
            Committed::Done => Ok(()),
            Committed::Unmet { .. } => Err(ToolError::SessionEnded),
        }
    }

    fn entered(&self, entry: Entry) -> Change {
        let role = match entry.role {
            EntryRole::Agent => Role::Agent,
            EntryRole::Tool => Role::Tool,
        };
        Change::Append(NewMessage {
            id: self.workshop.ids.next::<MessageId>(),
            session: self.session,
            turn: self.turn(),
            role,
            author: None,
            text: entry.text,
            data: entry.data,
        })
    }

    async fn commit_counting(&self, mut changes: Vec<Change>) -> Result<Committed, ToolError> {
        let Some(counting) = &self.counting else {
            return self.commit(changes).await;
        };
        let due = counting.due();
        changes.extend(due.change());
        let committed = self.commit(changes).await?;
        due.settle(&committed);
        Ok(committed)
    }

    /// Each is taken by this turn and in the history before the agent has it; one that somebody else took meanwhile is left to them. `said` goes in
    /// front of the first, in one step with it.
    pub(crate) async fn take_up_steering(
        &self,
        mut said: Option<Entry>,
    ) -> Result<Vec<Steered>, ToolError> {
        let Bound::Turn(turn) = self.bound else {
            return Ok(Vec::new());
        };
        let mut taken = Vec::new();
        for inbound in self.workshop.supervision.steering(turn) {
            let author = inbound.author.clone().or(inbound.origin.user.clone());
            let steered = Steered {
                author,
                text: inbound.text.clone(),
            };
            if self.take_up(turn, said.clone(), inbound).await? {
                said = None;
                taken.push(steered);
            }
        }
        Ok(taken)
    }

    async fn take_up(
        &self,
        turn: TurnId,
        said: Option<Entry>,
        inbound: InboundRow,
    ) -> Result<bool, ToolError> {
        let mut changes = self.still_bound();
        changes.extend(said.map(|entry| self.entered(entry)));
        changes.extend([
            Change::TakeInbound {
                inbound: inbound.id,
                turn,
            },
            Change::Append(NewMessage {
                id: self.workshop.ids.next::<MessageId>(),
                session: self.session,
                turn: Some(turn),
                role: Role::Person,
                author: inbound.author.or(inbound.origin.user),
                text: inbound.text,
                data: None,
            }),
        ]);
        Ok(self.commit_counting(changes).await? == Committed::Done)
    }

    /// Before something is done that is no change of the store: counted as a tool, so that the turn is never run again silently.
    pub(crate) async fn still_runs(&self) -> Result<(), ToolError> {
        let guards = self.guards();
        if guards.is_empty() {
            return Ok(());
        }
        match self.commit(guards).await? {
            Committed::Done => Ok(()),
            Committed::Unmet { .. } => Err(ToolError::SessionEnded),
        }
    }

    /// The turn, or the delegation, must still run. Unlike a tool's guard this counts nothing.
    pub(crate) fn still_bound(&self) -> Vec<Change> {
        match self.bound {
            Bound::Turn(turn) => vec![Change::RequireTurn(turn)],
            Bound::Generation(generation) => vec![Change::RequireGeneration(generation)],
            Bound::Delegation(delegation) => vec![Change::RequireDelegation(delegation)],
            Bound::Owner => Vec::new(),
        }
    }
}
