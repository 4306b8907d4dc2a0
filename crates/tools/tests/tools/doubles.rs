//! A store that knows some processes and remembers what was committed, a watcher that does as it is told, and a clock that makes nobody wait.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::owner::Owner;
use homing_domain::process::ProcessState;
use homing_domain::time::Timestamp;
use homing_ports::agent::ToolError;
use homing_ports::inbox::{Accepted, Edited, Inbound};
use homing_ports::processes::*;
use homing_ports::store::*;
use homing_ports::{Clock, IdSource};
use homing_tools::{
    Approval, Bound, Ended, FileToSend, Question, SessionTools, Supervision, Workshop,
};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// What the store makes of moving a command to the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moving {
    /// Not made, and not answered.
    Refused,
    /// Made, and not answered.
    AnswerLost,
}

#[derive(Debug, Default)]
pub struct Notebook {
    pub rows: Mutex<Vec<ProcessRow>>,
    pub committed: Mutex<Vec<Change>>,
    /// What becomes of the next moves; afterwards they are made.
    pub moves: Mutex<VecDeque<Moving>>,
}

impl Notebook {
    pub fn row(&self, id: ProcessId) -> Option<ProcessRow> {
        let rows = self.rows.lock().unwrap();
        rows.iter().find(|row| row.id == id).cloned()
    }

    fn move_to_background(&self, process: ProcessId) -> bool {
        let mut rows = self.rows.lock().unwrap();
        let row = rows.iter_mut().find(|row| row.id == process).unwrap();
        let moves = row.kind == ProcessKind::Foreground && row.state.is_live();
        if moves {
            (row.kind, row.notify) = (ProcessKind::Task, true);
        }
        moves
    }

    pub fn consumed(&self) -> Vec<ProcessId> {
        let committed = self.committed.lock().unwrap();
        let consumed = committed.iter().filter_map(|change| match change {
            Change::Consume { process, .. } => Some(*process),
            _ => None,
        });
        consumed.collect()
    }
}

fn unasked() -> StoreError {
    StoreError::Damaged("the tools are not expected to ask this".into())
}

macro_rules! answer {
    (process, $notebook:expr, $id:ident) => {
        Ok($notebook.row($id))
    };
    ($other:ident, $notebook:expr, $($argument:ident),*) => {{
        let _ = ($($argument),*);
        Err(unasked())
    }};
}

macro_rules! answers {
    ($port:ident; $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl $port for Notebook {
            $(async fn $name(&self, $($argument: $type),*) -> StoreResult<$answer> {
                answer!($name, self, $($argument),*)
            })*
        }
    };
}

homing_ports::every_query! { answers, Queries }

#[async_trait]
impl Store for Notebook {
    async fn take_over(&self, _: Timestamp) -> StoreResult<u64> {
        Err(unasked())
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
        let unavailable = || Err(StoreError::Unavailable("on purpose".into()));
        for change in &commit.changes {
            if let Change::MoveToBackground { process } = change {
                let planned = self.moves.lock().unwrap().pop_front();
                if planned == Some(Moving::Refused) {
                    return unavailable();
                }
                let moved = self.move_to_background(*process);
                if planned == Some(Moving::AnswerLost) {
                    return unavailable();
                }
                if !moved {
                    let what = "it does not run in the foreground".into();
                    return Ok(Committed::Unmet { index: 0, what });
                }
            }
        }
        self.committed.lock().unwrap().extend(commit.changes);
        Ok(Committed::Done)
    }
}

/// Starts what it is asked to start, and knows of an end when it is told of one.
#[derive(Debug, Default)]
pub struct Watching {
    pub notebook: Arc<Notebook>,
    pub moved: Mutex<Vec<ProcessId>>,
    pub killed: Mutex<Vec<ProcessId>>,
    /// A process has begun.
    pub began: Notify,
    /// What is waited for has ended.
    pub ends: Notify,
}

#[async_trait]
impl Supervision for Watching {
    async fn begin(
        &self,
        new: NewProcess,
        _: StartRequest,
        _: Vec<Change>,
    ) -> Result<ProcessId, ToolError> {
        let mut row = row(new.id, new.owner, ProcessState::Running);
        row.kind = new.kind;
        self.notebook.rows.lock().unwrap().push(row);
        self.began.notify_one();
        Ok(new.id)
    }
    async fn ended(&self, _: ProcessId) -> Ended {
        self.ends.notified().await;
        Ended::Ended
    }
    async fn kill(&self, process: ProcessId, _: Duration) -> Result<KillOutcome, ToolError> {
        self.killed.lock().unwrap().push(process);
        Ok(KillOutcome::Asked)
    }
    fn has_moved(&self, process: ProcessId) {
        self.moved.lock().unwrap().push(process);
    }
    async fn delegate(
        &self,
        _: Owner,
        _: &str,
        _: Vec<String>,
        _: Vec<Change>,
    ) -> Result<Vec<DelegationId>, ToolError> {
        Err(ToolError::Cancelled)
    }
    async fn delegations_ended(
        &self,
        _: ConversationId,
        _: &[DelegationId],
        _: Vec<Change>,
    ) -> Result<Vec<(DelegationId, DelegationState, String)>, ToolError> {
        Err(ToolError::Cancelled)
    }
    async fn send_file(&self, _: TurnId, _: &Owner, _: FileToSend) -> Result<(), ToolError> {
        Ok(())
    }
    async fn approve(&self, _: &Owner, _: Question) -> Result<Approval, ToolError> {
        Ok(Approval::Denied)
    }
    fn steering(&self, _: TurnId) -> Vec<InboundRow> {
        Vec::new()
    }
}

