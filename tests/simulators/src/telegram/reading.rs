//! From HTTP to parameters: query, form, JSON and multipart, as Telegram takes them.

use axum::body::{Body, to_bytes};
use axum::extract::{Form, FromRequest as _, Multipart, Query};
use axum::http::{Request, header};
use serde_json::Value;

use super::errors::ApiError;
use super::params::{Params, Upload};

type Fields = Vec<(String, String)>;

/// The parameters of a request. Those of the query come first; the body overrides them.
pub(super) async fn params(request: Request<Body>, limit: usize) -> Result<Params, ApiError> {
    let mut params = Params::default();
    if let Ok(Query(fields)) = Query::<Fields>::try_from_uri(request.uri()) {
        put_all(&mut params, fields);
    }
    let (head, body) = request.into_parts();
    // Somewhat more is read than may be sent, so that the refusal is heard.
    let Ok(bytes) = to_bytes(body, limit.saturating_mul(2)).await else {
        return Err(ApiError::too_large());
    };
    if bytes.len() > limit {
        return Err(ApiError::too_large());
    }
    if bytes.is_empty() {
        return Ok(params);
    }
    let kind = head.headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.to_lowercase();
    if kind.starts_with("application/json") {
        json(&mut params, &bytes)?;
        return Ok(params);
    }
    let request = Request::from_parts(head, Body::from(bytes));
    if kind.starts_with("application/x-www-form-urlencoded") {
        let form = Form::<Fields>::from_request(request, &()).await;
        let Form(fields) = form.map_err(|_| ApiError::misuse("can't parse the form"))?;
        put_all(&mut params, fields);
    } else if kind.starts_with("multipart/form-data") {
        let parts = Multipart::from_request(request, &()).await;
        let parts = parts.map_err(|_| ApiError::misuse("can't parse the multipart body"))?;
        multipart(&mut params, parts).await?;
    }
    Ok(params)
}

fn put_all(params: &mut Params, fields: Fields) {
    for (name, value) in fields {
        params.put(name, Value::String(value));
    }
}

fn json(params: &mut Params, bytes: &[u8]) -> Result<(), ApiError> {
    let Ok(Value::Object(fields)) = serde_json::from_slice(bytes) else {
        return Err(ApiError::misuse(
            "can't parse request: JSON object expected",
        ));
    };
    for (name, value) in fields {
        params.put(name, value);
    }
    Ok(())
}

async fn multipart(params: &mut Params, mut parts: Multipart) -> Result<(), ApiError> {
    let broken = |_| ApiError::misuse("can't parse the multipart body");
    while let Some(part) = parts.next_field().await.map_err(broken)? {
        let name = part.name().unwrap_or_default().to_owned();
        let file = part.file_name().map(str::to_owned);
        let mime_type = part.content_type().map(str::to_owned);
        let bytes = part.bytes().await.map_err(broken)?;
        match file {
            Some(file) => {
                let upload = Upload {
                    name: file,
                    mime_type,
                    bytes: bytes.to_vec(),
                };
                params.attach(name, upload);
            }
            None => {
                let text = String::from_utf8(bytes.to_vec());
                let text =
                    text.map_err(|_| ApiError::misuse("strings must be encoded in UTF-8"))?;
                params.put(name, Value::String(text));
            }
        }
    }
    Ok(())
}
