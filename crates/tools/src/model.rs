//! The tools as a model is told of them, and its calls: checked, asked about, carried out, answered in bounded text.
//!
//! **Invariant:** whatever a model sends is answered. What is wrong with a call is said in words that show the right form; only the end of
//! the turn, or a store that does not answer, is an error. What is told of a tool and what is checked is one table ([`arguments::Field`]).
//! **Absent on purpose:** the loop that calls a model. Every agent has its own.

mod approving;
mod arguments;
mod delegate;
mod files;
mod inputs;
mod process;
mod search;
mod send_file;
mod sessions;
mod terminal;
mod text;

use homing_ports::agent::{ToolError, ToolSpec, ToolText};

pub use inputs::Inputs;

use crate::SessionTools;
use arguments::{Arguments, Field};

/// One tool.
struct Tool {
    name: &'static str,
    description: &'static str,
    fields: &'static [Field],
}

const TOOLS: &[&Tool] = &[
    &terminal::TOOL,
    &process::TOOL,
    &delegate::TOOL,
    &files::READ,
    &files::WRITE,
    &files::EDIT,
    &search::TOOL,
    &sessions::TOOL,
    &send_file::TOOL,
];

/// What a call came to: a text for the model, or why it was not carried out.
type Called = Result<String, Failure>;

/// Why a call was not carried out.
#[derive(Debug)]
enum Failure {
    /// The model is told.
    Answer(String),
    /// The turn ends.
    Turn(ToolError),
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Failure::Answer(text)
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::NotYours(_) | ToolError::Refused(_) => Failure::Answer(error.to_string()),
            ToolError::Process(source) => Failure::Answer(format!("that did not work: {source}")),
            ToolError::SessionEnded | ToolError::Cancelled | ToolError::Store(_) => {
                Failure::Turn(error)
            }
        }
    }
}

pub(crate) fn specs() -> Vec<ToolSpec> {
    TOOLS
        .iter()
        .map(|tool| ToolSpec {
            name: tool.name,
            description: tool.description.to_owned(),
            parameters: arguments::schema(tool.fields),
        })
        .collect()
}

impl SessionTools {
    pub(crate) async fn answer_model(
        &self,
        name: &str,
        arguments: &str,
    ) -> Result<ToolText, ToolError> {
        let called = match TOOLS.iter().find(|tool| tool.name == name) {
            Some(tool) => match Arguments::read(tool.name, tool.fields, arguments) {
                Ok(arguments) => self.carry_out(tool.name, &arguments).await,
                Err(problem) => Err(Failure::Answer(problem)),
            },
            None => Err(Failure::Answer(unknown(name))),
        };
        let (text, failed) = match called {
            Ok(text) => (text, false),
            Err(Failure::Answer(text)) => (text, true),
            Err(Failure::Turn(error)) => return Err(error),
        };
        Ok(ToolText {
            text: text::bounded(&text),
            failed,
        })
    }

    async fn carry_out(&self, name: &str, arguments: &Arguments) -> Called {
        match name {
            "terminal" => self.model_terminal(arguments).await,
            "process" => self.model_process(arguments).await,
            "delegate" => self.model_delegate(arguments).await,
            "read_file" => self.model_read(arguments).await,
            "write_file" => self.model_write(arguments).await,
            "edit_file" => self.model_edit(arguments).await,
            "search_files" => self.model_search(arguments).await,
            "session_search" => self.model_session_search(arguments).await,
            "send_file" => self.model_send_file(arguments).await,
            other => Err(Failure::Answer(unknown(other))),
        }
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let shown: String = name.chars().take(60).collect();
    format!("there is no tool `{shown}`; there are {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_told_with_a_schema_that_takes_nothing_else() {
        for spec in specs() {
            assert!(!spec.description.is_empty(), "{}", spec.name);
            assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
            assert_eq!(
                spec.parameters["additionalProperties"], false,
                "{}",
                spec.name
            );
        }
    }
}
