//! What runs, what it had to say, and what leaves.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homing_domain::ids::ConversationId;
use homing_ports::store::Queries;
use serde::{Deserialize, Serialize};

use super::extract::{Asked, Place};
use super::wire;
use crate::console::App;
use crate::errors::ApiError;

const LIMIT: u32 = 50;
const LIMIT_MOST: u32 = 500;

#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    conversation: Option<String>,
    #[serde(default)]
    limit: Option<u32>,
}

impl Wanted {
    fn limit(&self) -> u32 {
        self.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MOST)
    }

    /// `None` for a place where nobody has been yet.
    async fn conversation(
        &self,
        queries: &dyn Queries,
    ) -> Result<Option<ConversationId>, ApiError> {
        let way_out =
            || ApiError::malformed("Say which conversation: `?conversation=cnv_…`, or its key.");
        let name = self.conversation.as_deref().ok_or_else(way_out)?;
        Ok(Place::parse(name)?.find(queries).await?.map(|row| row.id))
    }
}

#[derive(Serialize)]
pub(super) struct Processes {
    processes: Vec<wire::Process>,
}

pub(super) async fn processes(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Processes>, ApiError> {
    let queries = app.inside.queries.as_ref();
    let rows = match wanted.conversation {
        None => queries.recent_processes(wanted.limit()).await?,
        Some(_) => match wanted.conversation(queries).await? {
            Some(conversation) => queries.processes(conversation, wanted.limit()).await?,
            None => Vec::new(),
        },
    };
    Ok(Json(Processes {
        processes: rows.iter().map(wire::Process::from).collect(),
    }))
}

#[derive(Serialize)]
pub(super) struct Delegations {
    delegations: Vec<wire::Delegation>,
}

pub(super) async fn delegations(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Delegations>, ApiError> {
    let queries = app.inside.queries.as_ref();
    let rows = match wanted.conversation(queries).await? {
        Some(conversation) => queries.delegations(conversation, wanted.limit()).await?,
        None => Vec::new(),
    };
    Ok(Json(Delegations {
        delegations: rows.iter().map(wire::Delegation::from).collect(),
    }))
}

#[derive(Serialize)]
pub(super) struct Notifications {
    notifications: Vec<wire::Notification>,
}

pub(super) async fn notifications(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Notifications>, ApiError> {
    let queries = app.inside.queries.as_ref();
    let rows = match wanted.conversation(queries).await? {
        Some(conversation) => queries.notifications(conversation, wanted.limit()).await?,
        None => Vec::new(),
    };
    Ok(Json(Notifications {
        notifications: rows.iter().map(wire::Notification::from).collect(),
    }))
}

#[derive(Serialize)]
pub(super) struct Outbox {
    outbox: Vec<wire::OutboxItem>,
}

pub(super) async fn outbox(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Outbox>, ApiError> {
    let queries = app.inside.queries.as_ref();
    let rows = match wanted.conversation(queries).await? {
        Some(conversation) => queries.outbox(conversation, wanted.limit()).await?,
        None => Vec::new(),
    };
    Ok(Json(Outbox {
        outbox: rows.iter().map(wire::OutboxItem::from).collect(),
    }))
}
