//! `read_file`, `write_file`, `edit_file`: text files of the workspace.

use std::sync::Arc;

use super::arguments::{Arguments, Kind, optional, required};
use super::{Called, Failure, Tool, text};
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
    description: "Reads a text file of the workspace: all of it, or lines from `from` on. What looks like a secret is not shown.",
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
        self.in_workspace(move |workspace| {
            let content = text_of(&path, workspace.read(&path, FILE)?)?;
            part(&path, &content, from, lines)
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
        let root = self.workshop.workspace.clone();
        let done = tokio::task::spawn_blocking(move || {
            let workspace = Arc::new(Workspace::open(&root)?);
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

fn part(path: &str, content: &str, from: u64, lines: u64) -> Called {
    let total = content.lines().count() as u64;
    if content.is_empty() {
        return Ok(format!("{path} is empty"));
    }
    if from > total {
        return Err(format!("`{path}` has {total} lines; there is none at {from}").into());
    }
    let skip = usize::try_from(from - 1).unwrap_or(usize::MAX);
    let take = usize::try_from(lines).unwrap_or(usize::MAX);
    let wanted: Vec<&str> = content.lines().skip(skip).take(take).collect();
    let whole = wanted.join("\n");
    let shown = text::beginning(&whole, SHOWN);
    let to = from + (shown.lines().count().max(1) as u64) - 1;
    Ok(
        match from == 1 && to >= total && shown.len() == whole.len() {
            true => shown.to_owned(),
            false => format!("[lines {from} to {to} of {total}]\n{shown}"),
        },
    )
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
    fn what_is_no_text_is_not_shown() {
        assert!(said(text_of("f", vec![0xff, 0xfe]).unwrap_err()).contains("is no text"));
        assert!(said(text_of("f", vec![b'a', 0]).unwrap_err()).contains("2 bytes"));
    }
}
