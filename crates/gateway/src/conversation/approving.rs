//! Questions to a person: may this command run? Asked by the person's own turn and, where the settings allow it, by background work that they had
//! started, where it comes home (OWN-67).
//!
//! **Invariant:** a question is a row, bound to its person, session and exact command, before anybody can see it; the first answer settles it, and
//! what is not settled with the turn or sub-agent that asks expires with it. All of the command is shown. An answer is taken before anything else that the message could mean (public bugs 81026,
//! 27352), and only by the question that it names, or the only one there is (64001).
//! **Absent on purpose:** answers from before the question left, and of people whom nobody asked. Asking in place of somebody who is not known.

mod wording;

use homing_domain::ids::{ApprovalId, DelegationId, LineageId, OutboxId, SessionId, TurnId};
use homing_domain::key::ChatType;
use homing_domain::origin::Origin;
use homing_domain::time::Timestamp;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{
    ApprovalState, Asker, Change, DelegationState, NewApproval, OutboxState, StoreError,
};
use homing_tools::{Approval, Question};
use tokio::sync::oneshot;

use super::together::Written;
use super::{About, AnswerTo, Claimed, Conversation};
use crate::activity::Asking;
use crate::commands::inline_code;
use crate::delegations::Asks;
use crate::settings::AskInBackground;
use wording::{asked, buttons, yes_or_no};

/// A question that somebody waits to have answered.
#[derive(Debug)]
pub(super) struct Open {
    pub approval: ApprovalId,
    asker: Asker,
    /// Whose session asks: a plain word in another one is no answer.
    lineage: LineageId,
    person: Option<String>,
    command: String,
    asked_at: Timestamp,
    expires_at: Timestamp,
    /// The messages that ask it.
    said: Vec<OutboxId>,
    /// Somebody wrote something else meanwhile, and was told what waits.
    reminded: bool,
    /// Of a sub-agent: the first of those that were started together.
    batch: Option<DelegationId>,
    waits: Option<Waits>,
}

/// Who would be asked, where, and for which session.
struct Addressee {
    to: AnswerTo,
    session: SessionId,
    lineage: LineageId,
    person: Person,
    in_background: bool,
    batch: Option<DelegationId>,
}

/// Whom an answer is taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Person {
    Named(String),
    /// The platform names nobody, and whoever is there may answer.
    Anyone,
    /// Several people, or somebody of many.
    Unknown,
}

impl Person {
    fn of(origin: &Origin) -> Person {
        match &origin.user {
            Some(user) => Person::Named(user.clone()),
            None if origin.chat_type == ChatType::Dm => Person::Anyone,
            None => Person::Unknown,
        }
    }
}

/// The tool that waits, and the turn that is not at work meanwhile.
#[derive(Debug)]
struct Waits {
    answer: oneshot::Sender<Approval>,
    _idle: Asking,
    _stalls: Option<Asks>,
}

impl Waits {
    fn is_waiting(&self) -> bool {
        !self.answer.is_closed()
    }
}

/// What became of a question that was to be put.
pub(super) enum Put {
    /// It needs no asking.
    Answered(Approval),
    Asked(Box<Open>),
}

impl Open {
    fn may_be_answered_by(&self, person: Option<&str>) -> bool {
        self.person.is_none() || self.person.as_deref() == person
    }
}

impl Conversation {
    /// Commits a question and sends it, if it has to be asked and can be.
    pub(super) async fn put_question(&mut self, question: &Question) -> Result<Put, StoreError> {
        let Some(addressee) = self.addressee(question.asker).await? else {
            return Ok(Put::Answered(Approval::Unanswered));
        };
        let Addressee {
            to,
            session,
            lineage,
            person,
            in_background,
            batch,
        } = addressee;
        let person = match person {
            Person::Named(person) => Some(person),
            Person::Anyone => None,
            Person::Unknown => return Ok(Put::Answered(Approval::NobodyToAsk)),
        };
        let stands = self
            .inside
            .store
            .is_approved(lineage, self.id, person.as_deref(), &question.command)
            .await?;
        if stands {
            return Ok(Put::Answered(Approval::Granted));
        }
        let is_current = self.row.current.map(|current| current.lineage) == Some(lineage);
        let may_ask = self.inside.settings.approve_in_background == AskInBackground::Ask;
        if in_background && !(may_ask && is_current) {
            return Ok(Put::Answered(Approval::NobodyToAsk));
        }
        let approval = self.inside.ids.next::<ApprovalId>();
        let within = self.inside.settings.approve_within;
        let asked_at = self.inside.now();
        let expires_at = asked_at.plus(within);
        let text = asked(approval, question, within, in_background);
        let turn = match question.asker {
            Asker::Turn(turn) => Some(turn),
            Asker::Delegation(_) => None,
        };
        let mut said = self.outgoing(Some(lineage), turn, OutgoingKind::Notice, &to, &text);
        if let Some(last) = said.last_mut() {
            last.extras.buttons = buttons(approval);
        }
        let open = Open {
            approval,
            asker: question.asker,
            lineage,
            person: person.clone(),
            command: question.command.clone(),
            asked_at,
            expires_at,
            said: said.iter().map(|item| item.id).collect(),
            reminded: false,
            batch,
            waits: None,
        };
        let asks = Change::AddApproval(NewApproval {
            id: approval,
            session,
            lineage,
            asker: question.asker,
            person,
            command: question.command.clone(),
            why: question.why.clone(),
            expires_at,
        });
        Ok(match self.commit_and_send(vec![asks], said).await? {
            true => Put::Asked(Box::new(open)),
            // What was ended elsewhere asks nothing.
            false => Put::Answered(Approval::Unanswered),
        })
    }

