//! A store that only remembers what was committed, processes that do as they are told, and a clock that never makes anyone wait.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::Clock;
use homing_ports::inbox::{Accepted, Edited, Inbound};
use homing_ports::processes::*;
use homing_ports::store::*;
use tokio::sync::{Notify, mpsc};

/// Knows some living processes.
#[derive(Debug, Default)]
pub struct Notebook {
    pub live: Mutex<Vec<ProcessRow>>,
    pub committed: Mutex<Vec<Change>>,
    pub changed: Notify,
    /// What an answer about a process's notifications waits for, after it has been asked.
    pub held_up: Option<HeldUp>,
    /// How many ends of processes are not stored.
    pub refused_ends: Mutex<u32>,
    /// How many steps of watching are stored, and not answered.
    pub lost_answers: Mutex<u32>,
}

#[derive(Debug, Default)]
pub struct HeldUp {
    pub asked: Notify,
    pub go_on: Notify,
}

#[async_trait]
impl Store for Notebook {
    async fn take_over(&self, _: Timestamp) -> StoreResult<u64> {
        Ok(1)
    }
    async fn accept(&self, _: Inbound, _: SessionKey, _: Timestamp) -> StoreResult<Accepted> {
        Err(unasked())
    }
    async fn edit_inbound(&self, _: &AccountName, _: &str, _: &str) -> StoreResult<Edited> {
        Err(unasked())
    }
    async fn move_chat(
        &self,
        _: &AccountName,
        _: &str,
        _: &str,
    ) -> StoreResult<Vec<ConversationId>> {
        Err(unasked())
    }
    async fn open_conversation(
        &self,
        _: &SessionKey,
        _: &Origin,
        _: Timestamp,
    ) -> StoreResult<ConversationRow> {
        Err(unasked())
    }
    async fn clean(&self, _: Timestamp, _: u32) -> StoreResult<u64> {
        Err(unasked())
    }
    async fn commit(&self, commit: Commit) -> StoreResult<Committed> {
        let is_end = |change: &Change| matches!(change, Change::ProcessEnded { .. });
        if commit.changes.iter().any(is_end) {
            let mut refused = self.refused_ends.lock().unwrap();
            if *refused > 0 {
                *refused -= 1;
                return Err(StoreError::Unavailable("on purpose".into()));
            }
        }
        let again = |change: &Change| self.is_told(change);
        if let Some(index) = commit.changes.iter().position(again) {
            let what = "it was told".into();
            return Ok(Committed::Unmet { index, what });
        }
        let mut lost = false;
        for change in &commit.changes {
            if let Change::Watched { process, watched } = change {
                let mut live = self.live.lock().unwrap();
                let row = live.iter_mut().find(|row| row.id == *process);
                row.unwrap().watched = watched.clone();
                let mut left = self.lost_answers.lock().unwrap();
                lost |= *left > 0;
                *left = left.saturating_sub(1);
            }
        }
        self.committed.lock().unwrap().extend(commit.changes);
        self.changed.notify_one();
        match lost {
            true => Err(StoreError::Unavailable("the answer is lost".into())),
            false => Ok(Committed::Done),
        }
    }
}

impl Notebook {
    /// As the keys of the schema say it.
    fn is_told(&self, change: &Change) -> bool {
        let of = |change: &Change| match change {
            Change::AddNotification {
                source,
                kind,
                sequence,
                ..
            } => Some((*source, *kind, *sequence)),
            _ => None,
        };
        let committed = self.committed.lock().unwrap();
        of(change).is_some() && committed.iter().any(|told| of(told) == of(change))
    }
}

fn unasked() -> StoreError {
    StoreError::Unavailable("the watcher is not expected to ask this".into())
}

macro_rules! queries {
    (answered { $($answered:item)* } unasked { $($name:ident($($type:ty),*) -> $answer:ty;)* }) => {
        #[async_trait]
        impl Queries for Notebook {
            $($answered)*
            $(async fn $name(&self, $(_: $type),*) -> StoreResult<$answer> { Err(unasked()) })*
        }
    };
}

