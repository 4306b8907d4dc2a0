//! The simulated Telegram of one scenario: its bots, people, chats and topics, and what goes wrong there.
//!
//! **Invariant:** every bot reaches the simulator through a [`Door`] of its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use homing_domain::key::{ChatType, SessionKey};
use homing_domain::origin::{AccountName, Origin};
use homing_simulators::telegram::{
    Bot, Chat, ChatId, Fault, NewBot, NewUser, Place, Server, Settings, Standing, ThreadId,
    TopicEvent, Trouble, UserId,
};

use super::casting::{Casting, Room, RoomName};
use super::door::Door;
use super::names::{Names, Number, Spot};
use crate::platforms::Posted;
use crate::protocol::{Handed, TelegramBot};

/// Seconds that a bot which sends too much is told to wait.
const COME_BACK: u64 = 2;

#[derive(Debug)]
pub struct Stage {
    server: Server,
    bots: BTreeMap<AccountName, Playing>,
    /// The creator of all groups.
    director: UserId,
    /// Chats that several bots read.
    shared: Vec<ChatId>,
    groups: Vec<ChatId>,
    people: Vec<UserId>,
    slowed: BTreeMap<AccountName, Duration>,
}

#[derive(Debug)]
struct Playing {
    bot: Bot,
    door: Door,
}

impl Stage {
    pub async fn set(casting: &Casting) -> anyhow::Result<(Stage, Names)> {
        let server = Server::start(Settings::default())
            .await
            .context("starting the simulated Telegram")?;
        let address: SocketAddr = server.url().trim_start_matches("http://").parse()?;
        let mut bots = BTreeMap::new();
        for (index, account) in casting.bots.iter().enumerate() {
            let new = NewBot::named(format!("scenario{index}_bot"))
                .reading_all()
                .with_private_topics();
            let bot = server.bot(new);
            let door = Door::open_to(address)?;
            bots.insert(account.clone(), Playing { bot, door });
        }
        let director = server.user("Director");
        let mut stage = Stage {
            server,
            bots,
            director,
            shared: Vec::new(),
            groups: Vec::new(),
            people: Vec::new(),
            slowed: BTreeMap::new(),
        };
        let mut names = Names::default();
        for person in &casting.people {
            let number = stage.person(person);
            names.person(person, number.0);
        }
        for (name, room) in &casting.rooms {
            match name.chat_type {
                ChatType::Dm => stage.set_private(name, room, &mut names)?,
                _ => stage.set_group(name, room, &mut names)?,
            }
        }
        Ok((stage, names))
    }

    fn person(&mut self, name: &str) -> UserId {
        let person = self.server.user(NewUser::named(name));
        self.people.push(person);
        person
    }

    /// One person, with a private chat for each bot.
    fn set_private(
        &mut self,
        name: &RoomName,
        room: &Room,
        names: &mut Names,
    ) -> anyhow::Result<()> {
        let person = self.person(&name.chat);
        for account in &room.bots {
            let chat = self
                .server
                .private_chat(&self.playing(account)?.bot, person);
            self.set_topics(account, name, room, chat, person, names)?;
        }
        Ok(())
    }

    fn set_group(&mut self, name: &RoomName, room: &Room, names: &mut Names) -> anyhow::Result<()> {
        let members: Vec<UserId> = std::iter::once(self.director)
            .chain(self.people.iter().copied())
            .collect();
        let chat = match room.threads.is_empty() {
            true => self.server.group(&name.chat, &members),
            false => self.server.forum(&name.chat, &members),
        };
        for account in &room.bots {
            self.server
                .admit(chat, self.playing(account)?.bot.id, Standing::Member)?;
        }
        self.groups.push(chat.id);
        if room.bots.len() > 1 {
            self.shared.push(chat.id);
        }
        let mut topics = BTreeMap::new();
        for thread in &room.threads {
            let place = self.server.topic(self.director, chat, thread)?;
            topics.insert(thread.clone(), place.thread);
        }
        for account in &room.bots {
            names.place(spot(account, name, None), number(chat, None));
            for (thread, topic) in &topics {
                names.place(spot(account, name, Some(thread)), number(chat, *topic));
            }
        }
        Ok(())
    }

