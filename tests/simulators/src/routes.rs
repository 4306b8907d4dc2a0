//! The server's answers to HTTP.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, post};
use homing_domain::origin::AccountName;
use homing_ports::platform::OutgoingKind;

use crate::server::{Ledger, Sent, Shared};
use crate::validate::{self, DEFAULT_LIMIT};
use crate::wire::{
    BATCH, LONGEST_WAIT_MS, Poll, Problem, SendAnswer, SendBody, Updates, account_of,
};

type Server = State<Arc<Shared>>;

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/{platform}/{account}/send", post(send))
        .route("/v1/{platform}/{account}/updates", get(updates))
        .route("/v1/{platform}/{account}/outbox/{id}", get(look_up))
        .route(
            "/v1/{platform}/{account}/messages/{message}",
            delete(take_back),
        )
        .with_state(shared)
}

async fn send(
    State(shared): Server,
    Path((platform, segment)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    let account = account_of(platform, &segment);
    let outcome = receive(&mut shared.state(), &account, &body);
    shared.changed();
    match outcome {
        Outcome::Taken(answer) => json(StatusCode::OK, &answer),
        Outcome::TakenAndBroken => broken(),
        Outcome::Slow(span) => {
            let retry_after_ms = Some(span.as_millis().try_into().unwrap_or(u64::MAX));
            json(
                StatusCode::TOO_MANY_REQUESTS,
                &Problem {
                    error: "too many requests".into(),
                    retry_after_ms,
                },
            )
        }
        Outcome::Refused(status, error) => problem(status, error),
    }
}

enum Outcome {
    Taken(SendAnswer),
    TakenAndBroken,
    Slow(Duration),
    Refused(StatusCode, String),
}

/// The order matters as it does at a real platform: what it cannot read it does not count, and a repeat is answered even while it is slow.
fn receive(state: &mut Ledger, account: &AccountName, body: &[u8]) -> Outcome {
    if state.faults.is_down(account) {
        return Outcome::Refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "the platform is down".into(),
        );
    }
    let body: SendBody = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => return Outcome::Refused(StatusCode::BAD_REQUEST, error.to_string()),
    };
    let limit = state.faults.limit(account).unwrap_or(DEFAULT_LIMIT);
    if let Some(problem) = validate::problem(&body, account, limit) {
        return Outcome::Refused(StatusCode::UNPROCESSABLE_ENTITY, problem);
    }
    let Some(kind) = OutgoingKind::parse(&body.kind) else {
        return Outcome::Refused(StatusCode::UNPROCESSABLE_ENTITY, "kind: unknown".into());
    };
    if body.deduplicate
        && let Some(known) = state.known(account, &body.id)
    {
        let outcome = repeat(known, &body);
        state.repeats += 1;
        return outcome;
    }
    if state.faults.is_gone(account, &body) {
        return Outcome::Refused(StatusCode::NOT_FOUND, "message thread not found".into());
    }
    if let Some(span) = state.faults.take_slow(account) {
        return Outcome::Slow(span);
    }
    let breaks = state.faults.take_drop(account);
    let answer = state.take(account, body, kind);
    if breaks {
        Outcome::TakenAndBroken
    } else {
        Outcome::Taken(answer)
    }
}

/// The same id is the same message. Another one under its id is a mistake of the sender that a real platform would hide by dropping it.
fn repeat(known: &Sent, body: &SendBody) -> Outcome {
    let place = |body: &SendBody| (body.chat.clone(), body.thread.clone());
    if known.body.text != body.text || place(&known.body) != place(body) {
        let error = format!("another message was sent as {} before", body.id);
        return Outcome::Refused(StatusCode::UNPROCESSABLE_ENTITY, error);
    }
    Outcome::Taken(SendAnswer {
        message: known.message.clone(),
        landed: known.landed.clone(),
    })
}

async fn updates(
    State(shared): Server,
    Path((platform, segment)): Path<(String, String)>,
    poll: Result<Query<Poll>, QueryRejection>,
) -> Response {
    let account = account_of(platform, &segment);
    let poll = match poll {
        Ok(Query(poll)) => poll,
        Err(rejection) => return problem(StatusCode::BAD_REQUEST, rejection.body_text()),
    };
    let deadline =
        tokio::time::Instant::now() + Duration::from_millis(poll.wait_ms.min(LONGEST_WAIT_MS));
    if confirm(&mut shared.state(), &account, poll.offset) {
        shared.changed();
    }
    loop {
        let news = Arc::clone(&shared.state().account(&account).news);
        let mut news = std::pin::pin!(news.notified());
        // Listening begins before looking, or what comes in between would wait for the deadline.
        news.as_mut().enable();
        if shared.state().faults.is_down(&account) {
            return problem(
                StatusCode::SERVICE_UNAVAILABLE,
                "the platform is down".into(),
            );
        }
        let batch: Vec<_> = shared
            .state()
            .account(&account)
            .updates
            .iter()
            .take(BATCH)
            .cloned()
            .collect();
        if !batch.is_empty() || tokio::time::timeout_at(deadline, news).await.is_err() {
            return json(StatusCode::OK, &Updates { updates: batch });
        }
    }
}

/// Whether something was forgotten. A platform that is down hears no confirmation.
fn confirm(state: &mut Ledger, account: &AccountName, offset: u64) -> bool {
    if state.faults.is_down(account) {
        return false;
    }
    let waiting = &mut state.account(account).updates;
    let before = waiting.len();
    // In the order of their numbers.
    while waiting.front().is_some_and(|update| update.update < offset) {
        waiting.pop_front();
    }
    waiting.len() < before
}

async fn look_up(
    State(shared): Server,
    Path((platform, segment, id)): Path<(String, String, String)>,
) -> Response {
    let account = account_of(platform, &segment);
    let state = shared.state();
    if state.faults.is_down(&account) {
        return problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "the platform is down".into(),
        );
    }
    match state.known(&account, &id) {
        Some(sent) => json(
            StatusCode::OK,
            &SendAnswer {
                message: sent.message.clone(),
                landed: sent.landed.clone(),
            },
        ),
        None => problem(StatusCode::NOT_FOUND, "no such message".into()),
    }
}

async fn take_back(
    State(shared): Server,
    Path((platform, segment, message)): Path<(String, String, String)>,
) -> Response {
    let account = account_of(platform, &segment);
    let mut state = shared.state();
    if state.faults.is_down(&account) {
        return problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "the platform is down".into(),
        );
    }
    match state
        .sent
        .iter_mut()
        .find(|sent| sent.account == account && sent.message == message)
    {
        Some(sent) => {
            sent.taken_back = true;
            StatusCode::NO_CONTENT.into_response()
        }
        None => problem(StatusCode::NOT_FOUND, "no such message".into()),
    }
}

fn json(status: StatusCode, value: &impl serde::Serialize) -> Response {
    (status, axum::Json(value)).into_response()
}

fn problem(status: StatusCode, error: String) -> Response {
    json(
        status,
        &Problem {
            error,
            retry_after_ms: None,
        },
    )
}

/// An answer whose body fails at once, so that the connection ends without one.
fn broken() -> Response {
    let nothing = futures_util::stream::once(async {
        Err::<Bytes, _>(io::Error::other("the connection is broken on purpose"))
    });
    Response::new(Body::from_stream(nothing))
}
