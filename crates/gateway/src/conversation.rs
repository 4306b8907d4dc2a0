//! A conversation's task: everything that happens in a conversation happens here, one step after another (OWN-61).
//!
//! **Invariant:** a step reads facts, decides, commits, and only then changes what is remembered. A step whose commit failed has changed
//! nothing and is put back, in order, until the store answers (OWN-40).
//! **Absent on purpose:** waiting. Agents, sends and summaries run in tasks of their own and come back as a [`Wake`].

mod approving;
mod attachments;
mod background;
mod commanding;
mod compression;
mod counted;
mod dead_letters;
mod live;
mod messages;
mod recovery;
mod rest;
mod said;
mod send_file;
mod sending;
mod steering;
mod together;
mod too_long;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use homing_domain::ids::{
    ConversationId, InboundId, LineageId, NotificationId, OutboxId, ProcessId, SessionId, TurnId,
};
use homing_domain::notification::State;
use homing_domain::origin::AccountName;
use homing_domain::session::Boundary;
use homing_domain::time::Timestamp;
use homing_ports::agent::{AgentError, Partial, Summary, TurnAnswer};
use homing_ports::platform::{OutgoingKind, Receipt, SendError};
use homing_ports::store::{Change, Committed, ConversationRow, OutboxRow, StoreError};
use homing_tools::{Approval, Counting, Question};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub(crate) use commanding::{EndedBy, end_running};
pub(crate) use dead_letters::{DeadTold, LETTERS as DEAD_LETTERS, told_again};
pub(crate) use messages::explain_failure;
pub(crate) use said::told_with;
pub(crate) use send_file::Copied;
pub(crate) use steering::Steering;

use crate::inside::Inside;

/// All that can happen to a conversation.
#[derive(Debug)]
pub(crate) enum Wake {
    /// A message was stored.
    Inbound,
    /// A notification was recorded, a window opened, a hold may be over: judge again.
    Notifications,
    /// Something is left over from before: look at everything.
    LookAgain,
    /// The platform has moved this place: what is remembered of its routes is not true any more.
    Moved,
    /// Homing itself has something to say here.
    Notice(String),
    /// A place takes messages again: what could not be told there is told now.
    Reopened,
    /// Somebody wants this dead letter told once more.
    TellAgain(OutboxId),
    /// An adapter can send again.
    Ready(AccountName),
    TurnEnded {
        turn: TurnId,
        counting: Counting,
        result: Result<TurnAnswer, AgentError>,
    },
    SendEnded {
        outbox: OutboxId,
        attempt: u32,
        outcome: Result<Receipt, SendError>,
    },
    Summarized {
        from: SessionId,
        counting: Counting,
        result: Result<Summary, AgentError>,
    },
    /// A tool wants a person to be asked.
    Approve(Question, oneshot::Sender<Approval>),
    /// A tool sends a file.
    SendFile(Copied, oneshot::Sender<Result<(), String>>),
    /// A process whose end was wanted lives on.
    NotStopped {
        process: ProcessId,
        why: String,
    },
    Compress(oneshot::Sender<Result<(), String>>),
    AutoReset {
        why: Boundary,
        answer: oneshot::Sender<Result<bool, String>>,
    },
}

pub(crate) struct Conversation {
    inside: Arc<Inside>,
    id: ConversationId,
    row: ConversationRow,
    turn: Option<RunningTurn>,
    /// What the newest turn uses.
    counting: Option<Counting>,
    compressing: Option<compression::Compressing>,
    /// Questions of the turn and of the sub-agents that run, oldest first.
    questions: Vec<approving::Open>,
    /// What was offered to the turn that runs.
    offers: Option<steering::Offers>,
    wishes: steering::Wishes,
    /// Background turns, one after another, whose history was too long for the model.
    too_long_in_background: u32,
    at_rest: rest::AtRest,
    /// Asked for while a turn ran.
    compress_next: Vec<compression::Asker>,
    /// What a compression came to, and who is still to be told.
    compressed: VecDeque<compression::Told>,
    /// What has not left, oldest first: what the store has, since only this task writes it.
    outbox: VecDeque<OutboxRow>,
    sending: Option<OutboxId>,
    /// The store has more of the outbox than is remembered.
    more_waits: bool,
    /// Something was committed and could not be read again: what is remembered is not what is.
    stale: bool,
    /// The person stopped a background turn: what it was to tell waits for their next message. In the store that is the reason `turn_stopped`.
    background_waits_for_person: bool,
    /// Whether what is being sent speaks for a lineage that was closed meanwhile.
    stale_send: homing_domain::outbox::Lineage,
    postponed: Postponed,
    /// When the parts of a message that waits have all come.
    whole_at: Option<Timestamp>,
    /// What showed a turn that was interrupted and begins again, by its message.
    shown_before: BTreeMap<InboundId, String>,
    /// When the verdicts want another look: a hold expires, a failed turn may be tried again.
    judge_at: Option<Timestamp>,
    /// Background turns wait until then after one has failed.
    background_not_before: Option<Timestamp>,
}

