//! `read_file`, `write_file`, `edit_file`: text files of the workspace.

use std::sync::Arc;

use homing_domain::redact::{REDACTED, redact};

use super::arguments::{Arguments, Kind, optional, required};
use super::{Called, Failure, Tool};
use crate::SessionTools;
use crate::workspace::{FileError, Workspace};

/// Bytes of the largest file that is read or changed.
const FILE: u64 = 8 * 1024 * 1024;
/// Bytes of what is written at once.
const CONTENT: usize = 1024 * 1024;
/// Bytes and lines of one answer.
const SHOWN: usize = 20 * 1024;
const LINES: u64 = 2_000;
/// Places of a text that is there several times, as they are told.
const PLACES: usize = 5;

pub(super) const READ: Tool = Tool {
    name: "read_file",
    description: "Reads a text file of the workspace: all of it, or lines from `from` on. What looks like a secret is shown as `[redacted]`.",
    fields: &[
        required("path", Kind::Text, "The file, relative to the workspace."),
        optional(
            "from",
            Kind::Number {
                least: 1,
                most: 100_000_000,
            },
            "The first line; 1 unless given.",
        ),
        optional(
            "lines",
            Kind::Number {
                least: 1,
                most: LINES,
            },
            "How many lines; 500 unless given.",
        ),
        optional(
            "skip",
            Kind::Number {
                least: 0,
                most: FILE,
            },
            "Bytes of the line `from` to leave out, where that line is too long to be shown at once.",
        ),
    ],
};

pub(super) const WRITE: Tool = Tool {
    name: "write_file",
    description: "Writes a whole text file of the workspace, in place of what it held; missing folders are made. To change a part, use `edit_file`.",
    fields: &[
        required("path", Kind::Text, "The file, relative to the workspace."),
        required("content", Kind::Text, "All of what it is to hold."),
    ],
};

pub(super) const EDIT: Tool = Tool {
    name: "edit_file",
    description: "Replaces a text in a file of the workspace. `old` must be in it exactly once, blanks and line ends included.",
    fields: &[
        required("path", Kind::Text, "The file, relative to the workspace."),
        required(
            "old",
            Kind::Text,
            "The text to replace, with as much around it as makes it the only one.",
        ),
        required(
            "new",
            Kind::Text,
            "What stands there afterwards; may be empty.",
        ),
    ],
};

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Failure::Answer(error.to_string())
    }
}

impl SessionTools {
    pub(super) async fn model_read(&self, arguments: &Arguments) -> Called {
        let path = arguments.the_text("path").to_owned();
        let from = arguments.number("from").unwrap_or(1);
        let lines = arguments.number("lines").unwrap_or(500);
        let skip = arguments.number("skip").unwrap_or(0);
        self.in_workspace(move |workspace| {
            let content = text_of(&path, workspace.read(&path, FILE)?)?;
            match skip {
                0 => part(&path, &content, from, lines),
                skip => piece(&path, &content, from, skip),
            }
        })
        .await
    }

    pub(super) async fn model_write(&self, arguments: &Arguments) -> Called {
        let path = arguments.the_text("path").to_owned();
        let content = arguments.the_text("content").to_owned();
        if content.len() > CONTENT {
            return Err(too_much("content", content.len()));
        }
        self.still_runs().await?;
        self.in_workspace(move |workspace| {
            refuse_redacted(&path, &content, || held(workspace, &path))?;
            workspace.make_folders(&path)?;
            workspace.replace(&path, content.as_bytes())?;
            Ok(format!("wrote {} bytes to {path}", content.len()))
        })
        .await
    }

    pub(super) async fn model_edit(&self, arguments: &Arguments) -> Called {
        let path = arguments.the_text("path").to_owned();
        let old = arguments.the_text("old").to_owned();
        let new = arguments.the_text("new").to_owned();
        if new.len() > CONTENT {
            return Err(too_much("new", new.len()));
        }
        self.still_runs().await?;
        self.in_workspace(move |workspace| {
            let content = text_of(&path, workspace.read(&path, FILE)?)?;
            let changed = replaced(&path, &content, &old, &new)?;
            refuse_redacted(&path, &changed, || Ok(content))?;
            workspace.replace(&path, changed.as_bytes())?;
            Ok(format!("changed {path}"))
        })
        .await
    }

    /// File work blocks: it is done beside.
    pub(super) async fn in_workspace(
        &self,
        work: impl FnOnce(&Workspace) -> Called + Send + 'static,
    ) -> Called {
        let (root, closed) = (self.workshop.workspace.clone(), self.workshop.data.clone());
        let done = tokio::task::spawn_blocking(move || {
            let workspace = Arc::new(Workspace::open(&root, closed.as_deref())?);
            work(&workspace)
        });
        match done.await {
            Ok(called) => called,
            Err(error) => Err(Failure::Answer(format!("that broke off: {error}"))),
        }
    }
}

