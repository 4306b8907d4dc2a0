//! `homing explain`

use std::process::ExitCode;

use anyhow::bail;
use homing_gateway::explain::{Explanation, Scope, explain};
use homing_ports::store::Source;
use serde_json::{Value, json};

use super::{block_on, print, ps, reader};
use crate::arguments::Explain;

pub fn run(arguments: &Explain) -> anyhow::Result<ExitCode> {
    block_on(async {
        let store = reader(&arguments.place.data).await?;
        match explain(&store, &arguments.id, Scope::Everything).await? {
            Ok(explanation) if arguments.place.json => print(&to_json(&explanation).to_string())?,
            Ok(explanation) => print(explanation.to_string().trim_end())?,
            Err(problem) => bail!("{problem}"),
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn to_json(explanation: &Explanation) -> Value {
    let lives = explanation.lives.iter().map(|life| {
        let notification = &life.notification;
        let about = match notification.source {
            Source::Process(id) => id.to_string(),
            Source::Delegation(id) => id.to_string(),
        };
        json!({
            "id": notification.id,
            "about": about,
            "kind": notification.kind.name(),
            "state": notification.state.name(),
            "reason": notification.reason,
            "session": notification.session,
            "created_at": notification.created_at,
            "settled_at": notification.settled_at,
            "decisions": life.decisions.iter().map(|decision| json!({
                "at": decision.at,
                "from": decision.from.name(),
                "to": decision.to.name(),
                "reason": decision.reason,
                "facts": decision.facts,
            })).collect::<Vec<_>>(),
            "answers": life.answers.iter().map(|answer| json!({
                "id": answer.id,
                "state": answer.state.name(),
                "reason": answer.reason,
                "attempt": answer.attempt,
                "settled_at": answer.settled_at,
            })).collect::<Vec<_>>(),
        })
    });
    json!({
        "conversation": explanation.conversation.as_ref().map(|conversation| conversation.key.to_string()),
        "process": explanation.process.as_ref().map(ps::to_json),
        "notifications": lives.collect::<Vec<_>>(),
    })
}
