//! Updates that Telegram brings: a small HTTP server.
//!
//! **Invariant:** only `POST` with the secret to the configured path is read, within a limit; 2xx is said only after the update is committed, or kept.
//! Telegram brings the updates of one chat one after the other, so that their order is theirs.
//! **Absent on purpose:** TLS. A reverse proxy has the certificate.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::RETRY_AFTER;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::intake::Intake;
use crate::poll::Backoff;
use crate::reading::KINDS;
use crate::settings::Mode;
use crate::telegram::{self, ServeError, Shared};

const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// An update is far smaller.
const LARGEST_BODY: usize = 4 * 1024 * 1024;
/// Telegram holds at most a hundred.
const MOST_CONNECTIONS: usize = 128;
const SLOWEST_HEADER: Duration = Duration::from_secs(10);
const SLOWEST_BODY: Duration = Duration::from_secs(30);
/// How long open requests are waited for at the end.
const GOODBYE: Duration = Duration::from_secs(3);

/// What a call must have.
struct Door {
    path: String,
    secret: String,
    intake: Arc<Intake>,
    shutdown: CancellationToken,
}

pub(crate) async fn run(
    shared: &Shared,
    intake: &Arc<Intake>,
    shutdown: &CancellationToken,
) -> Result<(), ServeError> {
    let Mode::Webhook {
        public_url,
        listen,
        secret,
    } = &shared.settings.mode
    else {
        return Ok(());
    };
    let address: SocketAddr = *listen;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|source| ServeError::Listen { address, source })?;
    let door = Arc::new(Door {
        path: public_url.path().to_owned(),
        secret: secret.0.clone(),
        intake: Arc::clone(intake),
        shutdown: shutdown.clone(),
    });
    let mut connections = JoinSet::new();
    let result = tokio::select! {
        () = shutdown.cancelled() => Ok(()),
        () = accept(&listener, &door, &mut connections) => Ok(()),
        error = keep_announced(shared, intake, public_url.as_str(), &secret.0) => Err(error),
    };
    let finish = async { while connections.join_next().await.is_some() {} };
    drop(tokio::time::timeout(GOODBYE, finish).await);
    result
}

/// Sets the webhook, says that the account can send, and again whenever a send has found Telegram away.
async fn keep_announced(shared: &Shared, intake: &Intake, url: &str, secret: &str) -> ServeError {
    let pace = &shared.settings.pace;
    let mut backoff = Backoff::new(pace.first_wait, pace.longest_wait);
    let request = json!({"url": url, "secret_token": secret, "allowed_updates": KINDS});
    let mut is_set = false;
    loop {
        let done = match is_set {
            false => shared.api.call("setWebhook", &request).await.map(drop),
            true => telegram::who_am_i(&shared.api).await.map(drop),
        };
        match done {
            Ok(()) => {
                is_set = true;
                backoff.reset();
                intake.ready();
                shared.doubt.notified().await;
            }
            Err(failure) if failure.is_unauthorized() => {
                return ServeError::Token(failure.to_string());
            }
            Err(failure) => {
                if !is_set && shared.is_news("webhook") {
                    shared
                        .tell(&format!("the webhook could not be set: {failure}"))
                        .await;
                }
                let asked = failure.said().and_then(|said| said.retry_after);
                backoff.wait(asked).await;
            }
        }
    }
}

async fn accept(listener: &TcpListener, door: &Arc<Door>, connections: &mut JoinSet<()>) {
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= MOST_CONNECTIONS {
            connections.join_next().await;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(serve(stream, Arc::clone(door)));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, door: Arc<Door>) {
    let shutdown = door.shutdown.clone();
    let service = service_fn(move |request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(answer(&door, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SLOWEST_HEADER)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a webhook connection ended");
    }
}

async fn answer(door: &Door, request: Request<Incoming>) -> Response<Empty<Bytes>> {
    let status = match request.method() == Method::POST && request.uri().path() == door.path {
        true => take(door, request).await,
        false => StatusCode::NOT_FOUND,
    };
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    if status == StatusCode::SERVICE_UNAVAILABLE {
        // Telegram heeds it.
        response.headers_mut().insert(RETRY_AFTER, 1.into());
    }
    response
}

async fn take(door: &Door, request: Request<Incoming>) -> StatusCode {
    let said = request
        .headers()
        .get(SECRET_HEADER)
        .map(|said| said.as_bytes());
    let is_telegram = said.is_some_and(|said| bool::from(said.ct_eq(door.secret.as_bytes())));
    if !is_telegram {
        tracing::warn!("a webhook call without the right secret was turned away");
        return StatusCode::FORBIDDEN;
    }
    let body = Limited::new(request.into_body(), LARGEST_BODY).collect();
    let body = match tokio::time::timeout(SLOWEST_BODY, body).await {
        Err(_) => return StatusCode::REQUEST_TIMEOUT,
        Ok(Err(_)) => return StatusCode::PAYLOAD_TOO_LARGE,
        Ok(Ok(body)) => body.to_bytes(),
    };
    let Ok(update) = serde_json::from_slice::<Value>(&body) else {
        let text = Value::from(String::from_utf8_lossy(&body));
        door.intake
            .keep(&text, "a webhook call that is no JSON")
            .await;
        return StatusCode::OK;
    };
    match door.intake.take(&update).await {
        Ok(()) => StatusCode::OK,
        Err(error) => {
            tracing::warn!(%error, "Telegram brings it again");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}
