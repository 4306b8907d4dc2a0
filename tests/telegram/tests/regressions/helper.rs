//! Who answers in these tests: the shell agent, and beside it somebody who can be kept waiting.

use std::sync::Arc;

use async_trait::async_trait;
use homing_agent_shell::ShellAgent;
use homing_ports::agent::{
    Agent, AgentError, Summary, SummaryRequest, Toolbox, TurnAbout, TurnAnswer, TurnRequest,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// - `!…` and what is told in the background: as the shell agent does.
/// - `wait WORDS`: answers `waited WORDS` once [`Helper::go_on`] was called.
/// - `long N`: N numbered lines in Markdown.
/// - `ask COMMAND`: runs it as a model would, so that a person is asked first if it is dangerous.
/// - Anything else: `heard WORDS`, with what was quoted and how many files came.
#[derive(Debug)]
pub struct Helper {
    waiting: Semaphore,
}

impl Helper {
    pub fn new() -> Helper {
        Helper {
            waiting: Semaphore::new(0),
        }
    }

    /// One turn that waits, now or later, is answered.
    pub fn go_on(&self) {
        self.waiting.add_permits(1);
    }

    async fn says(&self, text: &str, tools: &Arc<dyn Toolbox>) -> Result<String, AgentError> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Ok(match word {
            "wait" => {
                if let Ok(permit) = self.waiting.acquire().await {
                    permit.forget();
                }
                format!("waited {rest}")
            }
            "long" => lines(rest.parse().unwrap_or(1)),
            "ask" => {
                let arguments = serde_json::json!({"command": rest}).to_string();
                let answer = tools.call_named("terminal", &arguments).await?;
                format!("the tool said: {}", answer.text)
            }
            _ => format!("heard {text}"),
        })
    }
}

/// Every line has something that is set.
pub fn lines(count: usize) -> String {
    let lines: Vec<String> = (1..=count)
        .map(|number| {
            format!(
                "{number}. **line {number}** with `code` and [a link](https://example.org/{number})"
            )
        })
        .collect();
    lines.join("\n")
}

#[async_trait]
impl Agent for Helper {
    async fn turn(
        &self,
        request: TurnRequest,
        tools: Arc<dyn Toolbox>,
        cancel: CancellationToken,
    ) -> Result<TurnAnswer, AgentError> {
        let TurnAbout::Person {
            text,
            quoted,
            files,
            ..
        } = &request.about
        else {
            return ShellAgent.turn(request, tools, cancel).await;
        };
        if text.starts_with('!') {
            return ShellAgent.turn(request, tools, cancel).await;
        }
        let said = cancel.run_until_cancelled(self.says(text, &tools)).await;
        let mut said = said.unwrap_or(Err(AgentError::Cancelled))?;
        if let Some(quoted) = quoted {
            said.push_str(&format!(" (to “{quoted}”)"));
        }
        if !files.is_empty() {
            said.push_str(&format!(" and {} files", files.len()));
        }
        Ok(TurnAnswer::from(said))
    }

    async fn summarize(&self, request: SummaryRequest) -> Result<Summary, AgentError> {
        ShellAgent.summarize(request).await
    }
}
