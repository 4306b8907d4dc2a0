//! `GET /api/v1/stream?window=win_…[,win_…]`: server-sent events that say where to look again.
//!
//! | event | data | to |
//! |---|---|---|
//! | `changed` | `{conversation}`: an id, or the key after a send | every page |
//! | `message` | `{id, conversation, window, kind}` | only the page of the addressed window (OWN-34) |
//! | `output` | `{process, conversation}`: it wrote, its log can be read on | only the page of the window that started it |
//! | `partial` | `{turn, conversation, text, stopped}`: what there is of an answer | only the page of the window that asked |
//! | `gone` | `{window}`: closed, open it anew | its page, when it connects |
//! | `refresh` | `{}`: hints were missed, read everything | whoever lagged |
//!
//! **Invariant:** an event carries no facts (a partial answer is a glimpse, not one), so missing one is harmless; the page reads again when it (re)connects.
//! **Absent on purpose:** replay (`Last-Event-ID`). There is nothing in an event that the store does not tell better.
//!
//! Known limit: HTTP/1.1 browsers keep six connections per host, and each tab's stream takes one. The page therefore refuses to be the
//! sixth tab and says so.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt, stream};
use homing_domain::ids::{ConversationId, ProcessId, TurnId, WindowId};
use homing_ports::inbox::Wrote;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;

use crate::api::extract::{Asked, id};
use crate::console::App;
use crate::errors::ApiError;
use crate::platform::{Partial, Sent};
use crate::windows::Connection;

/// Conversations that one tab may keep open.
const WINDOWS: usize = 64;
/// How soon a page tries again after a restart of the gateway.
const RETRY: Duration = Duration::from_millis(500);
/// Also how soon a page that vanished without closing its connection is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    window: String,
}

pub(crate) async fn open(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<impl IntoResponse, ApiError> {
    let windows = wanted
        .window
        .split(',')
        .filter(|part| !part.is_empty())
        .map(id::<WindowId>)
        .collect::<Result<Vec<_>, _>>()?;
    if windows.len() > WINDOWS {
        return Err(ApiError::malformed(format!(
            "A stream takes at most {WINDOWS} windows; close some conversations of this tab."
        )));
    }
    // Subscribed before anything is read: what changes from here on is not missed.
    let changes = app.inside.inbox.changes();
    let outputs = app.inside.inbox.outputs();
    let sent = app.sent.subscribe();
    let partials = app.partials.subscribe();
    let (connections, gone) = connect(&app, windows).await;
    let held: Vec<WindowId> = connections.iter().map(|held| held.window).collect();
    let first = Event::default().retry(RETRY).comment("welcome");
    let greeting = stream::iter(std::iter::once(first).chain(gone.into_iter().map(closed)));
    let hints = stream::select(changed(changes), addressed(sent, connections));
    let glimpses = stream::select(wrote(outputs, held.clone()), written(partials, held));
    let hints = stream::select(hints, glimpses);
    let events = greeting
        .chain(hints)
        .take_until(app.shutdown.clone().cancelled_owned());
    Ok(Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Holds open what is open, and tells apart what is not. What the store cannot say counts as open.
async fn connect(app: &App, windows: Vec<WindowId>) -> (Vec<Connection>, Vec<WindowId>) {
    let mut connections = Vec::new();
    let mut gone = Vec::new();
    for window in windows {
        match app.inside.queries.window(window).await {
            Ok(Some(row)) if row.closed_at.is_some() => gone.push(window),
            Ok(None) => gone.push(window),
            Ok(Some(_)) | Err(_) => connections.push(app.windows.connect(window)),
        }
    }
    (connections, gone)
}

fn changed(changes: broadcast::Receiver<ConversationId>) -> impl Stream<Item = Event> {
    BroadcastStream::new(changes).map(|change| match change {
        Ok(conversation) => looked_at(conversation.to_string()),
        Err(BroadcastStreamRecvError::Lagged(_)) => refresh(),
    })
}

/// The stream owns the connections: when it is dropped, its windows are without a page.
fn addressed(
    sent: broadcast::Receiver<Sent>,
    connections: Vec<Connection>,
) -> impl Stream<Item = Event> {
    BroadcastStream::new(sent).map(move |sent| match sent {
        Ok(sent) => match sent.window.filter(|window| {
            connections
                .iter()
                .any(|connection| connection.window == *window)
        }) {
            Some(window) => message(&sent, window),
            None => looked_at(sent.conversation),
        },
        Err(BroadcastStreamRecvError::Lagged(_)) => refresh(),
    })
}

/// Of the processes that these windows started. An inside without such hints gives a stream that is over at once.
fn wrote(outputs: broadcast::Receiver<Wrote>, held: Vec<WindowId>) -> impl Stream<Item = Event> {
    let of_ours = move |wrote: &Wrote| held.contains(&wrote.window);
    BroadcastStream::new(outputs).filter_map(move |wrote| {
        std::future::ready(match wrote {
            Ok(wrote) => of_ours(&wrote).then(|| output(wrote)),
            Err(BroadcastStreamRecvError::Lagged(_)) => Some(refresh()),
        })
    })
}

/// Of answers to these windows. One that is missed is followed by a fuller one, or by the answer.
fn written(
    partials: broadcast::Receiver<Partial>,
    held: Vec<WindowId>,
) -> impl Stream<Item = Event> {
    let of_ours =
        move |partial: &Partial| partial.window.is_some_and(|window| held.contains(&window));
    BroadcastStream::new(partials).filter_map(move |partial| {
        std::future::ready(
            partial
                .ok()
                .filter(&of_ours)
                .map(|partial| glimpse(&partial)),
        )
    })
}

#[derive(Serialize)]
struct Glimpse<'a> {
    turn: TurnId,
    conversation: &'a str,
    text: &'a str,
    stopped: bool,
}

fn glimpse(partial: &Partial) -> Event {
    event(
        "partial",
        &Glimpse {
            turn: partial.turn,
            conversation: &partial.conversation,
            text: &partial.text,
            stopped: partial.stopped,
        },
    )
}

#[derive(Serialize)]
struct Changed {
    conversation: String,
}

#[derive(Serialize)]
struct Message<'a> {
    id: String,
    conversation: &'a str,
    window: WindowId,
    kind: &'static str,
}

#[derive(Serialize)]
struct Output {
    process: ProcessId,
    conversation: ConversationId,
}

#[derive(Serialize)]
struct Gone {
    window: WindowId,
}

fn looked_at(conversation: String) -> Event {
    event("changed", &Changed { conversation })
}

fn message(sent: &Sent, window: WindowId) -> Event {
    event(
        "message",
        &Message {
            id: sent.id.to_string(),
            conversation: &sent.conversation,
            window,
            kind: sent.kind.name(),
        },
    )
}

fn output(wrote: Wrote) -> Event {
    event(
        "output",
        &Output {
            process: wrote.process,
            conversation: wrote.conversation,
        },
    )
}

fn closed(window: WindowId) -> Event {
    event("gone", &Gone { window })
}

fn refresh() -> Event {
    Event::default().event("refresh").data("{}")
}

/// Our few plain structs always serialise; were one not to, the page reads everything again.
fn event(name: &str, data: &impl Serialize) -> Event {
    Event::default()
        .event(name)
        .json_data(data)
        .unwrap_or_else(|_| refresh())
}
