//! What is shown while an answer is being made: that there will be one, and what there is of it.
//!
//! **Invariant:** nothing here is a delivery, and nothing here takes room that a message needs.

use homing_domain::key::ChatType;
use homing_domain::origin::Origin;
use homing_ports::platform::{Preview, SendError, Stage};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use teloxide_core::payloads::SendChatAction;
use teloxide_core::types::{ChatAction, ChatId, MessageId};
use tokio::time::Instant;

use crate::api::{Failure, parameters};
use crate::budget::Use;
use crate::compose::{self, Words};
use crate::markup::{self, TEXT_UNITS};
use crate::outcome::{self, Remedy};
use crate::place::{GENERAL, Target, Thread};
use crate::telegram::Shared;
use crate::utf16;

const GOES_ON: &str = " …";
/// As much of an answer as is looked at for a preview, in bytes: more than fits into one message, however it is set.
const LOOKED_AT: usize = 32 * 1024;

impl Shared {
    pub(crate) async fn show_typing(&self, to: &Origin) -> Result<(), SendError> {
        let target = Target::of(to).map_err(SendError::Refused)?;
        let thread = match target.thread {
            Some(Thread::Topic(topic)) => Some(topic),
            // Channels show nothing, nor does what people write to them.
            Some(Thread::Person(_)) => return Ok(()),
            None if target.chat_type == ChatType::Channel => return Ok(()),
            None => self.is_forum(target.chat).then_some(GENERAL),
        };
        if self
            .budget()
            .take_aside(target.chat, Instant::now())
            .is_err()
        {
            return Ok(());
        }
        let mut request = parameters(&SendChatAction::new(
            ChatId(target.chat),
            ChatAction::Typing,
        ));
        if let Some(thread) = thread {
            request["message_thread_id"] = json!(thread);
        }
        let done = self.api.call("sendChatAction", &request).await;
        match done {
            Ok(_) => Ok(()),
            Err(failure) => Err(self.noted(target.chat, failure).await),
        }
    }

    pub(crate) async fn show_preview(&self, preview: Preview) -> Result<Option<String>, SendError> {
        let target = Target::of(&preview.origin).map_err(SendError::Refused)?;
        let Some(words) = shown_words(&preview.text, preview.stage) else {
            return Ok(preview.shown);
        };
        if !self.settings.previews
            || self
                .budget()
                .take(target.chat, Use::Extra, Instant::now())
                .is_err()
        {
            return Ok(preview.shown);
        }
        let shown = preview.shown.as_deref();
        match shown.and_then(|shown| shown.parse().ok()).map(MessageId) {
            Some(message) => self.change_preview(&target, message, words).await,
            None if self.drafts_here(&target, preview.stage) => {
                self.draft(&target, &preview, words).await
            }
            None => self.first_preview(&target, &preview, words).await,
        }
    }

    /// A draft ends by itself; what is to stay is a message.
    fn drafts_here(&self, target: &Target, stage: Stage) -> bool {
        target.chat_type == ChatType::Dm
            && stage == Stage::Going
            && self.has_drafts.load(Ordering::Relaxed)
    }

    async fn draft(
        &self,
        target: &Target,
        preview: &Preview,
        words: Words,
    ) -> Result<Option<String>, SendError> {
        let mut request = json!({
            "chat_id": target.chat,
            "draft_id": draft_number(preview.turn.number()),
            "text": words.text,
            "can_stop": true,
        });
        compose::name_thread(&mut request, target);
        compose::put_entities(&mut request, "entities", &words);
        match self.api.call("sendMessageDraft", &request).await {
            Ok(_) => Ok(None),
            Err(failure) if is_unknown_method(&failure) => {
                tracing::info!("this Bot API server has no drafts: previews are edited messages");
                self.has_drafts.store(false, Ordering::Relaxed);
                self.first_preview(target, preview, words).await
            }
            Err(failure) => self.left_out(target.chat, failure, None).await,
        }
    }

