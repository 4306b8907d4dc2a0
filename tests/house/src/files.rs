//! What must be true of the files of the repository.

/// A file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// From the workspace's root, with `/`.
    pub path: String,
    pub content: Vec<u8>,
}

/// Longest Rust file under `crates/` and `adapters/`, in lines.
pub const LONGEST: usize = 600;

/// Files that may be longer, and why. One that no longer is has to be taken off.
pub const LONG: &[(&str, &str)] = &[];

/// The folder that this project is written in on its authors' machines, in two parts so that this file does not hold it.
const WORKPLACE: &[u8] = concat!("/wo", "rk/").as_bytes();

/// Files that are too long, and exceptions that are none.
pub fn too_long(files: &[File], exceptions: &[(&str, &str)]) -> Vec<String> {
    let lines = |file: &File| file.content.iter().filter(|byte| **byte == b'\n').count();
    let exception = |path: &str| exceptions.iter().any(|(known, _)| *known == path);
    let long: Vec<&File> = files
        .iter()
        .filter(|file| file.path.starts_with("crates/") || file.path.starts_with("adapters/"))
        .filter(|file| file.path.ends_with(".rs") && lines(file) > LONGEST)
        .collect();
    let complaints = long
        .iter()
        .filter(|file| !exception(&file.path))
        .map(|file| {
            format!(
                "{} has {} lines, at most {LONGEST} are wanted; split it by subject, or list it in LONG (tests/house/src/files.rs) with a reason",
                file.path,
                lines(file)
            )
        });
    let stale = exceptions
        .iter()
        .filter(|(path, _)| !long.iter().any(|file| file.path == *path))
        .map(|(path, _)| {
            format!("{path} is not too long any more: take it off LONG (tests/house/src/files.rs)")
        });
    complaints.chain(stale).collect()
}

/// Files that name a folder which exists only where they were written.
pub fn tied_to_a_place(files: &[File]) -> Vec<String> {
    let holds = |file: &&File| {
        let windows = file.content.windows(WORKPLACE.len()).enumerate();
        // `/srv` before it makes it another folder.
        windows
            .filter(|(_, window)| *window == WORKPLACE)
            .any(|(at, _)| {
                at.checked_sub(1)
                    .is_none_or(|before| !is_of_a_path(file.content[before]))
            })
    };
    files
        .iter()
        .filter(holds)
        .map(|file| {
            format!(
                "{} names a folder of its author's machine; use a path from the repository's root, or take the file out",
                file.path
            )
        })
        .collect()
}

fn is_of_a_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'}')
}

/// Crates that the architecture page does not mention by folder.
pub fn unmentioned<'a>(page: &str, folders: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let ends = |rest: &str| {
        !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '_'))
    };
    folders
        .into_iter()
        .filter(|folder| {
            !page
                .match_indices(folder)
                .any(|(at, found)| ends(&page[at + found.len()..]))
        })
        .map(|folder| {
            format!("ARCHITECTURE.md does not mention {folder}; say in a line what it is")
        })
        .collect()
}

/// Folders whose files a page may name in backticks.
const NAMED: [&str; 5] = ["crates/", "adapters/", "tests/", "migrations/", "config/"];

/// Files and folders that a page names in backticks or links to, and that are not there. `NAME` stands for a name to be chosen.
pub fn dead_paths(name: &str, page: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let quoted = page.split('`').skip(1).step_by(2);
    let linked = page
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next());
    let paths = quoted
        .filter(|text| NAMED.iter().any(|folder| text.starts_with(folder)))
        .chain(linked.filter(|link| !link.is_empty() && !link.contains("://")));
    paths
        .filter(|path| !path.contains("NAME") && !exists(path))
        .map(|path| format!("{name} names {path}, which is not there"))
        .collect()
}

/// Lines that a text must have, each on its own.
pub fn lines_missing(name: &str, text: &str, wanted: &[&str]) -> Vec<String> {
    wanted
        .iter()
        .filter(|wanted| !text.lines().any(|line| line == **wanted))
        .map(|wanted| format!("{name} has no line `{wanted}`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> File {
        File {
            path: path.into(),
            content: content.as_bytes().to_vec(),
        }
    }

    #[test]
    fn long_files_need_a_reason_and_short_ones_none() {
        let long = "\n".repeat(LONGEST + 1);
        let files = [
            file("crates/a/src/lib.rs", &long),
            file("adapters/b/src/lib.rs", &long),
            file("adapters/b/src/other.rs", "short\n"),
            file("adapters/b/assets/long.css", &long),
            file("tests/c/src/lib.rs", &long),
        ];
        let complaints = too_long(&files, &[("adapters/b/src/lib.rs", "a reason")]);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("crates/a/src/lib.rs has 601 lines"));
        let stale = too_long(&files[2..], &[("adapters/b/src/other.rs", "a reason")]);
        assert_eq!(stale.len(), 1);
        assert!(stale[0].starts_with("adapters/b/src/other.rs is not too long any more"));
    }

    #[test]
    fn a_place_is_found_wherever_it_stands() {
        let place = String::from_utf8_lossy(WORKPLACE);
        for content in [
            format!("{place}main"),
            format!("see `{place}main`"),
            format!("\"{place}"),
            format!("file://{place}main"),
        ] {
            assert_eq!(
                tied_to_a_place(&[file("README.md", &content)]).len(),
                1,
                "{content}"
            );
        }
        for content in [
            format!("/srv{place}main"),
            format!("api{place}"),
            "/workspace".into(),
        ] {
            assert_eq!(
                tied_to_a_place(&[file("README.md", &content)]),
                Vec::<String>::new(),
                "{content}"
            );
        }
    }

    #[test]
    fn a_crate_must_be_mentioned_by_its_folder() {
        let page = "`crates/domain` and adapters/store-sqlite.";
        let missing = unmentioned(page, ["crates/domain", "adapters/store-sqlite"]);
        assert_eq!(missing, Vec::<String>::new());
        assert_eq!(unmentioned(page, ["adapters/store"]).len(), 1);
        assert_eq!(unmentioned(page, ["crates/ports"]).len(), 1);
    }

    #[test]
    fn a_page_names_only_what_is_there() {
        let page = "`crates/a` has `crates/gone.rs`, `run` and `adapters/NAME`; see [it](README.md#part), \
                    [that](gone.md), ![a picture](docs/gone.png), [there](https://example.org) and [below](#part).";
        let dead = dead_paths("page", page, |path| {
            ["crates/a", "README.md"].contains(&path)
        });
        assert_eq!(
            dead,
            [
                "page names crates/gone.rs, which is not there",
                "page names gone.md, which is not there",
                "page names docs/gone.png, which is not there",
            ]
        );
    }

    #[test]
    fn a_line_counts_only_as_a_whole() {
        let text = "[Service]\n#KillMode=process\nDelegate=yes";
        assert_eq!(
            lines_missing("unit", text, &["KillMode=process", "Delegate=yes"]),
            ["unit has no line `KillMode=process`"]
        );
    }
}
