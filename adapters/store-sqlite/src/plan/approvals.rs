//! Questions to a person: asked once, settled once, by the first answer.

use homing_domain::ids::ApprovalId;
use homing_ports::store::{ApprovalState, NewApproval};

use super::Plan;
use crate::values::values;

impl Plan {
    /// Only for a turn that runs: a question that nobody waits for is not asked.
    pub(super) fn add_approval(&mut self, approval: &NewApproval) {
        let NewApproval {
            id,
            session,
            lineage,
            turn,
            person,
            command,
            why,
            expires_at,
        } = approval;
        self.one(
            "INSERT INTO approvals (id, conversation, session, lineage, turn, person, command, why, created_at, expires_at) \
             SELECT ?, conversation, session, lineage, id, ?, ?, ?, ?, ? FROM turns \
             WHERE id = ? AND session = ? AND lineage = ? AND conversation = ? AND ended_at IS NULL",
            values![*id, person.clone(), command, why, self.at, *expires_at, *turn, *session, *lineage, self.conversation],
        );
    }

    pub(super) fn settle_approval(&mut self, approval: ApprovalId, state: ApprovalState) {
        self.one(
            "UPDATE approvals SET state = ?, settled_at = ? WHERE id = ? AND conversation = ? AND settled_at IS NULL",
            values![state.name(), self.at, approval, self.conversation],
        );
    }
}