    async fn first_preview(
        &self,
        target: &Target,
        preview: &Preview,
        words: Words,
    ) -> Result<Option<String>, SendError> {
        let anchor = preview
            .origin
            .anchor
            .as_deref()
            .filter(|_| target.is_group());
        let reply = anchor.and_then(|anchor| anchor.parse().ok());
        let mut request = compose::message(target, &words, false);
        compose::put_reply(&mut request, reply);
        match self.api.call("sendMessage", &request).await {
            Ok(message) => Ok(number(&message)),
            Err(failure) => self.left_out(target.chat, failure, None).await,
        }
    }

    async fn change_preview(
        &self,
        target: &Target,
        message: MessageId,
        words: Words,
    ) -> Result<Option<String>, SendError> {
        let still = Some(message.0.to_string());
        let request = compose::edit(target, message, &words, false);
        match self.api.call("editMessageText", &request).await {
            Ok(_) => Ok(still),
            Err(failure) => match outcome::remedy(&failure) {
                Some(Remedy::IsSo | Remedy::Plain) => Ok(still),
                Some(Remedy::SendAnew) => Ok(None),
                _ => self.left_out(target.chat, failure, still).await,
            },
        }
    }

    /// A preview that Telegram has no time for, or does not like, is none; the answer itself will show what is wrong.
    async fn left_out(
        &self,
        chat: i64,
        failure: Failure,
        shown: Option<String>,
    ) -> Result<Option<String>, SendError> {
        if outcome::remedy(&failure).is_some() {
            return Ok(shown);
        }
        match self.noted(chat, failure).await {
            SendError::RateLimited(_) => Ok(shown),
            error => Err(error),
        }
    }

    async fn noted(&self, chat: i64, failure: Failure) -> SendError {
        let error = outcome::of_edit(failure);
        self.note(chat, Use::Extra, &error).await;
        error
    }
}

/// The first message's worth, and a sign that it goes on. `None` if there is nothing to see.
fn shown_words(text: &str, stage: Stage) -> Option<Words> {
    let looked_at = text.floor_char_boundary(LOOKED_AT);
    let mut parts = markup::render(&text[..looked_at]).into_iter();
    let part = parts.next()?;
    let entities = part.entities.iter().map(|entity| json!(entity));
    let mut words = Words {
        entities: entities.collect(),
        text: part.text,
    };
    let has_room = utf16::units(&words.text) + utf16::units(GOES_ON) <= TEXT_UNITS;
    if (stage == Stage::Going || parts.next().is_some()) && has_room {
        words.text.push_str(GOES_ON);
    }
    Some(words)
}

/// The drafts of one turn are one. Telegram wants a number that is not 0; this one fits everywhere.
fn draft_number(turn: u64) -> u64 {
    ((turn ^ (turn >> 31)) & 0x7fff_ffff).max(1)
}

fn is_unknown_method(failure: &Failure) -> bool {
    failure.said().is_some_and(|said| said.status == 404)
}

fn number(message: &Value) -> Option<String> {
    message["message_id"]
        .as_i64()
        .map(|number| number.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_one_message_that_goes_on() {
        let going = shown_words("some **bold", Stage::Going).unwrap();
        assert!(going.text.ends_with(" …"), "{going:?}");
        let stopped = shown_words("some **bold** text", Stage::Stopped).unwrap();
        assert_eq!(stopped.text, "some bold text");
        assert_eq!(stopped.entities[0]["type"], "bold");
        assert_eq!(shown_words("  \n", Stage::Going), None);
    }

    #[test]
    fn a_long_preview_keeps_the_limit() {
        for length in [4_090, 4_095, 4_096, 4_097, 9_000, 100_000] {
            let words = shown_words(&"ä".repeat(length), Stage::Going).unwrap();
            assert!(utf16::units(&words.text) <= TEXT_UNITS, "{length}");
        }
    }

    #[test]
    fn a_server_that_does_not_know_drafts_is_recognised() {
        let answer =
            br#"{"ok":false,"error_code":404,"description":"Not Found: method not found"}"#;
        let failure = crate::api::read_answer(reqwest::StatusCode::NOT_FOUND, answer).unwrap_err();
        assert!(is_unknown_method(&failure));
    }

    #[test]
    fn a_draft_has_a_number() {
        for turn in [0, 1, u64::MAX, 1 << 31] {
            assert!((1..=i32::MAX as u64).contains(&draft_number(turn)));
        }
    }
}