/// The turn that runs.
#[derive(Debug)]
pub(crate) struct RunningTurn {
    pub turn: TurnId,
    pub session: SessionId,
    pub lineage: LineageId,
    pub cancel: CancellationToken,
    pub about: About,
    /// What there is of its answer, whoever sees that.
    pub said: watch::Receiver<Partial>,
    /// What people see of it meanwhile.
    pub live: Option<live::Live>,
}

impl RunningTurn {
    /// Ends it before its time. What people saw of it says so.
    pub fn call_off(self) {
        self.cancel.cancel();
        if let Some(live) = self.live {
            live.stopped();
        }
    }
}

#[derive(Debug)]
pub(crate) enum About {
    /// The messages that it answers are those that it has taken.
    Person { answer: AnswerTo },
    Background {
        told: Vec<Claimed>,
        block: String,
        answer: AnswerTo,
    },
}

/// Where an answer goes.
#[derive(Debug, Clone)]
pub(crate) struct AnswerTo {
    pub origin: homing_domain::origin::Origin,
    pub window: Option<homing_domain::ids::WindowId>,
}

/// A notification that a background turn tells.
#[derive(Debug, Clone)]
pub(crate) struct Claimed {
    pub notification: NotificationId,
    /// Turns that failed on it before.
    pub attempts: u32,
    pub facts: String,
}

/// Steps that the store did not answer, in order.
#[derive(Debug, Default)]
struct Postponed {
    wakes: VecDeque<Wake>,
    wait: Duration,
    at: Option<Timestamp>,
}

/// The longest pause before a store that does not answer is asked again.
const STORE_RETRY_LONGEST: Duration = Duration::from_secs(1);

/// Runs a conversation's task until it has nothing to do.
pub(crate) async fn run(
    inside: Arc<Inside>,
    id: ConversationId,
    mut mailbox: mpsc::UnboundedReceiver<Wake>,
) {
    // A gateway that stops settles nothing any more: what the end of its turns would wake is the next one's to find.
    let loading = load_patiently(&inside, id);
    let Some(Some(mut conversation)) = inside.stopping.run_until_cancelled(loading).await else {
        return;
    };
    loop {
        let wake = tokio::select! {
            biased;
            () = inside.stopping.cancelled() => return,
            wake = mailbox.recv() => match wake {
                Some(wake) => wake,
                None => return,
            },
            () = conversation.next_timer() => {
                conversation.on_timer().await;
                continue;
            }
            () = conversation.idle_long_enough() => match inside.mailboxes.let_go(id, &mailbox) {
                true => return,
                false => continue,
            },
        };
        conversation.receive(wake).await;
        inside.counters.done(&inside.counters.mailbox);
    }
}

/// The conversation's row and what it left over, however often the store has to be asked.
async fn load_patiently(inside: &Arc<Inside>, id: ConversationId) -> Option<Conversation> {
    let mut wait = inside.settings.retry_first;
    loop {
        match Conversation::load(inside.clone(), id).await {
            Ok(Some(conversation)) => return Some(conversation),
            Ok(None) => {
                tracing::error!(conversation.id = %id, "a conversation was woken that the store does not have");
                return None;
            }
            Err(error) => {
                tracing::warn!(conversation.id = %id, %error, "a conversation cannot be read yet; trying again");
                inside.counters.add(&inside.counters.retrying);
                let pause = inside.clock.sleep_until(inside.now().plus(wait));
                let stopped = inside.stopping.run_until_cancelled(pause).await.is_none();
                inside.counters.done(&inside.counters.retrying);
                if stopped {
                    return None;
                }
                wait = (wait * 2).min(STORE_RETRY_LONGEST);
            }
        }
    }
}

