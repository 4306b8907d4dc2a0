//! Conversations, their sessions, histories, what came in, turns, windows.

use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::AccountName;
use homing_domain::time::Timestamp;
use homing_ports::store::*;

use super::Readers;
use crate::columns;
use crate::rows;
use crate::values::values;

const CONVERSATION: &str = concat!(
    "SELECT ",
    columns::conversation!(""),
    " FROM conversations WHERE id = ?"
);
const CONVERSATION_BY_KEY: &str = concat!(
    "SELECT ",
    columns::conversation!(""),
    " FROM conversations WHERE key = ?"
);
const CONVERSATIONS: &str = concat!(
    "SELECT ",
    columns::conversation!(""),
    " FROM conversations ORDER BY active_at DESC LIMIT ? + 0"
);
const WITH_WORK: &str = "SELECT conversation FROM inbound WHERE finished_at IS NULL \
     UNION SELECT conversation FROM notifications WHERE settled_at IS NULL \
     UNION SELECT conversation FROM outbox WHERE settled_at IS NULL \
     UNION SELECT conversation FROM turns WHERE ended_at IS NULL";
const OF_PLACE: &str = "SELECT id FROM conversations WHERE json_extract(origin, '$.chat') = ? AND json_extract(origin, '$.thread') IS ? \
     AND json_extract(origin, '$.platform') = ? AND json_extract(origin, '$.profile') = ? AND coalesce(json_extract(origin, '$.account'), '') = ? ORDER BY id";
const IDLE: &str = "SELECT id FROM conversations INDEXED BY conversations_by_activity \
     WHERE active_at < ? AND session IS NOT NULL ORDER BY active_at LIMIT ? + 0";
const SESSION: &str = concat!(
    "SELECT ",
    columns::session!("s."),
    ", (SELECT count(*) FROM messages m WHERE m.session = s.id) FROM sessions s WHERE s.id = ?"
);
const SESSIONS: &str = concat!(
    "SELECT ",
    columns::session!("s."),
    ", (SELECT count(*) FROM messages m WHERE m.session = s.id) FROM sessions s WHERE s.conversation = ? ORDER BY s.id DESC LIMIT ? + 0"
);
const LINEAGE: &str = concat!(
    "SELECT ",
    columns::lineage!(""),
    " FROM lineages WHERE id = ?"
);
const HISTORY: &str = concat!(
    "SELECT ",
    columns::message!(""),
    " FROM messages WHERE session = ? ORDER BY id DESC LIMIT ? + 0"
);
const CONVERSATION_HISTORY: &str = concat!(
    "SELECT ",
    columns::message!(""),
    " FROM messages WHERE conversation = ? ORDER BY id DESC LIMIT ? + 0"
);
const INBOUND_WAITING: &str = concat!(
    "SELECT ",
    columns::inbound!(""),
    " FROM inbound INDEXED BY inbound_waiting WHERE conversation = ? AND finished_at IS NULL ORDER BY id LIMIT ? + 0"
);
const RUNNING_TURNS: &str = concat!(
    "SELECT ",
    columns::turn!(""),
    " FROM turns INDEXED BY turns_running WHERE conversation = ? AND ended_at IS NULL ORDER BY id"
);
const WINDOW: &str = concat!(
    "SELECT ",
    columns::window!(""),
    " FROM windows WHERE id = ?"
);
const OPEN_WINDOWS: &str = concat!(
    "SELECT ",
    columns::window!(""),
    " FROM windows INDEXED BY windows_open WHERE conversation = ? AND closed_at IS NULL ORDER BY active_at DESC, id DESC"
);

#[cfg(test)]
pub(super) const HOT: &[&str] = &[
    CONVERSATION,
    CONVERSATION_BY_KEY,
    SESSION,
    SESSIONS,
    LINEAGE,
    HISTORY,
    CONVERSATION_HISTORY,
    INBOUND_WAITING,
    RUNNING_TURNS,
    WINDOW,
    OPEN_WINDOWS,
];
#[cfg(test)]
pub(super) const GLOBAL: &[&str] = &[CONVERSATIONS, WITH_WORK, IDLE];

impl Readers {
    pub(crate) async fn conversation(
        &self,
        id: ConversationId,
    ) -> StoreResult<Option<ConversationRow>> {
        self.one(CONVERSATION, values![id], rows::conversation)
            .await
    }

    pub(crate) async fn conversation_by_key(
        &self,
        key: &SessionKey,
    ) -> StoreResult<Option<ConversationRow>> {
        self.one(
            CONVERSATION_BY_KEY,
            values![key.to_string()],
            rows::conversation,
        )
        .await
    }

    pub(crate) async fn conversations(&self, limit: u32) -> StoreResult<Vec<ConversationRow>> {
        self.all(CONVERSATIONS, values![limit], rows::conversation)
            .await
    }

    pub(crate) async fn conversations_of(
        &self,
        account: &AccountName,
        chat: &str,
        thread: Option<&str>,
    ) -> StoreResult<Vec<ConversationId>> {
        let slot = account.account.as_deref().unwrap_or("");
        let place = values![chat, thread, &account.platform, &account.profile, slot];
        self.all(OF_PLACE, place, |fields| {
            Ok(ConversationId::from_column(fields.begin("conversations")?))
        })
        .await
    }

    pub(crate) async fn conversations_with_work(&self) -> StoreResult<Vec<ConversationId>> {
        self.all(WITH_WORK, Vec::new(), |fields| {
            fields.id(ConversationId::from_column)
        })
        .await
    }

    pub(crate) async fn idle_conversations(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<ConversationId>> {
        self.all(IDLE, values![before, limit], |fields| {
            Ok(ConversationId::from_column(fields.begin("conversations")?))
        })
        .await
    }

    pub(crate) async fn session(&self, id: SessionId) -> StoreResult<Option<SessionRow>> {
        self.one(SESSION, values![id], rows::session).await
    }

    pub(crate) async fn sessions(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<SessionRow>> {
        self.all(SESSIONS, values![conversation, limit], rows::session)
            .await
    }

    pub(crate) async fn lineage(&self, id: LineageId) -> StoreResult<Option<LineageRow>> {
        self.one(LINEAGE, values![id], rows::lineage).await
    }

    pub(crate) async fn history(
        &self,
        session: SessionId,
        limit: u32,
    ) -> StoreResult<Vec<MessageRow>> {
        self.newest(HISTORY, values![session, limit], rows::message)
            .await
    }

    pub(crate) async fn conversation_history(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<MessageRow>> {
        self.newest(
            CONVERSATION_HISTORY,
            values![conversation, limit],
            rows::message,
        )
        .await
    }

    pub(crate) async fn inbound_waiting(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<InboundRow>> {
        self.all(INBOUND_WAITING, values![conversation, limit], rows::inbound)
            .await
    }

    pub(crate) async fn running_turns(
        &self,
        conversation: ConversationId,
    ) -> StoreResult<Vec<TurnRow>> {
        self.all(RUNNING_TURNS, values![conversation], rows::turn)
            .await
    }

    pub(crate) async fn window(&self, id: WindowId) -> StoreResult<Option<WindowRow>> {
        self.one(WINDOW, values![id], rows::window).await
    }

    pub(crate) async fn open_windows(
        &self,
        conversation: ConversationId,
    ) -> StoreResult<Vec<WindowRow>> {
        self.all(OPEN_WINDOWS, values![conversation], rows::window)
            .await
    }
}
