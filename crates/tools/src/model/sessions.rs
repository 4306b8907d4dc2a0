//! `session_search`: what was said in this conversation before, also before a compression or a reset.

use homing_ports::store::Role;

use super::arguments::{Arguments, Kind, optional, required};
use super::{Called, Failure, Tool};
use crate::SessionTools;

/// Characters around the first word that was found.
const BEFORE: usize = 200;
const AROUND: usize = 900;

pub(super) const TOOL: Tool = Tool {
    name: "session_search",
    description: "Finds earlier messages of this conversation that hold all the given words, also from before it was compressed or reset. Best first.",
    fields: &[
        required(
            "words",
            Kind::Text,
            "One or several words; all must be in the message.",
        ),
        optional(
            "limit",
            Kind::Number { least: 1, most: 20 },
            "Messages to answer; 5 unless given.",
        ),
    ],
};

impl SessionTools {
    pub(super) async fn model_session_search(&self, arguments: &Arguments) -> Called {
        let words = arguments.the_text("words");
        if words.trim().is_empty() {
            return Err("which words? `words` is empty".to_owned().into());
        }
        let limit = arguments.number("limit").unwrap_or(5);
        let found = self
            .workshop
            .store
            .search_history(
                self.owner.conversation,
                words,
                u32::try_from(limit).unwrap_or(u32::MAX),
            )
            .await
            .map_err(|error| Failure::Turn(error.into()))?;
        if found.is_empty() {
            return Ok(format!(
                "no message of this conversation holds all of: {words}"
            ));
        }
        let now = self.workshop.clock.now();
        let texts: Vec<String> = found
            .iter()
            .map(|message| {
                let who = match message.role {
                    Role::Person => message.author.as_deref().unwrap_or("person"),
                    other => other.name(),
                };
                let ago = homing_domain::time::Span(now.since(message.at));
                format!("{ago} ago, {who}:\n{}", around(&message.text, words))
            })
            .collect();
        Ok(texts.join("\n\n"))
    }
}

/// The part of a message where the first of the words is.
fn around(text: &str, words: &str) -> String {
    let lower = text.to_lowercase();
    let first = words
        .split_whitespace()
        .filter_map(|word| lower.find(&word.to_lowercase()))
        .min()
        .unwrap_or(0);
    // Lower case may have another length: the place is near enough.
    let at = lower
        .get(..first)
        .map_or(0, |before| before.chars().count());
    let from = at.saturating_sub(BEFORE);
    let part: String = text.chars().skip(from).take(AROUND).collect();
    let head = if from > 0 { "…" } else { "" };
    let tail = if text.chars().count() > from + AROUND {
        "…"
    } else {
        ""
    };
    format!("{head}{part}{tail}")
}
