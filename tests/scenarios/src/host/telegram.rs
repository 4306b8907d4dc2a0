//! A bot of Telegram: the real adapter, and somebody beside it who tells the runner what it is given.
//!
//! **Invariant:** a message is reported before the adapter has it, so what Telegram has was reported, whatever crashes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use homing_domain::ids::{ConversationId, WindowId};
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_ports::inbox::{AcceptError, Accepted, Edited, Inbound, Inbox, Wrote};
use homing_ports::platform::{
    Attachment, Capabilities, FetchError, Outgoing, Platform, Preview, Receipt, Rendered, SendError,
};
use homing_ports::{Clock, FixedDirectory};
use homing_telegram::{Budgets, ChatRule, Mode, Pace, Rate, Telegram, TelegramSettings, Token};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::acting::Acting;
use super::say;
use crate::protocol::{Handed, Line, TelegramBot};

/// First and longest wait before Telegram is asked again: a scenario does not want to wait for production's.
const WAITS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// As much as a scenario likes to send.
const OPEN: Rate = Rate {
    messages: 10_000,
    per: Duration::from_secs(1),
};

pub struct ServedBot {
    telegram: Arc<Telegram>,
    connected: Arc<AtomicBool>,
    shutdown: CancellationToken,
}

impl ServedBot {
    pub fn new(bot: TelegramBot, data: &Path, clock: Arc<dyn Clock>) -> anyhow::Result<ServedBot> {
        let account: AccountName = bot.account.into();
        let rule = |(chat, require_mention)| ChatRule {
            chat,
            topic: None,
            require_mention: Some(require_mention),
        };
        let settings = TelegramSettings {
            state: data.join("telegram").join(bot.token.replace(':', "-")),
            account,
            token: Token::new(bot.token)?,
            api_url: bot.api_url.parse().context("the simulator's address")?,
            mode: Mode::Polling,
            people: bot.people,
            chats: bot.groups.into_iter().map(rule).collect(),
            require_mention: false,
            commands: Vec::new(),
            budgets: Budgets {
                per_chat: OPEN,
                per_group: OPEN,
                overall: OPEN,
            },
            previews: false,
            pace: Pace {
                first_wait: WAITS.0,
                longest_wait: WAITS.1,
                // The outbox waits by the scenario's clock, which can be moved.
                patience: Duration::from_millis(100),
                first_conflict_wait: WAITS.0,
                longest_conflict_wait: WAITS.1,
                ..Pace::default()
            },
        };
        Ok(ServedBot {
            telegram: Telegram::new(settings, clock).context("making a bot of Telegram")?,
            connected: Arc::default(),
            shutdown: CancellationToken::new(),
        })
    }

    pub fn account(&self) -> &AccountName {
        self.telegram.account()
    }

    pub fn register(&self, directory: &mut FixedDirectory, agent: &Arc<dyn Acting>) {
        let account = self.account().clone();
        directory
            .agents
            .insert(account.profile.clone(), Arc::clone(agent) as _);
        let reporting = Reporting(self.telegram.platform());
        directory.platforms.insert(account, Arc::new(reporting));
    }

    /// Begins to fetch what people write.
    pub fn open(&self, inbox: Arc<dyn Inbox>) {
        let telegram = Arc::clone(&self.telegram);
        let inbox = Arc::new(Watched {
            inbox,
            account: self.account().clone(),
            connected: Arc::clone(&self.connected),
        });
        let shutdown = self.shutdown.clone();
        tokio::spawn(async move {
            if let Err(error) = telegram.serve(inbox, shutdown).await {
                tracing::error!(%error, "a bot is not served any more");
            }
        });
    }

    pub fn close(&self) {
        self.shutdown.cancel();
    }

    /// Whether the adapter has said so since it was last away.
    pub fn connected(&self) -> bool {
        self.connected.load(Ordering::Acquire)
    }

    /// Nobody can reach Telegram now; the adapter will say when it can.
    pub fn note_down(&self) {
        self.connected.store(false, Ordering::Release);
    }
}

/// The adapter's port, reported.
struct Reporting(Arc<dyn Platform>);

#[async_trait]
impl Platform for Reporting {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn render(&self, markdown: &str) -> Vec<Rendered> {
        self.0.render(markdown)
    }

    async fn send(&self, outgoing: Outgoing) -> Result<Receipt, SendError> {
        let handed = Handed {
            origin: outgoing.origin.clone(),
            kind: outgoing.kind,
            text: outgoing.text.clone(),
        };
        if let Err(error) = say(&Line::Handed(handed)) {
            return Err(SendError::Temporary(format!(
                "the runner does not listen: {error}"
            )));
        }
        self.0.send(outgoing).await
    }

    async fn look_up(&self, outgoing: &Outgoing) -> Result<Option<Receipt>, SendError> {
        self.0.look_up(outgoing).await
    }

    async fn typing(&self, to: &Origin) -> Result<(), SendError> {
        self.0.typing(to).await
    }

    async fn preview(&self, preview: Preview) -> Result<Option<String>, SendError> {
        self.0.preview(preview).await
    }

    async fn fetch(&self, attachment: &Attachment, into: &Path) -> Result<(), FetchError> {
        self.0.fetch(attachment, into).await
    }

    async fn take_back(&self, receipt: &Receipt) -> Result<(), SendError> {
        self.0.take_back(receipt).await
    }
}

/// The gateway's inbox, and whether the adapter has said that it is ready.
struct Watched {
    inbox: Arc<dyn Inbox>,
    account: AccountName,
    connected: Arc<AtomicBool>,
}

#[async_trait]
impl Inbox for Watched {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, AcceptError> {
        self.inbox.accept(inbound).await
    }

    fn ready(&self, account: &AccountName) {
        if *account == self.account {
            self.connected.store(true, Ordering::Release);
        }
        self.inbox.ready(account);
    }

    async fn edited(
        &self,
        account: &AccountName,
        platform_id: &str,
        text: &str,
    ) -> Result<Edited, AcceptError> {
        self.inbox.edited(account, platform_id, text).await
    }

    async fn moved(&self, account: &AccountName, from: &str, to: &str) -> Result<u64, AcceptError> {
        self.inbox.moved(account, from, to).await
    }

    async fn reopened(&self, place: &Origin) -> Result<(), AcceptError> {
        self.inbox.reopened(place).await
    }

    async fn tell_operator(&self, text: &str) {
        self.inbox.tell_operator(text).await;
    }

    async fn open_window(
        &self,
        window: WindowId,
        at: &SessionKey,
    ) -> Result<ConversationId, AcceptError> {
        self.inbox.open_window(window, at).await
    }

    async fn touch_window(&self, window: WindowId) -> Result<(), AcceptError> {
        self.inbox.touch_window(window).await
    }

    async fn close_window(&self, window: WindowId) -> Result<(), AcceptError> {
        self.inbox.close_window(window).await
    }

    fn changes(&self) -> broadcast::Receiver<ConversationId> {
        self.inbox.changes()
    }

    fn outputs(&self) -> broadcast::Receiver<Wrote> {
        self.inbox.outputs()
    }
}
