//! The agent of any OpenAI-compatible model server.
//!
//! What happens is in [`agent`], `turn` (one turn: the model, its tools, the model again) and `summary` (compression); what is decided is pure: `transcript`
//! (history → messages), `prompt`, `room` (what fits), `plan` (where a history is cut), `kept` (what lies beside an entry of the history).
//!
//! **Invariant:** a model sees each call with its result, whatever the history lacks. What broke off or was cut is told as such. Nothing at the beginning
//! of a request changes between two turns, so that servers read it once.
//! **Absent on purpose:** memory of conversations; what is learnt is of models (how they count), and lost with the process.

pub mod client;

mod agent;
mod doing;
mod kept;
mod metering;
mod plan;
mod prompt;
mod room;
mod settings;
mod shown;
mod summary;
mod text;
mod transcript;
mod turn;

pub use agent::OpenAiAgent;
pub use settings::{AgentSettings, SettingsError};
