//! Background work and what it has to say.

use homing_domain::ids::*;
use homing_domain::time::Timestamp;
use homing_ports::store::*;

use super::Readers;
use crate::columns;
use crate::rows;
use crate::values::values;

const PROCESS: &str = concat!(
    "SELECT ",
    columns::process!(""),
    " FROM processes WHERE id = ?"
);
const PROCESSES: &str = concat!(
    "SELECT ",
    columns::process!(""),
    " FROM processes WHERE conversation = ? ORDER BY (ended_at IS NOT NULL), id DESC LIMIT ? + 0"
);
const LIVE_PROCESSES: &str = concat!(
    "SELECT ",
    columns::process!(""),
    " FROM processes INDEXED BY processes_live WHERE lineage = ? AND ended_at IS NULL ORDER BY id"
);
/// Without the hint SQLite walks all processes ever, to save the sorting of a few.
const ALL_LIVE_PROCESSES: &str = concat!(
    "SELECT ",
    columns::process!(""),
    " FROM processes INDEXED BY processes_live WHERE ended_at IS NULL ORDER BY id"
);
const RECENT_PROCESSES: &str = concat!(
    "SELECT ",
    columns::process!(""),
    " FROM processes ORDER BY id DESC LIMIT ? + 0"
);
const DELEGATIONS: &str = concat!(
    "SELECT ",
    columns::delegation!(""),
    " FROM delegations WHERE conversation = ? ORDER BY id DESC LIMIT ? + 0"
);
/// Without the hint SQLite walks all delegations ever.
const ALL_RUNNING_DELEGATIONS: &str = concat!(
    "SELECT ",
    columns::delegation!(""),
    " FROM delegations INDEXED BY delegations_running WHERE ended_at IS NULL ORDER BY id"
);
const DELEGATION: &str = concat!(
    "SELECT ",
    columns::delegation!(""),
    " FROM delegations WHERE id = ?"
);
const RUNNING_DELEGATIONS: &str = concat!(
    "SELECT ",
    columns::delegation!(""),
    " FROM delegations WHERE lineage = ? AND ended_at IS NULL ORDER BY id"
);
const PROCESSES_OF_DELEGATION: &str = concat!(
    "SELECT ",
    columns::process!(""),
    " FROM processes WHERE delegation = ? ORDER BY id"
);
/// OWN-60: what is not told yet keeps its output.
const OUTPUT_TO_FORGET: &str = "SELECT p.id, p.conversation FROM processes p INDEXED BY processes_kept \
     WHERE p.kept = 1 AND p.ended_at IS NOT NULL AND p.ended_at < ? \
     AND NOT EXISTS (SELECT 1 FROM notifications n WHERE n.process = p.id AND n.settled_at IS NULL) ORDER BY p.ended_at LIMIT ? + 0";
const NOTIFICATION: &str = concat!(
    "SELECT ",
    columns::notification!(""),
    " FROM notifications WHERE id = ?"
);
/// The owner is found by ids, however often its lineage was compressed (OWN-11).
const OPEN_NOTIFICATIONS: &str = concat!(
    "SELECT ",
    columns::notification!("n."),
    ", s.id, ",
    columns::lineage!("l."),
    ", ",
    columns::process!("p."),
    ", ",
    columns::delegation!("d."),
    " FROM notifications n INDEXED BY notifications_open LEFT JOIN processes p ON p.id = n.process LEFT JOIN delegations d ON d.id = n.delegation \
     LEFT JOIN lineages l ON l.id = coalesce(p.lineage, d.lineage) \
     LEFT JOIN sessions s ON s.id = coalesce(p.session, d.session) AND s.lineage = l.id \
     WHERE n.conversation = ? AND n.settled_at IS NULL ORDER BY n.id"
);
const NOTIFICATIONS: &str = concat!(
    "SELECT ",
    columns::notification!(""),
    " FROM notifications WHERE conversation = ? ORDER BY id DESC LIMIT ? + 0"
);
const OF_PROCESS: &str = concat!(
    "SELECT ",
    columns::notification!(""),
    " FROM notifications WHERE process = ? ORDER BY id"
);
const OF_DELEGATION: &str = concat!(
    "SELECT ",
    columns::notification!(""),
    " FROM notifications WHERE delegation = ? ORDER BY id"
);
const DECISIONS: &str = concat!(
    "SELECT ",
    columns::decision!(""),
    " FROM decisions WHERE notification = ? ORDER BY id"
);

