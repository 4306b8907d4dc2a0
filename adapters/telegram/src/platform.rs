//! The port, and what stands behind each of its calls.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::origin::Origin;
use homing_domain::split::{Limit, Unit};
use homing_ports::platform::{
    Attachment, Capabilities, FetchError, Live, Outgoing, Platform, Preview, Receipt, Rendered,
    Repeats, SendError,
};

use crate::markup::{self, TEXT_UNITS};
use crate::telegram::Shared;

/// A sign of typing lasts five seconds.
const TYPING_EVERY: Duration = Duration::from_secs(4);
const PREVIEW_EVERY: Duration = Duration::from_millis(1_500);

#[derive(Debug)]
pub(crate) struct TelegramPlatform(pub Arc<Shared>);

#[async_trait]
impl Platform for TelegramPlatform {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            limit: Limit {
                unit: Unit::Utf16,
                max: TEXT_UNITS,
            },
            // Telegram has no idempotency key, and bots cannot look into a chat.
            repeats: Repeats::Unprotected,
            live: Live {
                typing_every: Some(TYPING_EVERY),
                preview_every: self.0.settings.previews.then_some(PREVIEW_EVERY),
            },
        }
    }

    fn render(&self, text: &str) -> Vec<Rendered> {
        let parts = markup::render(text).into_iter();
        parts
            .map(|part| Rendered {
                markup: match part.entities.is_empty() {
                    true => None,
                    false => serde_json::to_string(&part.entities).ok(),
                },
                text: part.text,
            })
            .collect()
    }

    async fn send(&self, outgoing: Outgoing) -> Result<Receipt, SendError> {
        self.0.send_out(&outgoing).await
    }

    async fn typing(&self, to: &Origin) -> Result<(), SendError> {
        self.0.show_typing(to).await
    }

    async fn preview(&self, preview: Preview) -> Result<Option<String>, SendError> {
        self.0.show_preview(preview).await
    }

    async fn fetch(&self, attachment: &Attachment, into: &Path) -> Result<(), FetchError> {
        self.0.fetch_file(attachment, into).await
    }

    async fn take_back(&self, receipt: &Receipt) -> Result<(), SendError> {
        self.0.take_back_message(receipt).await
    }
}
