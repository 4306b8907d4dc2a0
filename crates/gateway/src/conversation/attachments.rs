//! Files that came with a message: copied into the gateway's own folder before the agent is asked, in the turn's own task.
//!
//! **Invariant:** a file's path is made here and never of what a person sent but for a safe name. A file that could not be copied is a reason in
//! words, for the agent and in the history; never a silent gap.
//! **Absent on purpose:** what is in them. Removing them after a while is part of the upkeep.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use homing_domain::ids::{ConversationId, InboundId};
use homing_ports::agent::ReceivedFile;
use homing_ports::inbox::CameWith;
use homing_ports::platform::{Attachment, FetchError, Platform};
use homing_ports::store::InboundRow;
use tokio_util::sync::CancellationToken;

use super::sending::backoff;
use crate::inside::Inside;
use crate::settings::Settings;

/// How often a file is asked for that the platform cannot hand over for now.
const TRIES: u32 = 3;
/// Bytes of a name.
const NAME_LIMIT: usize = 80;

/// A file as it is going to be received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expected {
    attachment: Attachment,
    name: String,
    /// Where it will lie, or why it is not taken.
    to: Result<PathBuf, String>,
    /// It came with an earlier message.
    is_repeated: bool,
}

/// What a message brings along. Pure: known before anything is fetched, so that the history can name it.
pub(super) fn expected(
    settings: &Settings,
    conversation: ConversationId,
    inbound: InboundId,
    attachments: Vec<Attachment>,
) -> Vec<Expected> {
    let folder = settings.files.join(conversation.to_string());
    let most = settings.attachments_at_most;
    let one = |(index, mut attachment): (usize, Attachment)| {
        let whose = *attachment.first_came_with.get_or_insert(inbound);
        let name = safe_name(attachment.name.as_deref().unwrap_or_default());
        let to = match attachment.bytes {
            _ if index >= most => Err(format!("only {most} files of one message are taken")),
            Some(bytes) if bytes > settings.attachment_bytes => {
                Err(too_big(bytes, settings.attachment_bytes))
            }
            Some(_) | None => Ok(folder.join(format!("{whose}-{}-{name}", index + 1))),
        };
        Expected {
            is_repeated: whose != inbound,
            attachment,
            name,
            to,
        }
    };
    attachments.into_iter().enumerate().map(one).collect()
}

/// What is kept of a message, so that it can be asked again.
pub(super) fn came_with(row: &InboundRow, files: &[Expected]) -> CameWith {
    CameWith {
        text: row.text.clone(),
        quoted: row.quoted.clone(),
        attachments: files.iter().map(|file| file.attachment.clone()).collect(),
    }
}

/// A message's text for the history, with the files that came with it.
pub(super) fn mention(text: &str, files: &[Expected]) -> String {
    let lines = files.iter().map(|file| match &file.to {
        Ok(path) => format!("[file {}: {}]", file.name, path.display()),
        Err(why) => format!("[file {} was not taken: {why}]", file.name),
    });
    let text = Some(text).filter(|text| !text.is_empty());
    let all: Vec<String> = text.map(str::to_owned).into_iter().chain(lines).collect();
    all.join("\n")
}

/// What the history says afterwards of the files that it named and that are not there.
pub(super) fn missing(expected: &[Expected], received: &[ReceivedFile]) -> Option<String> {
    let lines: Vec<String> = expected
        .iter()
        .zip(received)
        .filter(|(expected, _)| expected.to.is_ok())
        .filter_map(|(_, received)| {
            let why = received.path.as_ref().err()?;
            Some(format!(
                "[file {} could not be fetched: {why}]",
                received.name
            ))
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Copies them, one after another.
pub(super) async fn fetch(
    inside: &Arc<Inside>,
    platform: Option<Arc<dyn Platform>>,
    files: &[Expected],
    cancel: &CancellationToken,
) -> Vec<ReceivedFile> {
    let mut received = Vec::with_capacity(files.len());
    for file in files {
        let path = match (&file.to, &platform) {
            (Err(why), _) => Err(why.clone()),
            (Ok(path), _) if file.is_repeated && is_there(path, &file.attachment).await => {
                Ok(path.clone())
            }
            (Ok(_), None) => Err("its account is not configured any more".to_owned()),
            (Ok(path), Some(platform)) => {
                fetch_one(inside, platform.as_ref(), &file.attachment, path, cancel)
                    .await
                    .map(|()| path.clone())
            }
        };
        if let Err(why) = &path {
            tracing::warn!(name = file.name, why, "a file was not received");
        }
        received.push(ReceivedFile {
            name: file.name.clone(),
            path,
        });
    }
    received
}

/// The copy that was made when it came.
async fn is_there(path: &Path, attachment: &Attachment) -> bool {
    match tokio::fs::metadata(path).await {
        // One that is shorter broke off.
        Ok(copy) => copy.is_file() && attachment.bytes.is_none_or(|bytes| bytes == copy.len()),
        Err(_) => false,
    }
}

async fn fetch_one(
    inside: &Inside,
    platform: &dyn Platform,
    attachment: &Attachment,
    path: &Path,
    cancel: &CancellationToken,
) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        make_folder(folder)
            .await
            .map_err(|error| format!("its folder cannot be made: {error}"))?;
    }
    let mut attempt = 1;
    loop {
        // Of an earlier try, before a crash perhaps.
        remove(path).await;
        let fetching = cancel.run_until_cancelled(platform.fetch(attachment, path));
        let error = match fetching.await {
            Some(Ok(())) => return within(path, inside.settings.attachment_bytes).await,
            Some(Err(error)) => error,
            None => {
                remove(path).await;
                return Err(STOPPED.to_owned());
            }
        };
        remove(path).await;
        if !matches!(error, FetchError::Temporary(_)) || attempt >= TRIES {
            return Err(in_words(&error));
        }
        let settings = &inside.settings;
        let pause = backoff(attempt, settings.retry_first, settings.retry_longest);
        let until = inside.clock.sleep_until(inside.now().plus(pause));
        if cancel.run_until_cancelled(until).await.is_none() {
            return Err(STOPPED.to_owned());
        }
        attempt += 1;
    }
}

const STOPPED: &str = "the turn was stopped before";

/// Nobody else may look into it.
async fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = tokio::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder).await
}

