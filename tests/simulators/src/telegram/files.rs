//! Files that were sent, by everybody.

use std::collections::BTreeMap;

use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(super) struct Files {
    by_id: BTreeMap<String, File>,
}

#[derive(Debug, Clone)]
pub(super) struct File {
    pub bytes: Vec<u8>,
    pub name: Option<String>,
    pub mime_type: Option<String>,
    /// What it is said to have; more than `bytes` if a test wants a file that is too big.
    pub size: u64,
    /// The folder of its path: `documents`.
    folder: &'static str,
    number: usize,
}

/// What a new file is.
#[derive(Debug, Clone)]
pub(super) struct FileParts {
    pub kind: String,
    pub name: Option<String>,
    pub mime_type: Option<String>,
    pub bytes: Vec<u8>,
    pub size: Option<u64>,
}

impl Files {
    /// Keeps a file, and returns its `file_id`.
    pub fn add(&mut self, parts: FileParts) -> String {
        let number = self.by_id.len() + 1;
        let (prefix, folder) = match parts.kind.as_str() {
            "photo" => ("AgACAgIAAxkBAAI", "photos"),
            "thumbnail" => ("AAMCAgADGQEAAhI", "thumbnails"),
            "voice" => ("AwACAgIAAxkBAAI", "voice"),
            "audio" => ("CQACAgIAAxkBAAI", "music"),
            "video" => ("BAACAgIAAxkBAAI", "videos"),
            "animation" => ("CgACAgIAAxkBAAI", "animations"),
            _ => ("BQACAgIAAxkBAAI", "documents"),
        };
        let id = format!("{prefix}{number:06}");
        let mime_type = parts
            .mime_type
            .or_else(|| parts.name.as_deref().and_then(guessed).map(str::to_owned));
        let file = File {
            size: parts.size.unwrap_or(parts.bytes.len() as u64),
            bytes: parts.bytes,
            name: parts.name,
            mime_type,
            folder,
            number,
        };
        self.by_id.insert(id.clone(), file);
        id
    }

    pub fn get(&self, id: &str) -> Option<&File> {
        self.by_id.get(id)
    }

    pub fn by_path(&self, path: &str) -> Option<&File> {
        self.by_id.values().find(|file| file.path() == path)
    }

    /// The answer of `getFile`.
    pub fn shown(&self, id: &str) -> Option<Value> {
        let file = self.get(id)?;
        Some(json!({
            "file_id": id,
            "file_unique_id": unique(id),
            "file_size": file.size,
            "file_path": file.path(),
        }))
    }

    /// The fields of a message that carries this file as this kind.
    pub fn content(&mut self, id: &str, kind: &str) -> Option<(String, Value)> {
        let file = self.get(id)?.clone();
        if kind == "photo" {
            let thumbnail = self.add(FileParts {
                kind: "thumbnail".into(),
                name: None,
                mime_type: file.mime_type.clone(),
                bytes: file.bytes[..file.bytes.len().div_ceil(2)].to_vec(),
                size: None,
            });
            let size = |id: &str, size: u64, width, height| json!({"file_id": id, "file_unique_id": unique(id), "file_size": size, "width": width, "height": height});
            let sizes = [
                size(&thumbnail, (file.size / 2).max(1), 90, 67),
                size(id, file.size, 320, 239),
            ];
            return Some(("photo".into(), json!(sizes)));
        }
        let mut shown =
            json!({"file_id": id, "file_unique_id": unique(id), "file_size": file.size});
        if let Some(name) = file.name.as_ref().filter(|_| kind != "voice") {
            shown["file_name"] = json!(name);
        }
        if let Some(mime_type) = &file.mime_type {
            shown["mime_type"] = json!(mime_type);
        }
        if ["audio", "video", "voice", "animation", "video_note"].contains(&kind) {
            shown["duration"] = json!(1);
        }
        if ["video", "animation"].contains(&kind) {
            shown["width"] = json!(320);
            shown["height"] = json!(239);
        }
        Some((kind.to_owned(), shown))
    }
}

impl File {
    fn path(&self) -> String {
        let extension = self
            .name
            .as_deref()
            .and_then(|name| name.rsplit_once('.'))
            .map(|(_, extension)| extension)
            .filter(|extension| extension.chars().all(char::is_alphanumeric));
        let extension = match (extension, self.folder) {
            (Some(extension), _) => format!(".{extension}"),
            (None, "photos" | "thumbnails") => ".jpg".into(),
            (None, "voice") => ".oga".into(),
            (None, "videos" | "animations") => ".mp4".into(),
            (None, _) => String::new(),
        };
        format!("{}/file_{}{extension}", self.folder, self.number)
    }
}

fn unique(id: &str) -> String {
    format!("AQAD{}", &id[id.len().saturating_sub(6)..])
}

fn guessed(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_lowercase().as_str() {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "zip" => "application/zip",
        "mp4" => "video/mp4",
        "ogg" | "oga" => "audio/ogg",
        "mp3" => "audio/mpeg",
        _ => "application/octet-stream",
    })
}