fn too_much(name: &str, bytes: usize) -> Failure {
    Failure::Answer(format!(
        "`{name}` has {bytes} bytes, at most {CONTENT} are written at once"
    ))
}

fn text_of(path: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    let count = bytes.len();
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
        .ok_or_else(|| {
            Failure::Answer(format!(
                "`{path}` is no text: {count} bytes of something else"
            ))
        })
}

/// As many whole lines as can be shown at once; of a first line that is longer, its beginning.
fn part(path: &str, content: &str, from: u64, lines: u64) -> Called {
    let total = content.lines().count() as u64;
    if content.is_empty() {
        return Ok(format!("{path} is empty"));
    }
    let first = line(path, content, from)?;
    if first.len() > SHOWN {
        return piece(path, content, from, 0);
    }
    let skip = usize::try_from(from - 1).unwrap_or(usize::MAX);
    let take = usize::try_from(lines).unwrap_or(usize::MAX);
    let mut room = SHOWN;
    let shown: Vec<&str> = content
        .lines()
        .skip(skip)
        .take(take)
        .take_while(|line| {
            let left = room.checked_sub(line.len());
            room = left.unwrap_or(0).saturating_sub(1);
            left.is_some()
        })
        .collect();
    let to = from + shown.len() as u64 - 1;
    let text = shown.join("\n");
    Ok(match from == 1 && to == total {
        true => text,
        false => format!("[lines {from} to {to} of {total}]\n{text}"),
    })
}

/// A part of one line, and how to get at the rest: who takes it for the whole would write the file back without it.
fn piece(path: &str, content: &str, number: u64, skip: u64) -> Called {
    // Cut afterwards: half a secret does not look like one.
    let line = redact(line(path, content, number)?);
    let bytes = line.len();
    let at = usize::try_from(skip).unwrap_or(usize::MAX);
    if at >= bytes {
        return Err(format!(
            "line {number} of `{path}` has {bytes} bytes; there is none after {skip}"
        )
        .into());
    }
    let start = line.floor_char_boundary(at);
    let end = line.floor_char_boundary(start + SHOWN);
    let what = match start {
        0 => format!("the first {end}"),
        start => format!("bytes {start} to {end}"),
    };
    let rest = match end < bytes {
        true => format!("; the next are read with \"from\": {number}, \"skip\": {end}"),
        false => String::new(),
    };
    let total = content.lines().count();
    Ok(format!(
        "[{what} of {bytes} bytes of line {number} of {total}{rest}]\n{}",
        &line[start..end]
    ))
}

fn line<'a>(path: &str, content: &'a str, number: u64) -> Result<&'a str, Failure> {
    let skip = usize::try_from(number - 1).unwrap_or(usize::MAX);
    content.lines().nth(skip).ok_or_else(|| {
        let total = content.lines().count();
        Failure::Answer(format!(
            "`{path}` has {total} lines; there is none at {number}"
        ))
    })
}

