//! A gateway with a platform, an agent and a clock that the test holds.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::key::SessionKey;
use homing_domain::origin::Origin;
use homing_domain::split::{Limit, Unit};
use homing_domain::time::Timestamp;
use homing_gateway::{Gateway, Parts, Settings};
use homing_ports::agent::{
    Agent, AgentError, Entry, EntryRole, Summary, SummaryRequest, Toolbox, TurnAnswer, TurnRequest,
};
use homing_ports::inbox::{Accepted, Inbound};
use homing_ports::platform::*;
use homing_ports::store::{ConversationRow, MessageRow, OutboxRow, Queries, Store, Usage};
use homing_ports::{Clock, FixedDirectory, IdSource};
use homing_processes::ShimProcesses;
use homing_store_sqlite::SqliteStore;
use tempfile::TempDir;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::store::Fragile;

/// The pause between two previews on these stages.
pub const PREVIEW: Duration = Duration::from_secs(1);
/// And between two signs of typing.
pub const TYPING: Duration = Duration::from_secs(4);
pub const HERE: &str = "agent:main:stand:group:100:7";
pub const HOME: &str = "agent:main:stand:dm:1";

/// Fails instead of waiting for ever.
pub async fn bounded<T>(what: &str, signal: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), signal)
        .await
        .unwrap_or_else(|_| panic!("what was waited for never came: {what}"))
}

/// A clock that stands until it is moved.
#[derive(Debug)]
pub struct StandingClock {
    now: AtomicI64,
    moved: watch::Sender<()>,
}

#[async_trait]
impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::Acquire))
    }

    async fn sleep_until(&self, deadline: Timestamp) {
        let mut moved = self.moved.subscribe();
        while self.now() < deadline {
            moved.changed().await.unwrap();
        }
    }
}

/// What reached the platform, in order.
#[derive(Debug, Clone)]
pub enum Event {
    Typing(Origin, Timestamp),
    Preview(Preview, Timestamp),
    Sent(Outgoing),
    Fetch(String),
}

type Outcomes<T> = Mutex<VecDeque<T>>;

/// A platform that does as it is told, and otherwise takes everything.
pub struct Stand {
    pub live: Live,
    clock: Arc<StandingClock>,
    events: watch::Sender<Vec<Event>>,
    pub sends: Outcomes<Result<Receipt, SendError>>,
    pub previews: Outcomes<Result<Option<String>, SendError>>,
    /// Closed: a preview is not answered until it is opened.
    pub preview_gate: AsyncMutex<()>,
    /// By reference: how the next tries end. After those it is handed over.
    pub fetches: Mutex<BTreeMap<String, VecDeque<FetchError>>>,
    pub gone_chats: Mutex<BTreeMap<String, SendError>>,
    ids: AtomicU64,
}

impl Stand {
    fn happened(&self, event: Event) {
        self.events.send_modify(|events| events.push(event));
    }

    fn fresh(&self) -> String {
        format!("m{}", self.ids.fetch_add(1, Ordering::AcqRel) + 1)
    }
}

#[async_trait]
impl Platform for Stand {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            limit: Limit {
                unit: Unit::Chars,
                max: 4_000,
            },
            repeats: Repeats::Deduplicates,
            live: self.live,
        }
    }

    async fn send(&self, outgoing: Outgoing) -> Result<Receipt, SendError> {
        let scripted = self.sends.lock().unwrap().pop_front();
        let gone = self
            .gone_chats
            .lock()
            .unwrap()
            .get(&outgoing.origin.chat)
            .cloned();
        let outcome = match (scripted, gone) {
            (Some(outcome), _) => outcome,
            (None, Some(error)) => Err(error),
            (None, None) => Ok(Receipt {
                message: Some(self.fresh()),
                landed: None,
            }),
        };
        self.happened(Event::Sent(outgoing));
        outcome
    }

    async fn typing(&self, to: &Origin) -> Result<(), SendError> {
        self.happened(Event::Typing(to.clone(), self.clock.now()));
        Ok(())
    }

    async fn preview(&self, preview: Preview) -> Result<Option<String>, SendError> {
        let shown = preview.shown.clone();
        self.happened(Event::Preview(preview, self.clock.now()));
        let _open = self.preview_gate.lock().await;
        let scripted = self.previews.lock().unwrap().pop_front();
        scripted.unwrap_or_else(|| Ok(Some(shown.unwrap_or_else(|| self.fresh()))))
    }

    async fn fetch(&self, attachment: &Attachment, into: &Path) -> Result<(), FetchError> {
        self.happened(Event::Fetch(attachment.reference.clone()));
        let failure = self
            .fetches
            .lock()
            .unwrap()
            .get_mut(&attachment.reference)
            .and_then(VecDeque::pop_front);
        match failure {
            Some(error) => Err(error),
            None => {
                std::fs::write(into, &attachment.reference).unwrap();
                Ok(())
            }
        }
    }
}

