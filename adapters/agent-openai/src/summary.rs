//! Compression: what is worth keeping of a history, in the model's words.
//!
//! The beginning of the conversation is kept word for word in the summary, its end beside it; what lies between is told by the model, in pieces where it is
//! longer than the model holds, and the pieces are made one. A summary from before is the first thing of the next.
//!
//! **Invariant:** a summary is whole or an error. What is kept word for word begins where no call is parted from its result. Every pass over the pieces makes
//! the text shorter, or it is the last: a model that does not heed its limits is not asked for ever.

mod text;

use homing_ports::agent::{AgentError, Summary, UsageMeter};
use homing_ports::store::{Context, MessageRow};
use tokio_util::sync::CancellationToken;

use super::agent::{Model, failed};
use super::client::{ChatError, ChatMessage, ChatRequest, Finish, estimate_tokens};
use super::metering::Metering;
use super::plan::{self, Cut};
use super::settings::AgentSettings;
use super::text::{parts, shortened};
use text::{Earlier, Head};

/// A server that counts otherwise than we thought is asked with half as much, so many times.
const HALVINGS: u32 = 3;
/// What a piece is for, around it.
const AROUND: u64 = 600;
/// How often summaries are summarized again. Each pass leaves a third or so: a thousand pieces take seven.
const PASSES: usize = 12;
/// Below so many tokens there is hardly more than the note that something is left out.
const SHORTEST: u64 = 32;

pub(crate) async fn summarize(
    settings: &AgentSettings,
    model: &Model,
    context: &Context,
    meter: &UsageMeter,
) -> Result<Summary, AgentError> {
    let rows = &context.messages;
    let window = model.room(settings).window;
    let cut = match (plan::cut(rows, window), &context.summary) {
        (Ok(Cut(cut)), _) => cut,
        // Nothing can be added to the summary that there is; it can still be made shorter by itself.
        (Err(_), Some(_)) => 0,
        (Err(nothing), None) => return Err(AgentError::Failed(nothing.to_string())),
    };
    let (old, kept) = rows.split_at(cut);
    let mut work = Work {
        settings,
        model,
        meter,
        halvings: 0,
    };
    let (head, told) = told(context.summary.as_deref(), old);
    let since = loop {
        match work.all_of(&told).await {
            Ok(since) => break since,
            Err(Trouble::TooLong(_)) if work.halvings < HALVINGS => work.halvings += 1,
            Err(Trouble::TooLong(error)) => return Err(failed(&error)),
            Err(Trouble::Other(error)) => return Err(error),
        }
    };
    Ok(Summary {
        text: text::summary(&head, &since),
        kept_from: kept.first().map(|row| row.id),
    })
}

/// The beginning, and the text that is to be summarized.
fn told(summary: Option<&str>, old: &[MessageRow]) -> (Head, String) {
    match summary {
        Some(summary) => {
            let Earlier { head, since } = Earlier::read(summary);
            let before = format!("Summary of what came before:\n{since}\n\n");
            (head, before + &text::transcript(old))
        }
        None => (Head::of(old), text::transcript(old)),
    }
}

/// Asking for summaries, and counting.
struct Work<'a> {
    settings: &'a AgentSettings,
    model: &'a Model,
    meter: &'a UsageMeter,
    halvings: u32,
}

enum Trouble {
    TooLong(ChatError),
    Other(AgentError),
}

impl Work<'_> {
    /// Pieces, and then their summaries as one text, until there is one piece.
    async fn all_of(&mut self, text: &str) -> Result<String, Trouble> {
        let mut text = text.to_owned();
        let mut task = text::TASK;
        for _ in 0..PASSES {
            let pieces = parts(&text, self.piece());
            if pieces.len() <= 1 {
                return self.one(task, &text).await;
            }
            let summaries = self.of_each(&pieces).await?;
            if estimate_tokens(&summaries) >= estimate_tokens(&text) {
                break;
            }
            text = summaries;
            task = text::COMBINE;
        }
        Err(Trouble::Other(AgentError::Model {
            plain: "The model's summaries of the conversation do not get shorter.".into(),
            detail: format!(
                "what is to be summarized still takes about {} tokens, and {} are one piece of it",
                estimate_tokens(&text),
                self.piece()
            ),
        }))
    }

    async fn of_each(&mut self, pieces: &[&str]) -> Result<String, Trouble> {
        let count = pieces.len();
        let mut summaries = Vec::with_capacity(count);
        for (number, piece) in pieces.iter().enumerate() {
            let task = format!("{}\n\n{}", text::TASK, text::part(number + 1, count));
            summaries.push(self.one(&task, piece).await?);
        }
        Ok(summaries.join("\n\n---\n\n"))
    }

    async fn one(&mut self, task: &str, text: &str) -> Result<String, Trouble> {
        let output = self.output();
        let request = ChatRequest {
            messages: vec![
                ChatMessage::System(task.to_owned()),
                ChatMessage::User(text.to_owned()),
            ],
            max_output_tokens: u32::try_from(output).ok(),
            ..ChatRequest::default()
        };
        let never = CancellationToken::new();
        let mut metering = Metering::of(self.meter, self.model, &request);
        let count = |event| metering.hear(&event);
        let completion = match self.model.client.chat(&request, count, &never).await {
            Ok(completion) => completion,
            Err(error) => {
                metering.left();
                return Err(self.trouble(error, &request));
            }
        };
        metering.whole(&completion);
        let said = completion.text.trim();
        if said.is_empty() {
            return Err(Trouble::Other(AgentError::Model {
                plain: "The model wrote no summary.".into(),
                detail: format!("a summary is empty, {:?}", completion.finish),
            }));
        }
        let said = fitted(said, self.longest());
        Ok(match completion.finish {
            Finish::Length => format!("{said}\n[the summary was cut off here]"),
            _ => said,
        })
    }

    fn trouble(&mut self, error: ChatError, request: &ChatRequest) -> Trouble {
        match error {
            ChatError::ContextTooLong {
                ref model, limit, ..
            } => {
                self.model.refused(self.settings, model, limit, request);
                Trouble::TooLong(error)
            }
            error => Trouble::Other(failed(&error)),
        }
    }

    /// A quarter of a piece at most: several are to become one piece.
    fn output(&self) -> u64 {
        self.free_output().min(self.piece() / 4).max(1)
    }

    /// An eighth of the window leaves room for eight of them.
    fn free_output(&self) -> u64 {
        let room = self.model.room(self.settings);
        room.output.min(room.window / 8).max(1)
    }

    /// Tokens, by the rule of thumb, that are taken of a summary. More than what the model was asked for, as it may count otherwise than we do.
    fn longest(&self) -> u64 {
        (self.piece() / 3).max(SHORTEST)
    }

    /// Tokens of a piece, by the rule of thumb.
    fn piece(&self) -> u64 {
        let window = self.model.room(self.settings).window;
        let around = self.free_output() + AROUND + estimate_tokens(text::TASK);
        let free = window.saturating_sub(around).max(window / 4) >> self.halvings;
        // As many as the model counts `free`.
        let counted = self.model.known().calibration.apply(free).max(1);
        (free.saturating_mul(free) / counted).min(free).max(64)
    }
}

/// Shortened to so many tokens, by the rule of thumb.
fn fitted(text: &str, tokens: u64) -> String {
    let mut most = text.len();
    loop {
        let short = shortened(text, most);
        if most == 0 || estimate_tokens(&short) <= tokens {
            return short;
        }
        most = most * 3 / 4;
    }
}
