//! Errors as people and scripts read them: a status and one sentence with the way out.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use homing_ports::inbox::AcceptError;
use homing_ports::processes::ProcessError;
use homing_ports::store::StoreError;
use serde::Serialize;

#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    sentence: String,
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
}

impl ApiError {
    pub fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Self {
            status,
            sentence: sentence.into(),
        }
    }
    pub fn malformed(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }
    pub fn absent(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, sentence)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (
            self.status,
            Json(Body {
                error: &self.sentence,
            }),
        )
            .into_response()
    }
}

/// An error and its sources in one line.
fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |error| error.source())
        .fold(error.to_string(), |line, link| format!("{line}: {link}"))
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::Unavailable(_) | StoreError::Fenced { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            StoreError::Newer { .. } | StoreError::Damaged(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        tracing::warn!(%error, "the console could not read the store");
        ApiError::new(status, error.to_string())
    }
}

impl From<AcceptError> for ApiError {
    fn from(error: AcceptError) -> Self {
        let status = match &error {
            AcceptError::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            AcceptError::UnknownAccount(_) => StatusCode::NOT_FOUND,
            AcceptError::UnknownWindow(_) => StatusCode::GONE,
            AcceptError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            AcceptError::Store(StoreError::Unavailable(_) | StoreError::Fenced { .. }) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            AcceptError::Store(StoreError::Newer { .. } | StoreError::Damaged(_)) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        ApiError::new(status, chain(&error))
    }
}

impl From<ProcessError> for ApiError {
    fn from(error: ProcessError) -> Self {
        let status = match &error {
            ProcessError::Unknown(_) => StatusCode::NOT_FOUND,
            ProcessError::Ended(_) | ProcessError::Running(_) | ProcessError::NoInput(_) => {
                StatusCode::CONFLICT
            }
            ProcessError::Folder { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        ApiError::new(status, chain(&error))
    }
}

pub(crate) async fn no_such_path() -> ApiError {
    ApiError::absent(
        "There is no such path in the API; see adapters/console/src/api.rs for the list.",
    )
}

pub(crate) async fn wrong_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "This path does not take that method.",
    )
}
