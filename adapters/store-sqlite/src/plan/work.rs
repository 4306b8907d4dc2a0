//! Background work: processes and delegations, with their owner from before they run (OWN-20).

use homing_domain::ids::*;
use homing_domain::owner::Owner;
use homing_domain::process::{Consumption, Ending, ProcessState};
use homing_domain::time::Timestamp;
use homing_ports::store::{Asker, DelegationState, NewDelegation, NewProcess, Watched};

use super::{Expect, Plan, json};
use crate::values::values;

impl Plan {
    pub(super) fn add_process(&mut self, process: &NewProcess) {
        let NewProcess {
            id,
            owner,
            turn,
            kind,
            command,
            directory,
            notify,
            watch,
        } = process;
        self.only_in(owner.conversation);
        let mut values = values![*id, owner.conversation, owner.session, owner.lineage];
        values.push(json(&owner.origin));
        values.extend(values![
            owner.window,
            owner.delegation,
            *turn,
            kind.name(),
            command,
            directory,
            *notify
        ]);
        values.push(json(watch));
        values.push(self.at.into());
        self.one(
            "INSERT INTO processes (id, conversation, session, lineage, origin, window, delegation, turn, kind, command, directory, notify, \
             watch, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        );
    }

    pub(super) fn process_started(&mut self, process: ProcessId) {
        self.one(
            "UPDATE processes SET state = 'running' WHERE id = ? AND conversation = ? AND state = 'starting'",
            values![process, self.conversation],
        );
    }

    pub(super) fn process_failed(&mut self, process: ProcessId, failure: &str) {
        self.one(
            "UPDATE processes SET state = 'failed', failure = ?, ended_at = ? WHERE id = ? AND conversation = ? AND state = 'starting'",
            values![failure, self.at, process, self.conversation],
        );
    }

    pub(super) fn process_ended(
        &mut self,
        process: ProcessId,
        ending: Ending,
        ended_at: Timestamp,
        total: u64,
        tail: &Vec<u8>,
    ) {
        let (state, code, signal, lost) = match ending {
            Ending::Code(code) => (ProcessState::Exited, Some(code), None, None),
            Ending::Signal(signal) => (ProcessState::Exited, None, Some(signal), None),
            Ending::Lost(reason) => (ProcessState::Lost, None, None, Some(reason.name())),
        };
        self.one(
            "UPDATE processes SET state = ?, exit_code = ?, signal = ?, lost_reason = ?, ended_at = ?, output_total = ?, output_tail = ? \
             WHERE id = ? AND conversation = ? AND ended_at IS NULL",
            values![state.name(), code, signal, lost, ended_at, total, tail, process, self.conversation],
        );
    }

    /// OWN-44: only the owner's lineage consumes.
    pub(super) fn consume(&mut self, process: ProcessId, lineage: LineageId, how: Consumption) {
        self.one(
            "UPDATE processes SET consumed = ? WHERE id = ? AND conversation = ? AND lineage = ? AND consumed IS NULL",
            values![how.name(), process, self.conversation, lineage],
        );
    }

    /// Only the mark of a stop is taken back: what the agent has read, it has read.
    pub(super) fn not_stopped(&mut self, process: ProcessId) {
        self.one(
            "UPDATE processes SET consumed = CASE WHEN consumed IN ('agent_killed', 'person_killed') THEN NULL ELSE consumed END \
             WHERE id = ? AND conversation = ? AND ended_at IS NULL",
            values![process, self.conversation],
        );
    }

    /// The new owner's conversation is the one that commits: where `/adopt` was typed. What the process has not told yet goes along, what was
    /// dropped or consumed included, so that it can be taken back there (OWN-42); what was told stays where it was told. Its end is told, and
    /// nobody waits for it any more.
    pub(super) fn adopt(&mut self, process: ProcessId, owner: &Owner) {
        self.only_in(owner.conversation);
        let mut values = values![owner.conversation, owner.session, owner.lineage];
        values.push(json(&owner.origin));
        values.extend(values![owner.window, owner.delegation, process]);
        self.one(
            "UPDATE processes SET conversation = ?, session = ?, lineage = ?, origin = ?, window = ?, delegation = ?, consumed = NULL, notify = 1, \
             kind = CASE WHEN kind = 'foreground' AND ended_at IS NULL THEN 'task' ELSE kind END WHERE id = ?",
            values,
        );
        self.step(
            Expect::Any,
            "UPDATE notifications SET conversation = ? WHERE process = ? AND state NOT IN ('delivered', 'noticed')",
            values![owner.conversation, process],
        );
    }

    pub(super) fn watched(&mut self, process: ProcessId, watched: &Watched) {
        let Watched {
            scanned,
            limiter,
            lines,
        } = watched;
        let mut values = values![
            *scanned,
            limiter.window,
            limiter.waiting,
            limiter.full_windows,
            limiter.told,
            limiter.switched_off
        ];
        values.push(json(lines));
        values.extend(values![process, self.conversation]);
        self.one(
            "UPDATE processes SET scanned = ?, watch_window = ?, watch_waiting = ?, watch_full = ?, watch_told = ?, watch_off = ?, \
             watch_lines = ? WHERE id = ? AND conversation = ?",
            values,
        );
    }

    pub(super) fn forget_output(&mut self, process: ProcessId) {
        self.one(
            "UPDATE processes SET kept = 0 WHERE id = ? AND conversation = ? AND kept = 1 AND ended_at IS NOT NULL",
            values![process, self.conversation],
        );
    }

    /// A foreground command goes on in the background: its end is told from now on.
    pub(super) fn move_to_background(&mut self, process: ProcessId) {
        self.one(
            "UPDATE processes SET kind = 'task', notify = 1 \
             WHERE id = ? AND conversation = ? AND kind = 'foreground' AND ended_at IS NULL",
            values![process, self.conversation],
        );
    }

    pub(super) fn require_delegation(&mut self, delegation: DelegationId) {
        self.step(
            Expect::Found,
            "SELECT 1 FROM delegations WHERE id = ? AND conversation = ? AND ended_at IS NULL",
            values![delegation, self.conversation],
        );
    }

    pub(super) fn add_delegation(&mut self, delegation: &NewDelegation) {
        let NewDelegation {
            id,
            owner,
            session,
            lineage,
            task,
            batch,
        } = delegation;
        self.only_in(owner.conversation);
        let mut values = values![*id, owner.conversation, owner.session, owner.lineage];
        values.push(json(&owner.origin));
        values.extend(values![
            owner.window,
            owner.delegation,
            *session,
            *lineage,
            task,
            *batch,
            self.at
        ]);
        self.one(
            "INSERT INTO delegations (id, conversation, session, lineage, origin, window, delegation, own_session, own_lineage, task, batch, created_at) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        );
    }

    pub(super) fn end_delegation(
        &mut self,
        delegation: DelegationId,
        state: DelegationState,
        result: &str,
    ) {
        self.one(
            "UPDATE delegations SET state = ?, result = ?, ended_at = ? WHERE id = ? AND conversation = ? AND ended_at IS NULL",
            values![state.name(), result, self.at, delegation, self.conversation],
        );
        self.expire_approvals(Asker::Delegation(delegation));
    }
}
