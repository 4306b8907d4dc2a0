//! Files that came with messages.

use std::path::Path;
use std::time::Duration;

use homing_ports::platform::{Attachment, FetchError};
use teloxide_core::payloads::GetFile;
use teloxide_core::types::FileId;

use crate::api::{DownloadFailure, Failure};
use crate::telegram::Shared;

/// What Telegram's own server hands to bots, in bytes.
const LARGEST: u64 = 20 * 1024 * 1024;
const DOWNLOAD: Duration = Duration::from_secs(300);

impl Shared {
    pub(crate) async fn fetch_file(
        &self,
        attachment: &Attachment,
        into: &Path,
    ) -> Result<(), FetchError> {
        if attachment.bytes.is_some_and(|bytes| bytes > LARGEST) {
            return Err(too_big());
        }
        let request = GetFile::new(FileId(attachment.reference.clone()));
        let file = self.api.tell(&request).await.map_err(unavailable)?;
        let Some(path) = file["file_path"].as_str() else {
            return Err(FetchError::Temporary(
                "Telegram has the file, and does not say where".into(),
            ));
        };
        let done = self.api.download(path, into, LARGEST, DOWNLOAD).await;
        let error = match done {
            Ok(()) => return Ok(()),
            Err(DownloadFailure::Call(failure)) => unavailable(failure),
            Err(DownloadFailure::TooBig) => too_big(),
            Err(DownloadFailure::Write(source)) => FetchError::Write {
                path: into.to_owned(),
                source,
            },
        };
        // Half a file is none. One that was there before was not ours.
        let existed = matches!(&error, FetchError::Write { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists);
        if !existed {
            drop(tokio::fs::remove_file(into).await);
        }
        Err(error)
    }
}

fn too_big() -> FetchError {
    FetchError::Refused(format!(
        "the file is too big: Telegram hands at most {} MB to a bot; put it where the agent can reach it otherwise",
        LARGEST / (1024 * 1024)
    ))
}

fn unavailable(failure: Failure) -> FetchError {
    match &failure {
        Failure::Said(said) if said.description.contains("file is too big") => too_big(),
        Failure::Said(said) if matches!(said.status, 400 | 403 | 404) => FetchError::Refused(
            format!("Telegram does not have the file any more: {failure}"),
        ),
        _ => FetchError::Temporary(failure.to_string()),
    }
}
