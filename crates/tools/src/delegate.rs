//! Starting a sub-agent. It is owned by the conversation at the root of the chain (OWN-23).

use homing_domain::ids::WindowId;
use homing_ports::agent::{ToolAnswer, ToolError};

use crate::SessionTools;

/// Longest task, in bytes.
const TASK_LIMIT: usize = 64 * 1024;

impl SessionTools {
    pub(crate) async fn delegate(
        &self,
        task: String,
        window: Option<WindowId>,
    ) -> Result<ToolAnswer, ToolError> {
        if task.trim().is_empty() {
            return Err(ToolError::Refused("the task is empty".into()));
        }
        if task.len() > TASK_LIMIT {
            return Err(ToolError::Refused(format!(
                "the task has {} bytes, at most {TASK_LIMIT} are taken",
                task.len()
            )));
        }
        // A sub-agent's own sub-agents belong to the same root, and remember who started them.
        let mut owner = self.owner.clone();
        owner.window = window.or(owner.window);
        let delegation = self
            .workshop
            .supervision
            .delegate(owner, &self.key, task, self.guards())
            .await?;
        Ok(ToolAnswer::Delegated { delegation })
    }
}
