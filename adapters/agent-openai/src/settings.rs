//! What an agent is made of, and what is refused before anything is asked.

use super::client;

/// Less cannot hold instructions, tools and a message.
const SMALLEST_WINDOW: u64 = 1_024;

#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Its `max_output_tokens` is not used: [`AgentSettings::output_tokens`] is.
    pub client: client::Settings,
    /// The profile's own words to the model. `None`: a sentence of ours.
    pub instructions: Option<String>,
    /// What the model can hold at once, in tokens, its answer included.
    pub context_tokens: u64,
    /// The longest answer, in tokens.
    pub output_tokens: u64,
    /// How often a model may answer with tool calls in one turn.
    pub rounds: u32,
}

impl AgentSettings {
    pub const fn new(client: client::Settings) -> AgentSettings {
        AgentSettings {
            client,
            instructions: None,
            context_tokens: 32_768,
            output_tokens: 4_096,
            rounds: 50,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        if self.context_tokens < SMALLEST_WINDOW {
            return Err(SettingsError::SmallWindow(self.context_tokens));
        }
        if self.output_tokens == 0 || self.output_tokens > self.context_tokens / 2 {
            return Err(SettingsError::Output {
                output: self.output_tokens,
                window: self.context_tokens,
            });
        }
        if self.rounds == 0 {
            return Err(SettingsError::NoRounds);
        }
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Client(#[from] client::SettingsError),
    #[error(
        "context_tokens is {0}; a model that can work with tools holds {SMALLEST_WINDOW} at least"
    )]
    SmallWindow(u64),
    #[error(
        "output_tokens is {output}; it has to be 1 at least, and half of context_tokens ({window}) at most"
    )]
    Output { output: u64, window: u64 },
    #[error("rounds is 0; a model that may call no tools still needs 1")]
    NoRounds,
}
