//! The list on the left, and new threads for it.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homing_domain::ids::ConversationId;
use homing_domain::key::SessionKey;
use homing_ports::store::Queries;
use serde::{Deserialize, Serialize};

use super::extract::{Body, Named, Place};
use super::wire;
use crate::console::App;
use crate::errors::ApiError;
use crate::threads;

/// More than anybody scrolls through; what is older is found by its key.
const LISTED: u32 = 200;
/// Names that are tried before a number makes one unique.
const TRIES: u64 = 4;

#[derive(Serialize)]
pub(super) struct List {
    conversations: Vec<wire::Conversation>,
}

pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<List>, ApiError> {
    let rows = app.inside.queries.conversations(LISTED).await?;
    let running = running(app.inside.queries.as_ref()).await?;
    let count = |id: ConversationId| running.get(&id).copied().unwrap_or(0);
    let conversations = rows
        .iter()
        .map(|row| wire::Conversation::of(row, &app.settings.profile, count(row.id)))
        .collect();
    Ok(Json(List { conversations }))
}

#[derive(Serialize)]
pub(super) struct One {
    conversation: wire::Conversation,
    /// What a person called its current session (`/title`). Not in the list: there it would be a look-up for each line.
    session_title: Option<String>,
    turns: Vec<wire::Turn>,
}

impl One {
    /// A place where nobody has been yet.
    fn empty(key: &SessionKey, profile: &str) -> One {
        One {
            conversation: wire::Conversation::empty(key, profile),
            session_title: None,
            turns: Vec::new(),
        }
    }
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    Named(name): Named,
) -> Result<Json<One>, ApiError> {
    let queries = app.inside.queries.as_ref();
    let place = Place::parse(&name)?;
    let Some(row) = place.find(queries).await? else {
        let key = place.key(queries).await?;
        return Ok(Json(One::empty(&key, &app.settings.profile)));
    };
    let running = running(queries).await?.get(&row.id).copied().unwrap_or(0);
    let session = match row.current {
        Some(current) => queries.session(current.session).await?,
        None => None,
    };
    let turns = queries
        .running_turns(row.id)
        .await?
        .iter()
        .map(wire::Turn::from)
        .collect();
    Ok(Json(One {
        conversation: wire::Conversation::of(&row, &app.settings.profile, running),
        session_title: session.and_then(|session| session.title),
        turns,
    }))
}

#[derive(Deserialize)]
pub(super) struct Wish {
    #[serde(default)]
    name: Option<String>,
}

/// Finds a name that is free. Nothing is stored: two people who get the same one at the same moment meet in one thread.
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Body(wish): Body<Wish>,
) -> Result<Json<One>, ApiError> {
    let thread = match wish
        .name
        .as_deref()
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        Some(typed) => {
            let way_out = || {
                ApiError::malformed(
                    "A thread's name needs at least one letter or digit; leave it empty and one is made up.",
                )
            };
            threads::slug(typed).ok_or_else(way_out)?
        }
        None => free_name(&app).await?,
    };
    let profile = &app.settings.profile;
    Ok(Json(One::empty(&threads::key(profile, &thread), profile)))
}

async fn free_name(app: &App) -> Result<String, ApiError> {
    for _ in 0..TRIES {
        let name = threads::name(app.ids.number());
        if app
            .inside
            .queries
            .conversation_by_key(&threads::key(&app.settings.profile, &name))
            .await?
            .is_none()
        {
            return Ok(name);
        }
    }
    let number = app.ids.number();
    Ok(format!("{}-{}", threads::name(number), number % 10_000))
}

/// Live processes of each conversation.
async fn running(queries: &dyn Queries) -> Result<HashMap<ConversationId, usize>, ApiError> {
    let mut counts = HashMap::new();
    for process in queries.all_live_processes().await? {
        *counts.entry(process.owner.conversation).or_insert(0) += 1;
    }
    Ok(counts)
}
