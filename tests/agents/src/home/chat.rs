//! One person's conversation: what they write, what is posted to them, and what the store has of it.

use anyhow::{Context as _, ensure};
use homing_domain::ids::{ConversationId, SessionId};
use homing_domain::key::SessionKey;
use homing_domain::outbox::OutboxState;
use homing_ports::agent::{LogFrom, ToolAnswer, ToolCall};
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{
    ConversationRow, MessageRow, NotificationRow, OutboxRow, ProcessRow, Queries as _, Role,
};
use homing_simulators::Post;

use super::{Home, READ, account, origin};

/// More rows than any test makes.
const ALL: u32 = 1_000;

#[derive(Debug, Clone)]
pub struct Chat<'a> {
    home: &'a Home,
    pub key: SessionKey,
    person: String,
}

impl<'a> Chat<'a> {
    pub(super) fn new(home: &'a Home, key: SessionKey, person: &str) -> Chat<'a> {
        Chat {
            home,
            key,
            person: person.to_owned(),
        }
    }

    /// The person writes, and nothing is waited for.
    pub fn say(&self, text: &str) {
        let post = Post::new(&origin(&self.key, &self.person), text);
        self.home.server().post(&account(), post);
    }

    /// The person writes; what was posted until it was quiet, in one text.
    pub async fn ask(&self, text: &str) -> anyhow::Result<String> {
        let before = self.posted().len();
        self.say(text);
        self.home.quiet().await?;
        Ok(self.posted().split_off(before).join("\n"))
    }

    /// Every text that the platform took, in order.
    pub fn posted(&self) -> Vec<String> {
        self.sent(|_| true)
    }

    /// Answers of background turns.
    pub fn told(&self) -> Vec<String> {
        self.sent(|kind| kind == OutgoingKind::Background)
    }

    fn sent(&self, fits: impl Fn(OutgoingKind) -> bool) -> Vec<String> {
        let sent = self.home.server().sent().into_iter();
        sent.filter(|sent| sent.body.chat == self.key.chat && fits(sent.kind))
            .map(|sent| sent.body.text)
            .collect()
    }

    pub async fn until_posted(&self, part: &str) -> anyhow::Result<String> {
        let find = || self.posted().into_iter().find(|text| text.contains(part));
        let what = format!("`{part}` is posted to {}", self.person);
        self.home.until(&what, async || Ok(find())).await
    }

    /// The only process of this conversation, once it has ended.
    pub async fn ended(&self) -> anyhow::Result<ProcessRow> {
        self.home
            .until("the process has ended", async || {
                let mut processes = self.processes().await?;
                ensure!(processes.len() < 2, "{processes:?}");
                let ended = processes.pop().filter(|process| !process.state.is_live());
                Ok(ended)
            })
            .await
    }
}

/// What the store has.
impl Chat<'_> {
    pub async fn row(&self) -> anyhow::Result<ConversationRow> {
        let row = self.home.store.conversation_by_key(&self.key).await?;
        row.context("nothing was written here")
    }

    async fn id(&self) -> anyhow::Result<ConversationId> {
        Ok(self.row().await?.id)
    }

    pub async fn session(&self) -> anyhow::Result<SessionId> {
        let current = self.row().await?.current;
        Ok(current.context("there is no session")?.session)
    }

    /// The history of the current session.
    pub async fn rows(&self) -> anyhow::Result<Vec<MessageRow>> {
        let session = self.session().await?;
        Ok(self.home.store.history(session, ALL).await?)
    }

    pub async fn roles(&self) -> anyhow::Result<Vec<Role>> {
        Ok(self.rows().await?.iter().map(|row| row.role).collect())
    }

    /// Oldest first.
    pub async fn processes(&self) -> anyhow::Result<Vec<ProcessRow>> {
        let mut processes = self.home.store.processes(self.id().await?, ALL).await?;
        processes.sort_by_key(|process| process.id);
        Ok(processes)
    }

    pub async fn commands(&self) -> anyhow::Result<Vec<String>> {
        let processes = self.processes().await?.into_iter();
        Ok(processes.map(|process| process.command).collect())
    }

    pub async fn notifications(&self) -> anyhow::Result<Vec<NotificationRow>> {
        Ok(self.home.store.notifications(self.id().await?, ALL).await?)
    }

    /// Everything that was to leave has left, once each.
    pub async fn outbox(&self) -> anyhow::Result<Vec<OutboxRow>> {
        let rows = self.home.store.outbox(self.id().await?, ALL).await?;
        let left = rows.iter().all(|row| row.state == OutboxState::Sent);
        ensure!(left && rows.len() == self.posted().len(), "{rows:?}");
        Ok(rows)
    }

    /// A process's output as the tool reads it, piece by piece.
    pub async fn logged(&self, process: &ProcessRow) -> anyhow::Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let call = ToolCall::Log {
                process: process.id,
                from: LogFrom::Offset(all.len() as u64),
                limit: READ,
            };
            match self.home.gateway.tool(&self.key, call).await? {
                ToolAnswer::Log { from, bytes, .. }
                    if from == all.len() as u64 && !bytes.is_empty() =>
                {
                    all.extend(bytes);
                }
                _ => return Ok(all),
            }
        }
    }
}
