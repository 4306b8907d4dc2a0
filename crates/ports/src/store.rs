//! Where state lives. Two halves: [`Queries`] reads facts, [`Store::commit`] writes a list of [`Change`]s of one conversation, all or none.
//!
//! **Invariant:** a commit takes its conversation's row first and checks the epoch; every change names the state it expects, and if one
//! finds another, nothing of the commit happens and [`Committed::Unmet`] says which. When `commit` returns `Done`, it is on disk.
//! **Absent on purpose:** decisions. What a reset or a verdict means is composed of changes by the gateway; a store only knows rows.

mod changes;
mod every_query;
mod rows;

pub use changes::*;
pub use rows::*;

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;

use crate::inbox::{Accepted, Edited, Inbound};

pub type StoreResult<T> = Result<T, StoreError>;

#[async_trait]
pub trait Store: Queries {
    /// A new gateway takes over: the epoch grows by one, and every later write of an older one is [`StoreError::Fenced`].
    async fn take_over(&self, at: Timestamp) -> StoreResult<u64>;

    /// Stores an inbound message in its conversation, creating that if it is new (OWN-70). Unique on (platform, account, platform id).
    async fn accept(
        &self,
        inbound: Inbound,
        key: SessionKey,
        at: Timestamp,
    ) -> StoreResult<Accepted>;

    /// A person's changed text of a message that is still queued.
    async fn edit_inbound(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> StoreResult<Edited>;

    /// A chat has moved (OWN-72): keys and origins of its conversations, and the origins of what waits and of what runs, in one transaction.
    /// If the new place has a conversation of its own already, that one keeps its key, and the old one keeps its own: what waits in the old
    /// one goes to the new place all the same, since origins route (OWN-5). Answers with the conversations whose routes changed.
    async fn move_chat(
        &self,
        account: &AccountName,
        from: &str,
        to: &str,
    ) -> StoreResult<Vec<ConversationId>>;

    /// The conversation of a key, created if it is new. Creates no session.
    async fn open_conversation(
        &self,
        key: &SessionKey,
        origin: &Origin,
        at: Timestamp,
    ) -> StoreResult<ConversationRow>;

    /// Removes what was delivered and handled before that moment: settled outbox items and finished inbound messages, at most `limit` of
    /// each. Histories, notifications and their decisions stay. An inbound message that is removed is no longer recognised as a repeat.
    async fn clean(&self, before: Timestamp, limit: u32) -> StoreResult<u64>;

    /// Applies all changes or none. Changes are applied in order, so a later one sees the earlier ones.
    async fn commit(&self, commit: Commit) -> StoreResult<Committed>;
}

#[async_trait]
pub trait Queries: Send + Sync + 'static {
    async fn conversation(&self, id: ConversationId) -> StoreResult<Option<ConversationRow>>;
    async fn conversation_by_key(&self, key: &SessionKey) -> StoreResult<Option<ConversationRow>>;
    /// Most recently active first.
    async fn conversations(&self, limit: u32) -> StoreResult<Vec<ConversationRow>>;
    /// Of a place, whoever speaks in it. Looks at every conversation: for what happens rarely.
    async fn conversations_of(
        &self,
        account: &AccountName,
        chat: &str,
        thread: Option<&str>,
    ) -> StoreResult<Vec<ConversationId>>;
    /// Conversations that have something to do after a restart: queued messages, open notifications, unsent outbox items, running turns.
    async fn conversations_with_work(&self) -> StoreResult<Vec<ConversationId>>;

