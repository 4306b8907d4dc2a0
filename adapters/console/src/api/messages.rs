//! Reading a conversation and writing into it.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use homing_domain::ids::{ConversationId, SessionId, WindowId};
use homing_ports::inbox::{Accepted, Inbound};
use homing_ports::store::{MessageRow, Queries};
use serde::{Deserialize, Serialize};

use super::extract::{Asked, Body, Named, Place, id};
use super::timeline::{self, Item};
use super::wire;
use crate::console::App;
use crate::errors::ApiError;
use crate::threads;

const LIMIT: u32 = 200;
const LIMIT_MOST: u32 = 1_000;
/// Characters of the id that a page gives a message.
const ID_LIMIT: usize = 64;

#[derive(Deserialize)]
pub(super) struct Wanted {
    limit: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct Said {
    messages: Vec<Item>,
    /// What works on an answer right now.
    turns: Vec<wire::Turn>,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Named(name): Named,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Said>, ApiError> {
    let queries = app.inside.queries.as_ref();
    let Some(row) = Place::parse(&name)?.find(queries).await? else {
        return Ok(Json(Said {
            messages: Vec::new(),
            turns: Vec::new(),
        }));
    };
    let limit = wanted.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MOST);
    let history = history(queries, row.id, limit).await?;
    let outbox = queries.outbox(row.id, limit).await?;
    let waiting = queries.inbound_waiting(row.id, limit).await?;
    let turns = queries
        .running_turns(row.id)
        .await?
        .iter()
        .map(wire::Turn::from)
        .collect();
    Ok(Json(Said {
        messages: timeline::merge(&history, &outbox, &waiting, limit as usize),
        turns,
    }))
}

/// What was said in the conversation. Sub-agents talk in sessions of their own, which are not part of that: their results are told.
async fn history(
    queries: &dyn Queries,
    conversation: ConversationId,
    limit: u32,
) -> Result<Vec<MessageRow>, ApiError> {
    let mut rows = queries.conversation_history(conversation, limit).await?;
    let delegations = queries.delegations(conversation, limit).await?;
    let aside: HashSet<SessionId> = delegations.iter().map(|row| row.session).collect();
    rows.retain(|row| !aside.contains(&row.session));
    Ok(rows)
}

#[derive(Deserialize)]
pub(super) struct Message {
    text: String,
    /// Made by the page: the same id again is the same message, so a doubtful send can simply be repeated.
    id: String,
    #[serde(default)]
    window: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Taken {
    inbound: String,
    conversation: String,
    repeat: bool,
}

pub(super) async fn accept(
    State(app): State<Arc<App>>,
    Named(name): Named,
    Body(message): Body<Message>,
) -> Result<(StatusCode, Json<Taken>), ApiError> {
    let key = Place::parse(&name)?
        .key(app.inside.queries.as_ref())
        .await?;
    let Some(thread) = threads::writable(&app.settings.profile, &key) else {
        let way_out = format!(
            "Conversations of {} can only be read here: answer there, or start a thread of your own.",
            key.platform
        );
        return Err(ApiError::new(StatusCode::FORBIDDEN, way_out));
    };
    if message.text.trim().is_empty() {
        return Err(ApiError::malformed(
            "The message is empty; write something, `/help` for instance.",
        ));
    }
    check_message_id(&message.id)?;
    let window = message.window.as_deref().map(id::<WindowId>).transpose()?;
    let origin = threads::origin(&app.settings.profile, thread);
    let inbound = Inbound {
        window,
        ..Inbound::new(origin, message.id, message.text)
    };
    let (taken, repeat) = match app.inside.inbox.accept(inbound).await? {
        Accepted::New {
            inbound,
            conversation,
        } => ((inbound, conversation), false),
        Accepted::Repeat {
            inbound,
            conversation,
        } => ((inbound, conversation), true),
    };
    Ok((
        StatusCode::ACCEPTED,
        Json(Taken {
            inbound: taken.0.to_string(),
            conversation: taken.1.to_string(),
            repeat,
        }),
    ))
}

fn check_message_id(id: &str) -> Result<(), ApiError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if id.is_empty() || id.len() > ID_LIMIT || !id.bytes().all(allowed) {
        let way_out = format!(
            "`id` names this message against repeats: 1 to {ID_LIMIT} of A-Z a-z 0-9 - _, new for each message."
        );
        return Err(ApiError::malformed(way_out));
    }
    Ok(())
}
