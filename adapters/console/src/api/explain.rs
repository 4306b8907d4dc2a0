//! Why: a notification's whole life (OWN-43).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homing_domain::ids::NotificationId;
use homing_ports::store::Source;
use serde::Serialize;

use super::extract::{Named, id};
use super::wire;
use crate::console::App;
use crate::errors::ApiError;
use crate::threads;

#[derive(Serialize)]
pub(super) struct Explanation {
    notification: wire::Notification,
    /// The conversation it belongs to, for people.
    conversation: Option<String>,
    process: Option<wire::Process>,
    delegation: Option<wire::Delegation>,
    /// Oldest first, each with the facts it was made on.
    decisions: Vec<wire::Decision>,
    /// What the turn that told it sent.
    answer: Vec<wire::OutboxItem>,
}

pub(super) async fn notification(
    State(app): State<Arc<App>>,
    Named(name): Named,
) -> Result<Json<Explanation>, ApiError> {
    let wanted: NotificationId = id(&name)?;
    let queries = app.inside.queries.as_ref();
    let absent = || ApiError::absent(format!("There is no notification {wanted} here."));
    let row = queries.notification(wanted).await?.ok_or_else(absent)?;
    let (process, delegation) = match row.source {
        Source::Process(process) => (queries.process(process).await?, None),
        Source::Delegation(delegation) => (None, queries.delegation(delegation).await?),
    };
    let answer = match row.turn {
        Some(turn) => queries.outbox_of_turn(turn).await?,
        None => Vec::new(),
    };
    Ok(Json(Explanation {
        conversation: queries
            .conversation(row.conversation)
            .await?
            .map(|conversation| threads::title(&conversation.key)),
        process: process.as_ref().map(wire::Process::from),
        delegation: delegation.as_ref().map(wire::Delegation::from),
        decisions: queries
            .decisions(wanted)
            .await?
            .iter()
            .map(wire::Decision::from)
            .collect(),
        answer: answer.iter().map(wire::OutboxItem::from).collect(),
        notification: wire::Notification::from(&row),
    }))
}
