//! A gateway with everything it is made of, and the Telegram that it serves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use homing_domain::ids::SessionId;
use homing_domain::key::{ChatType, KeySettings, SessionKey};
use homing_domain::origin::{AccountName, Origin};
use homing_gateway::{Gateway, Parts, Settings};
use homing_ports::store::Queries as _;
use homing_ports::{Clock, FixedDirectory, IdSource, SystemClock};
use homing_processes::ShimProcesses;
use homing_simulators::telegram::{
    Bot, Chat, MessageId, NewBot, NewUser, Place, Post, Sent, Server, Settings as Simulated,
    Standing, UserId,
};
use homing_store_sqlite::SqliteStore;
use homing_telegram::{
    Budgets, ChatRule, Mode, Pace, Rate, ServeError, Telegram, TelegramSettings, Token,
};
use homing_telegram_tests::LIMIT;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::helper::Helper;

const PROFILE: &str = "main";
const PLATFORM: &str = "telegram";

pub struct World {
    pub server: Server,
    pub bot: Bot,
    pub alice: UserId,
    pub bob: UserId,
    pub helper: Arc<Helper>,
    /// Before [`World::start`].
    pub gateway_settings: Settings,
    chats: Vec<Chat>,
    folder: TempDir,
    running: Option<Running>,
}

struct Running {
    gateway: Gateway,
    store: SqliteStore,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), ServeError>>,
}

/// Making it.
impl World {
    /// A bot that reads everything and answers everybody; Alice and Bob may write to it.
    pub async fn new() -> World {
        World::with(NewBot::named("us_bot").reading_all()).await
    }

    /// So, with topics in private chats.
    pub async fn with_private_topics() -> World {
        World::with(NewBot::named("us_bot").reading_all().with_private_topics()).await
    }

    async fn with(bot: NewBot) -> World {
        let server = Server::start(Simulated::default()).await.unwrap();
        let bot = server.bot(bot);
        let alice = server.user(NewUser::named("Alice").username("alice"));
        let bob = server.user("Bob");
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "files"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let gateway_settings = Settings {
            keys: KeySettings {
                per_user_in_groups: false,
                ..KeySettings::default()
            },
            workspace: folder.path().join("work"),
            files: folder.path().join("files"),
            retry_first: Duration::from_millis(20),
            retry_longest: Duration::from_millis(200),
            ..Settings::default()
        };
        World {
            server,
            bot,
            alice,
            bob,
            helper: Arc::new(Helper::new()),
            gateway_settings,
            chats: Vec::new(),
            folder,
            running: None,
        }
    }

    pub fn private(&self) -> Chat {
        self.server.private_chat(&self.bot, self.alice)
    }

    pub fn forum(&mut self) -> Chat {
        let forum = self.server.forum("Forum", &[self.alice, self.bob]);
        self.enter(forum)
    }

    pub fn group(&mut self) -> Chat {
        let group = self.server.group("Group", &[self.alice, self.bob]);
        self.enter(group)
    }

    fn enter(&mut self, chat: Chat) -> Chat {
        self.server
            .admit(chat, self.bot.id, Standing::Member)
            .unwrap();
        self.chats.push(chat);
        chat
    }

    pub fn topic(&self, chat: Chat, name: &str) -> Place {
        self.server.topic(self.alice, chat, name).unwrap()
    }

    /// The operator's home is this place.
    pub fn home(&mut self, place: impl Into<Place>) {
        self.gateway_settings.home = Some(self.key(place));
    }

    pub fn key(&self, place: impl Into<Place>) -> SessionKey {
        let place = place.into();
        let origin = Origin {
            profile: PROFILE.into(),
            platform: PLATFORM.into(),
            account: None,
            chat_type: match place.chat.bot {
                Some(_) => ChatType::Dm,
                None => ChatType::Group,
            },
            chat: place.chat.id.to_string(),
            thread: place.thread.map(|thread| thread.to_string()),
            user: Some(self.alice.to_string()),
            anchor: None,
        };
        origin.key(self.gateway_settings.keys)
    }

    /// A command that waits, for ten seconds at most, until [`World::let_through`] names it, and then says so.
    pub fn gate(&self, name: &str) -> String {
        format!(
            "n=0; while [ ! -e {name} ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done; echo through-{name}"
        )
    }

    pub fn let_through(&self, name: &str) {
        std::fs::write(self.work().join(name), "").unwrap();
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }
}

/// Running it.
impl World {
    pub async fn start(&mut self) {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ids = IdSource::new(Arc::clone(&clock));
        let data = self.folder.path();
        let store = SqliteStore::open(&data.join("homing.db"), ids.clone())
            .await
            .unwrap();
        let processes = ShimProcesses::open(data, Arc::clone(&clock)).unwrap();
        let telegram = Telegram::new(self.telegram_settings(), Arc::clone(&clock)).unwrap();
        let directory = FixedDirectory {
            agents: [(PROFILE.to_owned(), Arc::clone(&self.helper) as _)].into(),
            platforms: [(telegram.account().clone(), telegram.platform())].into(),
        };
        let gateway = Gateway::start(Parts {
            store: Arc::new(store.clone()),
            processes: Arc::new(processes),
            directory: Arc::new(directory),
            clock,
            ids,
            settings: self.gateway_settings.clone(),
        })
        .await
        .unwrap();
        let shutdown = CancellationToken::new();
        let (inbox, token) = (gateway.inbox(), shutdown.clone());
        let serving = tokio::spawn(async move { telegram.serve(inbox, token).await });
        self.running = Some(Running {
            gateway,
            store,
            shutdown,
            serving,
        });
    }