queries! {
    answered {
        async fn all_live_processes(&self) -> StoreResult<Vec<ProcessRow>> {
            Ok(self.live.lock().unwrap().clone())
        }
        async fn process(&self, id: ProcessId) -> StoreResult<Option<ProcessRow>> {
            Ok(self.live.lock().unwrap().iter().find(|row| row.id == id).cloned())
        }
        async fn notifications_of(&self, _: Source) -> StoreResult<Vec<NotificationRow>> {
            if let Some(held_up) = &self.held_up {
                held_up.asked.notify_one();
                held_up.go_on.notified().await;
            }
            Ok(Vec::new())
        }
    }
    unasked {
        conversation(ConversationId) -> Option<ConversationRow>;
        conversation_by_key(&SessionKey) -> Option<ConversationRow>;
        conversations(u32) -> Vec<ConversationRow>;
        conversations_of(&AccountName, &str, Option<&str>) -> Vec<ConversationId>;
        conversations_with_work() -> Vec<ConversationId>;
        session(SessionId) -> Option<SessionRow>;
        sessions(ConversationId, u32) -> Vec<SessionRow>;
        lineage(LineageId) -> Option<LineageRow>;
        history(SessionId, u32) -> Vec<MessageRow>;
        conversation_history(ConversationId, u32) -> Vec<MessageRow>;
        context(SessionId, u32) -> Context;
        search_history(ConversationId, &str, u32) -> Vec<MessageRow>;
        usage(LineageId) -> Usage;
        inbound_waiting(ConversationId, u32) -> Vec<InboundRow>;
        running_turns(ConversationId) -> Vec<TurnRow>;
        processes(ConversationId, u32) -> Vec<ProcessRow>;
        live_processes(LineageId) -> Vec<ProcessRow>;
        recent_processes(u32) -> Vec<ProcessRow>;
        notification(NotificationId) -> Option<NotificationRow>;
        open_notifications(ConversationId) -> Vec<OpenNotification>;
        notifications(ConversationId, u32) -> Vec<NotificationRow>;
        decisions(NotificationId) -> Vec<DecisionRow>;
        outbox_waiting(ConversationId, u32) -> Vec<OutboxRow>;
        outbox_of_turn(TurnId) -> Vec<OutboxRow>;
        dead_letters(ConversationId, u32) -> Vec<OutboxRow>;
        outbox_item(OutboxId) -> Option<OutboxRow>;
        open_approvals(ConversationId) -> Vec<ApprovalRow>;
        approval(ApprovalId) -> Option<ApprovalRow>;
        is_approved(LineageId, ConversationId, Option<&str>, &str) -> bool;
        outbox(ConversationId, u32) -> Vec<OutboxRow>;
        window(WindowId) -> Option<WindowRow>;
        open_windows(ConversationId) -> Vec<WindowRow>;
        delegations(ConversationId, u32) -> Vec<DelegationRow>;
        delegation(DelegationId) -> Option<DelegationRow>;
        batch(DelegationId) -> Vec<DelegationRow>;
        running_delegations(LineageId) -> Vec<DelegationRow>;
        all_running_delegations() -> Vec<DelegationRow>;
        processes_of_delegation(DelegationId) -> Vec<ProcessRow>;
        idle_conversations(Timestamp, u32) -> Vec<ConversationId>;
        output_to_forget(Timestamp, u32) -> Vec<(ProcessId, ConversationId)>;
        find_process(Option<ConversationId>, &str) -> Vec<ProcessId>;
        find_session(ConversationId, &str) -> Vec<SessionId>;
        find_notification(&str) -> Vec<NotificationId>;
        totals() -> Totals;
    }
}

/// What a look at a process finds, and what it waits for before it says so.
pub struct Seen {
    pub fate: Fate,
    pub held_until: Option<Arc<Notify>>,
}

