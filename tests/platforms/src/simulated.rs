//! The generic simulated platform as the suite sees it.

use std::sync::Arc;

use async_trait::async_trait;
use homing_domain::origin::{AccountName, Origin};
use homing_ports::inbox::Inbox;
use homing_ports::platform::{Platform, Repeats};
use homing_simulators::wire::LandedAt;
use homing_simulators::{
    self as simulators, Post, Server, Settings, SimulatedPlatform, Which, client,
};

use crate::kept::limit;
use crate::relay::Relay;
use crate::world::{Effect, Kind, Need, Place, Seen, Spot, Trouble, World};

/// With one of the three things that a platform can do about repeats.
#[derive(Debug, Clone, Copy)]
pub struct Simulated(pub Repeats);

#[async_trait]
impl Kind for Simulated {
    async fn world(&self) -> Box<dyn World> {
        let server = Server::start().await.unwrap();
        let mut world = Generic {
            relay: Relay::to(&server.url()),
            server,
            settings: Settings {
                repeats: self.0,
                ..Settings::default()
            },
            adapter: None,
        };
        world.renew();
        Box::new(world)
    }

    fn has(&self, need: Need) -> bool {
        match need {
            Need::Deduplicates => self.0 == Repeats::Deduplicates,
            Need::LooksUp => self.0 == Repeats::LookUp,
            Need::Unprotected => self.0 == Repeats::Unprotected,
            Need::At(spot) => !matches!(spot, Spot::General | Spot::Direct),
            Need::Sends
            | Need::TakesBack
            | Need::Deleting
            | Need::Misplacing
            | Need::RateLimits
            | Need::AnswersLost => true,
            _ => false,
        }
    }
}

#[derive(Debug)]
struct Generic {
    server: Server,
    relay: Relay,
    settings: Settings,
    adapter: Option<Arc<SimulatedPlatform>>,
}

fn account() -> AccountName {
    AccountName {
        profile: "main".into(),
        platform: "simulated".into(),
        account: Some("a b/c".into()),
    }
}

impl Generic {
    fn renew(&mut self) -> Arc<SimulatedPlatform> {
        let client = client().unwrap();
        let new = SimulatedPlatform::new(&self.relay.url(), account(), self.settings, client);
        let adapter = Arc::new(new.unwrap());
        self.adapter = Some(Arc::clone(&adapter));
        adapter
    }

    fn adapter(&self) -> &Arc<SimulatedPlatform> {
        self.adapter.as_ref().unwrap()
    }
}

#[async_trait]
impl World for Generic {
    async fn open(&mut self, inbox: Arc<dyn Inbox>) {
        self.renew().open(inbox);
    }

    async fn close(&mut self) {
        self.adapter().close();
    }

    async fn kill(&mut self) {
        self.adapter().close();
    }

    fn platform(&self) -> Arc<dyn Platform> {
        Arc::clone(self.adapter()) as Arc<dyn Platform>
    }

    fn place(&self, spot: Spot) -> Place {
        let (chat, thread) = match spot {
            Spot::Private => ("u1", None),
            Spot::PrivateTopic => ("u1", Some("t 1")),
            Spot::Group => ("-100", None),
            Spot::Topic => ("-100", Some("42")),
            Spot::Channel => ("C1", None),
            Spot::General | Spot::Direct => panic!("there is no {spot:?}"),
        };
        Place {
            chat: chat.into(),
            thread: thread.map(str::to_owned),
        }
    }

    fn speaker(&self, _spot: Spot) -> String {
        "u1".into()
    }

    fn write(&self, spot: Spot, text: &str) -> Option<String> {
        let Place { chat, thread } = self.place(spot);
        let AccountName {
            profile,
            platform,
            account: name,
        } = account();
        let origin = Origin {
            profile,
            platform,
            account: name,
            chat_type: spot.chat_type(),
            chat,
            thread,
            user: Some(self.speaker(spot)),
            anchor: None,
        };
        self.server.post(&account(), Post::new(&origin, text));
        None
    }

    fn unconfirmed(&self) -> usize {
        self.server.unconfirmed()
    }

    fn seen(&self) -> Vec<Seen> {
        let sent = self.server.sent().into_iter();
        sent.map(|sent| Seen {
            place: Place {
                chat: sent.landed.chat,
                thread: sent.landed.thread,
            },
            message: sent.message,
            text: sent.body.text,
            formatted: false,
            buttons: Vec::new(),
            file: None,
            edits: 0,
            marked: sent.body.may_repeat,
            deleted: sent.taken_back,
        })
        .collect()
    }

    async fn wait_until(&self, met: &(dyn for<'w> Fn(&'w dyn World) -> bool + Sync)) -> bool {
        let mut changes = self.server.changes();
        let waiting = changes.wait_for(|_| met(self));
        matches!(tokio::time::timeout(limit(), waiting).await, Ok(Ok(_)))
    }

    async fn go_away(&self) {
        self.relay.go_away().await;
    }

    fn come_back(&self) {
        self.relay.come_back();
    }

    fn trouble(&self, trouble: Trouble) {
        let us = Which::Account(account());
        match trouble {
            Trouble::RateLimited(span) => self.server.slow_next(us, span),
            Trouble::Reset(Effect::Taken) => self.server.drop_next(us),
            Trouble::Misplaced(spot) => {
                let Place { chat, thread } = self.place(spot);
                self.server.misplace_next(us, LandedAt { chat, thread });
            }
            other => panic!("there is no {other:?}"),
        }
    }

    fn delete_place(&self, spot: Spot) {
        let Place { chat, thread } = self.place(spot);
        self.server.gone(simulators::Place {
            account: account(),
            chat,
            thread,
        });
    }
}
