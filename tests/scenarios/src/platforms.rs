//! Where a scenario's people write and read: the simulated platform, and Telegram if it is played over that.

use std::time::Duration;

use anyhow::Context as _;
use homing_domain::ids::WindowId;
use homing_domain::key::{ChatType, SessionKey};
use homing_domain::origin::{AccountName, Origin};
use homing_ports::platform::OutgoingKind;
use homing_simulators::{Place, Post, Sent, Server, Which};

use crate::check::Plan;
use crate::model::{Platform, PlatformIs};
use crate::protocol::{Handed, TelegramBot};
use crate::telegram::Stage;

#[derive(Debug)]
pub struct Platforms {
    simulated: Server,
    telegram: Option<Stage>,
}

/// How much had been sent at some moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    simulated: usize,
    telegram: usize,
}

/// A message that a platform took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// Where it is; `user` is the person it was addressed to.
    pub origin: Origin,
    /// `None` if nobody in the gateway has sent it.
    pub kind: Option<OutgoingKind>,
    pub window: Option<WindowId>,
    pub text: String,
}

impl Posted {
    pub fn unexpected(chat: String, thread: Option<String>, text: String) -> Posted {
        Posted {
            origin: Origin {
                profile: "nobody".into(),
                platform: "telegram".into(),
                account: None,
                chat_type: ChatType::Group,
                chat,
                thread,
                user: None,
                anchor: None,
            },
            kind: None,
            window: None,
            text,
        }
    }
}

impl From<Sent> for Posted {
    fn from(sent: Sent) -> Posted {
        Posted {
            origin: sent.origin(),
            kind: Some(sent.kind),
            window: sent.body.window,
            text: sent.body.text,
        }
    }
}

impl Platforms {
    pub async fn start(telegram: Option<Stage>) -> anyhow::Result<Platforms> {
        let simulated = Server::start()
            .await
            .context("starting the simulated platforms")?;
        Ok(Platforms {
            simulated,
            telegram,
        })
    }

    /// The address of the simulated platform.
    pub fn url(&self) -> String {
        self.simulated.url()
    }

    pub fn telegram_bots(&self) -> Vec<TelegramBot> {
        self.telegram.as_ref().map(Stage::bots).unwrap_or_default()
    }

    pub fn is_of_telegram(&self, account: &AccountName) -> bool {
        self.telegram
            .as_ref()
            .is_some_and(|stage| stage.has(account))
    }

    /// A person writes.
    pub fn post(&self, origin: &Origin, text: &str) -> Result<(), String> {
        let account = origin.account_name();
        match &self.telegram {
            Some(stage) if stage.has(&account) => stage
                .post(origin, text)
                .map_err(|error| format!("somebody to write there, seen {error:#}")),
            _ => {
                self.simulated.post(&account, Post::new(origin, text));
                Ok(())
            }
        }
    }

    /// What people wrote is with the gateway, where it can be. Otherwise how much is not.
    pub async fn stored(&self, limit: Duration) -> Result<(), usize> {
        let mut changes = self.simulated.changes();
        let stored = changes.wait_for(|_| self.simulated.unconfirmed() == 0);
        if !matches!(tokio::time::timeout(limit, stored).await, Ok(Ok(_))) {
            return Err(self.simulated.unconfirmed());
        }
        match &self.telegram {
            Some(stage) if !stage.confirmed(limit).await => Err(stage.unconfirmed()),
            Some(_) | None => Ok(()),
        }
    }
}

/// What was sent.
impl Platforms {
    pub fn mark(&self) -> Mark {
        Mark {
            simulated: self.simulated.sent_count(),
            telegram: self.telegram.as_ref().map_or(0, Stage::sent_count),
        }
    }

    pub fn posted_since(&self, mark: Mark, handed: &[Handed]) -> Vec<Posted> {
        let simulated = self.simulated.sent_since(mark.simulated).into_iter();
        let telegram = self.telegram.iter().flat_map(|stage| stage.posted(handed));
        simulated
            .map(Posted::from)
            .chain(telegram.skip(mark.telegram))
            .collect()
    }

    /// What no correct client of a platform does.
    pub fn problems(&self) -> Vec<String> {
        self.telegram
            .as_ref()
            .map(Stage::problems)
            .unwrap_or_default()
    }
}

/// What goes wrong.
impl Platforms {
    pub fn is_down(&self, account: &AccountName) -> bool {
        match &self.telegram {
            Some(stage) if stage.has(account) => stage.is_down(account),
            _ => self.simulated.is_down(account),
        }
    }

    pub async fn change(&mut self, change: &Platform, plan: &Plan) -> anyhow::Result<()> {
        let called: Vec<&AccountName> = plan.accounts_called(&change.name).collect();
        match &change.is {
            PlatformIs::Down => {
                targets(&change.name, &called)
                    .into_iter()
                    .for_each(|which| self.simulated.down(which));
                if let Some(stage) = &mut self.telegram {
                    for account in called {
                        stage.down(account).await;
                    }
                }
            }
            PlatformIs::Up => self.up(&change.name, &called)?,
            PlatformIs::Gone(key) => self.gone(key)?,
            PlatformIs::Slow(span) => match &mut self.telegram {
                Some(stage) if called.iter().any(|account| stage.has(account)) => {
                    called.iter().for_each(|account| stage.slow(account, *span));
                }
                _ => targets(&change.name, &called)
                    .into_iter()
                    .take(1)
                    .for_each(|which| self.simulated.slow_next(which, *span)),
            },
        }
        Ok(())
    }

    /// A platform that comes up brings all its accounts up, however they went down.
    fn up(&mut self, name: &str, called: &[&AccountName]) -> anyhow::Result<()> {
        targets(name, called)
            .iter()
            .for_each(|which| self.simulated.up(which));
        for account in called {
            self.simulated.up(&Which::Account((*account).clone()));
            if let Some(stage) = &mut self.telegram {
                stage.up(account)?;
            }
        }
        Ok(())
    }

    fn gone(&self, key: &SessionKey) -> anyhow::Result<()> {
        let account = Origin::from_key(key).account_name();
        match &self.telegram {
            Some(stage) if stage.has(&account) => stage.gone(key),
            _ => {
                self.simulated.gone(Place {
                    account,
                    chat: key.chat.clone(),
                    thread: key.thread.clone(),
                });
                Ok(())
            }
        }
    }

    /// The scenario's clock moves.
    pub async fn time_passes(&mut self, by: Duration) {
        if let Some(stage) = &mut self.telegram {
            stage.time_passes(by).await;
        }
    }
}

/// `slack` is every account of it, now and later; `slack@T1` one.
fn targets(name: &str, called: &[&AccountName]) -> Vec<Which> {
    match name.split_once('@') {
        None => vec![Which::Platform(name.to_owned())],
        Some(_) => called
            .iter()
            .map(|account| Which::Account((*account).clone()))
            .collect(),
    }
}
