//! Questions to the person whose turn it is: may this command run?
//!
//! **Invariant:** a question is a row, bound to its person, session and exact command, before anybody can see it; the first answer settles it, and
//! what is not settled with its turn expires with it. An answer is taken before anything else that the message could mean (public bugs 81026,
//! 27352), and only by the question that it names, or the only one there is (64001).
//! **Absent on purpose:** answers from before the question left, and of people whom nobody asked.

use homing_domain::block;
use homing_domain::ids::{ApprovalId, OutboxId, TurnId};
use homing_domain::redact::redact;
use homing_domain::time::{Span, Timestamp};
use homing_ports::platform::{Button, OutgoingKind};
use homing_ports::store::{ApprovalState, Change, NewApproval, StoreError};
use homing_tools::{Approval, Question};
use tokio::sync::oneshot;

use super::together::Written;
use super::{About, AnswerTo, Conversation};
use crate::activity::Asking;
use crate::commands::inline_code;

/// Characters of a command that a question shows.
const SHOWN: usize = 3_000;

/// A question that somebody waits to have answered.
#[derive(Debug)]
pub(super) struct Open {
    pub approval: ApprovalId,
    turn: TurnId,
    person: Option<String>,
    command: String,
    asked_at: Timestamp,
    expires_at: Timestamp,
    /// The messages that ask it.
    said: Vec<OutboxId>,
    /// Somebody wrote something else meanwhile, and was told what waits.
    reminded: bool,
    waits: Option<Waits>,
}

