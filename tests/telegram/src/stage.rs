//! A world with a bot that is served, and Alice.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::ids::OutboxId;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::Clock;
use homing_ports::platform::{Extras, Outgoing, OutgoingKind, Platform, Receipt, SendError};
use homing_simulators::telegram::{
    Bot, Chat, NewBot, NewUser, Place, Sent, Server, Settings, Standing, UserId,
};
use homing_telegram::{
    Budgets, ChatRule, Mode, Pace, Rate, ServeError, Telegram, TelegramSettings, Token,
};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::inbox::FakeInbox;

/// Nothing here takes as long; what does has failed.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A clock that a test moves.
#[derive(Debug, Default)]
pub struct HandClock(AtomicI64);

impl HandClock {
    pub fn advance(&self, span: Duration) {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_790_000_000_000 + self.0.load(Ordering::Relaxed))
    }

    async fn sleep_until(&self, _deadline: Timestamp) {
        std::future::pending().await
    }
}

pub struct Stage {
    pub server: Server,
    pub bot: Bot,
    pub alice: UserId,
    pub settings: TelegramSettings,
    pub clock: Arc<HandClock>,
    pub inbox: Arc<FakeInbox>,
    pub telegram: Arc<Telegram>,
    serving: Option<Serving>,
    folder: TempDir,
}

struct Serving {
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), ServeError>>,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl Stage {
    /// A bot in privacy mode; Alice may speak to it, in private and in every chat that [`Stage::allow`] opens. It is not served yet.
    pub async fn new() -> Stage {
        Stage::with_bot(NewBot::named("us_bot")).await
    }

    /// # Panics
    ///
    /// If the simulator does not start.
    pub async fn with_bot(bot: NewBot) -> Stage {
        let server = match Server::start(Settings::default()).await {
            Ok(server) => server,
            Err(error) => panic!("the simulator does not start: {error}"),
        };
        let bot = server.bot(bot);
        let alice = server.user(NewUser::named("Alice").username("alice"));
        let folder = match tempfile::tempdir() {
            Ok(folder) => folder,
            Err(error) => panic!("no temporary folder: {error}"),
        };
        let settings = settings(&server, &bot, alice, &folder);
        let clock = Arc::new(HandClock::default());
        let telegram = made(&settings, &clock);
        Stage {
            server,
            bot,
            alice,
            settings,
            clock,
            inbox: Arc::default(),
            telegram,
            serving: None,
            folder,
        }
    }

    /// Changes settings; for a bot that is not served.
    pub fn set(&mut self, change: impl FnOnce(&mut TelegramSettings)) {
        change(&mut self.settings);
        self.telegram = made(&self.settings, &self.clock);
    }

    pub fn allow(&mut self, chat: Chat) {
        let rule = ChatRule {
            chat: chat.id.0,
            topic: None,
            require_mention: None,
        };
        self.set(|settings| settings.chats.push(rule));
    }

    pub fn private(&self) -> Chat {
        self.server.private_chat(&self.bot, self.alice)
    }

    /// A forum where the bot is a member, and allowed.
    pub fn forum(&mut self) -> Chat {
        let forum = self.server.forum("Forum", &[self.alice]);
        self.enter(forum, Standing::Member);
        forum
    }

    pub fn group(&mut self) -> Chat {
        let group = self.server.group("Group", &[self.alice]);
        self.enter(group, Standing::Member);
        group
    }

    /// # Panics
    ///
    /// If there is no such chat.
    pub fn enter(&mut self, chat: Chat, standing: Standing) {
        if let Err(error) = self.server.admit(chat, self.bot.id, standing) {
            panic!("the bot cannot enter: {error}");
        }
        self.allow(chat);
    }

    pub fn serve(&mut self) {
        let shutdown = CancellationToken::new();
        let (telegram, inbox) = (Arc::clone(&self.telegram), Arc::clone(&self.inbox));
        let token = shutdown.clone();
        let task = tokio::spawn(async move { telegram.serve(inbox, token).await });
        self.serving = Some(Serving { shutdown, task });
    }

    /// Stops as a gateway does, and makes a new bot from what is on disk.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.telegram = made(&self.settings, &self.clock);
        self.serve();
    }

    /// # Panics
    ///
    /// If serving ends with an error, or not at all.
    pub async fn stop(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.shutdown.cancel();
            match tokio::time::timeout(LIMIT, serving.task).await {
                Ok(Ok(Ok(()))) => {}
                other => panic!("serving did not end well: {other:?}"),
            }
        }
    }

    /// Waits until serving ends by itself.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub async fn ended(&mut self) -> Result<(), ServeError> {
        let Some(serving) = self.serving.take() else {
            panic!("it is not served");
        };
        match tokio::time::timeout(LIMIT, serving.task).await {
            Ok(Ok(result)) => result,
            other => panic!("serving did not end: {other:?}"),
        }
    }

    pub fn platform(&self) -> Arc<dyn Platform> {
        self.telegram.platform()
    }

    pub fn state(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// What Alice writes.
    ///
    /// # Panics
    ///
    /// If she cannot.
    pub fn writes(
        &self,
        at: impl Into<Place>,
        post: impl Into<homing_simulators::telegram::Post>,
    ) -> i64 {
        match self.server.post(self.alice, at, post) {
            Ok(message) => message.0,
            Err(error) => panic!("Alice cannot write: {error}"),
        }
    }

    pub fn origin(&self, place: impl Into<Place>) -> Origin {
        let place = place.into();
        let account = &self.settings.account;
        let is_private = place.chat.bot.is_some();
        Origin {
            profile: account.profile.clone(),
            platform: account.platform.clone(),
            account: account.account.clone(),
            chat_type: match is_private {
                true => homing_domain::key::ChatType::Dm,
                false => homing_domain::key::ChatType::Group,
            },
            chat: place.chat.id.to_string(),
            thread: place.thread.map(|thread| thread.to_string()),
            user: Some(self.alice.to_string()),
            anchor: None,
        }
    }

    pub async fn says(&self, origin: &Origin, text: &str) -> Result<Receipt, SendError> {
        self.platform().send(outgoing(origin, text)).await
    }

    pub fn sent_in(&self, place: impl Into<Place>) -> Vec<Sent> {
        self.server.sent_in(place)
    }

    /// # Panics
    ///
    /// If the bot has done what no correct client does, or has said its token.
    pub async fn end(mut self) {
        self.stop().await;
        assert_eq!(self.server.violations(), [], "no correct client does this");
        let secret = self
            .bot
            .token
            .split_once(':')
            .map_or("", |(_, secret)| secret);
        for text in self.inbox.told() {
            assert!(!text.contains(secret), "the token is in: {text}");
        }
    }
}