/// A turn that the agent was asked for. Dropped, it fails.
pub struct Asked {
    pub request: TurnRequest,
    pub tools: Arc<dyn Toolbox>,
    pub answer: oneshot::Sender<Result<TurnAnswer, AgentError>>,
}

impl Asked {
    pub fn say(self, text: &str) {
        // The turn may have been stopped.
        let _heard = self.answer.send(Ok(text.to_owned().into()));
    }

    pub fn fail(self, sentence: &str) {
        self.fail_with(AgentError::Failed(sentence.to_owned()));
    }

    pub fn fail_with(self, error: AgentError) {
        // The turn may have been stopped.
        let _heard = self.answer.send(Err(error));
    }

    /// A request of a model, answered.
    pub fn uses(&self, tokens: u64) {
        self.request.used.add(used(tokens));
    }

    /// An entry of the turn in the history, with a call that nobody reads here.
    pub async fn record(&self, text: &str) {
        let entry = Entry {
            role: EntryRole::Agent,
            text: text.to_owned(),
            data: Some("{}".into()),
        };
        self.tools.record(entry).await.unwrap();
    }

    pub fn text(&self) -> &str {
        match &self.request.about {
            homing_ports::agent::TurnAbout::Person { text, .. } => text,
            other => panic!("a person's message was expected, seen {other:?}"),
        }
    }
}

/// One request that read and wrote so much.
pub fn used(tokens: u64) -> Usage {
    Usage {
        requests: 1,
        prompt_tokens: tokens,
        cached_tokens: 0,
        completion_tokens: 1,
    }
}

/// What a turn uses after it was cancelled.
pub const LATE: u64 = 10_000;
/// What a summary uses, if it is made, before its conversation goes on.
pub const SUMMARY: u64 = 1_000_000;

struct Scripted {
    asking: mpsc::UnboundedSender<Asked>,
    /// Closed: no summary is made until it is opened.
    summaries: Arc<AsyncMutex<()>>,
}

#[async_trait]
impl Agent for Scripted {
    async fn turn(
        &self,
        request: TurnRequest,
        tools: Arc<dyn Toolbox>,
        cancel: CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let (answer, said) = oneshot::channel();
        let meter = request.used.clone();
        // A test that is over asks nothing more.
        let _asked = self.asking.send(Asked {
            request,
            tools,
            answer,
        });
        match cancel.run_until_cancelled(said).await {
            Some(Ok(said)) => said,
            Some(Err(_)) => Err(AgentError::Failed("nobody answered".into())),
            None => {
                // What was under way is paid for.
                meter.add(used(LATE));
                Err(AgentError::Cancelled)
            }
        }
    }

    /// Whatever was said, unless that is not to be summarized. It uses something in any case.
    async fn summarize(&self, request: SummaryRequest) -> Result<Summary, AgentError> {
        request.used.add(used(SUMMARY));
        let _open = self.summaries.lock().await;
        let messages = &request.context.messages;
        if messages.iter().any(|row| row.text == "no summary of this") {
            return Err(AgentError::Failed("it cannot be summarized".into()));
        }
        let model = request.model.unwrap_or_default();
        Ok(format!("all of it, by {model}").into())
    }

    fn models(&self) -> Vec<String> {
        ["large", "small"].map(str::to_owned).to_vec()
    }
}

pub struct Stage {
    data: TempDir,
    pub clock: Arc<StandingClock>,
    ids: IdSource,
    pub store: Arc<Fragile>,
    pub stand: Arc<Stand>,
    agent: Arc<Scripted>,
    asked: mpsc::UnboundedReceiver<Asked>,
    pub settings: Settings,
    pub gateway: Gateway,
    messages: u64,
    /// Commands that were written once more.
    pub asked_again: usize,
}

