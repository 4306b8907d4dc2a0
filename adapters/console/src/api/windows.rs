//! Windows: opened, used, ended by their page. When one ends without a word is `crate::windows`' matter.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use homing_domain::ids::{ConversationId, WindowId};
use homing_domain::key::SessionKey;
use homing_ports::inbox::AcceptError;
use serde::{Deserialize, Serialize};

use super::extract::{Body, Named, Place, id};
use crate::console::App;
use crate::errors::ApiError;

#[derive(Deserialize)]
pub(super) struct Wish {
    conversation: String,
    /// The one that this tab had on this conversation before.
    #[serde(default)]
    window: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Opened {
    /// The window to use from now on: the one asked for, or a new one if that was closed.
    window: WindowId,
    conversation: ConversationId,
}

pub(super) async fn open(
    State(app): State<Arc<App>>,
    Body(wish): Body<Wish>,
) -> Result<Json<Opened>, ApiError> {
    let key = Place::parse(&wish.conversation)?
        .key(app.inside.queries.as_ref())
        .await?;
    let before = wish.window.as_deref().map(id::<WindowId>).transpose()?;
    let (window, conversation) = match before {
        Some(window) => reopen(&app, window, &key).await?,
        None => open_new(&app, &key).await?,
    };
    app.windows.opened(window);
    Ok(Json(Opened {
        window,
        conversation,
    }))
}

/// A closed window owns nothing any more and stays closed (OWN-42): its page goes on with a new one.
async fn reopen(
    app: &App,
    window: WindowId,
    key: &SessionKey,
) -> Result<(WindowId, ConversationId), ApiError> {
    match app.inside.inbox.open_window(window, key).await {
        Ok(conversation) => Ok((window, conversation)),
        Err(AcceptError::UnknownWindow(_)) => open_new(app, key).await,
        Err(error) => Err(error.into()),
    }
}

async fn open_new(app: &App, key: &SessionKey) -> Result<(WindowId, ConversationId), ApiError> {
    let window = app.ids.next();
    Ok((window, app.inside.inbox.open_window(window, key).await?))
}

pub(super) async fn touch(
    State(app): State<Arc<App>>,
    Named(name): Named,
) -> Result<StatusCode, ApiError> {
    app.inside.inbox.touch_window(id(&name)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn end(
    State(app): State<Arc<App>>,
    Named(name): Named,
) -> Result<StatusCode, ApiError> {
    let window = id(&name)?;
    match app.inside.inbox.close_window(window).await {
        // Closed before: that is what was wanted.
        Ok(()) | Err(AcceptError::UnknownWindow(_)) => app.windows.closed(window),
        Err(error) => return Err(error.into()),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A tab says goodbye by a beacon, which cannot wait for an answer.
pub(super) async fn goodbye(
    State(app): State<Arc<App>>,
    Named(name): Named,
) -> Result<StatusCode, ApiError> {
    app.windows.goodbye(id(&name)?);
    Ok(StatusCode::ACCEPTED)
}