    async fn session(&self, id: SessionId) -> StoreResult<Option<SessionRow>>;
    /// Newest first.
    async fn sessions(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<SessionRow>>;
    async fn lineage(&self, id: LineageId) -> StoreResult<Option<LineageRow>>;
    /// The newest `limit` messages of a session, oldest first.
    async fn history(&self, session: SessionId, limit: u32) -> StoreResult<Vec<MessageRow>>;
    /// The newest `limit` messages of a conversation over all its sessions, oldest first.
    async fn conversation_history(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<MessageRow>>;

    /// What an agent has of a session before a turn: the summary, the newest `limit` messages that were kept beside it, and its own.
    async fn context(&self, session: SessionId, limit: u32) -> StoreResult<Context>;
    /// Messages of a conversation that hold all these words, best first, without what was undone.
    async fn search_history(
        &self,
        conversation: ConversationId,
        words: &str,
        limit: u32,
    ) -> StoreResult<Vec<MessageRow>>;
    /// What models used for the turns of a lineage, and for the sub-agents that it owns.
    async fn usage(&self, lineage: LineageId) -> StoreResult<Usage>;

    /// Queued or taken inbound messages, oldest first.
    async fn inbound_waiting(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<InboundRow>>;
    async fn running_turns(&self, conversation: ConversationId) -> StoreResult<Vec<TurnRow>>;

    async fn process(&self, id: ProcessId) -> StoreResult<Option<ProcessRow>>;
    /// Newest first; live ones before ended ones.
    async fn processes(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<ProcessRow>>;
    /// Live processes of a lineage, oldest first.
    async fn live_processes(&self, lineage: LineageId) -> StoreResult<Vec<ProcessRow>>;
    /// All processes that had not ended when last seen, of all conversations. For recovery and `homing ps`.
    async fn all_live_processes(&self) -> StoreResult<Vec<ProcessRow>>;
    /// Newest first, of all conversations.
    async fn recent_processes(&self, limit: u32) -> StoreResult<Vec<ProcessRow>>;

    async fn notification(&self, id: NotificationId) -> StoreResult<Option<NotificationRow>>;
    /// Pending, claimed and held ones with what their verdict needs, oldest first.
    async fn open_notifications(
        &self,
        conversation: ConversationId,
    ) -> StoreResult<Vec<OpenNotification>>;
    /// Newest first.
    async fn notifications(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<NotificationRow>>;
    async fn notifications_of(&self, source: Source) -> StoreResult<Vec<NotificationRow>>;
    /// What was decided about a notification, oldest first.
    async fn decisions(&self, notification: NotificationId) -> StoreResult<Vec<DecisionRow>>;

    /// Items that are not settled, in the order they leave.
    async fn outbox_waiting(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<OutboxRow>>;
    /// What a turn enqueued.
    async fn outbox_of_turn(&self, turn: TurnId) -> StoreResult<Vec<OutboxRow>>;
    /// Dead letters that were not told again, oldest first (OWN-73).
    async fn dead_letters(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<OutboxRow>>;
    async fn outbox_item(&self, id: OutboxId) -> StoreResult<Option<OutboxRow>>;

    /// Questions that nobody has answered, oldest first.
    async fn open_approvals(&self, conversation: ConversationId) -> StoreResult<Vec<ApprovalRow>>;
    async fn approval(&self, id: ApprovalId) -> StoreResult<Option<ApprovalRow>>;
    /// Whether this exact command was approved for the rest of this lineage, or always for this person here.
    async fn is_approved(
        &self,
        lineage: LineageId,
        conversation: ConversationId,
        person: Option<&str>,
        command: &str,
    ) -> StoreResult<bool>;

    /// Settled and unsettled, newest first.
    async fn outbox(&self, conversation: ConversationId, limit: u32)
    -> StoreResult<Vec<OutboxRow>>;

    async fn window(&self, id: WindowId) -> StoreResult<Option<WindowRow>>;
    /// Open windows of a conversation, most recently active first.
    async fn open_windows(&self, conversation: ConversationId) -> StoreResult<Vec<WindowRow>>;
    async fn delegations(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> StoreResult<Vec<DelegationRow>>;

    async fn delegation(&self, id: DelegationId) -> StoreResult<Option<DelegationRow>>;
    /// Those that were started together with this one, itself included, oldest first.
    async fn batch(&self, first: DelegationId) -> StoreResult<Vec<DelegationRow>>;
    /// Running delegations that a lineage owns, oldest first.
    async fn running_delegations(&self, lineage: LineageId) -> StoreResult<Vec<DelegationRow>>;
    /// All that had not ended when last seen, of all conversations. For recovery.
    async fn all_running_delegations(&self) -> StoreResult<Vec<DelegationRow>>;
    /// What a delegation has started, oldest first.
    async fn processes_of_delegation(
        &self,
        delegation: DelegationId,
    ) -> StoreResult<Vec<ProcessRow>>;

    /// Conversations with a current session and no activity since `before`, longest idle first. For automatic resets (OWN-15).
    async fn idle_conversations(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<ConversationId>>;
    /// Processes that ended before that and whose run folder is still kept, earliest end first. Never one with an unsettled notification.
    async fn output_to_forget(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<(ProcessId, ConversationId)>>;

    /// Ids whose number ends in the given text form (the last characters after the prefix), for people who type. At most two are returned.
    async fn find_process(
        &self,
        conversation: Option<ConversationId>,
        ending: &str,
    ) -> StoreResult<Vec<ProcessId>>;
    async fn find_session(
        &self,
        conversation: ConversationId,
        ending: &str,
    ) -> StoreResult<Vec<SessionId>>;
    async fn find_notification(&self, ending: &str) -> StoreResult<Vec<NotificationId>>;

    /// Numbers for `/status` and `/metrics`: settled and open notifications by state, outbox by state, live processes.
    async fn totals(&self) -> StoreResult<Totals>;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot answer now. Try again; nothing is known to be absent (OWN-40).
    #[error("the store cannot answer: {0}")]
    Unavailable(String),
    /// Another gateway has taken over. Stop.
    #[error("another gateway has taken over (epoch {now}, ours is {ours}); this one must stop")]
    Fenced { ours: u64, now: u64 },
    #[error(
        "the store was written by a newer Homing (schema {found}, this one knows {known}); start that version, or restore a backup made before the upgrade"
    )]
    Newer { found: i64, known: i64 },
    /// A row that cannot be: names table and id.
    #[error("the store holds a row that cannot be: {0}")]
    Damaged(String),
}
