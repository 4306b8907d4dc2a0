//! A gateway made of a few vectors, and a clock that is moved by hand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::inbox::{
    AcceptError, Accepted, Edited, INBOUND_TEXT_LIMIT, Inbound, Inbox, Wrote,
};
use homing_ports::processes::*;
use homing_ports::store::*;
use homing_ports::{Clock, IdSource};
use tokio::sync::{broadcast, mpsc, watch};

#[derive(Debug)]
pub struct HandClock(watch::Sender<Timestamp>);

impl HandClock {
    pub fn new() -> Arc<HandClock> {
        Arc::new(HandClock(watch::Sender::new(Timestamp(1_800_000_000_000))))
    }
    pub fn advance(&self, span: Duration) {
        self.0.send_modify(|now| *now = now.plus(span));
    }
}

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }
    async fn sleep_until(&self, deadline: Timestamp) {
        let _ = self.0.subscribe().wait_for(|now| *now >= deadline).await;
    }
}

#[derive(Default)]
pub struct Rows {
    pub conversations: Vec<ConversationRow>,
    pub windows: Vec<WindowRow>,
    pub inbound: Vec<Inbound>,
    pub history: Vec<MessageRow>,
    pub outbox: Vec<OutboxRow>,
    pub processes: Vec<ProcessRow>,
    pub notifications: Vec<NotificationRow>,
    pub decisions: Vec<DecisionRow>,
    pub sessions: Vec<SessionRow>,
    pub delegations: Vec<DelegationRow>,
    /// What processes wrote. Of one that is not here the folder has been cleaned.
    pub written: HashMap<ProcessId, Vec<u8>>,
}

pub struct Fake {
    pub rows: Mutex<Rows>,
    pub clock: Arc<HandClock>,
    pub ids: IdSource,
    pub changes: broadcast::Sender<ConversationId>,
    pub outputs: broadcast::Sender<Wrote>,
    /// Windows in the order they were closed.
    pub closed: watch::Sender<Vec<WindowId>>,
}

impl Fake {
    pub fn new(clock: Arc<HandClock>) -> Arc<Fake> {
        let ids = IdSource::new(clock.clone());
        Arc::new(Fake {
            rows: Mutex::default(),
            clock,
            ids,
            changes: broadcast::channel(64).0,
            outputs: broadcast::channel(64).0,
            closed: watch::Sender::new(Vec::new()),
        })
    }
    pub fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap()
    }
    pub fn conversation(&self, key: &SessionKey) -> ConversationId {
        let mut rows = self.rows();
        if let Some(row) = rows.conversations.iter().find(|row| row.key == *key) {
            return row.id;
        }
        let (id, now) = (self.ids.next(), self.clock.now());
        let origin = Origin::from_key(key);
        rows.conversations.push(ConversationRow {
            id,
            key: key.clone(),
            origin,
            current: None,
            generation: 0,
            created_at: now,
            active_at: now,
            model: None,
        });
        id
    }
    pub async fn until_closed(&self, window: WindowId) {
        let seen = self
            .closed
            .subscribe()
            .wait_for(|closed| closed.contains(&window))
            .await
            .map(drop);
        seen.unwrap();
    }
}

