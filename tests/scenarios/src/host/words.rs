//! What a message or a task may have an agent do, as a model would: call tools by name, take up what is said meanwhile, look at what it knows.
//!
//! ```text
//! use terminal {"command": "true"}     one call, or several at once on lines of their own; answered with what the tools said
//! say WORDS                            the answer is `said WORDS`
//! what do you know                     the answer is the context: the summary and what people said
//! too long until compressed            fails as too long until there is a summary
//! always too long                      fails as too long
//! until nothing lingers                waits for all turns that linger, then answers
//! … lingers …                          anywhere in one of these: the runner does not wait for its end
//! ```

use std::sync::Arc;

use homing_ports::agent::{AgentError, Entry, EntryRole, Toolbox, TurnAnswer, UsageMeter};
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

/// A text, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Words {
    /// Names of tools with their arguments.
    Calls(Vec<(String, String)>),
    Say(String),
    Known,
    TooLongUntilCompressed,
    AlwaysTooLong,
    Ordinary,
}

impl Words {
    pub(super) fn of(text: &str) -> Words {
        let text = text.trim();
        if text.starts_with("use ") {
            let calls = text.lines().map(|line| {
                let call = line.strip_prefix("use ").unwrap_or(line);
                let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
                (name.to_owned(), arguments.to_owned())
            });
            return Words::Calls(calls.collect());
        }
        if let Some(words) = text.strip_prefix("say ") {
            return Words::Say(words.to_owned());
        }
        match text {
            "what do you know" => Words::Known,
            "always too long" => Words::AlwaysTooLong,
            "too long until compressed" => Words::TooLongUntilCompressed,
            _ => Words::Ordinary,
        }
    }
}

/// `None` if it is an ordinary text.
pub(super) async fn obey(
    text: &str,
    tools: &Arc<dyn Toolbox>,
    used: &UsageMeter,
    cancel: &CancellationToken,
) -> Option<Result<TurnAnswer, AgentError>> {
    let done = async {
        match Words::of(text) {
            Words::Calls(called) => Some(calls(&called, tools, used).await),
            Words::Say(words) => Some(Ok(TurnAnswer::from(format!("said {words}")))),
            Words::Known => Some(known(tools).await),
            Words::AlwaysTooLong => Some(Err(AgentError::TooLong)),
            Words::TooLongUntilCompressed => match tools.context(KNOWN).await {
                Ok(context) if context.summary.is_none() => Some(Err(AgentError::TooLong)),
                Ok(_) => None,
                Err(error) => Some(Err(error.into())),
            },
            Words::Ordinary => None,
        }
    };
    match cancel.run_until_cancelled(done).await {
        Some(done) => done,
        None => Some(Err(AgentError::Cancelled)),
    }
}

/// All at once.
async fn calls(
    calls: &[(String, String)],
    tools: &Arc<dyn Toolbox>,
    used: &UsageMeter,
) -> Result<TurnAnswer, AgentError> {
    record(tools, EntryRole::Agent, "", Some(format!("{calls:?}"))).await?;
    // Begun in their order.
    let called = calls.iter().map(|(name, arguments)| async move {
        let answer = tools.call_named(name, arguments).await?;
        let how = if answer.failed { "failed" } else { "answered" };
        let text = format!("{name} {how}: {}", answer.text);
        record(tools, EntryRole::Tool, &text, Some("{}".into())).await?;
        Ok::<_, AgentError>(text)
    });
    let texts = futures_util::future::try_join_all(called).await?;
    used.add(USAGE);
    Ok(TurnAnswer {
        text: texts.join("\n"),
        data: Some("{}".into()),
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
    let said = tools.steering(None).await?;
    let said: Vec<String> = said.into_iter().map(|steered| steered.text).collect();
    Ok(match said.is_empty() {
        true => String::new(),
        false => format!(" and meanwhile: {}", said.join(" | ")),
    })
}
