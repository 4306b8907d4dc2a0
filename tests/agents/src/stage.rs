//! An agent in a conversation, with tools and a history in memory.

use std::fmt;
use std::sync::Arc;

use homing_domain::ids::DelegationId;
use homing_domain::key::SessionKey;
use homing_ports::agent::{
    Agent, AgentError, Partial, ReceivedFile, Summary, SummaryRequest, TurnAbout, TurnAnswer,
    TurnRequest, TurnStream, UsageMeter,
};
use homing_ports::store::{Role, Usage};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::tools::{FakeTools, boxed};

pub struct Stage {
    pub agent: Arc<dyn Agent>,
    pub tools: Arc<FakeTools>,
    pub key: SessionKey,
    pub model: Option<String>,
    pub cancel: CancellationToken,
    /// Of all turns and summaries.
    pub meter: UsageMeter,
}

/// A turn that can be watched.
#[derive(Debug)]
pub struct Running {
    pub seen: watch::Receiver<Partial>,
    pub answer: tokio::task::JoinHandle<Result<TurnAnswer, AgentError>>,
}

/// A person's message.
#[derive(Debug, Default)]
pub struct Message<'a> {
    pub text: &'a str,
    pub author: Option<&'a str>,
    pub quoted: Option<&'a str>,
    pub files: Vec<ReceivedFile>,
}

impl fmt::Debug for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Stage");
        shown.field("key", &self.key).finish_non_exhaustive()
    }
}

impl Stage {
    /// In a private chat on the console.
    pub fn new(agent: Arc<dyn Agent>) -> anyhow::Result<Stage> {
        Ok(Stage {
            agent,
            tools: Arc::default(),
            key: "agent:main:console:dm:ada".parse()?,
            model: None,
            cancel: CancellationToken::new(),
            meter: UsageMeter::default(),
        })
    }

    /// What was used since somebody asked last.
    pub fn used(&self) -> Usage {
        self.meter.take()
    }

    pub async fn say(&self, text: &str) -> Result<TurnAnswer, AgentError> {
        self.write(Message {
            text,
            ..Message::default()
        })
        .await
    }

    /// One turn as the gateway runs it, its answer in the history.
    pub async fn write(&self, message: Message<'_>) -> Result<TurnAnswer, AgentError> {
        let running = self.start(message);
        let answer = joined(running.answer).await?;
        self.tools.end(&answer.text, answer.data.clone(), None);
        Ok(answer)
    }

    /// A turn about a message that is in the history already.
    pub async fn again(&self, message: Message<'_>) -> Result<TurnAnswer, AgentError> {
        let turn = self.tools.begin(None, &self.cancel);
        joined(self.run(turn, about(message)).answer).await
    }

    /// The turn runs by itself from here; its answer does not enter the history.
    pub fn start(&self, message: Message<'_>) -> Running {
        let turn = self
            .tools
            .begin(Some((message.text, message.author)), &self.cancel);
        self.run(turn, about(message))
    }

    /// A notification is told, as the gateway does it.
    pub async fn notify(&self, block: &str, plain: &str) -> Result<TurnAnswer, AgentError> {
        let turn = self.tools.begin(None, &self.cancel);
        let about = TurnAbout::Background {
            items: Vec::new(),
            block: block.into(),
            plain: plain.into(),
        };
        let running = self.run(turn, about);
        let answer = joined(running.answer).await?;
        self.tools
            .end(&answer.text, answer.data.clone(), Some(block));
        Ok(answer)
    }

    /// A sub-agent's task, which is in its history.
    pub async fn delegate(&self, task: &str) -> Result<TurnAnswer, AgentError> {
        self.tools.add(Role::Person, task);
        let turn = self.tools.begin(None, &self.cancel);
        let about = TurnAbout::Delegated {
            delegation: DelegationId::from_number(1),
            task: task.into(),
        };
        joined(self.run(turn, about).answer).await
    }

    pub async fn summarize(&self) -> Result<Summary, AgentError> {
        let request = SummaryRequest {
            session: self.tools.session,
            model: self.model.clone(),
            context: self.tools.whole_context(),
            used: self.meter.clone(),
        };
        self.agent.summarize(request).await
    }

    /// Summarized, and gone on with the summary.
    pub async fn compress(&self) -> Result<Summary, AgentError> {
        let summary = self.summarize().await?;
        self.tools.compress(summary.text.clone(), summary.kept_from);
        Ok(summary)
    }

    fn run(&self, turn: homing_domain::ids::TurnId, about: TurnAbout) -> Running {
        let (stream, seen) = TurnStream::new();
        let request = TurnRequest {
            turn,
            key: self.key.clone(),
            session: self.tools.session,
            window: None,
            model: self.model.clone(),
            about,
            stream,
            used: self.meter.clone(),
        };
        let (agent, tools, cancel) = (self.agent.clone(), boxed(&self.tools), self.cancel.clone());
        let answer = tokio::spawn(async move { agent.turn(request, tools, cancel).await });
        Running { seen, answer }
    }
}

fn about(message: Message<'_>) -> TurnAbout {
    TurnAbout::Person {
        author: message.author.map(str::to_owned),
        text: message.text.to_owned(),
        quoted: message.quoted.map(str::to_owned),
        files: message.files,
    }
}

pub async fn joined(
    answer: tokio::task::JoinHandle<Result<TurnAnswer, AgentError>>,
) -> Result<TurnAnswer, AgentError> {
    answer
        .await
        .unwrap_or_else(|error| Err(AgentError::Failed(format!("it broke: {error}"))))
}
