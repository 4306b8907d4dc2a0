//! `delegate`: sub-agents, awaited or told when they have ended.

use homing_ports::agent::ToolAnswer;

use super::arguments::{Arguments, Kind, optional, required};
use super::{Called, Tool, text};
use crate::SessionTools;

/// Bytes of what all sub-agents found that are answered.
const FOUND: usize = 20 * 1024;

pub(super) const TOOL: Tool = Tool {
    name: "delegate",
    description: "Starts one sub-agent for each task. A sub-agent sees its task and nothing of this conversation, has the same tools, and cannot ask \
                  anybody. With `wait` the answer is what they found; without it they work in the background, and what they found is told here once \
                  all of them have ended.",
    fields: &[
        required(
            "tasks",
            Kind::Texts { most: 8 },
            "What each is to do, with everything that it has to know.",
        ),
        optional("wait", Kind::Flag, "Wait for all of them."),
    ],
};

impl SessionTools {
    pub(super) async fn model_delegate(&self, arguments: &Arguments) -> Called {
        let tasks = arguments.texts("tasks");
        let wait = arguments.flag("wait").unwrap_or(false);
        Ok(match self.delegate(tasks, wait, None).await? {
            ToolAnswer::Delegated { delegations } => {
                let ids: Vec<String> = delegations.iter().map(ToString::to_string).collect();
                format!(
                    "started: {}. What they find is told here once all have ended.",
                    ids.join(", ")
                )
            }
            ToolAnswer::Found(found) => {
                let room = FOUND / found.len().max(1);
                let texts: Vec<String> = found
                    .iter()
                    .map(|(id, state, result)| {
                        let shown = text::beginning(result, room);
                        let cut = match shown.len() < result.len() {
                            true => {
                                format!("\n[the first {} of {} bytes]", shown.len(), result.len())
                            }
                            false => String::new(),
                        };
                        format!("{id} – {}:\n{shown}{cut}", state.name())
                    })
                    .collect();
                texts.join("\n\n")
            }
            other => format!("{other:?}"),
        })
    }
}
