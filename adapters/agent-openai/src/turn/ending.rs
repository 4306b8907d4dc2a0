//! How a turn ends: with an answer, with what there is of one, or with a plain sentence.

use homing_ports::agent::{AgentError, TurnAbout, TurnAnswer};

use super::Turn;
use crate::agent::failed;
use crate::client::{ChatError, Completion, Finish, Partial};
use crate::kept::Kept;

const NOTHING_SAID: &str = "The model gave no answer.";
const FILTERED: &str = "(The model server's content filter stopped this answer.)";
const BROKE_OFF: &str = "(The model's answer broke off here: the connection to it was lost. This is not the whole of it.)";

impl Turn<'_> {
    /// An empty answer is asked for once more, unless that would only be empty again.
    pub(super) fn nudges(&mut self, completion: &Completion) -> bool {
        let is_empty = completion.text.trim().is_empty();
        is_empty
            && completion.finish != Finish::ContentFilter
            && !std::mem::replace(&mut self.is_nudged, true)
    }

    pub(super) fn finish(self, completion: &Completion) -> Result<TurnAnswer, AgentError> {
        match self.words(completion) {
            Some(words) => Ok(self.answer(&words)),
            None => {
                let note = self.note(completion);
                self.nothing_said(note)
            }
        }
    }

    /// What was said, with what is to be known of it. `None`: nothing was.
    pub(super) fn words(&self, completion: &Completion) -> Option<String> {
        let text = completion.text.trim();
        let note = self.note(completion);
        (!text.is_empty()).then(|| match note {
            Some(note) => format!("{text}\n\n{note}"),
            None => text.to_owned(),
        })
    }

    fn note(&self, completion: &Completion) -> Option<String> {
        match completion.finish {
            Finish::Length => Some(format!(
                "(The answer was cut off here: it may be {} tokens long. Ask me to go on.)",
                self.room().output
            )),
            Finish::ContentFilter => Some(FILTERED.to_owned()),
            Finish::Stop | Finish::ToolCalls | Finish::Other(_) => None,
        }
    }

    /// There is a sentence of ours instead of an answer. People need the result that a notification is about more than that sentence (OWN-68), and an
    /// agent that waits for a sub-agent's answer has to know that it is none.
    pub(super) fn stopped(self, why: &str) -> Result<TurnAnswer, AgentError> {
        match &self.about {
            TurnAbout::Background { plain, .. } => {
                let words = format!("{plain}\n\n{why}");
                Ok(self.answer(&words))
            }
            TurnAbout::Delegated { .. } => Err(AgentError::Model {
                plain: why.to_owned(),
                detail: format!("a sub-agent has no answer: {why}"),
            }),
            TurnAbout::Person { .. } => Ok(self.answer(why)),
        }
    }

    /// A notification is told all the same; a sub-agent has failed.
    fn nothing_said(self, note: Option<String>) -> Result<TurnAnswer, AgentError> {
        match &self.about {
            TurnAbout::Background { plain, .. } => {
                let plain = plain.clone();
                Ok(self.answer(&plain))
            }
            TurnAbout::Delegated { .. } => Err(AgentError::Model {
                plain: NOTHING_SAID.into(),
                detail: format!("{NOTHING_SAID} {}", note.unwrap_or_default()),
            }),
            TurnAbout::Person { .. } => {
                Ok(self.answer(&note.unwrap_or_else(|| NOTHING_SAID.into())))
            }
        }
    }

    /// People see what there is, marked as what it is. A notification is told anew (OWN-68).
    pub(super) fn broken_off(
        self,
        partial: &Partial,
        error: &ChatError,
    ) -> Result<TurnAnswer, AgentError> {
        let text = partial.text.trim();
        let is_quiet = matches!(self.about, TurnAbout::Background { .. });
        if text.is_empty() || is_quiet {
            return Err(failed(error));
        }
        Ok(self.answer(&format!("{text}\n\n{BROKE_OFF}")))
    }

    /// `last` is what the model reads of it later; people read what was said before as well.
    pub(super) fn answer(self, last: &str) -> TurnAnswer {
        let text = self.shown.whole(last);
        let own = (text != last).then(|| last.to_owned());
        let kept = Kept {
            own,
            asked: self.asked,
            ..Kept::default()
        };
        TurnAnswer {
            text,
            data: kept.write(),
        }
    }
}
