//! The server's side of HTTP: who asks for what, what trouble they meet, and the answer.
//!
//! **Invariant:** every request of a known bot is in the log before it has any effect.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::call::Call;
use super::control;
use super::errors::{Answer, ApiError};
use super::faults::{Asked, Effect, Trouble};
use super::ids::{ChatId, ThreadId, UserId};
use super::log::{Outcome, Request as Logged, Violation};
use super::methods::{self, Method};
use super::params::Params;
use super::reading;
use super::schema::Schemas;
use super::settings::Pace;
use super::updates::Poll;
use super::world::World;

/// What the server, its handle and its webhooks have in common.
#[derive(Debug)]
pub(super) struct Shared {
    world: Mutex<World>,
    changed: watch::Sender<u64>,
    pub pace: Pace,
    pub schemas: Option<Schemas>,
    pub control: bool,
    pub upload_limit: usize,
}

/// The connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed, as the test wished")]
struct Closed;

type Answered = Result<Response<Body>, Closed>;

impl Shared {
    pub fn new(
        world: World,
        pace: Pace,
        schemas: Option<Schemas>,
        control: bool,
        upload_limit: usize,
    ) -> Shared {
        Shared {
            world: Mutex::new(world),
            changed: watch::Sender::new(0),
            pace,
            schemas,
            control,
            upload_limit,
        }
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened: whoever waits looks again.
    pub fn changed(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

/// Takes connections until it is aborted; they end with it.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(connection(stream, Arc::clone(&shared)));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    // Without this, an answer of two small packets waits for the peer's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| route(Arc::clone(&shared), request));
    // A client that goes away is no error here.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn route(shared: Arc<Shared>, request: Request<Incoming>) -> Answered {
    let request = request.map(Body::new);
    let path = request.uri().path().replace("%3A", ":").replace("%3a", ":");
    if let Some(verb) = path.strip_prefix("/_control/").filter(|_| shared.control) {
        let (status, body) = control::answer(&shared, verb, request).await;
        return Ok(json_answer(status, &body));
    }
    if let Some((token, path)) = split(&path, "/file/bot") {
        return file(&shared, token, path).await;
    }
    match split(&path, "/bot") {
        Some((token, method)) => bot(&shared, token, method, request).await,
        None => Ok(refusal(&ApiError::not_found())),
    }
}

fn split<'a>(path: &'a str, prefix: &str) -> Option<(&'a str, &'a str)> {
    path.strip_prefix(prefix)?.split_once('/')
}

async fn bot(shared: &Shared, token: &str, method: &str, request: Request<Body>) -> Answered {
    let Some(bot) = shared.world().bot_of_token(token) else {
        return Ok(refusal(&ApiError::unauthorized()));
    };
    let params = match reading::params(request, shared.upload_limit).await {
        Ok(params) => params,
        Err(error) => {
            let entry = log(shared, bot, method, &Params::default());
            return Ok(refusal(&settled(shared, entry, error)));
        }
    };
    let name = methods::find(method).map_or(method, |method| method.name);
    let entry = log(shared, bot, name, &params);
    let Some(method) = methods::find(method) else {
        return Ok(refusal(&settled(shared, entry, ApiError::no_method())));
    };
    let trouble = strike(shared, bot, method.name, &params);
    if let Some(refused) = trouble.as_ref().and_then(refused) {
        return Ok(refusal(&settled(shared, entry, refused)));
    }
    if let Some((Effect::None, ending)) = trouble.as_ref().and_then(unanswered) {
        settle(shared, entry, Outcome::Unanswered { taken: false });
        return end(ending).await;
    }
    let misplaced = match trouble {
        Some(Trouble::Misplaced(thread)) => Some(thread),
        _ => None,
    };
    let answer = match method.is_poll() {
        true => poll(shared, bot, &params).await,
        false => carry_out(shared, bot, method, &params, misplaced),
    };
    let ending = trouble.as_ref().and_then(unanswered);
    settle(shared, entry, outcome(&answer, ending.is_some()));
    if let Some((_, ending)) = ending {
        return end(ending).await;
    }
    match trouble {
        Some(Trouble::Slow(milliseconds)) => {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            Ok(respond(&answer))
        }
        Some(Trouble::MalformedJson) => Ok(cut_off(&answer)),
        _ => Ok(respond(&answer)),
    }
}

/// Downloads are struck by faults under the name `file`.
async fn file(shared: &Shared, token: &str, path: &str) -> Answered {
    let Some(bot) = shared.world().bot_of_token(token) else {
        return Ok(refusal(&ApiError::unauthorized()));
    };
    let mut params = Params::default();
    params.put("file_path".into(), Value::String(path.to_owned()));
    let entry = log(shared, bot, "file", &params);
    let trouble = strike(shared, bot, "file", &params);
    if let Some(refused) = trouble.as_ref().and_then(refused) {
        return Ok(refusal(&settled(shared, entry, refused)));
    }
    if let Some((_, ending)) = trouble.as_ref().and_then(unanswered) {
        settle(shared, entry, Outcome::Unanswered { taken: false });
        return end(ending).await;
    }
    if let Some(Trouble::Slow(milliseconds)) = trouble {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
    let bytes = shared
        .world()
        .files
        .by_path(path)
        .map(|file| file.bytes.clone());
    match bytes {
        Some(bytes) => {
            settle(shared, entry, Outcome::Done);
            let answer = Response::builder()
                .header(header::CONTENT_TYPE, "application/octet-stream")
                .body(Body::from(bytes));
            Ok(answer.unwrap_or_default())
        }
        None => Ok(refusal(&settled(shared, entry, ApiError::not_found()))),
    }
}

/// Carries a method out, in one step of the world.
pub(super) fn carry_out(
    shared: &Shared,
    bot: UserId,
    method: Method,
    params: &Params,
    misplaced: Option<Option<ThreadId>>,
) -> Answer {
    let mut world = shared.world();
    let answer = allowed(shared, &mut world, bot, method, params).and_then(|()| {
        let mut call = Call {
            world: &mut world,
            bot,
            method: method.name,
            params,
            misplaced,
        };
        method.run(&mut call)
    });
    if let (Ok(result), true) = (&answer, method.sends()) {
        let messages = result.as_array().map_or(1, Vec::len);
        if let Some(chat) = named_chat(params).and_then(|chat| world.chat_seen_by(bot, chat)) {
            world.gate.count(bot, chat, messages, Instant::now());
        }
    }
    if let Err(error) = &answer {
        keep_violation(&mut world, bot, method, error);
    }
    drop(world);
    shared.changed();
    answer
}

fn allowed(
    shared: &Shared,
    world: &mut World,
    bot: UserId,
    method: Method,
    params: &Params,
) -> Result<(), ApiError> {
    check_schema(shared, method, params)?;
    let chat = named_chat(params).and_then(|chat| world.chat_seen_by(bot, chat));
    let Some(chat) = chat.filter(|_| method.sends()) else {
        return Ok(());
    };
    match world.gate.wait(bot, chat, Instant::now()) {
        None => Ok(()),
        Some(wait) => {
            let seconds = wait.as_secs_f64() / shared.pace.second.as_secs_f64().max(0.001);
            // Whole seconds, and never none.
            Err(ApiError::too_many((seconds.ceil() as u64).max(1)))
        }
    }
}

fn check_schema(shared: &Shared, method: Method, params: &Params) -> Result<(), ApiError> {
    let schemas = shared.schemas.as_ref();
    match schemas.and_then(|schemas| schemas.problem(method.name, &params.fields)) {
        None => Ok(()),
        Some(problem) => Err(ApiError::misuse(format!(
            "{} does not follow the schema: {problem}",
            method.name
        ))),
    }
}

fn keep_violation(world: &mut World, bot: UserId, method: Method, error: &ApiError) {
    if error.misuse {
        world.log.violations.push(Violation {
            bot,
            method: method.name.to_owned(),
            problem: error.description.clone(),
        });
    }
}

/// Waits for updates as long as the poll asks, and ends as soon as there are some.
async fn poll(shared: &Shared, bot: UserId, params: &Params) -> Answer {
    let mut changes = shared.changes();
    let poll = begin_poll(shared, bot, params)?;
    // Whoever polled before is told.
    shared.changed();
    let deadline = tokio::time::Instant::now() + poll.wait;
    loop {
        let taken = match shared.world().bots.get_mut(&bot) {
            Some(bot) => bot.queue.take(&poll)?,
            None => return Err(ApiError::unauthorized()),
        };
        if let Some(updates) = taken {
            return Ok(Value::Array(updates));
        }
        let changed = tokio::time::timeout_at(deadline, changes.changed()).await;
        if !matches!(changed, Ok(Ok(()))) {
            return Ok(json!([]));
        }
    }
}

fn begin_poll(shared: &Shared, bot: UserId, params: &Params) -> Result<Poll, ApiError> {
    let method = methods::find("getUpdates").ok_or_else(ApiError::no_method)?;
    let mut world = shared.world();
    let begun = check_schema(shared, method, params).and_then(|()| {
        let mut call = Call {
            world: &mut world,
            bot,
            method: method.name,
            params,
            misplaced: None,
        };
        methods::wanted_poll(&mut call, &shared.pace)
    });
    if let Err(error) = &begun {
        keep_violation(&mut world, bot, method, error);
    }
    begun
}

fn strike(shared: &Shared, bot: UserId, method: &str, params: &Params) -> Option<Trouble> {
    let formatted = ["entities", "caption_entities", "parse_mode"]
        .iter()
        .any(|field| params.get(field).is_some());
    shared.world().faults.strike(&Asked {
        bot,
        method,
        chat: named_chat(params),
        formatted,
    })
}

fn named_chat(params: &Params) -> Option<ChatId> {
    params.get("chat_id")?.as_i64().map(ChatId)
}

/// Troubles that are plain refusals.
fn refused(trouble: &Trouble) -> Option<ApiError> {
    Some(match trouble {
        Trouble::TooManyRequests { retry_after } => ApiError::too_many(*retry_after),
        Trouble::Unauthorized => ApiError::unauthorized(),
        Trouble::Forbidden(text) => ApiError::forbidden(text),
        Trouble::BadRequest(text) => ApiError::bad(text),
        Trouble::EntitiesRefused => ApiError::cannot_parse_entities(
            "Can't find end of the entity starting at byte offset 5",
        ),
        Trouble::Conflict => ApiError::other_poller(),
        _ => return None,
    })
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    InternalError,
    BadGateway,
    Silence,
    Reset,
}

/// Troubles that hide what happened.
fn unanswered(trouble: &Trouble) -> Option<(Effect, Ending)> {
    match trouble {
        Trouble::InternalError(effect) => Some((*effect, Ending::InternalError)),
        Trouble::BadGateway(effect) => Some((*effect, Ending::BadGateway)),
        Trouble::Silence(effect) => Some((*effect, Ending::Silence)),
        Trouble::Reset(effect) => Some((*effect, Ending::Reset)),
        _ => None,
    }
}

async fn end(ending: Ending) -> Answered {
    match ending {
        Ending::InternalError => Ok(refusal(&ApiError::internal())),
        Ending::BadGateway => {
            let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";
            let answer = Response::builder()
                .status(StatusCode::BAD_GATEWAY)
                .header(header::CONTENT_TYPE, "text/html")
                .body(Body::from(page));
            Ok(answer.unwrap_or_default())
        }
        Ending::Silence => std::future::pending().await,
        Ending::Reset => Err(Closed),
    }
}

/// The place of a new entry in the log.
pub(super) fn log(shared: &Shared, bot: UserId, method: &str, params: &Params) -> usize {
    let mut world = shared.world();
    let files = params
        .files
        .values()
        .map(|file| (file.name.clone(), file.bytes.len()));
    let entry = Logged {
        bot,
        method: method.to_owned(),
        params: params.fields.clone(),
        files: files.collect(),
        outcome: Outcome::Open,
        at: Instant::now(),
    };
    world.log.requests.push(entry);
    let place = world.log.requests.len() - 1;
    drop(world);
    shared.changed();
    place
}

pub(super) fn settle(shared: &Shared, entry: usize, outcome: Outcome) {
    if let Some(entry) = shared.world().log.requests.get_mut(entry) {
        entry.outcome = outcome;
    }
    shared.changed();
}

fn settled(shared: &Shared, entry: usize, error: ApiError) -> ApiError {
    settle(shared, entry, outcome(&Err(error.clone()), false));
    error
}

pub(super) fn outcome(answer: &Answer, hidden: bool) -> Outcome {
    match answer {
        Ok(_) if hidden => Outcome::Unanswered { taken: true },
        Ok(_) => Outcome::Done,
        Err(error) => Outcome::Refused {
            status: error.status,
            description: error.description.clone(),
        },
    }
}

fn respond(answer: &Answer) -> Response<Body> {
    match answer {
        Ok(result) => json_answer(200, &json!({"ok": true, "result": result})),
        Err(error) => refusal(error),
    }
}

fn refusal(error: &ApiError) -> Response<Body> {
    json_answer(error.status, &error.body())
}

fn cut_off(answer: &Answer) -> Response<Body> {
    let whole = match answer {
        Ok(result) => json!({"ok": true, "result": result}),
        Err(error) => error.body(),
    };
    let whole = whole.to_string();
    let half: String = whole.chars().take(whole.chars().count() / 2).collect();
    text_answer(200, half)
}

fn json_answer(status: u16, body: &Value) -> Response<Body> {
    text_answer(status, body.to_string())
}

fn text_answer(status: u16, body: String) -> Response<Body> {
    let answer = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body));
    answer.unwrap_or_default()
}
