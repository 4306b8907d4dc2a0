//! Starting a sub-agent. It is owned by the conversation at the root of the chain (OWN-23).

use homing_domain::ids::WindowId;
use homing_ports::agent::{ToolAnswer, ToolError};

use crate::SessionTools;

/// Longest task, in bytes.
const TASK_LIMIT: usize = 64 * 1024;

impl SessionTools {
    pub(crate) async fn delegate(
        &self,
        tasks: Vec<String>,
        wait: bool,
        window: Option<WindowId>,
    ) -> Result<ToolAnswer, ToolError> {
        check(&tasks)?;
        // A sub-agent's own sub-agents belong to the same root, and remember who started them.
        let mut owner = self.owner.clone();
        owner.window = window.or(owner.window);
        let supervision = &self.workshop.supervision;
        let delegations = supervision
            .delegate(owner, &self.key, tasks, self.guards())
            .await?;
        if !wait {
            return Ok(ToolAnswer::Delegated { delegations });
        }
        let all = supervision.delegations_ended(
            self.owner.conversation,
            &delegations,
            self.still_bound(),
        );
        match self.cancel.run_until_cancelled(all).await {
            Some(found) => Ok(ToolAnswer::Found(found?)),
            None => Err(ToolError::Cancelled),
        }
    }
}

fn check(tasks: &[String]) -> Result<(), ToolError> {
    if tasks.is_empty() || tasks.iter().any(|task| task.trim().is_empty()) {
        return Err(ToolError::Refused("the task is empty".into()));
    }
    match tasks.iter().find(|task| task.len() > TASK_LIMIT) {
        Some(task) => Err(ToolError::Refused(format!(
            "the task has {} bytes, at most {TASK_LIMIT} are taken",
            task.len()
        ))),
        None => Ok(()),
    }
}
