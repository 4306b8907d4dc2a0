//! Tools without a gateway, over a history in memory.
//!
//! Commands do what a test said they do; all others print `ran COMMAND`. The history is kept as a store would: this turn's rows, in order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use homing_domain::ids::{MessageId, ProcessId, SessionId, TurnId};
use homing_domain::process::Ending;
use homing_domain::time::Timestamp;
use homing_ports::agent::{
    Entry, EntryRole, Steered, ToolAnswer, ToolCall, ToolError, ToolSpec, ToolText, Toolbox,
};
use homing_ports::store::{Context, MessageRow, Role, StoreError};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes: reaching it is a failure.
const LONG: Duration = Duration::from_secs(20);

/// What a command comes to.
#[derive(Debug, Clone)]
pub enum Does {
    Says(String),
    /// It is refused.
    Fails(String),
    /// It runs until the turn is cancelled, and heeds that.
    Waits,
    /// The store does not answer.
    StoreIsAway,
    /// The turn has been ended by somebody.
    EndsTheTurn,
}

#[derive(Debug)]
pub struct FakeTools {
    pub session: SessionId,
    book: Mutex<Book>,
    changes: watch::Sender<u64>,
    cancel: Mutex<CancellationToken>,
}

#[derive(Debug, Default)]
struct Book {
    summary: Option<String>,
    rows: Vec<MessageRow>,
    last_id: u64,
    turn: Option<TurnId>,
    does: HashMap<String, Does>,
    steering: Vec<Steered>,
    begun: Vec<String>,
}

impl Default for FakeTools {
    fn default() -> FakeTools {
        FakeTools {
            session: SessionId::from_number(1),
            book: Mutex::default(),
            changes: watch::Sender::default(),
            cancel: Mutex::default(),
        }
    }
}

impl FakeTools {
    pub fn on(&self, command: &str, does: Does) {
        self.book().does.insert(command.into(), does);
    }

    /// For the turn that runs to take up.
    pub fn steer(&self, author: Option<&str>, text: &str) {
        self.book().steering.push(Steered {
            author: author.map(str::to_owned),
            text: text.into(),
        });
    }

    /// A turn begins with these; its message is in the history.
    pub fn begin(
        &self,
        message: Option<(&str, Option<&str>)>,
        cancel: &CancellationToken,
    ) -> TurnId {
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
        let mut book = self.book();
        book.last_id += 1;
        let turn = TurnId::from_number(book.last_id);
        book.turn = Some(turn);
        if let Some((text, author)) = message {
            book.add(Role::Person, text.into(), author.map(str::to_owned), None);
        }
        turn
    }

    /// What the gateway puts into the history at the end of a turn.
    pub fn end(&self, text: &str, data: Option<String>, block: Option<&str>) {
        let mut book = self.book();
        if let Some(block) = block {
            book.add(Role::Notification, block.into(), None, None);
        }
        if !text.is_empty() {
            book.add(Role::Agent, text.into(), None, data);
        }
        book.turn = None;
    }

    pub fn add(&self, role: Role, text: &str) {
        self.book().add(role, text.into(), None, None);
    }

    /// As the store does when a conversation is compressed.
    pub fn compress(&self, summary: String, kept_from: Option<MessageId>) {
        let mut book = self.book();
        book.summary = Some(summary);
        let is_kept = |row: &MessageRow| kept_from.is_some_and(|first| row.id >= first);
        book.rows.retain(is_kept);
    }

    pub fn rows(&self) -> Vec<MessageRow> {
        self.book().rows.clone()
    }

    pub fn whole_context(&self) -> Context {
        let book = self.book();
        Context {
            summary: book.summary.clone(),
            messages: book.rows.clone(),
        }
    }

    pub fn begun(&self) -> Vec<String> {
        self.book().begun.clone()
    }

    /// Returns when a command has begun.
    pub async fn until_begun(&self, command: &str) -> anyhow::Result<()> {
        let mut changes = self.changes.subscribe();
        let is_begun = || self.book().begun.iter().any(|begun| begun == command);
        let wait = changes.wait_for(|_| is_begun());
        tokio::time::timeout(LONG, wait)
            .await
            .context("the command was not begun")??;
        Ok(())
    }