    fn set_topics(
        &self,
        account: &AccountName,
        name: &RoomName,
        room: &Room,
        chat: Chat,
        by: UserId,
        names: &mut Names,
    ) -> anyhow::Result<()> {
        names.place(spot(account, name, None), number(chat, None));
        for thread in &room.threads {
            let topic = self.server.topic(by, chat, thread)?;
            names.place(
                spot(account, name, Some(thread)),
                number(chat, topic.thread),
            );
        }
        Ok(())
    }

    fn playing(&self, account: &AccountName) -> anyhow::Result<&Playing> {
        self.bots
            .get(account)
            .with_context(|| format!("{account} is no bot here"))
    }

    pub fn has(&self, account: &AccountName) -> bool {
        self.bots.contains_key(account)
    }

    /// What the gateway's process needs to know of its bots.
    pub fn bots(&self) -> Vec<TelegramBot> {
        let bot = |(account, playing): (&AccountName, &Playing)| TelegramBot {
            account: account.into(),
            token: playing.bot.token.clone(),
            api_url: playing.door.url(),
            people: self.people.iter().map(|person| person.0).collect(),
            groups: self
                .groups
                .iter()
                .map(|chat| (chat.0, self.shared.contains(chat)))
                .collect(),
        };
        self.bots.iter().map(bot).collect()
    }
}

/// What people do.
impl Stage {
    pub fn post(&self, origin: &Origin, text: &str) -> anyhow::Result<()> {
        let playing = self.playing(&origin.account_name())?;
        let place = self.place(&playing.bot, &origin.chat, origin.thread.as_deref())?;
        let person = origin.user.as_deref().context("nobody writes")?.parse()?;
        let text = match self.shared.contains(&place.chat.id) {
            true => addressed(text, &playing.bot.username),
            false => text.to_owned(),
        };
        self.server.post(UserId(person), place, text)?;
        Ok(())
    }

    fn place(&self, bot: &Bot, chat: &str, thread: Option<&str>) -> anyhow::Result<Place> {
        let id = ChatId(chat.parse()?);
        let chat = self
            .server
            .chat_seen_by(bot, id)
            .with_context(|| format!("no chat {id}"))?;
        let thread = thread.map(str::parse).transpose()?.map(ThreadId);
        Ok(Place { chat, thread })
    }

    /// Updates that a bot which can be reached has not confirmed.
    pub fn unconfirmed(&self) -> usize {
        let reached = self.bots.values().filter(|playing| playing.door.is_open());
        reached
            .map(|playing| self.server.pending_updates(&playing.bot).len())
            .sum()
    }

    /// Whether all of them were confirmed in time.
    pub async fn confirmed(&self, limit: Duration) -> bool {
        let none = |_: &Server| (self.unconfirmed() == 0).then_some(());
        self.server.wait_for(limit, none).await.is_ok()
    }
}

/// What goes wrong.
impl Stage {
    pub async fn down(&mut self, account: &AccountName) {
        if let Some(playing) = self.bots.get_mut(account) {
            playing.door.close().await;
        }
    }

    pub fn up(&mut self, account: &AccountName) -> anyhow::Result<()> {
        match self.bots.get_mut(account) {
            Some(playing) => Ok(playing.door.open()?),
            None => Ok(()),
        }
    }

    pub fn is_down(&self, account: &AccountName) -> bool {
        self.bots
            .get(account)
            .is_some_and(|playing| !playing.door.is_open())
    }

    /// A topic is deleted, the bot is removed from a group, a person blocks it.
    pub fn gone(&self, key: &SessionKey) -> anyhow::Result<()> {
        let bot = &self.playing(&Origin::from_key(key).account_name())?.bot;
        let place = self.place(bot, &key.chat, key.thread.as_deref())?;
        match (key.chat_type, place.thread) {
            (ChatType::Dm, Some(_)) => {
                let person = UserId(place.chat.id.0);
                self.server
                    .topic_event(person, place, TopicEvent::Deleted)?;
            }
            (_, Some(_)) => self
                .server
                .topic_event(self.director, place, TopicEvent::Deleted)?,
            (ChatType::Dm, None) => self.server.block(place.chat)?,
            (_, None) => {
                self.server
                    .change_member(self.director, place.chat, bot.id, Standing::Kicked)?;
            }
        }
        Ok(())
    }

