//! What is dangerous is shown to the person before it runs, all of it; who cannot be asked has refused.

use homing_domain::danger::{self, Danger};
use homing_ports::agent::ToolError;
use homing_ports::store::Asker;

use super::Failure;
use crate::{Approval, Bound, Question, SessionTools};

/// Reasons that are shown.
const REASONS: usize = 4;
/// Characters that somebody is asked to read before they answer: a few messages. What is longer nobody would read to its end.
const LONGEST: usize = 10_000;

impl SessionTools {
    pub(super) async fn ask_if_dangerous(&self, command: &str) -> Result<(), Failure> {
        self.ask(&danger::look(command), danger::grant_key(command))
            .await
    }

    /// `exact` is what an answer is bound to, and what the person reads.
    pub(super) async fn ask(&self, dangers: &[Danger], exact: String) -> Result<(), Failure> {
        if dangers.is_empty() {
            return Ok(());
        }
        let why = reasons(dangers);
        let asker = match self.bound {
            Bound::Turn(turn) => Asker::Turn(turn),
            Bound::Delegation(delegation) => Asker::Delegation(delegation),
            Bound::Generation(_) | Bound::Owner => return Err(refused(NOBODY, &why)),
        };
        let length = danger::readable(&exact).chars().count();
        if length > LONGEST {
            let too_long = format!(
                "the person has to read it first, and {length} characters are more than the {LONGEST} that anyone is asked to read; \
                 split it up, or put what is harmless in it into a file with `write_file`"
            );
            return Err(refused(&too_long, &why));
        }
        let question = Question {
            asker,
            command: exact,
            why: why.clone(),
        };
        let asked = self.workshop.supervision.approve(&self.owner, question);
        let approval = match self.cancel.run_until_cancelled(asked).await {
            Some(approval) => approval?,
            None => return Err(Failure::Turn(ToolError::Cancelled)),
        };
        let refusal = match (approval, asker) {
            (Approval::Granted, _) => return Ok(()),
            (Approval::Denied, _) => "the person was asked and said no",
            (Approval::Unanswered, _) => "the person was asked and did not answer in time",
            (Approval::NobodyToAsk, Asker::Turn(_)) => NOBODY_IN_BACKGROUND,
            (Approval::NobodyToAsk, Asker::Delegation(_)) => NOBODY,
        };
        Err(refused(refusal, &why))
    }
}

const NOBODY: &str = "only the person can allow that, and in a sub-agent nobody can be asked; do it another way, or answer that it is needed";
const NOBODY_IN_BACKGROUND: &str = "only the person can allow that, and in a background turn nobody is asked; say in your answer what is needed";

fn refused(refusal: &str, why: &str) -> Failure {
    Failure::Answer(format!("not run: {refusal}. {why}"))
}

fn reasons(dangers: &[Danger]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for danger in dangers {
        if !reasons.contains(&danger.why.as_str()) {
            reasons.push(&danger.why);
        }
    }
    reasons.truncate(REASONS);
    reasons.join(" ")
}
