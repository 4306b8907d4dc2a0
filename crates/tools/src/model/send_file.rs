//! `send_file`: a file of the workspace, to the person.

use homing_ports::agent::ToolAnswer;

use super::arguments::{Arguments, Kind, optional, required};
use super::{Called, Tool};
use crate::SessionTools;

pub(super) const TOOL: Tool = Tool {
    name: "send_file",
    description: "Sends a file of the workspace to the person as an attachment, where the platform takes files. Only in answer to a person's message.",
    fields: &[
        required("path", Kind::Text, "The file, relative to the workspace."),
        optional("caption", Kind::Text, "A line to go with it."),
    ],
};

impl SessionTools {
    pub(super) async fn model_send_file(&self, arguments: &Arguments) -> Called {
        let path = arguments.the_text("path");
        let caption = arguments.text("caption").unwrap_or_default().to_owned();
        match self.send_file(path.as_ref(), caption).await? {
            ToolAnswer::Done => Ok(format!("{path} is on its way")),
            other => Ok(format!("{other:?}")),
        }
    }
}