    fn telegram_settings(&self) -> TelegramSettings {
        let much = Rate {
            messages: 1_000,
            per: Duration::from_millis(1),
        };
        let rule = |chat: &Chat| ChatRule {
            chat: chat.id.0,
            topic: None,
            require_mention: None,
        };
        TelegramSettings {
            account: AccountName {
                profile: PROFILE.into(),
                platform: PLATFORM.into(),
                account: None,
            },
            token: Token::new(self.bot.token.clone()).unwrap(),
            api_url: self.server.url().parse().unwrap(),
            mode: Mode::Polling,
            people: vec![self.alice.0, self.bob.0],
            chats: self.chats.iter().map(rule).collect(),
            require_mention: false,
            commands: Vec::new(),
            budgets: Budgets {
                per_chat: much,
                per_group: much,
                overall: much,
            },
            state: self.folder.path().join("telegram"),
            previews: false,
            pace: Pace {
                first_wait: Duration::from_millis(5),
                longest_wait: Duration::from_millis(50),
                first_conflict_wait: Duration::from_millis(5),
                longest_conflict_wait: Duration::from_millis(50),
                ..Pace::default()
            },
        }
    }

    pub async fn stop(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        running.shutdown.cancel();
        let served = tokio::time::timeout(LIMIT, running.serving).await;
        served.unwrap().unwrap().unwrap();
        running.gateway.stop(Duration::from_secs(1)).await;
        running.store.close().await.unwrap();
    }

    pub async fn restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    /// What people wrote is taken, and what is to be done about it is done. What waits for a person or a process may wait on.
    pub async fn quiet(&self) {
        let running = self.running.as_ref().unwrap();
        let none_pending =
            |server: &Server| server.pending_updates(&self.bot).is_empty().then_some(());
        self.server.wait_for(LIMIT, none_pending).await.unwrap();
        let idle = async {
            while !running.gateway.activity().idle() {
                running.gateway.activity_changed().await;
            }
        };
        tokio::time::timeout(LIMIT, idle).await.unwrap();
    }

    /// The session of a place now.
    pub async fn session(&self, place: impl Into<Place>) -> Option<SessionId> {
        let store = &self.running.as_ref().unwrap().store;
        let row = store.conversation_by_key(&self.key(place)).await.unwrap()?;
        row.current.map(|current| current.session)
    }

    /// How many conversations there are.
    pub async fn conversations(&self) -> usize {
        let store = &self.running.as_ref().unwrap().store;
        store.conversations(100).await.unwrap().len()
    }

    /// # Panics
    ///
    /// If the bot has done what no correct client does.
    pub async fn end(mut self) {
        self.stop().await;
        assert_eq!(self.server.violations(), [], "no correct client does this");
    }
}

/// Talking.
impl World {
    pub fn says(&self, place: impl Into<Place>, post: impl Into<Post>) -> MessageId {
        self.server.post(self.alice, place, post).unwrap()
    }

    /// Waits until the bot has said something with this text there, and nothing like it anywhere else.
    pub async fn told(&self, place: impl Into<Place>, text: &str) -> Sent {
        let place = place.into();
        let found = |server: &Server| {
            let mut here = server.sent_in(place).into_iter();
            here.find(|sent| sent.text.contains(text))
        };
        let found = self.server.wait_for(LIMIT, found).await;
        let found = found.unwrap_or_else(|error| {
            panic!(
                "{text:?} was not told there, {error}: {:#?}",
                self.server.sent()
            )
        });
        let everywhere = self.server.sent().into_iter();
        let elsewhere: Vec<Sent> = everywhere
            .filter(|sent| sent.text.contains(text) && !sent.deleted)
            .filter(|sent| (sent.chat, sent.thread) != (found.chat, found.thread))
            .collect();
        assert!(
            elsewhere.is_empty(),
            "{text:?} was also told elsewhere: {elsewhere:#?}"
        );
        found
    }

    /// Alice writes, and gets `heard …` there.
    pub async fn talk(&self, place: impl Into<Place>, text: &str) -> Sent {
        let place = place.into();
        self.says(place, text);
        self.told(place, &format!("heard {text}")).await
    }

    /// A process that runs in the background for this place until it is let through.
    pub async fn background(&self, place: impl Into<Place>, name: &str) {
        let place = place.into();
        let before = self.texts(place).len();
        self.says(place, format!("!bg {}", self.gate(name)));
        let started = |server: &Server| {
            let texts = server.sent_in(place).into_iter().skip(before);
            texts
                .map(|sent| sent.text)
                .any(|text| text.contains("Started prc_"))
                .then_some(())
        };
        self.server.wait_for(LIMIT, started).await.unwrap();
    }

    pub fn texts(&self, place: impl Into<Place>) -> Vec<String> {
        let sent = self.server.sent_in(place).into_iter();
        sent.map(|sent| sent.text).collect()
    }
}
