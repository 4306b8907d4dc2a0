//! One turn: the model, the tools that it calls, the model again, until it says its answer.
//!
//! **Invariant:** a call is in the history before it is carried out, and its result before the model reads it. Whatever happens the turn ends: rounds are
//! counted, a call that fails the same way is not made for ever, an answer that is empty is asked for once more.
//! When it is cancelled, the model is left at once; a tool ends what it began, and is left if it does not.

mod calls;
mod ending;
mod steering;

use std::sync::Arc;

use homing_ports::agent::{
    AgentError, Entry, EntryRole, ToolError, Toolbox, TurnAbout, TurnAnswer, TurnRequest,
    UsageMeter,
};
use homing_ports::store::{Context, MessageRow, Role};
use tokio_util::sync::CancellationToken;

use super::agent::{Model, failed};
use super::client::{
    ChatError, ChatMessage, ChatRequest, Completion, Event, Finish, Partial, ToolChoice, ToolSpec,
};
use super::kept::{Asked, Kept};
use super::metering::Metering;
use super::prompt;
use super::room::{self, Room};
use super::settings::AgentSettings;
use super::shown::Shown;
use super::transcript::{self, Telling, add_user};
use calls::Failures;

/// A history of so many messages is compressed, however short they are.
const MOST_MESSAGES: usize = 20_000;

pub(crate) struct Turn<'a> {
    settings: &'a AgentSettings,
    model: &'a Model,
    about: TurnAbout,
    tools: Arc<dyn Toolbox>,
    cancel: CancellationToken,
    request: ChatRequest,
    /// Messages of the request that were there before this turn did anything.
    begun: usize,
    /// What this turn is about, if the conversation holds more than that.
    own: Option<String>,
    /// What the person's message came with, until it is in an entry of the history.
    asked: Option<Asked>,
    shown: Shown,
    failures: Failures,
    meter: UsageMeter,
    /// Whether messages are told with who wrote them.
    names: bool,
    /// The model was told that its answer is empty.
    is_nudged: bool,
}

/// What the model came to.
enum Said {
    Whole(Box<Completion>),
    /// It broke off, and nothing in it can be carried out.
    BrokenOff(Box<Partial>, ChatError),
}

