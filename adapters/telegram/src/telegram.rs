//! One bot: made once, registered as a platform, served until it is told to stop.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use homing_domain::origin::AccountName;
use homing_domain::time::Timestamp;
use homing_ports::Clock;
use homing_ports::inbox::Inbox;
use homing_ports::platform::{Platform, SendError};
use serde::Deserialize;
use serde_json::{Value, json};
use teloxide_core::payloads::{GetMe, GetMyCommands, SetMyCommands};
use teloxide_core::types::{BotCommand, BotCommandScope, User};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::api::{Api, Failure};
use crate::asked::Me;
use crate::budget::{Budget, Use};
use crate::doctor::{self, Finding};
use crate::intake::Intake;
use crate::platform::TelegramPlatform;
use crate::poll::{self, Backoff};
use crate::settings::{CommandName, Mode, SettingsError, TelegramSettings};
use crate::state::State;
use crate::webhook;

/// Why a bot cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("the folder {path} cannot be used")]
    State {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("no HTTP client can be made: {0}")]
    Client(String),
}

/// Why a bot is not served any more, though nobody told it to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "Telegram does not accept the bot's token: {0}; set the one that BotFather shows, and restart"
    )]
    Token(String),
    #[error("the webhook's address {address} cannot be listened on; is another program there?")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
}

/// One account of Telegram.
#[derive(Debug)]
pub struct Telegram {
    shared: Arc<Shared>,
}

impl Telegram {
    /// Makes the state folder, and asks nobody anything.
    pub fn new(
        settings: TelegramSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Telegram>, StartError> {
        settings.check()?;
        let state = State::open(&settings.state).map_err(|source| StartError::State {
            path: settings.state.display().to_string(),
            source,
        })?;
        let api = Api::new(
            settings.api_url.clone(),
            settings.token.clone(),
            settings.pace.answer,
        )
        .map_err(StartError::Client)?;
        let shared = Shared {
            access: Access {
                people: settings.people.clone(),
                chats: settings.chats.clone(),
                require_mention: settings.require_mention,
            },
            budget: Mutex::new(Budget::new(settings.budgets)),
            settings,
            api,
            clock,
            state: Arc::new(state),
            doubt: Notify::new(),
            has_drafts: AtomicBool::new(true),
            is_up: AtomicBool::new(false),
            inbox: OnceLock::new(),
            forums: Mutex::default(),
            told: Mutex::default(),
        };
        Ok(Arc::new(Telegram {
            shared: Arc::new(shared),
        }))
    }

    /// What the gateway knows this bot by.
    pub fn account(&self) -> &AccountName {
        &self.shared.settings.account
    }

    /// To be registered for [`Telegram::account`].
    pub fn platform(&self) -> Arc<dyn Platform> {
        Arc::new(TelegramPlatform(Arc::clone(&self.shared)))
    }

    /// Whether Telegram has answered lately.
    pub fn is_up(&self) -> bool {
        self.shared.is_up.load(Ordering::Relaxed)
    }

    /// Hands in what people write, until `shutdown`. Connects again by itself.
    pub async fn serve(
        &self,
        inbox: Arc<dyn Inbox>,
        shutdown: CancellationToken,
    ) -> Result<(), ServeError> {
        let shared = &self.shared;
        // A second call serves the same inbox: there is one gateway.
        drop(shared.inbox.set(Arc::clone(&inbox)));
        let served = tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            me = introduce(shared) => me,
        };
        let result = match served {
            Err(error) => Err(error),
            Ok(me) => {
                tracing::info!(account = %shared.settings.account, bot = me.username, "this is the bot");
                let intake = Arc::new(Intake::new(Arc::clone(shared), inbox, me));
                match &shared.settings.mode {
                    Mode::Polling => poll::run(shared, &intake, &shutdown).await,
                    Mode::Webhook { .. } => webhook::run(shared, &intake, &shutdown).await,
                }
            }
        };
        shared.is_up.store(false, Ordering::Relaxed);
        if let Err(error) = &result {
            shared.tell(&error.to_string()).await;
        }
        result
    }

    /// Looks for what would keep the bot from working. `probe` is a chat and topic that gets a message, which is deleted at once.
    pub async fn doctor(&self, probe: Option<(i64, Option<i64>)>) -> Vec<Finding> {
        doctor::look(&self.shared, probe).await
    }
}

/// What all parts of one bot share.
pub(crate) struct Shared {
    pub settings: TelegramSettings,
    pub api: Api,
    pub access: Access,
    pub clock: Arc<dyn Clock>,
    state: Arc<State>,
    /// A send found Telegram away: look whether it is.
    pub doubt: Notify,
    /// The server knows `sendMessageDraft`, as far as is known.
    pub has_drafts: AtomicBool,
    pub is_up: AtomicBool,
    inbox: OnceLock<Arc<dyn Inbox>>,
    budget: Mutex<Budget>,
    forums: Mutex<HashSet<i64>>,
    /// When something was last said, by what it is about.
    told: Mutex<HashMap<String, Timestamp>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Telegram")
            .field("account", &self.settings.account)
            .finish_non_exhaustive()
    }
}

/// Chats that are known to have topics; more are forgotten, and show no typing in their general topic for a while.
const FORUMS: usize = 1_024;
/// Subjects that are remembered as told.
const SUBJECTS: usize = 1_024;
const HOUR: Duration = Duration::from_secs(60 * 60);

impl Shared {
    pub fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn note_forum(&self, chat: i64) {
        let mut forums = self.forums.lock().unwrap_or_else(PoisonError::into_inner);
        if forums.len() >= FORUMS {
            forums.clear();
        }
        forums.insert(chat);
    }