/// A plain answer.
pub fn outgoing(origin: &Origin, text: &str) -> Outgoing {
    Outgoing {
        id: OutboxId::from_number(1),
        attempt: 1,
        origin: origin.clone(),
        window: None,
        kind: OutgoingKind::Answer,
        text: text.into(),
        extras: Extras::default(),
        may_repeat: false,
    }
}

fn made(settings: &TelegramSettings, clock: &Arc<HandClock>) -> Arc<Telegram> {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as Arc<dyn Clock>;
    match Telegram::new(settings.clone(), clock) {
        Ok(telegram) => telegram,
        Err(error) => panic!("the bot cannot be made: {error}"),
    }
}

fn settings(server: &Server, bot: &Bot, alice: UserId, folder: &TempDir) -> TelegramSettings {
    let token = Token::new(bot.token.clone());
    let (Ok(token), Ok(api_url)) = (token, server.url().parse()) else {
        panic!("the simulator gives a token and an address");
    };
    let much = Rate {
        messages: 1_000,
        per: Duration::from_millis(1),
    };
    TelegramSettings {
        account: AccountName {
            profile: "main".into(),
            platform: "telegram".into(),
            account: None,
        },
        token,
        api_url,
        mode: Mode::Polling,
        people: vec![alice.0],
        chats: Vec::new(),
        require_mention: true,
        commands: Vec::new(),
        budgets: Budgets {
            per_chat: much,
            per_group: much,
            overall: much,
        },
        state: folder.path().to_owned(),
        previews: true,
        pace: Pace {
            poll: Duration::from_secs(1),
            answer: Duration::from_secs(10),
            patience: Duration::from_millis(200),
            first_wait: Duration::from_millis(5),
            longest_wait: Duration::from_millis(50),
            first_conflict_wait: Duration::from_millis(5),
            longest_conflict_wait: Duration::from_millis(50),
        },
    }
}
