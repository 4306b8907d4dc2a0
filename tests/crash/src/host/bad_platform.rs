//! Platforms that are not honest, or not done.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_ports::platform::{Capabilities, Outgoing, OutgoingKind, Platform, Receipt, SendError};

use crate::planted::Planted;

/// How late a message leaves that was confirmed at once.
const LATE: Duration = Duration::from_millis(40);
/// Late enough for a `/new` to come first.
const VERY_LATE: Duration = Duration::from_millis(400);

pub fn concerns(planted: Planted) -> bool {
    matches!(
        planted,
        Planted::ConfirmBeforeSend
            | Planted::BesideTheOutbox
            | Planted::OtherThread
            | Planted::UnmarkedRepeat
            | Planted::BlindSearch
            | Planted::WindowForgotten
    )
}

pub struct Bad {
    inner: Arc<dyn Platform>,
    planted: Planted,
}

impl Bad {
    pub fn new(inner: Arc<dyn Platform>, planted: Planted) -> Bad {
        Bad { inner, planted }
    }

    fn later(&self, outgoing: Outgoing, late: Duration) -> Receipt {
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            tokio::time::sleep(late).await;
            // Its outcome has been promised already: that is what is wrong here.
            let _unheard = inner.send(outgoing).await;
        });
        nowhere(None)
    }
}

/// A receipt that does not say where.
fn nowhere(message: Option<String>) -> Receipt {
    Receipt {
        message,
        landed: None,
    }
}

#[async_trait]
impl Platform for Bad {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn send(&self, mut outgoing: Outgoing) -> Result<Receipt, SendError> {
        let background = outgoing.kind == OutgoingKind::Background;
        match self.planted {
            Planted::ConfirmBeforeSend => Ok(self.later(outgoing, LATE)),
            Planted::BesideTheOutbox if background => Ok(self.later(outgoing, VERY_LATE)),
            Planted::OtherThread if background => {
                outgoing.origin.thread = Some("1".into());
                Ok(nowhere(self.inner.send(outgoing).await?.message))
            }
            Planted::UnmarkedRepeat => {
                outgoing.may_repeat = false;
                self.inner.send(outgoing).await
            }
            Planted::WindowForgotten if background => {
                outgoing.window = None;
                self.inner.send(outgoing).await
            }
            _ => self.inner.send(outgoing).await,
        }
    }

    async fn look_up(&self, outgoing: &Outgoing) -> Result<Option<Receipt>, SendError> {
        match self.planted {
            Planted::BlindSearch => Ok(None),
            _ => self.inner.look_up(outgoing).await,
        }
    }
    async fn take_back(&self, receipt: &Receipt) -> Result<(), SendError> {
        self.inner.take_back(receipt).await
    }
}

/// Sends nothing, for ever.
pub struct Stalled(pub Arc<dyn Platform>);

#[async_trait]
impl Platform for Stalled {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    async fn send(&self, _outgoing: Outgoing) -> Result<Receipt, SendError> {
        std::future::pending().await
    }
}