    /// `None` if whoever asks does not run any more.
    async fn addressee(&self, asker: Asker) -> Result<Option<Addressee>, StoreError> {
        let turn = match asker {
            Asker::Turn(turn) => turn,
            Asker::Delegation(delegation) => {
                let row = self.inside.store.delegation(delegation).await?;
                let row = row.filter(|row| row.state == DelegationState::Running);
                return Ok(row.map(|row| Addressee {
                    person: Person::of(&row.owner.origin),
                    session: row.owner.session,
                    lineage: row.owner.lineage,
                    to: AnswerTo {
                        origin: row.owner.origin,
                        window: row.owner.window,
                    },
                    in_background: true,
                    batch: Some(row.batch.unwrap_or(row.id)),
                }));
            }
        };
        let Some(running) = self.turn.as_ref().filter(|running| running.turn == turn) else {
            return Ok(None);
        };
        let (to, person) = match &running.about {
            About::Person { answer } => {
                let user = answer.origin.user.clone();
                (answer, user.map_or(Person::Anyone, Person::Named))
            }
            About::Background { told, answer, .. } => (answer, self.starter_of(told).await?),
        };
        Ok(Some(Addressee {
            to: to.clone(),
            session: running.session,
            lineage: running.lineage,
            person,
            in_background: matches!(running.about, About::Background { .. }),
            batch: None,
        }))
    }

    /// Who had all of this work started. Where it is the work of several, none of them can speak for the others.
    async fn starter_of(&self, told: &[Claimed]) -> Result<Person, StoreError> {
        let open = self.inside.store.open_notifications(self.id).await?;
        let mut people = open
            .iter()
            .filter(|open| {
                let id = open.notification.id;
                told.iter().any(|claimed| claimed.notification == id)
            })
            .map(|open| {
                let owner = open.owner.as_ref();
                owner.map_or(Person::Unknown, |owner| Person::of(&owner.origin))
            });
        let first = people.next().unwrap_or(Person::Unknown);
        Ok(match people.all(|person| person == first) {
            true => first,
            false => Person::Unknown,
        })
    }

    pub(super) fn question_is_put(&mut self, put: Put, answer: oneshot::Sender<Approval>) {
        match put {
            Put::Answered(approval) => {
                // The tool may have been cancelled.
                let _gone = answer.send(approval);
            }
            Put::Asked(mut open) => {
                // What waits for a sub-agent first: with both, nothing is at work.
                let stalls = open.batch.map(|first| Asks::begin(&self.inside, first));
                let waits = Waits {
                    answer,
                    _idle: self.inside.counters.asking(),
                    _stalls: stalls,
                };
                open.waits = Some(waits);
                self.questions.push(*open);
            }
        }
    }

    /// It is settled in the store: the tool goes on.
    pub(super) fn question_is_settled(&mut self, approval: ApprovalId, answer: Approval) {
        let found = self
            .questions
            .iter()
            .position(|open| open.approval == approval);
        if let Some(waits) = found.and_then(|index| self.questions.remove(index).waits) {
            let _gone = waits.answer.send(answer);
        }
    }

    /// A turn or sub-agent is over, and its questions with it: the store has let them expire.
    pub(super) fn forget_questions(&mut self) {
        let running = self.turn.as_ref().map(|running| running.turn);
        self.questions.retain(|open| match open.asker {
            Asker::Turn(turn) => Some(turn) == running,
            // Nobody waits for the answer any more.
            Asker::Delegation(_) => open.waits.as_ref().is_some_and(Waits::is_waiting),
        });
    }

    /// A sub-agent was ended.
    pub(super) fn forget_questions_of(&mut self, delegation: DelegationId) {
        let asker = Asker::Delegation(delegation);
        self.questions.retain(|open| open.asker != asker);
    }

