//! A turn's tools, with a note of which calls failed: a model is not told that in so many words, who reads a scenario is. And of calls that linger.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use homing_domain::key::SessionKey;
use homing_ports::agent::{
    Entry, Steered, ToolAnswer, ToolCall, ToolError, ToolSpec, ToolText, Toolbox,
};
use homing_ports::store::{Context, MessageRow};

use crate::host::script::Script;

#[derive(Debug)]
pub struct Watched {
    tools: Arc<dyn Toolbox>,
    at: SessionKey,
    script: Arc<Script>,
    /// Names with arguments, as the model wrote them.
    done: Mutex<HashSet<(String, String)>>,
}

impl Watched {
    pub fn new(tools: Arc<dyn Toolbox>, at: SessionKey, script: Arc<Script>) -> Watched {
        Watched {
            tools,
            at,
            script,
            done: Mutex::default(),
        }
    }

    pub fn beneath(&self) -> Arc<dyn Toolbox> {
        Arc::clone(&self.tools)
    }

    /// `false` also for a call that has never come here.
    pub fn has_done(&self, name: &str, arguments: &str) -> bool {
        self.lock()
            .contains(&(name.to_owned(), arguments.to_owned()))
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(String, String)>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Toolbox for Watched {
    async fn call(&self, call: ToolCall) -> Result<ToolAnswer, ToolError> {
        self.tools.call(call).await
    }

    async fn history(&self, limit: usize) -> Result<Vec<MessageRow>, ToolError> {
        self.tools.history(limit).await
    }

    async fn context(&self, limit: usize) -> Result<Context, ToolError> {
        self.tools.context(limit).await
    }

    fn specs(&self) -> Vec<ToolSpec> {
        self.tools.specs()
    }

    async fn call_named(&self, name: &str, arguments: &str) -> Result<ToolText, ToolError> {
        let _lingers = self
            .script
            .lingers_over(&format!("use {name} {arguments}"), &self.at);
        let answer = self.tools.call_named(name, arguments).await?;
        if !answer.failed {
            self.lock().insert((name.to_owned(), arguments.to_owned()));
        }
        Ok(answer)
    }

    async fn record(&self, entry: Entry) -> Result<(), ToolError> {
        self.tools.record(entry).await
    }

    async fn steering(&self, said: Option<Entry>) -> Result<Vec<Steered>, ToolError> {
        self.tools.steering(said).await
    }
}
