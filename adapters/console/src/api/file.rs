//! A file that the agent sent, as a download: never shown by the browser, whatever it claims to be.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use homing_domain::ids::OutboxId;
use tokio::fs::File;
use tokio_util::io::ReaderStream;

use super::extract::{Named, id};
use crate::console::App;
use crate::errors::ApiError;

pub(super) async fn download(
    State(app): State<Arc<App>>,
    Named(name): Named,
) -> Result<Response, ApiError> {
    let item: OutboxId = id(&name)?;
    let absent = |why: &str| ApiError::absent(format!("There is no file with {item} here: {why}."));
    let row = app.inside.queries.outbox_item(item).await?;
    let file = row
        .and_then(|row| row.extras.file)
        .ok_or_else(|| absent("it is not a message with a file"))?;
    let opened = File::open(&file.path)
        .await
        .map_err(|_| absent("the copy is not kept any more"))?;
    let mut response = Response::new(Body::from_stream(ReaderStream::new(opened)));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/octet-stream"),
    );
    headers.insert(header::CONTENT_DISPOSITION, attachment(&file.name));
    Ok(response)
}

/// The name as RFC 6266 has it: percent-encoded UTF-8, so that nothing in it can end the header.
fn attachment(name: &str) -> HeaderValue {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let encoded: String = name
        .bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect();
    HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{encoded}"))
        .unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_the_header() {
        let header = attachment("a\"b\r\nx: y é.txt");
        assert_eq!(
            header,
            "attachment; filename*=UTF-8''a%22b%0D%0Ax%3A%20y%20%C3%A9.txt"
        );
    }
}
