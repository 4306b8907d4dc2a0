//! What people write while a turn runs: taken up between two rounds, and once more before the turn ends.
//!
//! **Invariant:** the model reads it in the same words as the next turn will, and after what it had said itself.

use homing_ports::agent::{AgentError, Entry, EntryRole, Steered};

use super::{Turn, tool_error};
use crate::client::{AssistantMessage, ChatMessage, Completion};
use crate::kept::Kept;
use crate::prompt;
use crate::transcript::add_user;

impl Turn<'_> {
    /// After a round of calls.
    pub(super) async fn take_up(&mut self) -> Result<(), AgentError> {
        let steered = self.tools.steering(None).await.map_err(tool_error)?;
        self.tell(steered);
        Ok(())
    }

    /// `true` if somebody wrote while the model answered: what it said stays where it was shown, and it goes on.
    pub(super) async fn goes_on_after(
        &mut self,
        completion: &Completion,
    ) -> Result<bool, AgentError> {
        let words = self.words(completion);
        let said = words.clone().map(|text| Entry {
            role: EntryRole::Agent,
            text,
            data: Kept {
                asked: self.asked.clone(),
                ..Kept::default()
            }
            .write(),
        });
        let steered = self.tools.steering(said).await.map_err(tool_error)?;
        if steered.is_empty() {
            return Ok(false);
        }
        if let Some(words) = words {
            self.asked = None;
            self.shown.keep(&words);
            self.request
                .messages
                .push(ChatMessage::Assistant(AssistantMessage {
                    text: Some(words),
                    ..AssistantMessage::default()
                }));
        }
        self.tell(steered);
        Ok(true)
    }

    fn tell(&mut self, steered: Vec<Steered>) {
        for Steered { author, text } in steered {
            let author = author.as_deref().filter(|_| self.names);
            add_user(
                &mut self.request.messages,
                prompt::person(author, &text, None),
            );
        }
    }
}
