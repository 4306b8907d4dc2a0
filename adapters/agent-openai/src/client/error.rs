//! Why there is no answer: a sentence for a person ([`ChatError::plain`]), everything for the operator (`Display` and its sources).
//!
//! **Invariant:** no key is in any of it, whatever the server said.

use std::time::Duration;

use super::assembly::Partial;
use super::refusal::{Refusal, RefusalKind};

#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("the call of the model was cancelled")]
    Cancelled,
    #[error("the request has no messages")]
    NoMessages,
    #[error(
        "no connection to the model server could be made or kept; check base_url, and that the server runs"
    )]
    Unreachable(#[source] reqwest::Error),
    #[error("the model did not begin to answer within {}", seconds(*.0))]
    Late(Duration),
    #[error("the model server asks us to slow down ({0})")]
    RateLimited(Box<Refusal>),
    #[error("the account at the model server has no credit left ({0})")]
    OutOfCredit(Box<Refusal>),
    #[error("the model server did not accept the key ({0})")]
    KeyRefused(Box<Refusal>),
    #[error(
        "the model server has no model {model:?} ({refusal}); base_url/models lists those that it has"
    )]
    ModelMissing {
        model: String,
        refusal: Box<Refusal>,
    },
    /// Not asked of a fallback model: the way out is a shorter conversation.
    #[error("the conversation is too long for the model ({refusal})")]
    ContextTooLong {
        model: String,
        /// In tokens, where the server says it.
        limit: Option<u64>,
        refusal: Box<Refusal>,
    },
    #[error("the model server refused the request ({0})")]
    Refused(Box<Refusal>),
    #[error("the model server has a problem ({0})")]
    Unavailable(Box<Refusal>),
    #[error("the model server's answer cannot be understood: {0}")]
    Unreadable(String),
    /// Never to be shown or used as a whole answer.
    #[error("the answer broke off: {why}")]
    BrokenOff { partial: Box<Partial>, why: String },
}

impl ChatError {
    /// One sentence for a person who knows nothing of servers.
    pub fn plain(&self) -> String {
        match self {
            ChatError::Cancelled => "The answer was cancelled.".into(),
            ChatError::NoMessages => "There was nothing to ask the model.".into(),
            ChatError::Unreachable(_) => "The model server cannot be reached.".into(),
            ChatError::Late(_) => "The model did not answer in time.".into(),
            ChatError::RateLimited(refusal) => slow_down(refusal.retry_after),
            ChatError::OutOfCredit(_) => {
                "The account at the model server has no credit left.".into()
            }
            ChatError::KeyRefused(_) => "The model server does not accept our key.".into(),
            ChatError::ModelMissing { model, .. } => {
                format!("The model server has no model called {model}.")
            }
            ChatError::ContextTooLong { .. } => {
                "The conversation has become too long for the model.".into()
            }
            ChatError::Refused(_) => "The model server refused the request.".into(),
            ChatError::Unavailable(_) => "The model server has a problem right now.".into(),
            ChatError::Unreadable(_) => "The model server's answer could not be understood.".into(),
            ChatError::BrokenOff { .. } => "The model's answer broke off in the middle.".into(),
        }
    }

    /// Everything, in one line.
    pub fn full(&self) -> String {
        super::attempt::chain(self)
    }

    pub(super) fn refused(refusal: Refusal, model: &str) -> ChatError {
        let kind = refusal.kind;
        let refusal = Box::new(refusal);
        match kind {
            RefusalKind::ContextTooLong { limit } => ChatError::ContextTooLong {
                model: model.to_owned(),
                limit,
                refusal,
            },
            RefusalKind::ModelMissing => ChatError::ModelMissing {
                model: model.to_owned(),
                refusal,
            },
            RefusalKind::KeyRefused => ChatError::KeyRefused(refusal),
            RefusalKind::OutOfCredit => ChatError::OutOfCredit(refusal),
            RefusalKind::RateLimited => ChatError::RateLimited(refusal),
            RefusalKind::Unavailable => ChatError::Unavailable(refusal),
            RefusalKind::Request => ChatError::Refused(refusal),
        }
    }

    /// An earlier answer to the same request had come further, and people have read it: this is why it does not go on. What is too long is told as such,
    /// because there is a way out of it.
    pub(super) fn after(self, earlier: Option<Box<Partial>>) -> ChatError {
        let has_text = |partial: &Partial| !partial.text.trim().is_empty();
        match (self, earlier) {
            (error @ ChatError::ContextTooLong { .. }, _) => error,
            (ChatError::BrokenOff { partial, why }, _)
                if has_text(&partial) || !partial.tool_calls.is_empty() =>
            {
                ChatError::BrokenOff { partial, why }
            }
            (error, Some(partial)) if has_text(&partial) => ChatError::BrokenOff {
                partial,
                why: error.full(),
            },
            (error, _) => error,
        }
    }

    /// How long the server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ChatError::RateLimited(refusal) | ChatError::Unavailable(refusal) => {
                refusal.retry_after
            }
            _ => None,
        }
    }
}

fn slow_down(retry_after: Option<Duration>) -> String {
    let wait = match retry_after.map(|wait| wait.as_secs().div_ceil(60)) {
        None | Some(0) => "in a while".to_owned(),
        Some(1) => "in a minute".to_owned(),
        Some(minutes) => format!("in {minutes} minutes"),
    };
    format!("The model server has too much to do for us; try again {wait}.")
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
