//! The list of all questions, for whoever passes them on.

/// Calls `$callback! { handle; name(argument: Type, …) -> Answer; … }` with every method of [`Queries`](crate::store::Queries), so that a store
/// that stands before another one is one macro, and a new question is added here and in the trait. The caller imports the types.
#[macro_export]
macro_rules! every_query {
    ($callback:ident, $handle:ident) => {
        $callback! { $handle;
            conversation(id: ConversationId) -> Option<ConversationRow>;
            conversation_by_key(key: &SessionKey) -> Option<ConversationRow>;
            conversations(limit: u32) -> Vec<ConversationRow>;
            conversations_of(account: &AccountName, chat: &str, thread: Option<&str>) -> Vec<ConversationId>;
            conversations_with_work() -> Vec<ConversationId>;
            session(id: SessionId) -> Option<SessionRow>;
            sessions(conversation: ConversationId, limit: u32) -> Vec<SessionRow>;
            lineage(id: LineageId) -> Option<LineageRow>;
            history(session: SessionId, limit: u32) -> Vec<MessageRow>;
            conversation_history(conversation: ConversationId, limit: u32) -> Vec<MessageRow>;
            context(session: SessionId, limit: u32) -> Context;
            search_history(conversation: ConversationId, words: &str, limit: u32) -> Vec<MessageRow>;
            usage(lineage: LineageId) -> Usage;
            inbound_waiting(conversation: ConversationId, limit: u32) -> Vec<InboundRow>;
            running_turns(conversation: ConversationId) -> Vec<TurnRow>;
            process(id: ProcessId) -> Option<ProcessRow>;
            processes(conversation: ConversationId, limit: u32) -> Vec<ProcessRow>;
            live_processes(lineage: LineageId) -> Vec<ProcessRow>;
            all_live_processes() -> Vec<ProcessRow>;
            recent_processes(limit: u32) -> Vec<ProcessRow>;
            notification(id: NotificationId) -> Option<NotificationRow>;
            open_notifications(conversation: ConversationId) -> Vec<OpenNotification>;
            notifications(conversation: ConversationId, limit: u32) -> Vec<NotificationRow>;
            notifications_of(source: Source) -> Vec<NotificationRow>;
            decisions(notification: NotificationId) -> Vec<DecisionRow>;
            outbox_waiting(conversation: ConversationId, limit: u32) -> Vec<OutboxRow>;
            outbox_of_turn(turn: TurnId) -> Vec<OutboxRow>;
            dead_letters(conversation: ConversationId, limit: u32) -> Vec<OutboxRow>;
            outbox_item(id: OutboxId) -> Option<OutboxRow>;
            open_approvals(conversation: ConversationId) -> Vec<ApprovalRow>;
            approval(id: ApprovalId) -> Option<ApprovalRow>;
            is_approved(lineage: LineageId, conversation: ConversationId, person: Option<&str>, command: &str) -> bool;
            outbox(conversation: ConversationId, limit: u32) -> Vec<OutboxRow>;
            window(id: WindowId) -> Option<WindowRow>;
            open_windows(conversation: ConversationId) -> Vec<WindowRow>;
            delegations(conversation: ConversationId, limit: u32) -> Vec<DelegationRow>;
            delegation(id: DelegationId) -> Option<DelegationRow>;
            batch(first: DelegationId) -> Vec<DelegationRow>;
            running_delegations(lineage: LineageId) -> Vec<DelegationRow>;
            all_running_delegations() -> Vec<DelegationRow>;
            processes_of_delegation(delegation: DelegationId) -> Vec<ProcessRow>;
            idle_conversations(before: Timestamp, limit: u32) -> Vec<ConversationId>;
            output_to_forget(before: Timestamp, limit: u32) -> Vec<(ProcessId, ConversationId)>;
            find_process(conversation: Option<ConversationId>, ending: &str) -> Vec<ProcessId>;
            find_session(conversation: ConversationId, ending: &str) -> Vec<SessionId>;
            find_notification(ending: &str) -> Vec<NotificationId>;
            totals() -> Totals;
        }
    };
}
