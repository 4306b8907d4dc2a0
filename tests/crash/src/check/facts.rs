//! All rows of a store, read once.

use std::collections::BTreeMap;

use homing_domain::ids::*;
use homing_domain::owner::Owner;
use homing_ports::store::*;

use crate::people::Ledger;

const ALL: u32 = 1_000_000;

#[derive(Debug, Default)]
pub struct Facts {
    pub conversations: BTreeMap<ConversationId, ConversationRow>,
    pub sessions: BTreeMap<SessionId, SessionRow>,
    pub lineages: BTreeMap<LineageId, LineageRow>,
    pub processes: BTreeMap<ProcessId, ProcessRow>,
    pub notifications: BTreeMap<NotificationId, NotificationRow>,
    pub outbox: BTreeMap<OutboxId, OutboxRow>,
    pub delegations: BTreeMap<DelegationId, DelegationRow>,
    /// Those that people have opened.
    pub windows: BTreeMap<WindowId, WindowRow>,
}

impl Facts {
    pub async fn read(store: &dyn Queries, ledger: &Ledger) -> StoreResult<Facts> {
        let mut facts = Facts::default();
        for conversation in store.conversations(ALL).await? {
            let id = conversation.id;
            facts.conversations.insert(id, conversation);
            for session in store.sessions(id, ALL).await? {
                if let Some(lineage) = store.lineage(session.lineage).await? {
                    facts.lineages.insert(lineage.id, lineage);
                }
                facts.sessions.insert(session.id, session);
            }
            let processes = store.processes(id, ALL).await?;
            facts
                .processes
                .extend(processes.into_iter().map(|row| (row.id, row)));
            let notifications = store.notifications(id, ALL).await?;
            facts
                .notifications
                .extend(notifications.into_iter().map(|row| (row.id, row)));
            let outbox = store.outbox(id, ALL).await?;
            facts
                .outbox
                .extend(outbox.into_iter().map(|row| (row.id, row)));
            let delegations = store.delegations(id, ALL).await?;
            facts
                .delegations
                .extend(delegations.into_iter().map(|row| (row.id, row)));
        }
        for window in ledger.windows.keys() {
            let row = store.window(*window).await?;
            facts.windows.extend(row.map(|row| (row.id, row)));
        }
        Ok(facts)
    }

    /// The thread of a conversation, as people count them.
    pub fn thread(&self, conversation: ConversationId) -> Option<u64> {
        let key = &self.conversations.get(&conversation)?.key;
        key.thread.as_deref()?.parse().ok()
    }

    pub fn owner(&self, source: Source) -> Option<&Owner> {
        match source {
            Source::Process(id) => Some(&self.processes.get(&id)?.owner),
            Source::Delegation(id) => Some(&self.delegations.get(&id)?.owner),
        }
    }

    pub fn of(&self, source: Source) -> impl Iterator<Item = &NotificationRow> {
        let of_it = move |row: &&NotificationRow| row.source == source;
        self.notifications.values().filter(of_it)
    }

    pub fn lineage_of(&self, session: SessionId) -> Option<LineageId> {
        Some(self.sessions.get(&session)?.lineage)
    }
}