/// What others change as well, so that finding it changed is no surprise: the watcher takes back a match that the end of its process counts.
fn is_shared(change: &Change) -> bool {
    matches!(change, Change::Decide(decision) if matches!(decision.from, State::Pending | State::Held))
}

impl Conversation {
    async fn load(inside: Arc<Inside>, id: ConversationId) -> Result<Option<Self>, StoreError> {
        let Some(row) = inside.store.conversation(id).await? else {
            return Ok(None);
        };
        let mut conversation = Self {
            inside,
            id,
            row,
            turn: None,
            counting: None,
            compressing: None,
            questions: Vec::new(),
            offers: None,
            wishes: steering::Wishes::default(),
            too_long_in_background: 0,
            at_rest: rest::AtRest::default(),
            compress_next: Vec::new(),
            compressed: VecDeque::new(),
            outbox: VecDeque::new(),
            sending: None,
            more_waits: false,
            stale: false,
            background_waits_for_person: false,
            stale_send: homing_domain::outbox::Lineage::Open,
            postponed: Postponed::default(),
            whole_at: None,
            shown_before: BTreeMap::new(),
            judge_at: None,
            background_not_before: None,
        };
        conversation.recover().await?;
        Ok(Some(conversation))
    }

    /// Handles a wake, or puts it behind those that the store did not answer.
    async fn receive(&mut self, wake: Wake) {
        if !self.postponed.wakes.is_empty() {
            self.postpone(wake);
            return;
        }
        self.handle_or_postpone(wake).await;
    }