impl<'a> Turn<'a> {
    /// Reads the history, and sees whether it fits.
    pub async fn begin(
        settings: &'a AgentSettings,
        model: &'a Model,
        request: TurnRequest,
        tools: Arc<dyn Toolbox>,
        cancel: CancellationToken,
    ) -> Result<Turn<'a>, AgentError> {
        if cancel.is_cancelled() {
            return Err(AgentError::Cancelled);
        }
        let context = tools.context(MOST_MESSAGES).await.map_err(tool_error)?;
        if context.messages.len() >= MOST_MESSAGES {
            return Err(AgentError::TooLong);
        }
        let asked = match &request.about {
            TurnAbout::Person { quoted, files, .. } => Asked::of(quoted.as_deref(), files),
            TurnAbout::Delegated { .. } | TurnAbout::Background { .. } => None,
        };
        let specs = tools.specs().into_iter().map(|spec| ToolSpec {
            name: spec.name.to_owned(),
            description: spec.description,
            parameters: spec.parameters,
        });
        let is_other =
            |row: &MessageRow| row.turn != Some(request.turn) && !is_own(&request, &context, row);
        // A summary can be made shorter, too.
        let has_more = context.summary.is_some() || context.messages.iter().any(is_other);
        let quiet = matches!(request.about, TurnAbout::Background { .. });
        let mut turn = Turn {
            settings,
            model,
            request: ChatRequest {
                messages: messages(settings, &request, &context, asked.as_ref()),
                tools: specs.collect(),
                ..ChatRequest::default()
            },
            own: has_more.then(|| own_text(&request, asked.as_ref())),
            about: request.about,
            tools,
            cancel,
            begun: 0,
            asked,
            shown: Shown::new((!quiet).then_some(request.stream)),
            failures: Failures::default(),
            meter: request.used,
            names: prompt::names_people(&request.key),
            is_nudged: false,
        };
        turn.begun = turn.request.messages.len();
        turn.check_room()?;
        Ok(turn)
    }

    pub async fn run(mut self) -> Result<TurnAnswer, AgentError> {
        for _ in 0..self.settings.rounds {
            let completion = match self.ask(ToolChoice::Auto).await? {
                Said::Whole(completion) => *completion,
                Said::BrokenOff(partial, error) => return self.broken_off(&partial, &error),
            };
            if !completion.tool_calls.is_empty() {
                if let Some(last_word) = self.carry_out(completion).await? {
                    return self.stopped(&last_word);
                }
                self.take_up().await?;
            } else if !self.goes_on_after(&completion).await? {
                if !self.nudges(&completion) {
                    return self.finish(&completion);
                }
                add_user(&mut self.request.messages, prompt::note(NUDGE));
            }
        }
        self.close().await
    }

    /// Rounds are over: an answer, without tools.
    async fn close(mut self) -> Result<TurnAnswer, AgentError> {
        let rounds = self.settings.rounds;
        let text = format!(
            "you have called tools in {rounds} rounds, and no more are carried out in this turn. Say now what you have found, and what is left to do."
        );
        add_user(&mut self.request.messages, prompt::note(&text));
        match self.ask(ToolChoice::None).await? {
            // A server that knows no such choice may let it call once more: nothing of that is carried out.
            Said::Whole(completion) if completion.text.trim().is_empty() => self.stopped(&format!(
                "I have called tools in {rounds} rounds and stopped there, without an answer. Write again, and I go on."
            )),
            Said::Whole(completion) => self.finish(&completion),
            Said::BrokenOff(partial, error) => self.broken_off(&partial, &error),
        }
    }

    /// Before any tool has run the conversation can still be compressed.
    fn check_room(&self) -> Result<(), AgentError> {
        let room = self.room();
        if self.tokens(&self.request) <= room.input() {
            return Ok(());
        }
        Err(self.too_long(room))
    }

    /// Compressing helps where there is more than what this turn is about, unless that alone is too long.
    fn too_long(&self, room: Room) -> AgentError {
        let mut least = self.request.clone();
        if let Some(own) = &self.own {
            least.messages.truncate(1);
            least.messages.push(ChatMessage::User(own.clone()));
        }
        let least = self.tokens(&least);
        if least <= room.input() && self.own.is_some() {
            return AgentError::TooLong;
        }
        AgentError::Failed(format!(
            "this message is too long for the model: with instructions and tools it takes about {least} tokens, and {} of its {} are free for it; \
             send it in parts, or as a file",
            room.input(),
            room.window
        ))
    }

    /// Asks until the request fits.
    async fn ask(&mut self, choice: ToolChoice) -> Result<Said, AgentError> {
        self.request.tool_choice = choice;
        while self.has_acted() && self.tokens(&self.request) > self.room().input() {
            if !self.make_room() {
                break;
            }
        }
        let mut room = self.room();
        loop {
            self.request.max_output_tokens = u32::try_from(room.output).ok();
            let shown = &mut self.shown;
            let mut metering = Metering::of(&self.meter, self.model, &self.request);
            let listen = |event: Event| {
                metering.hear(&event);
                shown.hear(event);
            };
            let client = &self.model.client;
            let error = match client.chat(&self.request, listen, &self.cancel).await {
                Ok(completion) => {
                    metering.whole(&completion);
                    return Ok(Said::Whole(Box::new(completion)));
                }
                Err(error) => error,
            };
            metering.left();
            match error {
                ChatError::ContextTooLong {
                    ref model, limit, ..
                } => {
                    let before = room.output;
                    let theirs = self
                        .model
                        .refused(self.settings, model, limit, &self.request);
                    room.output = before.min(theirs.output);
                    // Some servers count the answer's limit along. It only ever gets smaller, so this ends.
                    let fits = room.output < before && self.tokens(&self.request) <= theirs.input();
                    if !fits && !self.has_acted() {
                        return Err(self.too_long(theirs));
                    }
                    if !fits && !self.make_room() {
                        return Err(failed(&error));
                    }
                    self.shown.hear(Event::Restarted);
                }
                ChatError::BrokenOff { ref partial, .. } => {
                    let partial = partial.clone();
                    tracing::warn!(error = error.full(), "a model's answer broke off");
                    return Ok(match partial.tool_calls.is_empty() {
                        true => Said::BrokenOff(partial, error),
                        // Each is whole: the turn goes on from there.
                        false => Said::Whole(Box::new(continued(*partial, &self.model.name))),
                    });
                }
                error => return Err(failed(&error)),
            }
        }
    }

    /// The history cannot be changed now, only what this turn has read.
    fn make_room(&mut self) -> bool {
        room::elide_oldest(&mut self.request.messages[self.begun..])
    }

    fn has_acted(&self) -> bool {
        self.request.messages.len() > self.begun
    }

    fn room(&self) -> Room {
        self.model.room(self.settings)
    }

    fn tokens(&self, request: &ChatRequest) -> u64 {
        room::tokens(request, &self.model.known())
    }

    async fn record(&self, role: EntryRole, text: String, kept: Kept) -> Result<(), AgentError> {
        let data = kept.write();
        let recorded = self.tools.record(Entry { role, text, data }).await;
        recorded.map_err(tool_error)
    }
}

