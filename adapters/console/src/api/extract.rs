//! Requests, parsed once: a value, or an error that says what is wrong and what would be right.

use std::fmt::Display;
use std::str::FromStr;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use homing_domain::ids::ConversationId;
use homing_domain::key::SessionKey;
use homing_ports::inbox::INBOUND_TEXT_LIMIT;
use homing_ports::store::{ConversationRow, Queries};
use serde::de::DeserializeOwned;

use crate::errors::ApiError;

/// Six bytes of JSON for one of text at worst (`\u001b`), and some for the rest.
pub(crate) const BODY_LIMIT: usize = 6 * INBOUND_TEXT_LIMIT + 4 * 1024;

/// A JSON body.
pub(crate) struct Body<T>(pub T);
/// The query string.
pub(crate) struct Asked<T>(pub T);
/// The one parameter of a path.
pub(crate) struct Named(pub String);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        match Json::from_request(request, state).await {
            Ok(Json(body)) => Ok(Body(body)),
            Err(JsonRejection::MissingJsonContentType(_)) => Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Send JSON, with `content-type: application/json`.",
            )),
            Err(JsonRejection::BytesRejection(rejection))
                if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE =>
            {
                let way_out = format!(
                    "That is too long: a message may have {INBOUND_TEXT_LIMIT} bytes. Put it in a file and send its path."
                );
                Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, way_out))
            }
            Err(rejection) => Err(ApiError::malformed(format!(
                "The body does not read: {}.",
                rejection.body_text()
            ))),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let asked = Query::from_request_parts(parts, state).await;
        let unread = |rejection: QueryRejection| {
            ApiError::malformed(format!(
                "The query does not read: {}.",
                rejection.body_text()
            ))
        };
        asked.map(|Query(asked)| Asked(asked)).map_err(unread)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let named = Path::<String>::from_request_parts(parts, state).await;
        let unread = |rejection: PathRejection| {
            ApiError::malformed(format!(
                "The path does not read: {}.",
                rejection.body_text()
            ))
        };
        named.map(|Path(named)| Named(named)).map_err(unread)
    }
}

/// An id of the kind that is wanted here; the error names the prefix it needs.
pub(crate) fn id<T: FromStr<Err: Display>>(text: &str) -> Result<T, ApiError> {
    text.parse()
        .map_err(|error: T::Err| ApiError::malformed(error.to_string()))
}

/// How a request names a conversation.
pub(crate) enum Place {
    Id(ConversationId),
    Key(SessionKey),
}

impl Place {
    pub fn parse(text: &str) -> Result<Place, ApiError> {
        // No id contains a colon, and no key is without one.
        if text.contains(':') {
            return text
                .parse()
                .map(Place::Key)
                .map_err(|error: <SessionKey as FromStr>::Err| {
                    ApiError::malformed(error.to_string())
                });
        }
        id(text).map(Place::Id)
    }

    /// Its row. `None` only for a key: a place that may exist, but where nobody has been yet.
    pub async fn find(&self, queries: &dyn Queries) -> Result<Option<ConversationRow>, ApiError> {
        match self {
            Place::Key(key) => Ok(queries.conversation_by_key(key).await?),
            Place::Id(id) => match queries.conversation(*id).await? {
                Some(row) => Ok(Some(row)),
                None => Err(ApiError::absent(format!(
                    "There is no conversation {id} here; `GET /api/v1/conversations` lists them."
                ))),
            },
        }
    }

    /// Its key; for an id, the one in the store.
    pub async fn key(&self, queries: &dyn Queries) -> Result<SessionKey, ApiError> {
        match (self, self.find(queries).await?) {
            (_, Some(row)) => Ok(row.key),
            (Place::Key(key), None) => Ok(key.clone()),
            (Place::Id(id), None) => Err(ApiError::absent(format!(
                "There is no conversation {id} here."
            ))),
        }
    }
}