    pub fn is_forum(&self, chat: i64) -> bool {
        let forums = self.forums.lock().unwrap_or_else(PoisonError::into_inner);
        forums.contains(&chat)
    }

    /// Whether this was not yet said within the last hour; from now on it was.
    pub fn is_news(&self, subject: impl Into<String>) -> bool {
        let now = self.now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= SUBJECTS {
            told.retain(|_, at| now.since(*at) < HOUR);
        }
        if told.len() >= SUBJECTS {
            return false;
        }
        let subject = subject.into();
        if told.get(&subject).is_some_and(|at| now.since(*at) < HOUR) {
            return false;
        }
        told.insert(subject, now);
        true
    }

    /// To the operator, without the token.
    pub async fn tell(&self, text: &str) {
        let text = format!(
            "Telegram ({}): {}",
            self.settings.account,
            self.api.redact(text)
        );
        tracing::warn!(account = %self.settings.account, "{text}");
        if let Some(inbox) = self.inbox.get() {
            inbox.tell_operator(&text).await;
        }
    }

    /// What to ask Telegram for.
    pub fn offset(&self) -> Option<i64> {
        self.state.offset(self.now())
    }

    /// Everything below is committed.
    pub async fn confirm(&self, offset: i64) {
        let now = self.now();
        self.write(move |state| state.confirm(offset, now)).await;
    }

    pub fn moved(&self) -> HashMap<i64, i64> {
        self.state.moved()
    }

    pub async fn note_moved(&self, from: i64, to: i64) {
        self.write(move |state| state.note_moved(from, to)).await;
    }

    /// Keeps an update as it came, and says where.
    pub async fn keep(&self, update: Value, why: String) -> io::Result<PathBuf> {
        let now = self.now();
        let kept = self
            .write(move |state| state.keep(&update, &why, now))
            .await;
        kept.unwrap_or_else(|| Err(io::ErrorKind::Interrupted.into()))
    }

    /// Disks are slow. `None` if the program is ending.
    async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Option<T> {
        let state = Arc::clone(&self.state);
        tokio::task::spawn_blocking(move || write(&state))
            .await
            .ok()
    }

    /// Draws the consequences of a request that failed.
    pub async fn note(&self, chat: i64, what: Use, error: &SendError) {
        match error {
            SendError::RateLimited(wait) => {
                self.budget().slow_down(chat, what, *wait, Instant::now());
            }
            SendError::Moved(to) => {
                if let Ok(to) = to.parse() {
                    self.note_moved(chat, to).await;
                }
            }
            SendError::Away(why) => {
                tracing::info!(account = %self.settings.account, why, "a send found Telegram away");
                self.is_up.store(false, Ordering::Relaxed);
                self.doubt.notify_one();
            }
            SendError::Closed(_)
            | SendError::Temporary(_)
            | SendError::Refused(_)
            | SendError::Uncertain(_) => {}
        }
    }
}

/// Who the bot is, and that it is offered with its commands. Asked until Telegram answers.
async fn introduce(shared: &Shared) -> Result<Me, ServeError> {
    let mut backoff = Backoff::new(
        shared.settings.pace.first_wait,
        shared.settings.pace.longest_wait,
    );
    let me = loop {
        match who_am_i(&shared.api).await {
            Ok(me) => break me,
            Err(failure) if failure.is_unauthorized() => {
                return Err(ServeError::Token(failure.to_string()));
            }
            Err(failure) => {
                tracing::info!(account = %shared.settings.account, %failure, "not connected yet");
                backoff
                    .wait(failure.said().and_then(|said| said.retry_after))
                    .await;
            }
        }
    };
    if let Err(failure) = offer_commands(shared).await {
        tracing::warn!(account = %shared.settings.account, %failure, "the list of commands that people are offered stays as it was");
    }
    Ok(me)
}

pub(crate) async fn who_am_i(api: &Api) -> Result<Me, Failure> {
    let answer = api.tell(&GetMe::new()).await?;
    let user = User::deserialize(&answer)
        .map_err(|error| Failure::Unreadable(format!("getMe: {error}")))?;
    Ok(Me {
        id: i64::try_from(user.id.0).unwrap_or_default(),
        username: user.username.unwrap_or_default(),
    })
}

/// Sets them where they differ: Telegram counts these calls.
async fn offer_commands(shared: &Shared) -> Result<(), Failure> {
    let wanted = commands(&shared.settings.commands);
    for scope in [BotCommandScope::Default, BotCommandScope::AllGroupChats] {
        let mut ask = GetMyCommands::new();
        ask.scope = Some(scope.clone());
        if shared.api.tell(&ask).await? == json!(wanted) {
            continue;
        }
        let mut set = SetMyCommands::new(wanted.clone());
        set.scope = Some(scope);
        shared.api.tell(&set).await?;
    }
    Ok(())
}

/// Those that Telegram takes; others work and are not offered.
fn commands(names: &[CommandName]) -> Vec<BotCommand> {
    const MOST: usize = 100;
    let can_be_offered = |command: &&CommandName| {
        let is_letter =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        (1..=32).contains(&command.name.len())
            && command.name.bytes().all(is_letter)
            && !command.description.trim().is_empty()
    };
    names
        .iter()
        .filter(can_be_offered)
        .take(MOST)
        .map(|command| {
            let description: String = command.description.trim().chars().take(256).collect();
            BotCommand::new(&command.name, description)
        })
        .collect()
}