    async fn perform(&self, command: &str) -> Result<String, ToolError> {
        let does = {
            let mut book = self.book();
            book.begun.push(command.to_owned());
            book.does.get(command).cloned()
        };
        self.changes.send_modify(|version| *version += 1);
        match does.unwrap_or_else(|| Does::Says(format!("ran {command}"))) {
            Does::Says(text) => Ok(text),
            Does::Fails(why) => Err(ToolError::Refused(why)),
            Does::StoreIsAway => Err(ToolError::Store(StoreError::Unavailable(
                "the disk is full".into(),
            ))),
            Does::EndsTheTurn => Err(ToolError::SessionEnded),
            Does::Waits => {
                let cancel = self
                    .cancel
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                cancel.cancelled().await;
                Err(ToolError::Cancelled)
            }
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn enter(&mut self, entry: Entry) {
        let role = match entry.role {
            EntryRole::Agent => Role::Agent,
            EntryRole::Tool => Role::Tool,
        };
        self.add(role, entry.text, None, entry.data);
    }

    fn add(&mut self, role: Role, text: String, author: Option<String>, data: Option<String>) {
        self.last_id += 1;
        self.rows.push(MessageRow {
            id: MessageId::from_number(self.last_id),
            session: SessionId::from_number(1),
            turn: self.turn,
            role,
            author,
            text,
            data,
            at: Timestamp(0),
        });
    }
}

#[async_trait]
impl Toolbox for FakeTools {
    async fn call(&self, call: ToolCall) -> Result<ToolAnswer, ToolError> {
        let ToolCall::Run { command, .. } = call else {
            return Err(ToolError::Refused("only commands are run here".into()));
        };
        let output = self.perform(&command).await?.into_bytes();
        Ok(ToolAnswer::Ran {
            process: ProcessId::from_number(1),
            ending: Ending::Code(0),
            output_total: output.len() as u64,
            output,
            ran_for: Duration::ZERO,
        })
    }

    async fn history(&self, limit: usize) -> Result<Vec<MessageRow>, ToolError> {
        Ok(self.context(limit).await?.messages)
    }

    async fn context(&self, limit: usize) -> Result<Context, ToolError> {
        let mut context = self.whole_context();
        let surplus = context.messages.len().saturating_sub(limit);
        context.messages.drain(..surplus);
        Ok(context)
    }

    fn specs(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "terminal",
            description: "Runs a command.".into(),
            parameters: json!({
                "type": "object",
                "properties": {"command": {"type": "string", "description": "What to run."}},
                "required": ["command"],
                "additionalProperties": false,
            }),
        }]
    }

    async fn call_named(&self, name: &str, arguments: &str) -> Result<ToolText, ToolError> {
        let failed = |text: String| Ok(ToolText { text, failed: true });
        if name != "terminal" {
            return failed(format!("there is no tool {name}; there is terminal"));
        }
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let Some(command) = arguments["command"].as_str() else {
            return failed("`command` is missing".into());
        };
        match self.perform(command).await {
            Ok(text) => Ok(ToolText {
                text,
                failed: false,
            }),
            Err(ToolError::Refused(why)) => failed(why),
            Err(error) => Err(error),
        }
    }

    async fn record(&self, entry: Entry) -> Result<(), ToolError> {
        self.book().enter(entry);
        Ok(())
    }

    async fn steering(&self, said: Option<Entry>) -> Result<Vec<Steered>, ToolError> {
        let mut book = self.book();
        let steered = std::mem::take(&mut book.steering);
        if let Some(said) = said.filter(|_| !steered.is_empty()) {
            book.enter(said);
        }
        for one in &steered {
            book.add(Role::Person, one.text.clone(), one.author.clone(), None);
        }
        Ok(steered)
    }
}

/// The tools as an agent gets them.
pub fn boxed(tools: &Arc<FakeTools>) -> Arc<dyn Toolbox> {
    Arc::clone(tools) as Arc<dyn Toolbox>
}
