//! All rows of a store, read once.

use std::collections::BTreeMap;

use homing_domain::ids::*;
use homing_ports::store::*;

const ALL: u32 = 1_000_000;

#[derive(Debug, Default)]
pub struct Facts {
    pub conversations: BTreeMap<ConversationId, ConversationRow>,
    pub sessions: BTreeMap<SessionId, SessionRow>,
    pub lineages: BTreeMap<LineageId, LineageRow>,
    pub processes: BTreeMap<ProcessId, ProcessRow>,
    pub notifications: BTreeMap<NotificationId, NotificationRow>,
    pub outbox: BTreeMap<OutboxId, OutboxRow>,
}

impl Facts {
    pub async fn read(store: &dyn Queries) -> StoreResult<Facts> {
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
        }
        Ok(facts)
    }

    /// The thread of a conversation, as people count them.
    pub fn thread(&self, conversation: ConversationId) -> Option<u64> {
        let key = &self.conversations.get(&conversation)?.key;
        key.thread.as_deref()?.parse().ok()
    }

    pub fn lineage_of(&self, session: SessionId) -> Option<LineageId> {
        Some(self.sessions.get(&session)?.lineage)
    }
}