    /// What the turn that runs waits for: its own question, or one of a sub-agent that it waits for.
    fn question_of(&mut self, turn: TurnId) -> Option<&mut Open> {
        let delegations = &self.inside.delegations;
        let waited_for = |open: &Open| {
            open.batch
                .is_some_and(|first| delegations.is_waited_for(first))
        };
        let theirs = |open: &&mut Open| open.asker == Asker::Turn(turn) || waited_for(open);
        self.questions.iter_mut().find(theirs)
    }

    pub(super) fn next_expiry(&self) -> Option<Timestamp> {
        self.questions.iter().map(|open| open.expires_at).min()
    }

    /// Nobody answered in time: that is a refusal.
    pub(super) async fn expire_questions(&mut self) -> Result<(), StoreError> {
        let now = self.inside.now();
        while let Some(open) = self.questions.iter().find(|open| open.expires_at <= now) {
            let approval = open.approval;
            let expired = Change::SettleApproval {
                approval,
                state: ApprovalState::Expired,
            };
            // Unmet if it was settled with its turn, which is as good.
            let _settled = self.commit(vec![expired]).await?;
            self.question_is_settled(approval, Approval::Unanswered);
        }
        Ok(())
    }

    /// `true` if the message was the answer to the only question that is open.
    pub(super) async fn answers_question(&mut self, written: &Written) -> Result<bool, StoreError> {
        let Some(yes) = yes_or_no(&written.row.text) else {
            return Ok(false);
        };
        let [open] = self.questions.as_slice() else {
            return Ok(false);
        };
        let current = self.row.current.map(|current| current.lineage);
        let fits = open.may_be_answered_by(written.row.origin.user.as_deref())
            && written.row.received_at > open.asked_at
            && open.expires_at > self.inside.now()
            && current == Some(open.lineage);
        if !fits || !self.has_arrived(&open.said).await? {
            return Ok(false);
        }
        let (approval, command) = (open.approval, inline_code(&open.command));
        let (state, answer, text) = match yes {
            true => (
                ApprovalState::ApprovedOnce,
                Approval::Granted,
                format!("Approved once: {command}."),
            ),
            false => (
                ApprovalState::Denied,
                Approval::Denied,
                format!("Denied: {command}."),
            ),
        };
        let to = AnswerTo {
            origin: written.row.origin.clone(),
            window: written.row.window,
        };
        let said = self.outgoing(None, None, OutgoingKind::Reply, &to, &text);
        let mut changes = vec![Change::SettleApproval { approval, state }];
        changes.extend(
            written
                .parts()
                .map(|inbound| Change::FinishInbound { inbound }),
        );
        changes.extend(said.into_iter().map(Change::Enqueue));
        if !self.commit_own(changes).await? {
            // Settled by someone else: then this message is no answer.
            self.questions.retain(|open| open.approval != approval);
            return Ok(false);
        }
        self.stale = true;
        self.question_is_settled(approval, answer);
        self.read_again().await?;
        self.send_soon().await;
        Ok(true)
    }

    /// All of it, as far as the platform says. What nobody can have read has no answer.
    async fn has_arrived(&self, said: &[OutboxId]) -> Result<bool, StoreError> {
        for id in said {
            let item = self.inside.store.outbox_item(*id).await?;
            if item.is_none_or(|item| item.state != OutboxState::Sent) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A part of a question will never arrive: it is over as if its time were.
    pub(super) fn question_is_unseen(&mut self, part: OutboxId) {
        let now = self.inside.now();
        for open in &mut self.questions {
            if open.said.contains(&part) {
                open.expires_at = open.expires_at.min(now);
            }
        }
    }

    /// Once for a question of the turn that runs: what the message waits for. `true` while one is open.
    pub(super) async fn remind(&mut self, written: &Written) -> Result<bool, StoreError> {
        let running = self.turn.as_ref().map(|running| running.turn);
        let Some(open) = running.and_then(|turn| self.question_of(turn)) else {
            return Ok(false);
        };
        if open.reminded {
            return Ok(true);
        }
        let text = format!(
            "Your message comes next. Before that I wait for an answer: may I run {}? /approve {id} or /deny {id}",
            inline_code(&open.command),
            id = open.approval
        );
        let to = AnswerTo {
            origin: written.row.origin.clone(),
            window: written.row.window,
        };
        let said = self.outgoing(None, None, OutgoingKind::Reply, &to, &text);
        self.commit_and_send(Vec::new(), said).await?;
        if let Some(open) = running.and_then(|turn| self.question_of(turn)) {
            open.reminded = true;
        }
        Ok(true)
    }
}
