//! A model server that takes no time of its own: its answers are bytes already, and of a request it reads what the choice needs.
//!
//! For measuring what is around a model. **Absent on purpose:** checks and records; [`ModelServer`](super::ModelServer) has them.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use futures_util::stream;

use super::answer::{Answer, Step};
use super::render::{Asked, render};
use super::serving::Serving;

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct ReadyServer {
    shared: Arc<Shared>,
    serving: Serving,
}

type Choose = dyn Fn(&[u8]) -> usize + Send + Sync;

struct Shared {
    answers: Vec<Vec<Bytes>>,
    choose: Box<Choose>,
    asked: AtomicU64,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl ReadyServer {
    /// `choose` names one of the answers for the body of a request. They are streamed, piece by piece, whatever the request says of that.
    pub async fn start(
        answers: &[Answer],
        choose: impl Fn(&[u8]) -> usize + Send + Sync + 'static,
    ) -> io::Result<ReadyServer> {
        let shared = Arc::new(Shared {
            answers: answers.iter().map(pieces).collect(),
            choose: Box::new(choose),
            asked: AtomicU64::new(0),
        });
        let router = Router::new()
            .route("/v1/chat/completions", post(chat))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        Ok(ReadyServer {
            shared,
            serving: Serving::start(router).await?,
        })
    }

    /// What a client has as its `base_url`.
    pub fn url(&self) -> String {
        self.serving.url()
    }

    /// Requests so far.
    pub fn asked(&self) -> u64 {
        self.shared.asked.load(Ordering::Relaxed)
    }
}

fn pieces(answer: &Answer) -> Vec<Bytes> {
    let asked = Asked {
        model: "ready",
        stream: true,
        include_usage: false,
        prompt_tokens: 0,
        cached_tokens: 0,
    };
    let (_, steps) = render(answer, &asked);
    let bytes = steps.into_iter().filter_map(|step| match step {
        Step::Bytes(bytes) => Some(Bytes::from(bytes)),
        Step::Wait(_) | Step::Hold | Step::Break => None,
    });
    bytes.collect()
}

async fn chat(State(shared): State<Arc<Shared>>, request: Bytes) -> Response {
    shared.asked.fetch_add(1, Ordering::Relaxed);
    let Some(pieces) = shared.answers.get((shared.choose)(&request)) else {
        return (StatusCode::BAD_REQUEST, "no such answer").into_response();
    };
    let pieces = pieces.clone().into_iter().map(Ok::<_, io::Error>);
    let body = Body::from_stream(stream::iter(pieces));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}
