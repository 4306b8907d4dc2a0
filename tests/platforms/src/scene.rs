//! One check's view: the world, an inbox that remembers, and words for what checks do most.

use std::path::PathBuf;
use std::sync::Arc;

use homing_domain::ids::OutboxId;
use homing_domain::origin::Origin;
use homing_ports::inbox::{Inbound, Inbox};
use homing_ports::platform::{Extras, Outgoing, OutgoingKind, Platform, Receipt, SendError};
use tempfile::TempDir;

use crate::kept::{Heard, Kept, Store, limit};
use crate::world::{Kind, Need, Place, Seen, Spot, Strikes, World};

pub struct Scene<'a> {
    pub kind: &'a dyn Kind,
    pub world: Box<dyn World>,
    pub inbox: Arc<Kept>,
    folder: TempDir,
    last: u64,
    forgiven: Option<&'static str>,
}

impl std::fmt::Debug for Scene<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut scene = formatter.debug_struct("Scene");
        scene.field("inbox", &self.inbox).finish_non_exhaustive()
    }
}

impl<'a> Scene<'a> {
    /// With the adapter open, and able to send.
    pub async fn of(kind: &'a dyn Kind) -> Scene<'a> {
        let mut scene = Scene {
            kind,
            world: kind.world().await,
            inbox: Arc::default(),
            folder: tempfile::tempdir().unwrap(),
            last: 0,
            forgiven: None,
        };
        scene.open().await;
        scene
    }

    /// Opens the adapter and waits until it says that it can send.
    pub async fn open(&mut self) {
        let before = self.inbox.heard().len();
        self.open_unready().await;
        let is_ready = |heard: &[Heard]| heard[before..].contains(&Heard::Ready).then_some(());
        self.inbox.until("that it can send", is_ready).await;
    }

    pub async fn open_unready(&mut self) {
        let inbox = Arc::clone(&self.inbox) as Arc<dyn Inbox>;
        self.world.open(self.kind.inbox(inbox)).await;
    }

    pub fn platform(&self) -> Arc<dyn Platform> {
        self.kind.platform(self.world.platform())
    }

    /// The platform is there again, and the adapter says so.
    pub async fn back(&self) {
        let before = self.inbox.heard().len();
        self.world.come_back();
        let ready = |heard: &[Heard]| heard[before..].contains(&Heard::Ready).then_some(());
        self.inbox.until("that it is back", ready).await;
    }

    /// What the check itself has the adapter do, though no correct client does it.
    pub fn forgive(&mut self, misbehaviour: &'static str) {
        self.forgiven = Some(misbehaviour);
    }

    pub async fn close(&mut self) {
        let closing = tokio::time::timeout(limit(), self.world.close());
        closing.await.expect("closing comes to an end");
    }

    pub async fn restart(&mut self) {
        self.close().await;
        self.open().await;
    }

    pub fn has(&self, need: Need) -> bool {
        self.kind.has(need)
    }

    /// Every spot of this platform.
    pub fn spots(&self) -> Vec<Spot> {
        let here = |spot: &Spot| self.has(Need::At(*spot));
        Spot::ALL.into_iter().filter(here).collect()
    }

    /// A person writes, and it is stored.
    pub async fn written(&self, spot: Spot, text: &str) -> Inbound {
        self.world.write(spot, text);
        self.inbox.arrived(text).await
    }

    /// Where an answer to a person's message of this place goes.
    pub async fn origin(&mut self, spot: Spot) -> Origin {
        self.last += 1;
        let text = format!("hello {}", self.last);
        self.written(spot, &text).await.origin
    }

    pub fn outgoing(&mut self, origin: &Origin, text: &str) -> Outgoing {
        self.last += 1;
        Outgoing {
            id: OutboxId::from_number(self.last),
            attempt: 1,
            origin: origin.clone(),
            window: None,
            kind: OutgoingKind::Background,
            text: text.to_owned(),
            extras: Extras::default(),
            may_repeat: false,
        }
    }

    pub async fn send(&mut self, origin: &Origin, text: &str) -> Result<Receipt, SendError> {
        let outgoing = self.outgoing(origin, text);
        self.platform().send(outgoing).await
    }

    /// What was sent and was not deleted.
    pub fn shown(&self) -> Vec<Seen> {
        let all = self.world.seen();
        all.into_iter().filter(|seen| !seen.deleted).collect()
    }

    pub fn shown_texts(&self, place: &Place) -> Vec<String> {
        let here = self.shown().into_iter().filter(|seen| seen.place == *place);
        here.map(|seen| seen.text).collect()
    }

    pub async fn all_confirmed(&self) {
        self.until("everything is confirmed", |world| world.unconfirmed() == 0)
            .await;
    }

    /// Has a poll meet this trouble, one that would have brought these messages if it can.
    pub async fn poll_meets(
        &self,
        (trouble, strikes): (&str, Strikes),
        spot: Spot,
        texts: &[String],
    ) {
        let write = |text: &String| self.world.write(spot, text);
        match (strikes, texts) {
            (Strikes::Waiting, _) | (_, []) => {
                self.world.poll_trouble(trouble).await;
                texts.iter().map(write).for_each(drop);
            }
            (Strikes::Next, [first, rest @ ..]) => {
                // While the first is being stored, no poll is under way.
                self.inbox.store(Store::Hesitates);
                write(first);
                let held = |heard: &[Heard]| {
                    let is_first =
                        |heard: &Heard| matches!(heard, Heard::Held(new) if new.text == *first);
                    heard.iter().any(is_first).then_some(())
                };
                self.inbox
                    .until("that the first is being stored", held)
                    .await;
                self.world.poll_trouble(trouble).await;
                rest.iter().map(write).for_each(drop);
                self.inbox.store(Store::Takes);
            }
        }
        self.inbox.arrived(&texts[texts.len() - 1]).await;
        self.all_confirmed().await;
    }

    pub async fn until(&self, what: &str, met: impl Fn(&dyn World) -> bool + Sync) {
        let is_so = self.world.wait_until(&met).await;
        assert!(is_so, "within {:?} it did not happen: {what}", limit());
    }

    /// Of an own folder, in which nothing is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// At the end of every check.
    pub async fn end(mut self) {
        self.close().await;
        let mut misbehaviour = self.world.misbehaviour();
        if let Some(forgiven) = self.forgiven {
            misbehaviour.retain(|other| !other.contains(forgiven));
        }
        assert!(misbehaviour.is_empty(), "{misbehaviour:#?}");
    }
}

/// Where an origin points to.
pub fn place_of(origin: &Origin) -> Place {
    Place {
        chat: origin.chat.clone(),
        thread: origin.thread.clone(),
    }
}