#[async_trait]
impl Inbox for Fake {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError> {
        if inbound.text.len() > INBOUND_TEXT_LIMIT {
            return Err(AcceptError::TooLong {
                bytes: inbound.text.len(),
            });
        }
        let conversation = self.conversation(&inbound.origin.key(Default::default()));
        let id = self.ids.next();
        let mut rows = self.rows();
        if rows
            .inbound
            .iter()
            .any(|known| known.platform_id == inbound.platform_id)
        {
            return Ok(Accepted::Repeat {
                inbound: id,
                conversation,
            });
        }
        rows.inbound.push(inbound);
        let _ = self.changes.send(conversation);
        Ok(Accepted::New {
            inbound: id,
            conversation,
        })
    }
    fn ready(&self, _: &AccountName) {}
    async fn edited(&self, _: &AccountName, _: &str, _: &str) -> Result<Edited, AcceptError> {
        Ok(Edited::Unknown)
    }
    async fn moved(&self, _: &AccountName, _: &str, _: &str) -> Result<u64, AcceptError> {
        Ok(0)
    }
    async fn reopened(&self, _: &Origin) -> Result<(), AcceptError> {
        Ok(())
    }
    async fn tell_operator(&self, _: &str) {}
    async fn open_window(
        &self,
        window: WindowId,
        at: &SessionKey,
    ) -> Result<ConversationId, AcceptError> {
        let (conversation, now) = (self.conversation(at), self.clock.now());
        let mut rows = self.rows();
        match rows.windows.iter().find(|row| row.id == window) {
            Some(row) if row.closed_at.is_some() || row.conversation != conversation => {
                return Err(AcceptError::UnknownWindow(window));
            }
            Some(_) => {}
            None => rows.windows.push(WindowRow {
                id: window,
                conversation,
                opened_at: now,
                active_at: now,
                closed_at: None,
            }),
        }
        Ok(conversation)
    }
    async fn touch_window(&self, window: WindowId) -> Result<(), AcceptError> {
        let open = self
            .rows()
            .windows
            .iter()
            .any(|row| row.id == window && row.closed_at.is_none());
        if open {
            Ok(())
        } else {
            Err(AcceptError::UnknownWindow(window))
        }
    }
    async fn close_window(&self, window: WindowId) -> Result<(), AcceptError> {
        self.touch_window(window).await?;
        let now = self.clock.now();
        self.rows()
            .windows
            .iter_mut()
            .filter(|row| row.id == window)
            .for_each(|row| row.closed_at = Some(now));
        self.closed.send_modify(|closed| closed.push(window));
        Ok(())
    }
    fn changes(&self) -> broadcast::Receiver<ConversationId> {
        self.changes.subscribe()
    }
    fn outputs(&self) -> broadcast::Receiver<Wrote> {
        self.outputs.subscribe()
    }
}

fn some<T: Clone>(rows: &[T], wanted: impl Fn(&T) -> bool) -> StoreResult<Vec<T>> {
    Ok(rows.iter().filter(|row| wanted(row)).cloned().collect())
}

fn one<T: Clone>(rows: &[T], wanted: impl Fn(&T) -> bool) -> StoreResult<Option<T>> {
    Ok(rows.iter().find(|row| wanted(row)).cloned())
}