/// Programs that have written nothing.
#[derive(Debug)]
pub struct Silent;

#[async_trait]
impl Processes for Silent {
    async fn start(&self, _: StartRequest) -> Result<Started, StartError> {
        Err(StartError::CannotRun("nothing is started here".into()))
    }
    async fn fate(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        Err(ProcessError::Unknown(process))
    }
    async fn adopt(&self, process: ProcessId) -> Result<Fate, ProcessError> {
        Err(ProcessError::Unknown(process))
    }
    async fn output(&self, _: ProcessId, _: u64, _: usize) -> Result<OutputChunk, ProcessError> {
        Ok(OutputChunk::default())
    }
    async fn tail(&self, _: ProcessId, _: usize) -> Result<OutputChunk, ProcessError> {
        Ok(OutputChunk::default())
    }
    async fn kill(&self, _: ProcessId, _: Duration) -> Result<KillOutcome, ProcessError> {
        Ok(KillOutcome::Asked)
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
        None
    }
}

/// Time passes by being waited for.
#[derive(Debug, Default)]
pub struct Hurried(AtomicI64);

#[async_trait]
impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Acquire))
    }
    async fn sleep_until(&self, deadline: Timestamp) {
        self.0.fetch_max(deadline.millis(), Ordering::AcqRel);
        tokio::task::yield_now().await;
    }
}

pub struct Stage {
    pub notebook: Arc<Notebook>,
    pub watching: Arc<Watching>,
    pub cancel: CancellationToken,
    workshop: Workshop,
}

impl Stage {
    pub fn new() -> Stage {
        Stage::with_workspace(PathBuf::from("."))
    }

    pub fn with_workspace(workspace: PathBuf) -> Stage {
        let notebook = Arc::<Notebook>::default();
        let watching = Arc::new(Watching {
            notebook: notebook.clone(),
            ..Watching::default()
        });
        let clock = Arc::<Hurried>::default();
        let workshop = Workshop {
            store: notebook.clone(),
            processes: Arc::new(Silent),
            supervision: watching.clone(),
            clock: clock.clone(),
            ids: IdSource::new(clock),
            workspace,
            data: None,
            child_environment: Vec::new(),
            control: None,
            kill_grace: Duration::from_secs(1),
            inputs: Arc::default(),
        };
        Stage {
            notebook,
            watching,
            cancel: CancellationToken::new(),
            workshop,
        }
    }

    pub fn closing(mut self, data: PathBuf) -> Stage {
        self.workshop.data = Some(data);
        self
    }

    /// A process that was started in this conversation: by the session itself, or by a sub-agent of it.
    pub fn process(&self, number: u64, by: Option<u64>, state: ProcessState) -> ProcessId {
        let id = ProcessId::from_number(number);
        let mut rows = self.notebook.rows.lock().unwrap();
        rows.push(row(id, owner(by), state));
        id
    }

    pub fn tools(&self) -> SessionTools {
        self.tools_bound(owner(None), Bound::Turn(TurnId::from_number(1)))
    }

    pub fn tools_of_sub_agent(&self, number: u64) -> SessionTools {
        let delegation = DelegationId::from_number(number);
        self.tools_bound(owner(Some(number)), Bound::Delegation(delegation))
    }

    fn tools_bound(&self, owner: Owner, bound: Bound) -> SessionTools {
        SessionTools::new(
            self.workshop.clone(),
            owner,
            "agent:main:telegram:group:-100:42".into(),
            bound,
            self.cancel.clone(),
        )
    }
}

fn owner(delegation: Option<u64>) -> Owner {
    let key: SessionKey = "agent:main:telegram:group:-100:42".parse().unwrap();
    Owner {
        conversation: ConversationId::from_number(1),
        session: SessionId::from_number(1),
        lineage: LineageId::from_number(1),
        origin: Origin::from_key(&key),
        window: None,
        delegation: delegation.map(DelegationId::from_number),
    }
}

fn row(id: ProcessId, owner: Owner, state: ProcessState) -> ProcessRow {
    ProcessRow {
        id,
        owner,
        kind: ProcessKind::Task,
        command: "make".into(),
        directory: "/".into(),
        notify: true,
        watch: Vec::new(),
        state,
        ending: None,
        created_at: Timestamp(0),
        ended_at: (!state.is_live()).then_some(Timestamp(1)),
        output_total: 0,
        output_tail: Vec::new(),
        failure: None,
        consumed: None,
        watched: Watched::default(),
    }
}
