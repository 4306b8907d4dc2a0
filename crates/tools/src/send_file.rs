//! Sending a file of the workspace to where the turn's answer goes.

use std::path::Path;

use homing_ports::agent::{ToolAnswer, ToolError};

use crate::workspace::Workspace;
use crate::{Bound, FileToSend, SessionTools};

/// Bytes of the largest file that is sent; every platform takes less.
const LARGEST: u64 = 50 * 1024 * 1024;

impl SessionTools {
    pub(crate) async fn send_file(
        &self,
        path: &Path,
        caption: String,
    ) -> Result<ToolAnswer, ToolError> {
        let Bound::Turn(turn) = self.bound else {
            return Err(ToolError::Refused(
                "files are sent in answer to a person only, not by a sub-agent; name the file in your answer".into(),
            ));
        };
        let (root, closed) = (self.workshop.workspace.clone(), self.workshop.data.clone());
        let path = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || {
            let workspace = Workspace::open(&root, closed.as_deref());
            open(
                &workspace.map_err(|error| error.to_string())?,
                &path,
                caption,
            )
        });
        let file = opened
            .await
            .map_err(|error| ToolError::Refused(format!("that broke off: {error}")))?
            .map_err(ToolError::Refused)?;
        self.workshop
            .supervision
            .send_file(turn, &self.owner, file)
            .await?;
        Ok(ToolAnswer::Done)
    }
}

fn open(workspace: &Workspace, path: &Path, caption: String) -> Result<FileToSend, String> {
    let shown = path.display().to_string();
    let file = workspace.file(&shown).map_err(|error| error.to_string())?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len();
    if bytes > LARGEST {
        return Err(format!(
            "`{shown}` has {bytes} bytes, at most {LARGEST} are sent"
        ));
    }
    if bytes == 0 {
        return Err(format!("`{shown}` is empty; there is nothing to send"));
    }
    let name = path.file_name().map_or_else(
        || "file".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    Ok(FileToSend {
        file,
        name,
        caption,
    })
}