/// Everything runs, unless somebody says what the next looks find.
pub struct Obedient {
    pub wakes: Mutex<Option<mpsc::UnboundedReceiver<ProcessWake>>>,
    pub next_looks: Mutex<BTreeMap<ProcessId, VecDeque<Seen>>>,
    /// Each process that was looked at, when the look began.
    pub looks: mpsc::UnboundedSender<ProcessId>,
    /// What every process has written.
    pub written: Mutex<Vec<u8>>,
    /// How many reads of it fail that begin behind its beginning.
    pub unreadable: Mutex<u32>,
    /// How many kills the supervisors do not take.
    pub refusals: Mutex<u32>,
    /// Each kill, and whether it was taken.
    pub kills: mpsc::UnboundedSender<(ProcessId, bool)>,
}

pub fn running() -> Fate {
    let identity = Identity {
        pid: 1,
        start_time: 1,
    };
    Fate::Running(Started {
        supervisor: identity,
        program: identity,
        at: Timestamp(0),
    })
}

#[async_trait]
impl Processes for Obedient {
    async fn start(&self, _: StartRequest) -> Result<Started, StartError> {
        Err(StartError::CannotRun("nothing is started here".into()))
    }
    async fn fate(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        self.looks.send(process).unwrap();
        let next = self
            .next_looks
            .lock()
            .unwrap()
            .get_mut(&process)
            .and_then(VecDeque::pop_front);
        let Some(seen) = next else {
            return Ok(running());
        };
        if let Some(release) = seen.held_until {
            release.notified().await;
        }
        Ok(seen.fate)
    }
    async fn adopt(&self, _: ProcessId) -> Result<Fate, ProcessError> {
        Ok(running())
    }
    async fn output(
        &self,
        process: ProcessId,
        from: u64,
        _: usize,
    ) -> Result<OutputChunk, ProcessError> {
        let written = self.written.lock().unwrap();
        let offset = usize::try_from(from).unwrap().min(written.len());
        let mut unreadable = self.unreadable.lock().unwrap();
        if offset > 0 && *unreadable > 0 {
            *unreadable -= 1;
            return Err(ProcessError::Folder {
                process,
                source: std::io::Error::other("it cannot be read on purpose"),
            });
        }
        Ok(OutputChunk {
            from,
            bytes: written[offset..].to_vec(),
            total: written.len() as u64,
        })
    }
    async fn tail(&self, _: ProcessId, _: usize) -> Result<OutputChunk, ProcessError> {
        Ok(OutputChunk::default())
    }
    async fn kill(&self, process: ProcessId, _: Duration) -> Result<KillOutcome, ProcessError> {
        let taken = {
            let mut refusals = self.refusals.lock().unwrap();
            let taken = *refusals == 0;
            *refusals = refusals.saturating_sub(1);
            taken
        };
        self.kills.send((process, taken)).unwrap();
        match taken {
            true => Ok(KillOutcome::Asked),
            false => Err(ProcessError::Folder {
                process,
                source: std::io::Error::other("it does not read what it is sent"),
            }),
        }
    }
    async fn write(&self, _: ProcessId, _: &[u8]) -> Result<(), ProcessError> {
        Ok(())
    }
    async fn close_input(&self, _: ProcessId) -> Result<(), ProcessError> {
        Ok(())
    }
    async fn acknowledge(&self, _: ProcessId) -> Result<(), ProcessError> {
        Ok(())
    }
    async fn forget(&self, _: ProcessId) -> Result<(), ProcessError> {
        Ok(())
    }
    fn wakes(&self) -> Option<mpsc::UnboundedReceiver<ProcessWake>> {
        self.wakes.lock().unwrap().take()
    }
}

/// Time passes by being waited for.
#[derive(Debug, Default)]
pub struct Hurried {
    now: AtomicI64,
    pub waits: Mutex<Vec<i64>>,
}

#[async_trait]
impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::Acquire))
    }
    async fn sleep_until(&self, deadline: Timestamp) {
        let before = self.now.fetch_max(deadline.millis(), Ordering::AcqRel);
        self.waits.lock().unwrap().push(deadline.millis() - before);
        tokio::task::yield_now().await;
    }
}