impl Stage {
    /// Typing and previews are shown; the operator is at [`HOME`].
    pub async fn set() -> Stage {
        Stage::with(Live {
            typing_every: Some(TYPING),
            preview_every: Some(PREVIEW),
        })
        .await
    }

    pub async fn with(live: Live) -> Stage {
        let data = tempfile::tempdir().unwrap();
        let clock = Arc::new(StandingClock {
            now: AtomicI64::new(1_700_000_000_000),
            moved: watch::channel(()).0,
        });
        let ids = IdSource::new(clock.clone());
        let store = SqliteStore::open(&data.path().join("homing.db"), ids.clone())
            .await
            .unwrap();
        let store = Arc::new(Fragile::new(store));
        let stand = Arc::new(Stand {
            live,
            clock: clock.clone(),
            events: watch::channel(Vec::new()).0,
            sends: Mutex::default(),
            previews: Mutex::default(),
            preview_gate: AsyncMutex::default(),
            fetches: Mutex::default(),
            gone_chats: Mutex::default(),
            ids: AtomicU64::new(0),
        });
        let (asking, asked) = mpsc::unbounded_channel();
        let agent = Arc::new(Scripted {
            asking,
            summaries: Arc::default(),
        });
        let settings = Settings {
            home: Some(key(HOME)),
            files: data.path().join("files"),
            attachments_at_most: 3,
            attachment_bytes: 1_000,
            keys: homing_domain::key::KeySettings {
                per_user_in_groups: false,
                per_user_in_threads: false,
            },
            ..Settings::default()
        };
        let gateway = start(&data, &clock, &ids, &store, &stand, &agent, &settings).await;
        Stage {
            data,
            clock,
            ids,
            store,
            stand,
            agent,
            asked,
            settings,
            gateway,
            messages: 0,
            asked_again: 0,
        }
    }

    /// The gateway ends without a word, and another one takes over.
    pub async fn crash(&mut self) {
        let _left = self.gateway.stop(Duration::ZERO).await;
        let Stage {
            data,
            clock,
            ids,
            store,
            stand,
            agent,
            settings,
            ..
        } = self;
        self.gateway = start(data, clock, ids, store, stand, agent, settings).await;
    }

    /// No summary is made while this is held.
    pub async fn hold_summaries(&self) -> OwnedMutexGuard<()> {
        self.agent.summaries.clone().lock_owned().await
    }

    pub fn files(&self) -> PathBuf {
        self.data.path().join("files")
    }

    pub fn inbound(&mut self, at: &str, text: &str) -> Inbound {
        self.messages += 1;
        let origin = Origin {
            user: Some("u1".into()),
            ..Origin::from_key(&key(at))
        };
        Inbound::new(origin, self.messages.to_string(), text)
    }

    pub async fn write(&mut self, at: &str, text: &str) {
        let inbound = self.inbound(at, text);
        self.accept(inbound).await;
    }

    pub async fn accept(&self, inbound: Inbound) {
        let accepted = self.gateway.inbox().accept(inbound).await.unwrap();
        assert!(matches!(accepted, Accepted::New { .. }));
    }

    pub async fn asked(&mut self) -> Asked {
        bounded("a turn", self.asked.recv()).await.unwrap()
    }

