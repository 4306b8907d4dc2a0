//! Mistakes in what goes out.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::OutboxId;
use homing_domain::origin::Origin;
use homing_ports::platform::{
    Attachment, Capabilities, Extras, FetchError, Landed, Outgoing, OutgoingKind, Platform,
    Preview, Receipt, Rendered, SendError,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    SendsAgain,
    SaysNothingWasSent,
    SwallowsRefusals,
    ForgetsTheTopic,
    FallsBack,
    HidesTheLanding,
    ForgetsHowLong,
    MarksNoRepeat,
    CutsShort,
    CutsCharacters,
    LeavesExtrasOut,
    TypesInWords,
    FindsAnything,
    CopiesHalf,
}

pub struct Wrong {
    pub adapter: Arc<dyn Platform>,
    pub mistake: Mistake,
}

fn nowhere() -> Receipt {
    Receipt {
        message: None,
        landed: None,
    }
}

fn above(outgoing: Outgoing) -> Outgoing {
    Outgoing {
        origin: Origin {
            thread: None,
            ..outgoing.origin
        },
        ..outgoing
    }
}

#[async_trait]
impl Platform for Wrong {
    fn capabilities(&self) -> Capabilities {
        self.adapter.capabilities()
    }

    fn render(&self, markdown: &str) -> Vec<Rendered> {
        let mut parts = self.adapter.render(markdown);
        match self.mistake {
            Mistake::CutsShort => parts.truncate(1),
            Mistake::CutsCharacters => {
                for part in &mut parts {
                    part.text.pop();
                }
            }
            _ => {}
        }
        parts
    }

    async fn send(&self, mut outgoing: Outgoing) -> Result<Receipt, SendError> {
        match self.mistake {
            Mistake::ForgetsTheTopic => outgoing = above(outgoing),
            Mistake::MarksNoRepeat => outgoing.may_repeat = false,
            Mistake::LeavesExtrasOut => outgoing.extras = Extras::default(),
            _ => {}
        }
        let outcome = self.adapter.send(outgoing.clone()).await;
        match (self.mistake, outcome) {
            (Mistake::SendsAgain, Err(SendError::Uncertain(_))) => {
                self.adapter.send(outgoing).await
            }
            (Mistake::SaysNothingWasSent, Err(SendError::Uncertain(why))) => {
                Err(SendError::Temporary(why))
            }
            (Mistake::SwallowsRefusals, Err(SendError::Refused(_))) => Ok(nowhere()),
            (Mistake::FallsBack, Err(SendError::Refused(_) | SendError::Closed(_))) => {
                self.adapter.send(above(outgoing)).await
            }
            (Mistake::ForgetsHowLong, Err(SendError::RateLimited(_))) => {
                Err(SendError::RateLimited(Duration::ZERO))
            }
            (Mistake::HidesTheLanding, Ok(receipt)) => Ok(Receipt {
                landed: Some(Landed {
                    chat: outgoing.origin.chat,
                    thread: outgoing.origin.thread,
                }),
                ..receipt
            }),
            (_, outcome) => outcome,
        }
    }

    async fn look_up(&self, outgoing: &Outgoing) -> Result<Option<Receipt>, SendError> {
        match self.mistake {
            Mistake::FindsAnything => Ok(Some(nowhere())),
            _ => self.adapter.look_up(outgoing).await,
        }
    }

    async fn typing(&self, to: &Origin) -> Result<(), SendError> {
        if self.mistake == Mistake::TypesInWords {
            let words = Outgoing {
                id: OutboxId::from_number(1),
                attempt: 1,
                origin: to.clone(),
                window: None,
                kind: OutgoingKind::Notice,
                text: "typing …".into(),
                extras: Extras::default(),
                may_repeat: false,
            };
            self.adapter.send(words).await?;
        }
        self.adapter.typing(to).await
    }

    async fn preview(&self, preview: Preview) -> Result<Option<String>, SendError> {
        self.adapter.preview(preview).await
    }

    async fn fetch(&self, attachment: &Attachment, into: &Path) -> Result<(), FetchError> {
        self.adapter.fetch(attachment, into).await?;
        if self.mistake == Mistake::CopiesHalf {
            let bytes = std::fs::read(into).unwrap();
            std::fs::write(into, &bytes[..bytes.len() / 2]).unwrap();
        }
        Ok(())
    }

    async fn take_back(&self, receipt: &Receipt) -> Result<(), SendError> {
        self.adapter.take_back(receipt).await
    }
}