const NUDGE: &str = "your answer was empty. Say what you have to say, or call a tool.";

/// The stable beginning, the history, and what this turn is about where the history lacks it.
fn messages(
    settings: &AgentSettings,
    request: &TurnRequest,
    context: &Context,
    asked: Option<&Asked>,
) -> Vec<ChatMessage> {
    let instructions = settings.instructions.as_deref();
    let (key, names) = (&request.key, prompt::names_people(&request.key));
    let system = match &request.about {
        TurnAbout::Delegated { .. } => prompt::sub_agent(instructions, key),
        TurnAbout::Person { .. } | TurnAbout::Background { .. } => {
            prompt::system(instructions, key)
        }
    };
    let own = context
        .messages
        .iter()
        .find(|row| is_own(request, context, row));
    let telling = Telling {
        names,
        asked: own.map(|own| own.id).zip(asked),
    };
    let mut messages = vec![ChatMessage::System(system)];
    messages.extend(transcript::messages(context, telling));
    if own.is_none() {
        add_user(&mut messages, own_text(request, asked));
    }
    messages
}

/// What the turn is about, as the model reads it.
fn own_text(request: &TurnRequest, asked: Option<&Asked>) -> String {
    match &request.about {
        TurnAbout::Person { author, text, .. } => {
            let author = author.as_deref();
            let author = author.filter(|_| prompt::names_people(&request.key));
            prompt::person(author, text, asked)
        }
        TurnAbout::Delegated { task, .. } => task.clone(),
        TurnAbout::Background { block, .. } => prompt::notification(block),
    }
}

/// Whether a row is the message that the turn is about. A turn that began again has another name than its message's row.
fn is_own(request: &TurnRequest, context: &Context, row: &MessageRow) -> bool {
    let text = match &request.about {
        TurnAbout::Person { text, .. } | TurnAbout::Delegated { task: text, .. } => text,
        TurnAbout::Background { .. } => return false,
    };
    let is_last = || {
        context
            .messages
            .last()
            .is_some_and(|last| last.id == row.id)
    };
    row.role == Role::Person && (row.turn == Some(request.turn) || row.text == *text && is_last())
}

fn continued(partial: Partial, model: &str) -> Completion {
    Completion {
        text: partial.text,
        reasoning: None,
        tool_calls: partial.tool_calls,
        finish: Finish::ToolCalls,
        usage: None,
        model: model.to_owned(),
        timings: super::client::Timings {
            first_token: None,
            total: std::time::Duration::ZERO,
            attempts: 1,
        },
    }
}

fn tool_error(error: ToolError) -> AgentError {
    match error {
        ToolError::Cancelled => AgentError::Cancelled,
        error => AgentError::Tool(error),
    }
}