/// The tool that waits, and the turn that is not at work meanwhile.
#[derive(Debug)]
struct Waits {
    answer: oneshot::Sender<Approval>,
    _idle: Asking,
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
        let Some(running) = self
            .turn
            .as_ref()
            .filter(|running| running.turn == question.turn)
        else {
            return Ok(Put::Answered(Approval::Unanswered));
        };
        let (is_person, to) = match &running.about {
            About::Person { answer } => (true, answer.clone()),
            About::Background { answer, .. } => (false, answer.clone()),
        };
        let (session, lineage) = (running.session, running.lineage);
        let person = to.origin.user.clone();
        let stands = self
            .inside
            .store
            .is_approved(lineage, self.id, person.as_deref(), &question.command)
            .await?;
        if stands {
            return Ok(Put::Answered(Approval::Granted));
        }
        if !is_person {
            return Ok(Put::Answered(Approval::NobodyToAsk));
        }
        let approval = self.inside.ids.next::<ApprovalId>();
        let within = self.inside.settings.approve_within;
        let asked_at = self.inside.now();
        let expires_at = asked_at.plus(within);
        let text = asked(approval, question, within);
        let mut said = self.outgoing(
            Some(lineage),
            Some(question.turn),
            OutgoingKind::Notice,
            &to,
            &text,
        );
        if let Some(last) = said.last_mut() {
            last.extras.buttons = buttons(approval);
        }
        let open = Open {
            approval,
            turn: question.turn,
            person: person.clone(),
            command: question.command.clone(),
            asked_at,
            expires_at,
            said: said.iter().map(|item| item.id).collect(),
            reminded: false,
            waits: None,
        };
        let asks = Change::AddApproval(NewApproval {
            id: approval,
            session,
            lineage,
            turn: question.turn,
            person,
            command: question.command.clone(),
            why: question.why.clone(),
            expires_at,
        });
        self.commit_and_send(vec![asks], said).await?;
        // A turn that was ended elsewhere asks nothing.
        match self.inside.store.approval(approval).await? {
            Some(_) => Ok(Put::Asked(Box::new(open))),
            None => Ok(Put::Answered(Approval::Unanswered)),
        }
    }

    pub(super) fn question_is_put(&mut self, put: Put, answer: oneshot::Sender<Approval>) {
        match put {
            Put::Answered(approval) => {
                // The tool may have been cancelled.
                let _gone = answer.send(approval);
            }
            Put::Asked(mut open) => {
                let waits = Waits {
                    answer,
                    _idle: self.inside.counters.asking(),
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

    /// The turn is over, and its questions with it: the store has let them expire.
    pub(super) fn forget_questions(&mut self) {
        let running = self.turn.as_ref().map(|running| running.turn);
        self.questions.retain(|open| Some(open.turn) == running);
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
        let has_left = !self.outbox.iter().any(|item| open.said.contains(&item.id));
        let fits = open.may_be_answered_by(written.row.origin.user.as_deref())
            && written.row.received_at > open.asked_at
            && open.expires_at > self.inside.now()
            && has_left;
        if !fits {
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
        self.send_next().await?;
        Ok(true)
    }

    /// Once for a question: what the message waits for. `true` while one is open.
    pub(super) async fn remind(&mut self, written: &Written) -> Result<bool, StoreError> {
        let Some(open) = self.questions.first() else {
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
        if let Some(open) = self.questions.first_mut() {
            open.reminded = true;
        }
        Ok(true)
    }
}

/// What a person reads.
fn asked(approval: ApprovalId, question: &Question, within: std::time::Duration) -> String {
    let command = redact(&block::clean(question.command.as_bytes())).replace("```", "'''");
    let count = command.chars().count();
    let shown: String = command.chars().take(SHOWN).collect();
    let rest = match count > SHOWN {
        true => format!("\n({} more characters are not shown)", count - SHOWN),
        false => String::new(),
    };
    format!(
        "May I run this?\n```\n{shown}\n```{rest}\n{}\n\nWithin {}: /approve {approval} for once, with `session` for the rest of this session, \
         with `always` for this command from now on; or /deny {approval}. A plain yes or no will do.",
        question.why,
        Span(within)
    )
}

fn buttons(approval: ApprovalId) -> Vec<Vec<Button>> {
    let button = |label: &str, says: String| Button {
        label: label.to_owned(),
        says,
    };
    vec![
        vec![
            button("Approve once", format!("/approve {approval}")),
            button("For this session", format!("/approve {approval} session")),
        ],
        vec![
            button("Always", format!("/approve {approval} always")),
            button("Deny", format!("/deny {approval}")),
        ],
    ]
}

/// A plain answer and nothing else. Anything that could mean more is a message.
fn yes_or_no(text: &str) -> Option<bool> {
    const YES: [&str; 10] = [
        "yes", "y", "ok", "okay", "yep", "yeah", "sure", "approve", "approved", "go ahead",
    ];
    const NO: [&str; 9] = [
        "no", "n", "nope", "deny", "denied", "don't", "do not", "never", "stop",
    ];
    let plain = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    match plain.as_str() {
        word if YES.contains(&word) => Some(true),
        word if NO.contains(&word) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_answer_is_one() {
        for yes in ["yes", "Y", " OK. ", "Go ahead!"] {
            assert_eq!(yes_or_no(yes), Some(true), "{yes}");
        }
        for no in ["no", "N", "Deny", "don't"] {
            assert_eq!(yes_or_no(no), Some(false), "{no}");
        }
        for neither in [
            "",
            "yes, but only the first",
            "no idea",
            "ok?",
            "yesterday",
            "y n",
        ] {
            assert_eq!(yes_or_no(neither), None, "{neither}");
        }
    }

    #[test]
    fn what_a_button_says_fits_and_names_its_question() {
        let approval = ApprovalId::from_number(u64::MAX);
        for button in buttons(approval).into_iter().flatten() {
            assert!(button.says.len() <= 64, "{}", button.says);
            assert!(button.says.contains(&approval.to_string()));
        }
    }

    #[test]
    fn a_question_names_command_reason_time_and_what_to_type() {
        let question = Question {
            turn: TurnId::from_number(1),
            command: "rm -rf build\u{202e}".into(),
            why: "It removes files.".into(),
        };
        let text = asked(
            ApprovalId::from_number(2),
            &question,
            std::time::Duration::from_secs(300),
        );
        for part in [
            "```\nrm -rf build\n```",
            "It removes files.",
            "5 min",
            "/approve apr_",
            "/deny apr_",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