#[cfg(test)]
pub(super) const HOT: &[&str] = &[
    PROCESS,
    PROCESSES,
    LIVE_PROCESSES,
    DELEGATIONS,
    DELEGATION,
    RUNNING_DELEGATIONS,
    PROCESSES_OF_DELEGATION,
    NOTIFICATION,
    OPEN_NOTIFICATIONS,
    NOTIFICATIONS,
    OF_PROCESS,
    OF_DELEGATION,
    DECISIONS,
];
#[cfg(test)]
pub(super) const GLOBAL: &[&str] = &[
    ALL_LIVE_PROCESSES,
    RECENT_PROCESSES,
    ALL_RUNNING_DELEGATIONS,
    OUTPUT_TO_FORGET,
];

impl Readers {
    pub(crate) async fn process(&self, id: ProcessId) -> StoreResult<Option<ProcessRow>> {
        self.one(PROCESS, values![id], rows::process).await
    }

    pub(crate) async fn processes(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<ProcessRow>> {
        self.all(PROCESSES, values![conversation, limit], rows::process)
            .await
    }

    pub(crate) async fn live_processes(&self, lineage: LineageId) -> StoreResult<Vec<ProcessRow>> {
        self.all(LIVE_PROCESSES, values![lineage], rows::process)
            .await
    }

    pub(crate) async fn all_live_processes(&self) -> StoreResult<Vec<ProcessRow>> {
        self.all(ALL_LIVE_PROCESSES, Vec::new(), rows::process)
            .await
    }

    pub(crate) async fn recent_processes(&self, limit: u32) -> StoreResult<Vec<ProcessRow>> {
        self.all(RECENT_PROCESSES, values![limit], rows::process)
            .await
    }

    pub(crate) async fn delegations(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<DelegationRow>> {
        self.all(DELEGATIONS, values![conversation, limit], rows::delegation)
            .await
    }

    pub(crate) async fn output_to_forget(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<(ProcessId, ConversationId)>> {
        self.all(OUTPUT_TO_FORGET, values![before, limit], |fields| {
            let process = ProcessId::from_column(fields.begin("processes")?);
            Ok((process, fields.id(ConversationId::from_column)?))
        })
        .await
    }

    pub(crate) async fn delegation(&self, id: DelegationId) -> StoreResult<Option<DelegationRow>> {
        self.one(DELEGATION, values![id], rows::delegation).await
    }

    pub(crate) async fn running_delegations(
        &self,
        lineage: LineageId,
    ) -> StoreResult<Vec<DelegationRow>> {
        self.all(RUNNING_DELEGATIONS, values![lineage], rows::delegation)
            .await
    }

    pub(crate) async fn all_running_delegations(&self) -> StoreResult<Vec<DelegationRow>> {
        self.all(ALL_RUNNING_DELEGATIONS, Vec::new(), rows::delegation)
            .await
    }

    pub(crate) async fn processes_of_delegation(
        &self,
        delegation: DelegationId,
    ) -> StoreResult<Vec<ProcessRow>> {
        self.all(PROCESSES_OF_DELEGATION, values![delegation], rows::process)
            .await
    }

    pub(crate) async fn notification(
        &self,
        id: NotificationId,
    ) -> StoreResult<Option<NotificationRow>> {
        self.one(NOTIFICATION, values![id], rows::notification)
            .await
    }

    pub(crate) async fn open_notifications(
        &self,
        conversation: ConversationId,
    ) -> StoreResult<Vec<OpenNotification>> {
        self.all(
            OPEN_NOTIFICATIONS,
            values![conversation],
            rows::open_notification,
        )
        .await
    }

    pub(crate) async fn notifications(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<NotificationRow>> {
        self.all(
            NOTIFICATIONS,
            values![conversation, limit],
            rows::notification,
        )
        .await
    }

    pub(crate) async fn notifications_of(
        &self,
        source: Source,
    ) -> StoreResult<Vec<NotificationRow>> {
        match source {
            Source::Process(process) => {
                self.all(OF_PROCESS, values![process], rows::notification)
                    .await
            }
            Source::Delegation(delegation) => {
                self.all(OF_DELEGATION, values![delegation], rows::notification)
                    .await
            }
        }
    }

    pub(crate) async fn decisions(
        &self,
        notification: NotificationId,
    ) -> StoreResult<Vec<DecisionRow>> {
        self.all(DECISIONS, values![notification], rows::decision)
            .await
    }
}