    async fn handle_or_postpone(&mut self, wake: Wake) -> bool {
        let mut wake = Some(wake);
        match self.handle(&mut wake).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(conversation.id = %self.id, %error, "a step could not be stored yet; it will be tried again");
                self.at_rest = rest::AtRest::default();
                // A step that gave its cause away has told its asker; what it left is found by looking again.
                let wake = wake.unwrap_or(Wake::LookAgain);
                self.inside.counters.add(&self.inside.counters.retrying);
                self.postponed.wakes.push_front(wake);
                let wait = self.postponed.wait.max(self.inside.settings.retry_first);
                self.postponed.at = Some(self.inside.now().plus(wait));
                self.postponed.wait = (wait * 2).min(STORE_RETRY_LONGEST);
                false
            }
        }
    }

    fn postpone(&mut self, wake: Wake) {
        self.inside.counters.add(&self.inside.counters.retrying);
        self.postponed.wakes.push_back(wake);
    }

    /// One step. On an error nothing has changed, and `wake` still holds what is to be tried again.
    async fn handle(&mut self, wake: &mut Option<Wake>) -> Result<(), StoreError> {
        self.look_up(wake.as_ref());
        if self.stale {
            self.read_again().await?;
        }
        match wake {
            Some(Wake::Inbound) => {
                // One that could not begin when its message was read: the store did not answer.
                self.start_waiting_compression().await?;
                self.read_messages().await?;
            }
            Some(Wake::Notifications) => {
                self.forget_questions();
                self.judge().await?;
            }
            Some(Wake::LookAgain) => {
                self.expire_questions().await?;
                self.start_waiting_compression().await?;
                self.read_messages().await?;
                self.judge().await?;
                self.send_next().await?;
            }
            Some(Wake::Moved) => {
                self.read_again().await?;
                self.send_next().await?;
            }
            Some(Wake::Notice(text)) => self.say_notice(text).await?,
            Some(Wake::Reopened) => self.tell_closed_again().await?,
            Some(Wake::TellAgain(outbox)) => self.tell_again(*outbox).await?,
            Some(Wake::Ready(account)) => {
                let account = account.clone();
                self.platform_is_ready(&account).await?;
            }
            Some(Wake::TurnEnded {
                turn,
                counting,
                result,
            }) => {
                self.end_turn(*turn, result).await?;
                self.count_late(counting).await?;
                self.go_on().await?;
            }
            Some(Wake::SendEnded {
                outbox,
                attempt,
                outcome,
            }) => self.settle_send(*outbox, *attempt, outcome).await?,
            Some(Wake::Summarized {
                from,
                counting,
                result,
            }) => {
                self.continue_compressed(*from, result).await?;
                self.count_late(counting).await?;
                self.go_on().await?;
            }
            Some(Wake::Approve(question, _)) => {
                let put = self.put_question(question).await?;
                if let Some(Wake::Approve(_, answer)) = wake.take() {
                    self.question_is_put(put, answer);
                }
            }
            Some(Wake::SendFile(copied, _)) => {
                let sent = self.send_copied(copied).await?;
                if let Some(Wake::SendFile(_, answer)) = wake.take() {
                    // The tool may have been cancelled.
                    let _gone = answer.send(sent);
                }
            }
            Some(Wake::NotStopped { process, why }) => self.not_stopped(*process, why).await?,
            Some(Wake::Compress(_)) => {
                if let Some(Wake::Compress(answer)) = wake.take() {
                    self.compress(compression::Asker::Program(answer)).await?;
                }
            }
            Some(Wake::AutoReset { why, .. }) => {
                let result = self.auto_reset(*why).await?;
                if let Some(Wake::AutoReset { answer, .. }) = wake.take() {
                    // The asker may have gone.
                    let _gone = answer.send(Ok(result));
                }
                self.go_on().await?;
            }
            None => {}
        }
        Ok(())
    }

    /// After something ended: what waited for it.
    async fn go_on(&mut self) -> Result<(), StoreError> {
        self.start_waiting_compression().await?;
        self.read_messages().await?;
        self.judge().await
    }

    /// Nothing runs that a new turn would have to wait for.
    fn is_free(&self) -> bool {
        self.turn.is_none() && self.compressing.is_none()
    }

    /// A line of Homing's own, to where this conversation is.
    async fn say_notice(&mut self, text: &str) -> Result<(), StoreError> {
        let to = AnswerTo {
            origin: self.row.origin.clone(),
            window: None,
        };
        let said = self.outgoing(None, None, OutgoingKind::Notice, &to, text);
        self.commit_and_send(Vec::new(), said).await.map(drop)
    }

    /// Commits what nobody else can have changed meanwhile. `false` if something was not as remembered: then everything is read again.
    async fn commit_own(&mut self, changes: Vec<Change>) -> Result<bool, StoreError> {
        let shared: Vec<bool> = changes.iter().map(is_shared).collect();
        match self.commit(changes).await? {
            Committed::Done => Ok(true),
            Committed::Unmet { index, what } => {
                match shared.get(index) {
                    Some(true) => {
                        tracing::debug!(conversation.id = %self.id, index, what, "somebody else was first; reading it again")
                    }
                    _ => {
                        tracing::error!(conversation.id = %self.id, index, what, "the store is not as this conversation remembers it; reading it again")
                    }
                }
                self.read_again().await?;
                Ok(false)
            }
        }
    }

    /// The row and the outbox as the store has them. Where it does not answer, they are read before the next step.
    async fn read_again(&mut self) -> Result<(), StoreError> {
        self.stale = true;
        if let Some(row) = self.inside.store.conversation(self.id).await? {
            self.row = row;
        }
        self.read_outbox().await?;
        self.stale = false;
        Ok(())
    }

    fn wake_me(&self, wake: Wake) {
        self.inside.mailboxes.wake(&self.inside, self.id, wake);
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        if self.postponed.at.is_some() {
            return self.postponed.at;
        }
        [
            self.judge_at,
            self.whole_at,
            self.next_send_at(),
            self.next_expiry(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    async fn next_timer(&self) {
        match self.next_deadline() {
            Some(deadline) => self.inside.clock.sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    }

    async fn on_timer(&mut self) {
        self.inside.counters.add(&self.inside.counters.mailbox);
        if self.postponed.at.take().is_some() {
            while let Some(wake) = self.postponed.wakes.pop_front() {
                self.inside.counters.done(&self.inside.counters.retrying);
                if !self.handle_or_postpone(wake).await {
                    break;
                }
                self.postponed.wait = Duration::ZERO;
            }
        } else {
            self.judge_at = self.judge_at.filter(|at| *at > self.inside.now());
            self.handle_or_postpone(Wake::LookAgain).await;
        }
        self.inside.counters.done(&self.inside.counters.mailbox);
    }

    async fn idle_long_enough(&self) {
        let busy = self.turn.is_some()
            || self.compressing.is_some()
            || self.sending.is_some()
            || !self.outbox.is_empty()
            || self.next_deadline().is_some();
        match busy {
            true => std::future::pending().await,
            false => tokio::time::sleep(self.inside.settings.idle_after).await,
        }
    }
}
