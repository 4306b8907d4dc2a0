//! What a message or a task may have the scripted agent do, as a model would: call tools by name, take up what is said meanwhile, look at what it knows.
//!
//! ```text
//! use terminal {"command": "true"}     one call, or several at once on lines of their own; recorded, and answered with what the tools said
//! say WORDS                            the answer is `said WORDS`
//! what do you know                     the answer is the context: the summary and what people said
//! too long until compressed            fails as too long until there is a summary
//! always too long                      fails as too long
//! until nothing lingers                waits for all turns that linger, then answers
//! … lingers …                          anywhere in one of these: the runner does not wait for its end
//! ```

use std::sync::Arc;

use homing_ports::agent::{AgentError, Entry, EntryRole, Toolbox, TurnAnswer};
use homing_ports::store::{Role, Usage};
use tokio_util::sync::CancellationToken;

/// Messages of a context that are looked at.
const KNOWN: usize = 1_000;
/// What a made-up model uses for a turn with calls.
const USAGE: Usage = Usage {
    requests: 2,
    prompt_tokens: 1_000,
    cached_tokens: 500,
    completion_tokens: 100,
};

/// `None` if it is an ordinary text.
pub(super) async fn obey(
    text: &str,
    tools: &Arc<dyn Toolbox>,
    cancel: &CancellationToken,
) -> Option<Result<TurnAnswer, AgentError>> {
    let done = async {
        let text = text.trim();
        if text.starts_with("use ") {
            return Some(calls(text, tools).await);
        }
        if let Some(words) = text.strip_prefix("say ") {
            return Some(Ok(TurnAnswer::from(format!("said {words}"))));
        }
        match text {
            "what do you know" => Some(known(tools).await),
            "always too long" => Some(Err(AgentError::TooLong)),
            "too long until compressed" => match tools.context(KNOWN).await {
                Ok(context) if context.summary.is_none() => Some(Err(AgentError::TooLong)),
                Ok(_) => None,
                Err(error) => Some(Err(error.into())),
            },
            _ => None,
        }
    };
    match cancel.run_until_cancelled(done).await {
        Some(done) => done,
        None => Some(Err(AgentError::Cancelled)),
    }
}

/// All lines at once.
async fn calls(text: &str, tools: &Arc<dyn Toolbox>) -> Result<TurnAnswer, AgentError> {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    record(tools, EntryRole::Agent, "", Some(format!("{lines:?}"))).await?;
    // Begun in their order.
    let called = lines.iter().map(|line| async move {
        let call = line.strip_prefix("use ").unwrap_or(line);
        let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
        let answer = tools.call_named(name, arguments).await?;
        let how = if answer.failed { "failed" } else { "answered" };
        let text = format!("{name} {how}: {}", answer.text);
        record(tools, EntryRole::Tool, &text, Some("{}".into())).await?;
        Ok::<_, AgentError>(text)
    });
    let texts = futures_util::future::try_join_all(called).await?;
    Ok(TurnAnswer {
        text: texts.join("\n"),
        data: Some("{}".into()),
        usage: USAGE,
    })
}

async fn record(
    tools: &Arc<dyn Toolbox>,
    role: EntryRole,
    text: &str,
    data: Option<String>,
) -> Result<(), AgentError> {
    let entry = Entry {
        role,
        text: text.to_owned(),
        data,
    };
    Ok(tools.record(entry).await?)
}

async fn known(tools: &Arc<dyn Toolbox>) -> Result<TurnAnswer, AgentError> {
    let context = tools.context(KNOWN).await?;
    let summary = context
        .summary
        .map_or_else(|| "no summary".to_owned(), |_| "a summary".to_owned());
    let said: Vec<String> = context
        .messages
        .into_iter()
        .filter(|message| {
            matches!(message.role, Role::Person)
                || message.data.is_none() && message.role == Role::Tool
        })
        .map(|message| message.text)
        .collect();
    Ok(TurnAnswer::from(format!(
        "I know {summary} | {}",
        said.join(" | ")
    )))
}

/// What people said for the turn that was held.
pub(super) async fn meanwhile(tools: &Arc<dyn Toolbox>) -> Result<String, AgentError> {
    let said = tools.steering().await?;
    Ok(match said.is_empty() {
        true => String::new(),
        false => format!(" and meanwhile: {}", said.join(" | ")),
    })
}
