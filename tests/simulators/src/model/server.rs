//! The server, its state, and its handle for the test that owns it.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use futures_util::future::BoxFuture;
use futures_util::{Stream, stream};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::answer::{Answer, Step};
use super::check::check;
use super::render::{Asked, render};
use super::serving::Serving;

/// A running model server. Dropping it ends it.
#[derive(Debug)]
pub struct ModelServer {
    shared: Arc<Shared>,
    serving: Serving,
}

/// A request, as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `null` if it was no JSON.
    pub body: Value,
    pub authorization: Option<String>,
    /// Why it was refused before any answer was looked for.
    pub refused: Option<String>,
    /// How many of its messages, from the first, were those of the request before it, with the same tools.
    pub prefix_hits: usize,
    /// By four bytes each, tools included.
    pub prompt_tokens: u64,
    /// Of those, what the prefix was.
    pub cached_tokens: u64,
}

impl Recorded {
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }
}

impl ModelServer {
    /// Listens on a free port of the loopback interface.
    pub async fn start() -> io::Result<ModelServer> {
        let shared = Arc::new(Shared::default());
        let router = Router::new()
            .route("/v1/chat/completions", post(chat))
            .route("/v1/models", get(models))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        Ok(ModelServer {
            shared,
            serving: Serving::start(router).await?,
        })
    }

    /// What a client has as its `base_url`.
    pub fn url(&self) -> String {
        self.serving.url()
    }

    /// The next answer after those that wait already.
    pub fn then(&self, answer: Answer) -> &ModelServer {
        self.shared.state().script.push_back(answer);
        self
    }

    /// What is asked, from a request's JSON, when no scripted answer waits. Rules are asked in the order they were given.
    pub fn rule(
        &self,
        rule: impl Fn(&Value) -> Option<Answer> + Send + Sync + 'static,
    ) -> &ModelServer {
        self.shared.state().rules.push(Rule(Arc::new(rule)));
        self
    }

    /// Asked when no scripted answer waits and no rule has one. It may take its time; a client that leaves ends it.
    pub fn player<F>(&self, player: impl Fn(Recorded) -> F + Send + Sync + 'static) -> &ModelServer
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let player = move |asked| -> BoxFuture<'static, Answer> { Box::pin(player(asked)) };
        self.shared.state().player = Some(Player(Arc::new(player)));
        self
    }

    /// The only models there are from now on; others are not found.
    pub fn set_models(&self, models: &[&str]) {
        self.shared.state().models = models.iter().map(|model| (*model).to_owned()).collect();
    }

    /// From now on this key is required.
    pub fn set_key(&self, key: &str) {
        self.shared.state().key = Some(key.to_owned());
    }

    /// From now on longer prompts are refused.
    pub fn set_context(&self, tokens: u64) {
        self.shared.state().context = Some(tokens);
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.state().requests.clone()
    }

    /// Scripted answers that nobody asked for yet.
    pub fn unasked(&self) -> usize {
        self.shared.state().script.len()
    }

    /// How many clients left before their answer was over.
    pub fn left(&self) -> u64 {
        self.shared.state().left
    }

    /// Changes with every request and every client that left.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<Book>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Book {
    script: VecDeque<Answer>,
    rules: Vec<Rule>,
    player: Option<Player>,
    models: Vec<String>,
    key: Option<String>,
    context: Option<u64>,
    requests: Vec<Recorded>,
    left: u64,
}

#[derive(Clone)]
struct Rule(Arc<RuleFn>);

type RuleFn = dyn Fn(&Value) -> Option<Answer> + Send + Sync;

impl fmt::Debug for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Rule")
    }
}

#[derive(Clone)]
struct Player(Arc<PlayerFn>);

type PlayerFn = dyn Fn(Recorded) -> BoxFuture<'static, Answer> + Send + Sync;

impl fmt::Debug for Player {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Player")
    }
}

/// Where an answer comes from.
enum From {
    Here(Answer),
    Player(Player),
}

impl Shared {
    /// A test that panicked elsewhere must not hide its reason behind a poisoned lock here.
    fn state(&self) -> MutexGuard<'_, Book> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|version| *version += 1);
    }
}

async fn models(State(shared): State<Arc<Shared>>) -> Response {
    let models = shared.state().models.clone();
    let data: Value = models
        .iter()
        .map(|model| json!({"id": model, "object": "model", "created": 1, "owned_by": "simulated"}))
        .collect();
    axum::Json(json!({"object": "list", "data": data})).into_response()
}

