//! What every request must pass before anything reads it, and what every response carries.
//!
//! **Invariant:** a page of another origin can neither call us nor read us. Host is checked on every request (a name that somebody points
//! at 127.0.0.1 is not ours), Origin wherever it is sent and always on unsafe methods, and the API is closed to other sites and ports.
//! **Absent on purpose:** CORS. Nobody else's page has business here.
//!
//! Known limit: browsers share cookies between the ports of a host, so another *server* on this machine's loopback that the operator's
//! browser visits receives our cookie. It could as well read our files; whoever runs untrusted servers under the same account has lost.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::console::App;
use crate::errors::ApiError;
use crate::login::LASTS;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Scripts and styles only from our own files: what somebody smuggles into a message cannot run.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// `same-origin` and not `no-referrer`: under that, browsers send `Origin: null` with the beacon of a closing tab.
const HEADERS: [(&str, &str); 8] = [
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=()",
    ),
    ("cache-control", "no-store"),
];

/// The names under which this console may be called.
pub(crate) struct Guard {
    hosts: Vec<String>,
    cookie: String,
}

impl Guard {
    pub fn for_port(port: u16) -> Guard {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.extend(names.map(str::to_owned));
        }
        // Cookies do not know ports: two gateways on one machine must not overwrite each other's.
        Guard {
            hosts,
            cookie: format!("homing_{port}"),
        }
    }

    fn refusal(&self, request: &Request) -> Option<String> {
        let headers = request.headers();
        let Some(host) = text(headers, &header::HOST)
            .map(str::to_ascii_lowercase)
            .filter(|host| self.hosts.contains(host))
        else {
            return Some(format!(
                "This console answers only to {}. Through a tunnel, use the same port on both ends.",
                self.hosts.join(", ")
            ));
        };
        let origin = headers
            .get(header::ORIGIN)
            .map(|origin| origin.as_bytes().to_ascii_lowercase());
        let ours = format!("http://{host}");
        match origin {
            Some(origin) if origin != ours.as_bytes() => {
                return Some(format!(
                    "Requests from other pages are refused: the Origin must be {ours}."
                ));
            }
            None if !is_safe(request.method()) => {
                return Some(format!(
                    "A request that changes something must say where it comes from: send `Origin: {ours}`."
                ));
            }
            Some(_) | None => {}
        }
        let elsewhere = text(headers, &SEC_FETCH_SITE)
            .is_some_and(|site| !matches!(site, "same-origin" | "none"));
        (elsewhere && is_api(request))
            .then(|| "The API answers only the console's own page.".to_owned())
    }

    /// Our cookie's value in a request, if it has one.
    pub fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|header| header.to_str().ok())
            .flat_map(|header| header.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find_map(|(name, value)| (name == self.cookie).then_some(value))
    }

    pub fn set_cookie(&self, value: &str) -> String {
        format!(
            "{}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}",
            self.cookie,
            LASTS.as_secs()
        )
    }

    pub fn clear_cookie(&self) -> String {
        format!(
            "{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0",
            self.cookie
        )
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn is_api(request: &Request) -> bool {
    request.uri().path().starts_with("/api/")
}

/// The outermost layer.
pub(crate) async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match app.guard.refusal(&request) {
        Some(refusal) if is_api(&request) => {
            ApiError::new(StatusCode::FORBIDDEN, refusal).into_response()
        }
        Some(refusal) => (StatusCode::FORBIDDEN, refusal).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .entry(HeaderName::from_static(name))
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Around the API: everything in it needs the cookie.
pub(crate) async fn require_login(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    if !is_logged_in(&app, request.headers()) {
        let way_out = "You are not logged in here. Open the login link that the gateway printed when it started; a restart prints a new one.";
        return ApiError::new(StatusCode::UNAUTHORIZED, way_out).into_response();
    }
    next.run(request).await
}

pub(crate) fn is_logged_in(app: &App, headers: &HeaderMap) -> bool {
    app.guard
        .cookie(headers)
        .is_some_and(|cookie| app.login.knows(cookie, app.clock.now()))
}
