//! Sending a file of the workspace to where the turn's answer goes.

use std::path::Path;

use homing_ports::agent::{ToolAnswer, ToolError};

use crate::{Bound, SessionTools};

impl SessionTools {
    pub(crate) async fn send_file(
        &self,
        path: &Path,
        caption: String,
    ) -> Result<ToolAnswer, ToolError> {
        let Bound::Turn(turn) = self.bound else {
            return Err(ToolError::Refused(
                "files are sent in answer to a person only".into(),
            ));
        };
        self.workshop
            .supervision
            .send_file(turn, &self.owner, path, caption)
            .await?;
        Ok(ToolAnswer::Done)
    }
}