async fn chat(State(shared): State<Arc<Shared>>, headers: HeaderMap, bytes: Bytes) -> Response {
    let authorization = headers.get(header::AUTHORIZATION);
    let authorization = authorization.and_then(|value| value.to_str().ok());
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let (from, recorded) = shared.state().take(body, authorization.map(str::to_owned));
    shared.changed();
    let leaving = Leaving(Some(Arc::clone(&shared)));
    let answer = match from {
        From::Here(answer) => answer,
        From::Player(player) => (player.0)(recorded.clone()).await,
    };
    if answer.wait == Duration::MAX {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(answer.wait).await;
    respond(&answer, &recorded, leaving)
}

fn respond(answer: &Answer, recorded: &Recorded, leaving: Leaving) -> Response {
    let asked = Asked {
        model: recorded.model(),
        stream: recorded.body["stream"] == true,
        include_usage: recorded.body["stream_options"]["include_usage"] == true,
        prompt_tokens: recorded.prompt_tokens,
        cached_tokens: recorded.cached_tokens,
    };
    let (content_type, steps) = render(answer, &asked);
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    let typed = answer
        .headers
        .iter()
        .any(|(name, _)| name == "content-type");
    if !typed {
        response = response.header(header::CONTENT_TYPE, content_type);
    }
    let body = Body::from_stream(played(steps, leaving));
    let response = response.body(body);
    response.unwrap_or_else(|error| {
        // A status or header that a test made up and HTTP does not know.
        (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
    })
}

fn played(steps: Vec<Step>, leaving: Leaving) -> impl Stream<Item = Result<Bytes, io::Error>> {
    let steps = VecDeque::from(steps);
    stream::unfold(
        (steps, leaving, false),
        |(mut steps, mut leaving, begun)| async move {
            loop {
                let step = steps.pop_front();
                // With its last bytes the answer is over: the connection takes no more of this stream.
                if steps.is_empty() && step != Some(Step::Hold) {
                    leaving.0 = None;
                }
                match step? {
                    Step::Bytes(bytes) => {
                        return Some((Ok(Bytes::from(bytes)), (steps, leaving, true)));
                    }
                    Step::Wait(time) => tokio::time::sleep(time).await,
                    Step::Hold => std::future::pending::<()>().await,
                    Step::Break => {
                        if begun {
                            // What was sent before is on its way first; without this pause, hyper forgets it.
                            tokio::task::yield_now().await;
                        }
                        let error = io::Error::other("the connection breaks on purpose");
                        return Some((Err(error), (steps, leaving, true)));
                    }
                }
            }
        },
    )
}

/// Dropped while it still holds something: the client left before the answer was over.
struct Leaving(Option<Arc<Shared>>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.state().left += 1;
            shared.changed();
        }
    }
}

impl Book {
    fn take(&mut self, body: Value, authorization: Option<String>) -> (From, Recorded) {
        let mut recorded = self.measured(body, authorization);
        let refusal = self.refusal(&recorded);
        if let Some((_, message)) = &refusal {
            recorded.refused = Some(message.clone());
        }
        let from = match refusal {
            Some((answer, _)) => From::Here(answer),
            None => self.answer(&recorded.body),
        };
        self.requests.push(recorded.clone());
        (from, recorded)
    }

    fn measured(&self, body: Value, authorization: Option<String>) -> Recorded {
        let tokens = |value: &Value| (value.to_string().len() as u64).div_ceil(4);
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let tools = if body["tools"].is_null() {
            0
        } else {
            tokens(&body["tools"])
        };
        let prefix_hits = match self.requests.last() {
            Some(before) if before.body["tools"] == body["tools"] => before
                .messages()
                .iter()
                .zip(messages)
                .take_while(|(before, now)| before == now)
                .count(),
            _ => 0,
        };
        let cached: u64 = messages[..prefix_hits].iter().map(tokens).sum();
        Recorded {
            prompt_tokens: tools + messages.iter().map(tokens).sum::<u64>(),
            cached_tokens: if prefix_hits > 0 { cached + tools } else { 0 },
            prefix_hits,
            authorization,
            refused: None,
            body,
        }
    }

    fn refusal(&self, recorded: &Recorded) -> Option<(Answer, String)> {
        let refused = |status, code: &str, message: String| {
            Some((Answer::error(status, code, &message), message))
        };
        let wanted = self.key.as_ref().map(|key| format!("Bearer {key}"));
        if wanted.is_some() && recorded.authorization != wanted {
            return refused(401, "invalid_api_key", "Incorrect API key provided.".into());
        }
        if let Err(problem) = check(&recorded.body) {
            return refused(400, "invalid_request_error", problem);
        }
        let model = recorded.model();
        if !self.models.is_empty() && !self.models.iter().any(|known| known == model) {
            return refused(
                404,
                "model_not_found",
                format!("The model `{model}` does not exist."),
            );
        }
        match self.context {
            Some(limit) if recorded.prompt_tokens > limit => refused(
                400,
                "context_length_exceeded",
                format!(
                    "This model's maximum context length is {limit} tokens. However, your messages resulted in {} tokens.",
                    recorded.prompt_tokens
                ),
            ),
            _ => None,
        }
    }

    fn answer(&mut self, body: &Value) -> From {
        if let Some(answer) = self.script.pop_front() {
            return From::Here(answer);
        }
        if let Some(answer) = self.rules.iter().find_map(|rule| (rule.0)(body)) {
            return From::Here(answer);
        }
        match &self.player {
            Some(player) => From::Player(player.clone()),
            None => From::Here(Answer::error(
                400,
                "nothing_scripted",
                "Nothing is scripted for this request.",
            )),
        }
    }
}