    /// Messages of this bot are refused as too many until so much of the scenario's time has passed. To the adapter Telegram's seconds are real
    /// ones, whatever a scenario's clock says: it is told to come back soon, again and again.
    pub fn slow(&mut self, account: &AccountName, span: Duration) {
        self.slowed.insert(account.clone(), span);
        self.set_faults();
    }

    /// What is over by then is over before: the adapter has waited for as long as it was last told.
    pub async fn time_passes(&mut self, by: Duration) {
        let before = self.slowed.len();
        self.slowed.retain(|_, left| {
            *left = left.saturating_sub(by);
            !left.is_zero()
        });
        if self.slowed.len() < before {
            self.set_faults();
            tokio::time::sleep(Duration::from_secs(COME_BACK)).await;
        }
    }

    fn set_faults(&self) {
        self.server.clear_faults();
        for account in self.slowed.keys() {
            if let Some(playing) = self.bots.get(account) {
                let trouble = Trouble::TooManyRequests {
                    retry_after: COME_BACK,
                };
                let fault = Fault::new(trouble)
                    .bot(playing.bot.id)
                    .method("sendMessage");
                self.server.fault(fault.always());
            }
        }
    }
}

/// What bots did.
impl Stage {
    pub fn sent_count(&self) -> usize {
        self.server.sent().len()
    }

    /// Everything they sent, in order. `handed` is what was handed to the adapters.
    pub fn posted(&self, handed: &[Handed]) -> Vec<Posted> {
        let mut used = vec![false; handed.len()];
        let sent = self.server.sent().into_iter();
        sent.map(|sent| {
            let account = self
                .bots
                .iter()
                .find(|(_, playing)| playing.bot.id == sent.bot);
            let (chat, thread) = (
                sent.chat.to_string(),
                sent.thread.map(|thread| thread.to_string()),
            );
            let fits = |handed: &Handed| {
                account.is_some_and(|(account, _)| handed.origin.account_name() == *account)
                    && sent.text.contains(handed.text.trim())
            };
            let is_here =
                |handed: &Handed| handed.origin.chat == chat && handed.origin.thread == thread;
            let best = (0..handed.len())
                .filter(|index| fits(&handed[*index]))
                .min_by_key(|index| (!is_here(&handed[*index]), used[*index], *index));
            let Some(index) = best else {
                return Posted::unexpected(chat, thread, sent.text);
            };
            used[index] = true;
            Posted {
                origin: Origin {
                    chat,
                    thread,
                    ..handed[index].origin.clone()
                },
                kind: Some(handed[index].kind),
                window: None,
                text: sent.text,
            }
        })
        .collect()
    }

    /// What no correct client does.
    pub fn problems(&self) -> Vec<String> {
        let violations = self.server.violations().into_iter();
        violations
            .map(|violation| format!("{}: {}", violation.method, violation.problem))
            .collect()
    }
}

fn spot(account: &AccountName, room: &RoomName, thread: Option<&String>) -> Spot {
    Spot {
        account: account.clone(),
        chat_type: room.chat_type,
        chat: room.chat.clone(),
        thread: thread.cloned(),
    }
}

fn number(chat: Chat, thread: Option<ThreadId>) -> Number {
    Number {
        chat: chat.id.0,
        thread: thread.map(|thread| thread.0),
    }
}

/// As people address one bot of several.
fn addressed(text: &str, bot: &str) -> String {
    match text.strip_prefix('/') {
        None => format!("@{bot} {text}"),
        Some(command) => {
            let end = command.find(char::is_whitespace).unwrap_or(command.len());
            let (name, rest) = command.split_at(end);
            format!("/{name}@{bot}{rest}")
        }
    }
}
