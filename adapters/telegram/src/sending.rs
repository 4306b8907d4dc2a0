//! One message out: a new one, an edit of what showed its preview, or a file.
//!
//! **Invariant:** after a request whose outcome is unknown nothing else is tried. What is tried a second time was refused by Telegram in words.

use std::path::Path;

use homing_ports::platform::{Outgoing, OutgoingFile, Receipt, SendError};
use reqwest::Body;
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use teloxide_core::payloads::DeleteMessage;
use teloxide_core::types::{ChatId, MessageId};
use tokio::fs::File;
use tokio::time::Instant;

use crate::api::Failure;
use crate::budget::Use;
use crate::compose::{self, Words};
use crate::markup::{CAPTION_UNITS, TEXT_UNITS};
use crate::outcome::{self, Remedy};
use crate::place::Target;
use crate::telegram::Shared;

/// What a bot may upload, in bytes.
const LARGEST_FILE: u64 = 50 * 1024 * 1024;
const LARGEST_PHOTO: u64 = 10 * 1024 * 1024;
/// How slow an upload may be, in bytes a second.
const SLOWEST_UPLOAD: u64 = 64 * 1024;
/// As sent, plain, and without its reply; as a picture and as a file.
const TRIES: usize = 4;

/// How a message is tried.
#[derive(Debug, Clone, Copy)]
struct Manner {
    formatted: bool,
    reply: Option<i32>,
    as_photo: bool,
}

impl Manner {
    /// What to try next. `None` if that was it.
    fn after(self, failure: &Failure) -> Option<Manner> {
        match outcome::remedy(failure)? {
            Remedy::Plain if self.formatted => Some(Manner {
                formatted: false,
                ..self
            }),
            Remedy::WithoutReply if self.reply.is_some() => Some(Manner {
                reply: None,
                ..self
            }),
            Remedy::AsDocument if self.as_photo => Some(Manner {
                as_photo: false,
                ..self
            }),
            _ => None,
        }
    }
}

impl Shared {
    pub(crate) async fn send_out(&self, outgoing: &Outgoing) -> Result<Receipt, SendError> {
        let target = Target::of(&outgoing.origin).map_err(SendError::Refused)?;
        self.wait_for_room(target.chat).await?;
        let outcome = self.attempt(outgoing, &target).await;
        if let Err(error) = &outcome {
            self.note(target.chat, Use::Message, error).await;
        }
        outcome
    }

    /// Waits a little for the budget; longer waits are the outbox's.
    async fn wait_for_room(&self, chat: i64) -> Result<(), SendError> {
        let deadline = Instant::now() + self.settings.pace.patience;
        loop {
            let now = Instant::now();
            let taken = self.budget().take(chat, Use::Message, now);
            match taken {
                Ok(()) => return Ok(()),
                Err(wait) if now + wait > deadline => return Err(SendError::RateLimited(wait)),
                Err(wait) => tokio::time::sleep(wait).await,
            }
        }
    }

    async fn attempt(&self, outgoing: &Outgoing, target: &Target) -> Result<Receipt, SendError> {
        let words = Words::of(outgoing);
        let shown = outgoing.extras.replaces.as_deref();
        let shown = shown.and_then(|shown| shown.parse().ok()).map(MessageId);
        match (&outgoing.extras.file, shown) {
            (None, Some(shown)) => match self.edit(outgoing, target, shown, &words).await? {
                Some(receipt) => Ok(receipt),
                None => self.send_text(outgoing, target, &words).await,
            },
            (None, None) => self.send_text(outgoing, target, &words).await,
            (Some(file), shown) => {
                let receipt = self.send_file(outgoing, target, &words, file).await?;
                if let Some(shown) = shown {
                    self.remove(target.chat, shown).await;
                }
                Ok(receipt)
            }
        }
    }

    /// `None` if there is nothing to edit any more.
    async fn edit(
        &self,
        outgoing: &Outgoing,
        target: &Target,
        shown: MessageId,
        words: &Words,
    ) -> Result<Option<Receipt>, SendError> {
        let shows_links = compose::shows_links(outgoing.kind);
        let mut words = words.clone();
        for _ in 0..TRIES {
            let mut request = compose::edit(target, shown, &words, shows_links);
            compose::put_buttons(&mut request, &outgoing.extras.buttons);
            let failure = match self.api.call("editMessageText", &request).await {
                Ok(message) => return outcome::receipt(&message).map(Some).map_err(again),
                Err(failure) => failure,
            };
            match outcome::remedy(&failure) {
                Some(Remedy::IsSo) => {
                    return Ok(Some(Receipt {
                        message: Some(shown.0.to_string()),
                        landed: None,
                    }));
                }
                Some(Remedy::SendAnew) => return Ok(None),
                Some(Remedy::Plain) if !words.entities.is_empty() => {
                    words = words.plain(TEXT_UNITS);
                }
                _ => return Err(outcome::of_edit(failure)),
            }
        }
        Err(SendError::Refused(
            "Telegram refuses every form of it".into(),
        ))
    }

    async fn send_text(
        &self,
        outgoing: &Outgoing,
        target: &Target,
        words: &Words,
    ) -> Result<Receipt, SendError> {
        let words = self.marked(outgoing, target, words, TEXT_UNITS).await?;
        let mut manner = Manner {
            formatted: !words.entities.is_empty(),
            reply: compose::anchor(outgoing, target),
            as_photo: false,
        };
        for _ in 0..TRIES {
            let shown = match manner.formatted {
                true => &words,
                false => &words.plain(TEXT_UNITS),
            };
            let shows_links = compose::shows_links(outgoing.kind);
            let mut request = compose::message(target, shown, shows_links);
            compose::put_reply(&mut request, manner.reply);
            compose::put_buttons(&mut request, &outgoing.extras.buttons);
            match self.api.call("sendMessage", &request).await {
                Ok(message) => return outcome::receipt(&message),
                Err(failure) => match manner.after(&failure) {
                    Some(next) => manner = next,
                    None => return Err(outcome::of_send(failure)),
                },
            }
        }
        Err(SendError::Refused(
            "Telegram refuses every form of it".into(),
        ))
    }