/// What a file holds that is to be written whole: nothing if there is none.
fn held(workspace: &Workspace, path: &str) -> Result<String, Failure> {
    match workspace.read(path, FILE) {
        Ok(bytes) => text_of(path, bytes),
        Err(FileError::Missing(_)) => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

/// Secrets are shown as a word. A file that is written back with it would have lost them.
fn refuse_redacted(
    path: &str,
    content: &str,
    before: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let count = |text: &str| text.matches(REDACTED).count();
    let wanted = count(content);
    if wanted == 0 || wanted <= count(&before()?) {
        return Ok(());
    }
    Err(format!(
        "`{REDACTED}` stands where something is not shown; written to {path} it would replace what is there. Change the other lines \
         with `edit_file`, or write the file without it. Nothing was changed"
    )
    .into())
}

/// The one change, or why there is none.
fn replaced(path: &str, content: &str, old: &str, new: &str) -> Result<String, Failure> {
    if old.is_empty() {
        return Err("`old` is empty; to write a whole file use `write_file`"
            .to_owned()
            .into());
    }
    if old == new {
        return Err("`old` and `new` are the same; nothing was changed"
            .to_owned()
            .into());
    }
    let places: Vec<usize> = content.match_indices(old).map(|(at, _)| at).collect();
    match places.as_slice() {
        [at] => Ok([&content[..*at], new, &content[at + old.len()..]].concat()),
        [] => {
            let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let hint = match squeezed(content).contains(&squeezed(old)) {
                true => "; it is there with other blanks or line ends",
                false if old.contains(REDACTED) => {
                    "; what is shown as `[redacted]` is something else there, leave it out of `old`"
                }
                false => "",
            };
            Err(format!("`old` is not in {path}{hint}. Read the file again: it must match exactly. Nothing was changed").into())
        }
        several => {
            let lines: Vec<String> = several
                .iter()
                .take(PLACES)
                .map(|at| (content[..*at].matches('\n').count() + 1).to_string())
                .collect();
            Err(format!(
                "`old` is in {path} {} times (lines {}{}); give more of what is around the one that is meant. Nothing was changed",
                several.len(),
                lines.join(", "),
                if several.len() > PLACES { ", …" } else { "" }
            )
            .into())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn said(failed: Failure) -> String {
        match failed {
            Failure::Answer(text) => text,
            Failure::Turn(error) => panic!("{error}"),
        }
    }

    #[test]
    fn an_edit_is_made_where_exactly_one_place_is_meant() {
        assert_eq!(replaced("f", "a b c", "b", "x").unwrap(), "a x c");
        assert_eq!(replaced("f", "a b c", " b", "").unwrap(), "a c");
        let twice = said(replaced("f", "x\ny\nx\n", "x", "z").unwrap_err());
        assert!(twice.contains("2 times (lines 1, 3)"), "{twice}");
        let none = said(replaced("f", "a\n  b", "a b", "z").unwrap_err());
        assert!(none.contains("other blanks"), "{none}");
        let none = said(replaced("f", "a", "q", "z").unwrap_err());
        assert!(
            none.contains("not in f.") && !none.contains("blanks"),
            "{none}"
        );
        assert!(said(replaced("f", "a", "", "z").unwrap_err()).contains("is empty"));
        assert!(said(replaced("f", "a", "a", "a").unwrap_err()).contains("the same"));
    }

    #[test]
    fn a_part_says_where_it_is() {
        let content = "one\ntwo\nthree\n";
        assert_eq!(part("f", content, 1, 500).unwrap(), "one\ntwo\nthree");
        assert_eq!(
            part("f", content, 2, 1).unwrap(),
            "[lines 2 to 2 of 3]\ntwo"
        );
        assert!(said(part("f", content, 4, 1).unwrap_err()).contains("3 lines"));
        assert_eq!(part("f", "", 1, 1).unwrap(), "f is empty");
        let long = "0123456789\n".repeat(5_000);
        let shown = part("f", &long, 1, 2_000).unwrap();
        assert!(
            shown.len() <= SHOWN + 60 && shown.starts_with("[lines 1 to 1861 of 5000]"),
            "{}",
            &shown[..40]
        );
    }

    #[test]
    fn of_a_line_that_is_too_long_it_is_said_what_is_shown_and_how_to_read_on() {
        let long: String = (0..10_000).map(|number| format!("{number},ä")).collect();
        let content = format!("\n{long}\nlast\n");
        let head = "[lines 1 to 1 of 3]\n";
        assert_eq!(part("f", &content, 1, 500).unwrap(), head);
        let bytes = long.len();
        let shown = part("f", &content, 2, 500).unwrap();
        let said = format!(
            "[the first 20480 of {bytes} bytes of line 2 of 3; the next are read with \"from\": 2, \"skip\": 20480]\n"
        );
        assert!(shown.starts_with(&said), "{}", &shown[..120]);
        let (mut read, mut skip) = (String::new(), 0);
        while read.len() < bytes {
            let shown = piece("f", &content, 2, skip).unwrap();
            let (head, text) = shown.split_once('\n').unwrap();
            read.push_str(text);
            skip = read.len() as u64;
            let more = head.ends_with(&format!("\"skip\": {skip}]"));
            assert_eq!(more, read.len() < bytes, "{head}");
        }
        assert_eq!(read, long);
        let end = said_of(piece("f", &content, 2, skip));
        assert!(end.contains(&format!("has {bytes} bytes")), "{end}");
        // One line, and nothing else.
        let shown = part("f", &long, 1, 500).unwrap();
        assert!(
            shown.starts_with("[the first 20480 of "),
            "{}",
            &shown[..60]
        );
    }

    fn said_of(called: Called) -> String {
        said(called.unwrap_err())
    }

    #[test]
    fn a_secret_is_not_cut_in_two() {
        let secret = format!("ghp_{}", "a1B2".repeat(9));
        let line = format!("{} {secret} {}", "x".repeat(SHOWN - 20), "y".repeat(SHOWN));
        for skip in [0, SHOWN as u64 - 10] {
            let shown = piece("f", &line, 1, skip).unwrap();
            assert!(!shown.contains("a1B2"), "{skip}");
        }
    }

    #[test]
    fn what_is_no_text_is_not_shown() {
        assert!(said(text_of("f", vec![0xff, 0xfe]).unwrap_err()).contains("is no text"));
        assert!(said(text_of("f", vec![b'a', 0]).unwrap_err()).contains("2 bytes"));
    }
}