    pub fn try_asked(&mut self) -> Option<Asked> {
        self.asked.try_recv().ok()
    }

    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).unwrap();
        self.clock.now.fetch_add(by, Ordering::AcqRel);
        self.clock.moved.send_replace(());
    }

    pub fn events(&self) -> Vec<Event> {
        self.stand.events.borrow().clone()
    }

    /// Waits until what has happened makes something of itself.
    pub async fn until<T>(&self, what: &str, look: impl Fn(&[Event]) -> Option<T>) -> T {
        let mut events = self.stand.events.subscribe();
        let seen = async {
            loop {
                if let Some(found) = look(&events.borrow_and_update()) {
                    return found;
                }
                events.changed().await.unwrap();
            }
        };
        let seen = tokio::time::timeout(Duration::from_secs(30), seen).await;
        seen.unwrap_or_else(|_| panic!("{what} never came; seen {:#?}", self.events()))
    }

    /// The first message sent whose text has this in it.
    pub async fn sent(&self, text: &str) -> Outgoing {
        self.until(text, |events| {
            sends(events)
                .into_iter()
                .find(|sent| sent.text.contains(text))
        })
        .await
    }

    /// Lets time pass, a little at a time, until something has come of it.
    pub async fn pass_until<T>(&self, what: &str, look: impl Fn(&[Event]) -> Option<T>) -> T {
        let passed = async {
            loop {
                if let Some(found) = look(&self.stand.events.borrow()) {
                    return found;
                }
                self.advance(Duration::from_millis(100));
                let mut events = self.stand.events.subscribe();
                let _some = tokio::time::timeout(Duration::from_millis(5), events.changed()).await;
            }
        };
        bounded(what, passed).await
    }

    /// The preview with that number, from 0, as time passes.
    pub async fn preview(&self, index: usize) -> Preview {
        self.pass_until("a preview", |events| {
            previews(events).into_iter().nth(index)
        })
        .await
    }

    /// Nothing is under way any more.
    pub async fn quiet(&self) {
        let quiet = async {
            while !self.gateway.activity().idle() {
                let _again = tokio::time::timeout(
                    Duration::from_millis(20),
                    self.gateway.activity_changed(),
                )
                .await;
            }
        };
        bounded("quiet", quiet).await;
    }

    pub async fn conversation(&self, at: &str) -> ConversationRow {
        let row = self.store.conversation_by_key(&key(at)).await.unwrap();
        row.unwrap_or_else(|| panic!("there is no conversation {at}"))
    }

    /// What the agent has of the conversation.
    pub async fn known(&self, at: &str) -> Vec<MessageRow> {
        let current = self.conversation(at).await.current.unwrap();
        let context = self.store.context(current.session, 1_000).await.unwrap();
        context.messages
    }

    pub async fn letters(&self, at: &str) -> Vec<OutboxRow> {
        let row = self.conversation(at).await;
        self.store.dead_letters(row.id, 100).await.unwrap()
    }

    /// Waits for a fact of the store that a step of the gateway brings about.
    pub async fn stored<T, F>(&self, what: &str, look: impl Fn(Arc<Fragile>) -> F) -> T
    where
        F: Future<Output = Option<T>>,
    {
        let found = async {
            loop {
                if let Some(found) = look(self.store.clone()).await {
                    return found;
                }
                let _again = tokio::time::timeout(
                    Duration::from_millis(20),
                    self.gateway.activity_changed(),
                )
                .await;
            }
        };
        bounded(what, found).await
    }
}

pub fn key(text: &str) -> SessionKey {
    text.parse().unwrap()
}

pub fn sends(events: &[Event]) -> Vec<Outgoing> {
    let sent = |event: &Event| match event {
        Event::Sent(sent) => Some(sent.clone()),
        Event::Typing(..) | Event::Preview(..) | Event::Fetch(_) => None,
    };
    events.iter().filter_map(sent).collect()
}

pub fn previews(events: &[Event]) -> Vec<Preview> {
    let shown = |event: &Event| match event {
        Event::Preview(shown, _) => Some(shown.clone()),
        Event::Typing(..) | Event::Sent(_) | Event::Fetch(_) => None,
    };
    events.iter().filter_map(shown).collect()
}

/// In which chat typing was shown, and when.
pub fn typed(events: &[Event]) -> Vec<(String, Timestamp)> {
    let typed = |event: &Event| match event {
        Event::Typing(to, at) => Some((to.chat.clone(), *at)),
        Event::Preview(..) | Event::Sent(_) | Event::Fetch(_) => None,
    };
    events.iter().filter_map(typed).collect()
}

async fn start(
    data: &TempDir,
    clock: &Arc<StandingClock>,
    ids: &IdSource,
    store: &Arc<Fragile>,
    stand: &Arc<Stand>,
    agent: &Arc<Scripted>,
    settings: &Settings,
) -> Gateway {
    let mut directory = FixedDirectory::default();
    directory.agents.insert("main".into(), agent.clone());
    let account = Origin::from_key(&key(HERE)).account_name();
    directory.platforms.insert(account, stand.clone());
    let processes = ShimProcesses::open(data.path(), clock.clone()).unwrap();
    let parts = Parts {
        store: store.clone() as Arc<dyn Store>,
        processes: Arc::new(processes),
        directory: Arc::new(directory),
        clock: clock.clone(),
        ids: ids.clone(),
        settings: settings.clone(),
    };
    Gateway::start(parts).await.unwrap()
}
