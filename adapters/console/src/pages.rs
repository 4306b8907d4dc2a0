//! The few pages that are made here; everything that moves on them is made by the scripts in `assets/`.

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::response::{Html, IntoResponse, Response};

use crate::console::App;
use crate::errors::ApiError;
use crate::guard;
use crate::login::Redeemed;

#[derive(Template)]
#[template(path = "home.html")]
struct Home<'a> {
    profile: &'a str,
    text_limit: usize,
    shell: bool,
}

/// A page that only says something.
#[derive(Template)]
#[template(path = "message.html")]
struct Message<'a> {
    title: &'a str,
    sentences: &'a [&'a str],
    /// Leads on to the console by itself.
    onward: bool,
}

pub(crate) async fn home(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    if guard::is_logged_in(&app, &headers) {
        return page(
            StatusCode::OK,
            &Home {
                profile: &app.settings.profile,
                text_limit: homing_ports::inbox::INBOUND_TEXT_LIMIT,
                shell: app.settings.shell,
            },
        );
    }
    let sentences = [
        "This is the console of a Homing gateway. To get in, open the login link that it printed when it started.",
        "The link works once. A restart prints a new one; nothing is lost by it, background work goes on.",
    ];
    page(
        StatusCode::UNAUTHORIZED,
        &Message {
            title: "Please log in",
            sentences: &sentences,
            onward: false,
        },
    )
}

/// Uses the token up and sets the cookie. The way on is a refresh of *our* page and not a redirect: where the link was clicked on another
/// site (a terminal in the browser, a chat), browsers withhold a strict cookie along the whole redirect.
pub(crate) async fn login(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let query = query.unwrap_or_default();
    let token = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
        .unwrap_or_default();
    match app.login.redeem(token, app.clock.now()) {
        Ok(Redeemed::In(cookie)) => {
            let sentences = ["The console opens in a moment."];
            let welcome = page(
                StatusCode::OK,
                &Message {
                    title: "You are in",
                    sentences: &sentences,
                    onward: true,
                },
            );
            (
                [(header::SET_COOKIE, app.guard.set_cookie(&cookie))],
                welcome,
            )
                .into_response()
        }
        // Whoever clicks the printed link again only wants in.
        Ok(Redeemed::Refused) if guard::is_logged_in(&app, &headers) => {
            let sentences = ["You are logged in already. The console opens in a moment."];
            page(
                StatusCode::OK,
                &Message {
                    title: "Welcome back",
                    sentences: &sentences,
                    onward: true,
                },
            )
        }
        Ok(Redeemed::Refused) => {
            let sentences = [
                "A login link works once, and only until the gateway is restarted.",
                "Restart the gateway: it prints a new link each time it starts, and background work goes on meanwhile.",
            ];
            page(
                StatusCode::FORBIDDEN,
                &Message {
                    title: "This link has been used, or is not one of ours",
                    sentences: &sentences,
                    onward: false,
                },
            )
        }
        Err(error) => {
            tracing::error!(%error, "a login could not be stored");
            let sentences = [
                "The login could not be stored. See the gateway's log: its data folder may be full or not writable.",
            ];
            page(
                StatusCode::INTERNAL_SERVER_ERROR,
                &Message {
                    title: "That did not work",
                    sentences: &sentences,
                    onward: false,
                },
            )
        }
    }
}

pub(crate) async fn logout(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let cookie = app.guard.cookie(&headers).unwrap_or_default();
    app.login.forget(cookie).map_err(|error| {
        tracing::error!(%error, "a logout could not be stored");
        ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The logout could not be stored; see the gateway's log.",
        )
    })?;
    Ok((
        StatusCode::NO_CONTENT,
        [(header::SET_COOKIE, app.guard.clear_cookie())],
    )
        .into_response())
}

pub(crate) async fn not_found() -> Response {
    page(
        StatusCode::NOT_FOUND,
        &Message {
            title: "There is no such page",
            sentences: &["The console is one page."],
            onward: false,
        },
    )
}

fn page(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "The page could not be made; see the gateway's log.",
            )
                .into_response()
        }
    }
}
