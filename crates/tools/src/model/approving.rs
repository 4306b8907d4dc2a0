//! A dangerous command is shown to the person before it runs; who cannot be asked has refused.

use homing_domain::danger;

use super::Failure;
use crate::{Approval, Bound, Question, SessionTools};

/// Reasons that are shown.
const REASONS: usize = 4;

impl SessionTools {
    pub(super) async fn ask_if_dangerous(&self, command: &str) -> Result<(), Failure> {
        let dangers = danger::look(command);
        if dangers.is_empty() {
            return Ok(());
        }
        let mut reasons: Vec<&str> = Vec::new();
        for danger in &dangers {
            if !reasons.contains(&danger.why.as_str()) {
                reasons.push(&danger.why);
            }
        }
        reasons.truncate(REASONS);
        let why = reasons.join(" ");
        let Bound::Turn(turn) = self.bound else {
            return Err(Failure::Answer(format!(
                "not run: {why} Only the person can allow that, and in a sub-agent nobody can be asked. Do it another way, or answer that it is needed."
            )));
        };
        let question = Question {
            turn,
            command: danger::grant_key(command),
            why: why.clone(),
        };
        let asked = self.workshop.supervision.approve(&self.owner, question);
        let approval = match self.cancel.run_until_cancelled(asked).await {
            Some(approval) => approval?,
            None => return Err(Failure::Turn(homing_ports::agent::ToolError::Cancelled)),
        };
        let refusal = match approval {
            Approval::Granted => return Ok(()),
            Approval::Denied => "the person was asked and said no",
            Approval::Unanswered => "the person was asked and did not answer in time",
            Approval::NobodyToAsk => {
                "only the person can allow that, and in a background turn nobody is asked; say in your answer what is needed"
            }
        };
        Err(Failure::Answer(format!("not run: {refusal}. {why}")))
    }
}