#[async_trait]
impl Queries for Fake {
    async fn conversation(&self, id: ConversationId) -> StoreResult<Option<ConversationRow>> {
        one(&self.rows().conversations, |row| row.id == id)
    }
    async fn conversation_by_key(&self, key: &SessionKey) -> StoreResult<Option<ConversationRow>> {
        one(&self.rows().conversations, |row| row.key == *key)
    }
    async fn conversations(&self, _: u32) -> StoreResult<Vec<ConversationRow>> {
        Ok(self.rows().conversations.clone())
    }
    async fn conversations_of(
        &self,
        _: &AccountName,
        _: &str,
        _: Option<&str>,
    ) -> StoreResult<Vec<ConversationId>> {
        Ok(Vec::new())
    }
    async fn context(&self, _: SessionId, _: u32) -> StoreResult<Context> {
        Ok(Context::default())
    }
    async fn search_history(
        &self,
        _: ConversationId,
        _: &str,
        _: u32,
    ) -> StoreResult<Vec<MessageRow>> {
        Ok(Vec::new())
    }
    async fn usage(&self, _: LineageId) -> StoreResult<Usage> {
        Ok(Usage::default())
    }
    async fn dead_letters(&self, _: ConversationId, _: u32) -> StoreResult<Vec<OutboxRow>> {
        Ok(Vec::new())
    }
    async fn outbox_item(&self, id: OutboxId) -> StoreResult<Option<OutboxRow>> {
        one(&self.rows().outbox, |row| row.id == id)
    }
    async fn open_approvals(&self, _: ConversationId) -> StoreResult<Vec<ApprovalRow>> {
        Ok(Vec::new())
    }
    async fn approval(&self, _: ApprovalId) -> StoreResult<Option<ApprovalRow>> {
        Ok(None)
    }
    async fn is_approved(
        &self,
        _: LineageId,
        _: ConversationId,
        _: Option<&str>,
        _: &str,
    ) -> StoreResult<bool> {
        Ok(false)
    }
    async fn batch(&self, _: DelegationId) -> StoreResult<Vec<DelegationRow>> {
        Ok(Vec::new())
    }
    async fn conversations_with_work(&self) -> StoreResult<Vec<ConversationId>> {
        Ok(Vec::new())
    }
    async fn session(&self, id: SessionId) -> StoreResult<Option<SessionRow>> {
        one(&self.rows().sessions, |row| row.id == id)
    }
    async fn sessions(&self, _: ConversationId, _: u32) -> StoreResult<Vec<SessionRow>> {
        Ok(Vec::new())
    }
    async fn lineage(&self, _: LineageId) -> StoreResult<Option<LineageRow>> {
        Ok(None)
    }
    async fn history(&self, session: SessionId, _: u32) -> StoreResult<Vec<MessageRow>> {
        some(&self.rows().history, |row| row.session == session)
    }
    async fn conversation_history(
        &self,
        _: ConversationId,
        _: u32,
    ) -> StoreResult<Vec<MessageRow>> {
        Ok(self.rows().history.clone())
    }
    async fn inbound_waiting(&self, _: ConversationId, _: u32) -> StoreResult<Vec<InboundRow>> {
        Ok(Vec::new())
    }
    async fn running_turns(&self, _: ConversationId) -> StoreResult<Vec<TurnRow>> {
        Ok(Vec::new())
    }
    async fn process(&self, id: ProcessId) -> StoreResult<Option<ProcessRow>> {
        one(&self.rows().processes, |row| row.id == id)
    }
    async fn processes(
        &self,
        conversation: ConversationId,
        _: u32,
    ) -> StoreResult<Vec<ProcessRow>> {
        some(&self.rows().processes, |row| {
            row.owner.conversation == conversation
        })
    }
    async fn live_processes(&self, lineage: LineageId) -> StoreResult<Vec<ProcessRow>> {
        some(&self.rows().processes, |row| {
            row.owner.lineage == lineage && row.state.is_live()
        })
    }
    async fn all_live_processes(&self) -> StoreResult<Vec<ProcessRow>> {
        some(&self.rows().processes, |row| row.state.is_live())
    }
    async fn recent_processes(&self, _: u32) -> StoreResult<Vec<ProcessRow>> {
        Ok(self.rows().processes.clone())
    }
    async fn notification(&self, id: NotificationId) -> StoreResult<Option<NotificationRow>> {
        one(&self.rows().notifications, |row| row.id == id)
    }
    async fn open_notifications(&self, _: ConversationId) -> StoreResult<Vec<OpenNotification>> {
        Ok(Vec::new())
    }
    async fn notifications(
        &self,
        conversation: ConversationId,
        _: u32,
    ) -> StoreResult<Vec<NotificationRow>> {
        some(&self.rows().notifications, |row| {
            row.conversation == conversation
        })
    }
    async fn notifications_of(&self, source: Source) -> StoreResult<Vec<NotificationRow>> {
        some(&self.rows().notifications, |row| row.source == source)
    }
    async fn decisions(&self, _: NotificationId) -> StoreResult<Vec<DecisionRow>> {
        Ok(self.rows().decisions.clone())
    }
    async fn outbox_waiting(&self, _: ConversationId, _: u32) -> StoreResult<Vec<OutboxRow>> {
        Ok(Vec::new())
    }
    async fn outbox_of_turn(&self, turn: TurnId) -> StoreResult<Vec<OutboxRow>> {
        some(&self.rows().outbox, |row| row.turn == Some(turn))
    }
    async fn outbox(&self, conversation: ConversationId, _: u32) -> StoreResult<Vec<OutboxRow>> {
        some(&self.rows().outbox, |row| row.conversation == conversation)
    }
    async fn window(&self, id: WindowId) -> StoreResult<Option<WindowRow>> {
        one(&self.rows().windows, |row| row.id == id)
    }
    async fn open_windows(&self, conversation: ConversationId) -> StoreResult<Vec<WindowRow>> {
        some(&self.rows().windows, |row| {
            row.conversation == conversation && row.closed_at.is_none()
        })
    }
    async fn delegations(
        &self,
        conversation: ConversationId,
        _: u32,
    ) -> StoreResult<Vec<DelegationRow>> {
        some(&self.rows().delegations, |row| {
            row.owner.conversation == conversation
        })
    }
    async fn delegation(&self, id: DelegationId) -> StoreResult<Option<DelegationRow>> {
        one(&self.rows().delegations, |row| row.id == id)
    }
    async fn running_delegations(&self, _: LineageId) -> StoreResult<Vec<DelegationRow>> {
        Ok(Vec::new())
    }
    async fn all_running_delegations(&self) -> StoreResult<Vec<DelegationRow>> {
        Ok(Vec::new())
    }
    async fn processes_of_delegation(&self, _: DelegationId) -> StoreResult<Vec<ProcessRow>> {
        Ok(Vec::new())
    }
    async fn idle_conversations(&self, _: Timestamp, _: u32) -> StoreResult<Vec<ConversationId>> {
        Ok(Vec::new())
    }
    async fn output_to_forget(
        &self,
        _: Timestamp,
        _: u32,
    ) -> StoreResult<Vec<(ProcessId, ConversationId)>> {
        Ok(Vec::new())
    }
    async fn find_process(
        &self,
        _: Option<ConversationId>,
        _: &str,
    ) -> StoreResult<Vec<ProcessId>> {
        Ok(Vec::new())
    }
    async fn find_session(&self, _: ConversationId, _: &str) -> StoreResult<Vec<SessionId>> {
        Ok(Vec::new())
    }
    async fn find_notification(&self, _: &str) -> StoreResult<Vec<NotificationId>> {
        Ok(Vec::new())
    }
    async fn totals(&self) -> StoreResult<Totals> {
        let conversations = self.rows().conversations.len() as u64;
        Ok(Totals {
            conversations,
            notifications: vec![("held".into(), 2)],
            ..Totals::default()
        })
    }
}

