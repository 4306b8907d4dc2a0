//! The JSON API under `/api/v1`, behind the login. A conversation is named by its id (`cnv_…`) or its key (`agent:main:console:dm:local:…`).
//!
//! | method and path | what |
//! |---|---|
//! | `GET conversations` | most recently active first |
//! | `POST conversations` `{name?}` | names a new thread; nothing is stored (OWN-10) |
//! | `GET conversations/{c}` | one of them, with its session and what runs |
//! | `GET conversations/{c}/messages?limit` | what was said, and what waits |
//! | `POST conversations/{c}/messages` `{text, id, window?}` | a person's message; the same `id` again is the same message |
//! | `GET processes?conversation&limit` | without a conversation: the newest of all |
//! | `GET processes/{prc}/log?from&limit` | what it wrote, as text; `next` is where to read on (see `api/log.rs`) |
//! | `GET delegations?conversation&limit` | sub-agents: task, state, result |
//! | `GET notifications?conversation&limit`, `GET notifications/{ntf}` | the second explains: decisions with facts, fate of the answer |
//! | `GET outbox?conversation&limit` | what left and what is to leave |
//! | `GET outbox/{out}/file` | a file that the agent sent, as a download |
//! | `POST windows` `{conversation, window?}` | opens, answers with the id to use |
//! | `POST windows/{win}/touch`, `DELETE windows/{win}`, `POST windows/{win}/close` | use, end, a closing tab's beacon |
//! | `GET stream?window` | see `stream.rs` |
//! | `POST logout` | this browser's login ends |
//!
//! **Absent on purpose:** decisions. Whether a message is allowed, what a command does and where a result goes is the inside's.

mod conversations;
mod explain;
pub(crate) mod extract;
mod file;
mod log;
mod messages;
mod timeline;
mod windows;
mod wire;
mod work;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use crate::console::App;
use crate::pages;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route(
            "/conversations",
            get(conversations::list).post(conversations::create),
        )
        .route("/conversations/{conversation}", get(conversations::one))
        .route(
            "/conversations/{conversation}/messages",
            get(messages::list).post(messages::accept),
        )
        .route("/processes", get(work::processes))
        .route("/processes/{process}/log", get(log::read))
        .route("/delegations", get(work::delegations))
        .route("/notifications", get(work::notifications))
        .route("/notifications/{notification}", get(explain::notification))
        .route("/outbox", get(work::outbox))
        .route("/outbox/{item}/file", get(file::download))
        .route("/windows", post(windows::open))
        .route("/windows/{window}", axum::routing::delete(windows::end))
        .route("/windows/{window}/touch", post(windows::touch))
        .route("/windows/{window}/close", post(windows::goodbye))
        .route("/logout", post(pages::logout))
        .layer(DefaultBodyLimit::max(extract::BODY_LIMIT))
}