/// What the platform said of its size may have been wrong, or nothing.
async fn within(path: &Path, limit: u64) -> Result<(), String> {
    let bytes = match tokio::fs::metadata(path).await {
        Ok(file) => file.len(),
        Err(error) => return Err(format!("it cannot be read back: {error}")),
    };
    if bytes <= limit {
        return Ok(());
    }
    remove(path).await;
    Err(too_big(bytes, limit))
}

async fn remove(path: &Path) {
    match tokio::fs::remove_file(path).await {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "half a file could not be removed");
        }
    }
}

fn too_big(bytes: u64, limit: u64) -> String {
    format!("it has {bytes} bytes; at most {limit} are taken")
}

fn in_words(error: &FetchError) -> String {
    match error {
        FetchError::Write { source, .. } => format!("{error}: {source}"),
        FetchError::Refused(_) | FetchError::Temporary(_) => error.to_string(),
    }
}

/// The last part of a name, of plain characters, bounded, never empty, never hidden.
fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |character: char| match character {
        '[' | ']' => '_',
        character if character.is_alphanumeric() => character,
        '.' | '-' | '_' | ' ' | '(' | ')' | '+' | ',' | '=' | '@' => character,
        _ => '_',
    };
    let plain: String = last.chars().map(plain).collect();
    let trimmed = plain.trim_start_matches(['.', ' ', '-']).trim_end();
    match trimmed {
        "" => "file".to_owned(),
        name => shortened(name),
    }
}

/// From the front, so that the ending of a long name stays.
fn shortened(name: &str) -> String {
    let too_many = name.len().saturating_sub(NAME_LIMIT);
    let from = (too_many..name.len())
        .find(|index| name.is_char_boundary(*index))
        .unwrap_or(0);
    name[from..].trim_start_matches(['.', ' ', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(name: Option<&str>, bytes: Option<u64>) -> Attachment {
        Attachment {
            name: name.map(str::to_owned),
            media_type: None,
            bytes,
            reference: "r".into(),
            first_came_with: None,
        }
    }

    fn files(attachments: Vec<Attachment>) -> Vec<Expected> {
        let settings = Settings {
            files: PathBuf::from("/files"),
            attachments_at_most: 2,
            attachment_bytes: 1_000,
            ..Settings::default()
        };
        let conversation = ConversationId::from_number(1);
        expected(
            &settings,
            conversation,
            InboundId::from_number(2),
            attachments,
        )
    }

    #[test]
    fn a_name_has_no_path_no_control_characters_and_an_end() {
        for (name, safe) in [
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            (".bashrc", "bashrc"),
            ("..", "file"),
            ("", "file"),
            ("a\nb\u{202e}c\0.txt", "a_b_c_.txt"),
            ("Ärger (2).pdf", "Ärger (2).pdf"),
            ("x]: [file", "x__ _file"),
            ("-rf", "rf"),
        ] {
            assert_eq!(safe_name(name), safe);
        }
        let long = format!("{}.tar.gz", "ü".repeat(300));
        let short = safe_name(&long);
        assert!(
            short.len() <= NAME_LIMIT && short.ends_with(".tar.gz"),
            "{short}"
        );
    }

    #[test]
    fn every_file_has_a_path_of_its_own_below_its_conversation_or_a_reason() {
        let files = files(vec![
            attachment(Some("a.png"), Some(10)),
            attachment(Some("a.png"), Some(1_001)),
            attachment(None, None),
        ]);
        let folder = format!("/files/{}", ConversationId::from_number(1));
        assert!(
            matches!(&files[0].to, Ok(path) if path.starts_with(&folder) && path.ends_with(format!("{}-1-a.png", InboundId::from_number(2))))
        );
        assert!(matches!(&files[1].to, Err(why) if why.contains("1001 bytes")));
        assert!(matches!(&files[2].to, Err(why) if why.contains("only 2 files")));
    }

    #[test]
    fn the_history_names_every_file_and_afterwards_those_that_are_missing() {
        let expected = files(vec![
            attachment(Some("a.png"), None),
            attachment(Some("big"), Some(5_000)),
        ]);
        let text = mention("Look", &expected);
        assert!(text.starts_with("Look\n[file a.png: /files/"), "{text}");
        assert!(
            text.contains("[file big was not taken: it has 5000 bytes"),
            "{text}"
        );
        assert!(mention("", &expected).starts_with("[file a.png"));
        assert_eq!(mention("Just text", &[]), "Just text");
        let received = [
            ReceivedFile {
                name: "a.png".into(),
                path: Err("gone".into()),
            },
            ReceivedFile {
                name: "big".into(),
                path: Err("too big".into()),
            },
        ];
        assert_eq!(
            missing(&expected, &received).as_deref(),
            Some("[file a.png could not be fetched: gone]")
        );
    }
}
