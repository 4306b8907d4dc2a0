//! The page's own files, inside the binary.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! files {
    ($($name:literal: $kind:expr,)*) => {
        fn find(name: &str) -> Option<(&'static str, &'static str)> {
            match name {
                $($name => Some(($kind, include_str!(concat!("../assets/", $name)))),)*
                _ => None,
            }
        }
    };
}

files! {
    "app.js": SCRIPT,
    "api.js": SCRIPT,
    "conversations.js": SCRIPT,
    "messages.js": SCRIPT,
    "tails.js": SCRIPT,
    "output.js": SCRIPT,
    "work.js": SCRIPT,
    "detail.js": SCRIPT,
    "window.js": SCRIPT,
    "live.js": SCRIPT,
    "soon.js": SCRIPT,
    "dom.js": SCRIPT,
    "console.css": STYLE,
    "icon.svg": PICTURE,
}

/// Asked for again at every visit and answered by a hash: an upgraded gateway never runs with yesterday's script.
pub(crate) async fn serve(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some((kind, text)) = find(&name) else {
        return (StatusCode::NOT_FOUND, "There is no such file.").into_response();
    };
    let hash = Sha256::digest(text.as_bytes());
    let tag = format!(
        "\"{}\"",
        hash.iter()
            .take(12)
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    );
    let known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let caching = [
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::ETAG, tag),
    ];
    if known {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, [(header::CONTENT_TYPE, kind)], text).into_response()
}
