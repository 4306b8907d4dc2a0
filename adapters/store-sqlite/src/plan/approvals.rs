//! Questions to a person: asked once, settled once, by the first answer.

use homing_domain::ids::ApprovalId;
use homing_ports::store::{ApprovalState, Asker, NewApproval};

use super::{Expect, Plan};
use crate::values::values;

impl Plan {
    /// Only for a turn or a sub-agent that runs: a question that nobody waits for is not asked.
    pub(super) fn add_approval(&mut self, approval: &NewApproval) {
        let NewApproval {
            id,
            session,
            lineage,
            asker,
            person,
            command,
            why,
            expires_at,
        } = approval;
        let question = values![
            *id,
            person.clone(),
            command,
            why,
            self.at,
            *expires_at,
            asker.number(),
            *session,
            *lineage,
            self.conversation
        ];
        let asks = match asker {
            Asker::Turn(_) => {
                "INSERT INTO approvals (id, conversation, session, lineage, turn, person, command, why, created_at, expires_at) \
                 SELECT ?, conversation, session, lineage, id, ?, ?, ?, ?, ? FROM turns \
                 WHERE id = ? AND session = ? AND lineage = ? AND conversation = ? AND ended_at IS NULL"
            }
            Asker::Delegation(_) => {
                "INSERT INTO approvals (id, conversation, session, lineage, delegation, person, command, why, created_at, expires_at) \
                 SELECT ?, conversation, session, lineage, id, ?, ?, ?, ?, ? FROM delegations \
                 WHERE id = ? AND session = ? AND lineage = ? AND conversation = ? AND ended_at IS NULL"
            }
        };
        self.one(asks, question);
    }

    /// Nobody waits for the answer any more.
    pub(super) fn expire_approvals(&mut self, asker: Asker) {
        let expire = match asker {
            Asker::Turn(_) => {
                "UPDATE approvals SET state = 'expired', settled_at = ? WHERE conversation = ? AND turn = ? AND settled_at IS NULL"
            }
            Asker::Delegation(_) => {
                "UPDATE approvals SET state = 'expired', settled_at = ? WHERE conversation = ? AND delegation = ? AND settled_at IS NULL"
            }
        };
        self.step(
            Expect::Any,
            expire,
            values![self.at, self.conversation, asker.number()],
        );
    }

    pub(super) fn settle_approval(&mut self, approval: ApprovalId, state: ApprovalState) {
        self.one(
            "UPDATE approvals SET state = ?, settled_at = ? WHERE id = ? AND conversation = ? AND settled_at IS NULL",
            values![state.name(), self.at, approval, self.conversation],
        );
    }
}
