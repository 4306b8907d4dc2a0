//! The console as a platform: the simplest one, because the page reads the store itself.
//!
//! **Invariant:** exactly once. What is sent already is a row that the page shows; sending only tells open pages to look, and telling
//! twice shows nothing twice. So it cannot fail, and it lands where it was sent.
//! **Absent on purpose:** the text. It does not travel through here.

use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::{OutboxId, TurnId, WindowId};
use homing_domain::key::KeySettings;
use homing_domain::split::{Limit, Unit};
use homing_ports::platform::{
    Capabilities, Landed, Live, Outgoing, OutgoingKind, Platform, Preview, Receipt, Repeats,
    SendError, Stage,
};
use tokio::sync::broadcast;

/// Longer than any answer that a person reads at once; what is longer comes in parts.
const LIMIT: Limit = Limit {
    unit: Unit::Utf16,
    max: 32_768,
};

/// Loopback and a page that draws it: as often as an eye can follow.
const PREVIEW_EVERY: Duration = Duration::from_millis(100);

/// What there is of an answer, as the streams hear of it.
#[derive(Debug, Clone)]
pub(crate) struct Partial {
    pub turn: TurnId,
    /// The key of its conversation.
    pub conversation: String,
    pub window: Option<WindowId>,
    pub text: String,
    pub stopped: bool,
}

/// A send, as the streams hear of it.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub id: OutboxId,
    /// The key of its conversation.
    pub conversation: String,
    /// The only window that is alerted; every other only reads its history again (OWN-34).
    pub window: Option<WindowId>,
    pub kind: OutgoingKind,
}

pub(crate) struct ConsolePlatform {
    sent: broadcast::Sender<Sent>,
    partials: broadcast::Sender<Partial>,
}

impl ConsolePlatform {
    pub fn new(sent: broadcast::Sender<Sent>, partials: broadcast::Sender<Partial>) -> Self {
        Self { sent, partials }
    }
}

#[async_trait]
impl Platform for ConsolePlatform {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            limit: LIMIT,
            repeats: Repeats::Deduplicates,
            live: Live {
                // The page shows running turns by itself.
                typing_every: None,
                preview_every: Some(PREVIEW_EVERY),
            },
        }
    }

    /// To the page that asked; nothing is stored, so there is no message to take the place of.
    async fn preview(&self, preview: Preview) -> Result<Option<String>, SendError> {
        // No page is open: then nobody needs to be shown.
        let _ = self.partials.send(Partial {
            turn: preview.turn,
            conversation: preview.origin.key(KeySettings::default()).to_string(),
            window: preview.window,
            text: preview.text,
            stopped: preview.stage == Stage::Stopped,
        });
        Ok(None)
    }

    async fn send(&self, outgoing: Outgoing) -> Result<Receipt, SendError> {
        let landed = Landed {
            chat: outgoing.origin.chat.clone(),
            thread: outgoing.origin.thread.clone(),
        };
        // Console keys do not depend on the isolation settings: its chats are direct messages.
        let conversation = outgoing.origin.key(KeySettings::default()).to_string();
        // No page is open: then nobody needs to be told.
        let _ = self.sent.send(Sent {
            id: outgoing.id,
            conversation,
            window: outgoing.window,
            kind: outgoing.kind,
        });
        Ok(Receipt {
            message: Some(outgoing.id.to_string()),
            landed: Some(landed),
        })
    }
}