#[async_trait]
impl Processes for Fake {
    async fn start(&self, request: StartRequest) -> Result<Started, StartError> {
        Err(StartError::StartedBefore(request.process))
    }
    async fn fate(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        Err(ProcessError::Unknown(process))
    }
    async fn adopt(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        Err(ProcessError::Unknown(process))
    }
    async fn output(
        &self,
        process: ProcessId,
        from: u64,
        limit: usize,
    ) -> Result<OutputChunk, ProcessError> {
        let rows = self.rows();
        let written = rows
            .written
            .get(&process)
            .ok_or(ProcessError::Unknown(process))?;
        let begin = written.len().min(from as usize);
        let end = written.len().min(begin + limit);
        Ok(OutputChunk {
            from: begin as u64,
            bytes: written[begin..end].to_vec(),
            total: written.len() as u64,
        })
    }
    async fn tail(&self, process: ProcessId, limit: usize) -> Result<OutputChunk, ProcessError> {
        let total = self.rows().written.get(&process).map_or(0, Vec::len);
        let from = total.saturating_sub(limit) as u64;
        self.output(process, from, limit).await
    }
    async fn kill(&self, process: ProcessId, _: Duration) -> Result<KillOutcome, ProcessError> {
        Err(ProcessError::Unknown(process))
    }
    async fn write(&self, process: ProcessId, _: &[u8]) -> Result<(), ProcessError> {
        Err(ProcessError::Unknown(process))
    }
    async fn close_input(&self, process: ProcessId) -> Result<(), ProcessError> {
        Err(ProcessError::Unknown(process))
    }
    async fn acknowledge(&self, _: ProcessId) -> Result<(), ProcessError> {
        Ok(())
    }
    async fn forget(&self, _: ProcessId) -> Result<(), ProcessError> {
        Ok(())
    }
    fn wakes(&self) -> Option<mpsc::UnboundedReceiver<ProcessWake>> {
        None
    }
}
