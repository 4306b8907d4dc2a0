//! `search_files`: text in the files of the workspace.
//!
//! **Invariant:** bounded in time, files and matches, and every bound that was reached is said. Symbolic links are not followed.

use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use regex::{Regex, RegexBuilder};
use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::arguments::{Arguments, Kind, optional, required};
use super::{Called, Tool};
use crate::SessionTools;
use crate::workspace::Workspace;

const TIME: Duration = Duration::from_secs(10);
const FILES: usize = 50_000;
const DEPTH: usize = 64;
const MATCHES: usize = 200;
/// Bytes of the largest file that is looked into.
const FILE: u64 = 4 * 1024 * 1024;
/// Characters of a line that are shown.
const LINE: usize = 300;
/// Memory of a compiled pattern.
const PATTERN: usize = 1 << 20;

pub(super) const TOOL: Tool = Tool {
    name: "search_files",
    description: "Finds lines in the text files of the workspace and answers with file, line number and line. Hidden folders, links, binary files and files \
                  over 4 MiB are left out.",
    fields: &[
        required(
            "pattern",
            Kind::Text,
            "The text to find, exactly; with `regex` a regular expression.",
        ),
        optional(
            "regex",
            Kind::Flag,
            "`pattern` is a regular expression (without backreferences and look-around).",
        ),
        optional(
            "glob",
            Kind::Text,
            "Only files whose path fits: `*.rs`, `src/**/*.json`. `*` stops at `/`, `**` does not.",
        ),
        optional(
            "path",
            Kind::Text,
            "The folder to look in; the whole workspace unless given.",
        ),
        optional(
            "limit",
            Kind::Number {
                least: 1,
                most: MATCHES as u64,
            },
            "Matches to answer; 50 unless given.",
        ),
    ],
};

impl SessionTools {
    pub(super) async fn model_search(&self, arguments: &Arguments) -> Called {
        let pattern = arguments.the_text("pattern");
        if pattern.is_empty() {
            return Err("what is to be found? `pattern` is empty".to_owned().into());
        }
        let source = match arguments.flag("regex").unwrap_or(false) {
            true => pattern.to_owned(),
            false => regex::escape(pattern),
        };
        let wanted = RegexBuilder::new(&source)
            .size_limit(PATTERN)
            .build()
            .map_err(|error| format!("`pattern` is no regular expression: {error}"))?;
        let glob = arguments.text("glob").map(glob).transpose()?;
        let folder = arguments.text("path").unwrap_or(".").to_owned();
        let limit = usize::try_from(arguments.number("limit").unwrap_or(50)).unwrap_or(MATCHES);
        self.in_workspace(move |workspace| {
            let root = workspace.folder(&folder)?;
            let prefix = match folder.trim_start_matches("./").trim_end_matches('/') {
                "." | "" => String::new(),
                folder => format!("{folder}/"),
            };
            let mut search = Search {
                workspace,
                wanted,
                glob,
                limit,
                until: Instant::now() + TIME,
                looked: 0,
                found: Vec::new(),
                stopped: None,
            };
            search.folder(root, &prefix, DEPTH);
            Ok(search.said())
        })
        .await
    }
}

struct Search<'a> {
    workspace: &'a Workspace,
    wanted: Regex,
    glob: Option<Regex>,
    limit: usize,
    until: Instant,
    looked: usize,
    found: Vec<String>,
    /// Which bound ended it.
    stopped: Option<&'static str>,
}

impl Search<'_> {
    fn folder(&mut self, folder: OwnedFd, prefix: &str, depth: usize) {
        if self.workspace.is_closed(&folder) != Ok(false) {
            return;
        }
        let Ok(entries) = Dir::read_from(&folder) else {
            return;
        };
        let mut names: Vec<(Vec<u8>, FileType)> = entries
            .filter_map(Result::ok)
            .map(|entry| {
                (
                    entry.file_name().to_bytes_with_nul().to_vec(),
                    entry.file_type(),
                )
            })
            .collect();
        names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (name, kind) in names {
            if self.is_over() {
                return;
            }
            let Ok(name) = CStr::from_bytes_with_nul(&name) else {
                continue;
            };
            if name.to_bytes().starts_with(b".") && kind != FileType::RegularFile {
                continue;
            }
            let path = format!("{prefix}{}", name.to_string_lossy());
            match kind {
                FileType::Directory if depth > 0 => {
                    let flags =
                        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    if let Ok(below) = rustix::fs::openat(&folder, name, flags, Mode::empty()) {
                        self.folder(below, &format!("{path}/"), depth - 1);
                    }
                }
                FileType::Directory => self.stopped = Some("folders that lie deeper were left out"),
                FileType::RegularFile => self.named(&folder, name, &path),
                _ => {}
            }
        }
    }

    fn named(&mut self, folder: &OwnedFd, name: &CStr, path: &str) {
        if self.glob.as_ref().is_some_and(|glob| !glob.is_match(path)) {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) {
            self.file(File::from(file), path);
        }
    }

    fn is_over(&mut self) -> bool {
        self.stopped = match () {
            () if self.found.len() >= self.limit => Some("there may be more matches"),
            () if self.looked >= FILES => Some("more files were left out; name a folder or a glob"),
            () if Instant::now() >= self.until => Some("time was up; name a folder or a glob"),
            () => return false,
        };
        true
    }

    fn file(&mut self, file: File, path: &str) {
        self.looked += 1;
        let mut bytes = Vec::new();
        let small = file
            .metadata()
            .is_ok_and(|data| data.is_file() && data.len() <= FILE);
        if !small || file.take(FILE).read_to_end(&mut bytes).is_err() {
            return;
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return;
        };
        if text.contains('\0') || !self.wanted.is_match(&text) {
            return;
        }
        for (index, line) in text.lines().enumerate() {
            if self.wanted.is_match(line) {
                let shown: String = line.chars().take(LINE).collect();
                self.found.push(format!("{path}:{}: {shown}", index + 1));
            }
            if self.found.len() >= self.limit {
                return;
            }
        }
    }

    fn said(self) -> String {
        let mut lines = match self.found.is_empty() {
            true => vec![format!("nothing found in {} files", self.looked)],
            false => self.found,
        };
        lines.extend(self.stopped.map(|why| format!("[{why}]")));
        lines.join("\n")
    }
}

/// A glob as a regular expression. Without a `/` it is about the file's name, wherever it lies.
fn glob(text: &str) -> Result<Regex, String> {
    let mut pattern = String::from(match text.contains('/') {
        true => "^",
        false => "(^|/)",
    });
    let mut rest = text.trim_start_matches("./").chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '*' if rest.next_if_eq(&'*').is_some() => {
                // `**/` is also no folder at all.
                pattern.push_str(match rest.next_if_eq(&'/').is_some() {
                    true => "(.*/)?",
                    false => ".*",
                });
            }
            '*' => pattern.push_str("[^/]*"),
            '?' => pattern.push_str("[^/]"),
            other => pattern.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    pattern.push('$');
    RegexBuilder::new(&pattern)
        .size_limit(PATTERN)
        .build()
        .map_err(|error| format!("`glob` cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn globs_fit_as_in_a_shell() {
        for (pattern, path, fits) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "deep/a.rs", true),
            ("*.rs", "a.rsx", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/b/c/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("a?c", "abc", true),
            ("a.c", "abc", false),
        ] {
            assert_eq!(
                glob(pattern).unwrap().is_match(path),
                fits,
                "{pattern} {path}"
            );
        }
    }
}