    /// With its mark, if it may be a repeat. A text that fills its message gets it as a message of its own.
    async fn marked(
        &self,
        outgoing: &Outgoing,
        target: &Target,
        words: &Words,
        most: usize,
    ) -> Result<Words, SendError> {
        if !outgoing.may_repeat {
            return Ok(words.clone());
        }
        if let Some(marked) = words.marked(most) {
            return Ok(marked);
        }
        let note = Words::unformatted("↻ The next message may be a repeat.");
        let request = compose::message(target, &note, false);
        let sent = self.api.call("sendMessage", &request).await;
        sent.map_err(outcome::of_send)?;
        Ok(words.clone())
    }

    /// The file with the words as its caption; words that are too long for one follow it.
    async fn send_file(
        &self,
        outgoing: &Outgoing,
        target: &Target,
        words: &Words,
        file: &OutgoingFile,
    ) -> Result<Receipt, SendError> {
        if words.fit_caption() {
            let words = self.marked(outgoing, target, words, CAPTION_UNITS).await?;
            return self.upload(outgoing, target, &words, file).await;
        }
        let receipt = self
            .upload(outgoing, target, &Words::unformatted(""), file)
            .await?;
        match self.send_text(outgoing, target, words).await {
            Ok(_) => Ok(receipt),
            // The file has arrived: whatever became of the words, trying again may repeat it.
            Err(error) => Err(SendError::Uncertain(format!(
                "the file was sent, and its text was not: {error}"
            ))),
        }
    }

    async fn upload(
        &self,
        outgoing: &Outgoing,
        target: &Target,
        words: &Words,
        file: &OutgoingFile,
    ) -> Result<Receipt, SendError> {
        let unreadable = |error: std::io::Error| {
            SendError::Refused(format!("the file {} cannot be read: {error}", file.name))
        };
        let bytes = tokio::fs::metadata(&file.path)
            .await
            .map_err(unreadable)?
            .len();
        if bytes > LARGEST_FILE {
            return Err(SendError::Refused(format!(
                "the file {} has {bytes} bytes; a bot may send {LARGEST_FILE}",
                file.name
            )));
        }
        let limit =
            self.settings.pace.answer + std::time::Duration::from_secs(bytes / SLOWEST_UPLOAD);
        let mut manner = Manner {
            formatted: true,
            reply: compose::anchor(outgoing, target),
            as_photo: is_picture(&file.name) && bytes <= LARGEST_PHOTO,
        };
        for _ in 0..TRIES {
            let shown = match manner.formatted {
                true => words,
                false => &words.plain(CAPTION_UNITS),
            };
            let mut request = compose::caption(target, shown);
            compose::put_reply(&mut request, manner.reply);
            compose::put_buttons(&mut request, &outgoing.extras.buttons);
            let (method, field) = match manner.as_photo {
                true => ("sendPhoto", "photo"),
                false => ("sendDocument", "document"),
            };
            let content = File::open(&file.path).await.map_err(unreadable)?;
            let part =
                Part::stream_with_length(Body::from(content), bytes).file_name(file.name.clone());
            let form = form(&request).part(field, part);
            match self.api.upload(method, form, limit).await {
                Ok(message) => return outcome::receipt(&message),
                Err(failure) => match manner.after(&failure) {
                    Some(next) => manner = next,
                    None => return Err(outcome::of_send(failure)),
                },
            }
        }
        Err(SendError::Refused(
            "Telegram refuses every form of it".into(),
        ))
    }

    pub(crate) async fn take_back_message(&self, receipt: &Receipt) -> Result<(), SendError> {
        let number = receipt
            .message
            .as_ref()
            .and_then(|message| message.parse().ok());
        let chat = receipt
            .landed
            .as_ref()
            .and_then(|landed| landed.chat.parse().ok());
        let (Some(number), Some(chat)) = (number, chat) else {
            return Err(SendError::Refused(
                "the receipt does not say which message of which chat it was".into(),
            ));
        };
        let request = DeleteMessage::new(ChatId(chat), MessageId(number));
        match self.api.tell(&request).await {
            Ok(_) => Ok(()),
            Err(failure) => {
                let error = outcome::of_edit(failure);
                self.note(chat, Use::Message, &error).await;
                Err(error)
            }
        }
    }

    /// Best effort.
    async fn remove(&self, chat: i64, message: MessageId) {
        let request = DeleteMessage::new(ChatId(chat), message);
        if let Err(error) = self.api.tell(&request).await {
            tracing::debug!(chat, %error, "a preview stays beside its answer");
        }
    }
}

/// An edit that was taken and whose answer says nothing can be made again.
fn again(error: SendError) -> SendError {
    match error {
        SendError::Uncertain(why) => SendError::Temporary(why),
        other => other,
    }
}

fn is_picture(name: &str) -> bool {
    let extension = Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        ["jpg", "jpeg", "png", "webp"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Nested values go as JSON, as the Bot API wants them beside files.
fn form(request: &Value) -> Form {
    let fields = request.as_object().into_iter().flatten();
    fields.fold(Form::new(), |form, (name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        form.text(name.clone(), text)
    })
}
