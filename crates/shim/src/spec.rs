//! `spec`: what to run and how. Written by the gateway, read once by the supervisor.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::folder;
use crate::record::{Record, RecordError, Writer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The number in wakes.
    pub process: u64,
    /// Never empty. The first is looked up in the environment's `PATH` if it has no slash.
    pub arguments: Vec<OsString>,
    pub directory: PathBuf,
    /// `NAME=value`, all of it.
    pub environment: Vec<OsString>,
    pub input: Input,
    pub terminal: Option<TerminalSize>,
    pub wakes: OutputWakes,
    /// Bytes kept from the beginning.
    pub head: u64,
    /// Bytes kept, at least, from the end.
    pub tail: u64,
    /// The soft limit of open files for the program; 0 leaves what the gateway has.
    pub open_files: u64,
    /// The cgroup that the program is born in: made by the gateway, removed by whoever sees it empty. The supervisor stays outside.
    pub cgroup: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// `/dev/null`.
    Empty,
    /// The FIFO `input`; with a terminal, what is written there is typed.
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

/// Whether output is worth waking the gateway for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputWakes {
    Silent,
    Wanted,
}

impl Spec {
    pub fn to_text(&self) -> String {
        let mut writer = Writer::new();
        writer.number("process", self.process);
        self.arguments
            .iter()
            .for_each(|argument| writer.bytes("argument", argument.as_bytes()));
        writer.bytes("directory", self.directory.as_os_str().as_bytes());
        self.environment
            .iter()
            .for_each(|pair| writer.bytes("environment", pair.as_bytes()));
        writer.text(
            "input",
            match self.input {
                Input::Empty => "empty",
                Input::Open => "open",
            },
        );
        if let Some(size) = self.terminal {
            writer.text("terminal", &format!("{} {}", size.rows, size.columns));
        }
        writer.text(
            "output_wakes",
            match self.wakes {
                OutputWakes::Silent => "silent",
                OutputWakes::Wanted => "wanted",
            },
        );
        writer.number("head", self.head);
        writer.number("tail", self.tail);
        writer.number("open_files", self.open_files);
        if let Some(cgroup) = &self.cgroup {
            writer.bytes("cgroup", cgroup.as_os_str().as_bytes());
        }
        writer.finish()
    }

    pub fn parse(content: &[u8]) -> Result<Self, RecordError> {
        let record = Record::parse(folder::SPEC, content)?;
        let strings = |key| {
            record
                .all(key)
                .map(|bytes| OsString::from_vec(bytes.to_vec()))
                .collect::<Vec<_>>()
        };
        let arguments = strings("argument");
        if arguments.is_empty() {
            return Err(record.error("argument", "there is no `argument`"));
        }
        Ok(Self {
            process: record.number("process")?,
            arguments,
            directory: PathBuf::from(OsStr::from_bytes(record.bytes("directory")?)),
            environment: strings("environment"),
            input: match record.text("input")? {
                "empty" => Input::Empty,
                "open" => Input::Open,
                _ => return Err(record.error("input", "`input` must be `empty` or `open`")),
            },
            terminal: terminal(&record)?,
            wakes: match record.text("output_wakes")? {
                "silent" => OutputWakes::Silent,
                "wanted" => OutputWakes::Wanted,
                _ => {
                    return Err(record.error(
                        "output_wakes",
                        "`output_wakes` must be `silent` or `wanted`",
                    ));
                }
            },
            head: record.number("head")?,
            tail: record.number("tail")?,
            open_files: record.number("open_files")?,
            cgroup: record
                .optional("cgroup")?
                .map(|path| PathBuf::from(OsStr::from_bytes(path))),
        })
    }
}

fn terminal(record: &Record) -> Result<Option<TerminalSize>, RecordError> {
    if record.all("terminal").next().is_none() {
        return Ok(None);
    }
    let [rows, columns] = record.numbers("terminal")?;
    match (u16::try_from(rows), u16::try_from(columns)) {
        (Ok(rows), Ok(columns)) => Ok(Some(TerminalSize { rows, columns })),
        _ => Err(record.error(
            "terminal",
            "`terminal` must be rows and columns below 65,536",
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn os_string() -> impl Strategy<Value = OsString> {
        prop::collection::vec(1u8.., 0..20).prop_map(OsString::from_vec)
    }

    proptest! {
        #[test]
        fn a_spec_comes_back(
            process in any::<u64>(),
            arguments in prop::collection::vec(os_string(), 1..5),
            directory in os_string(),
            environment in prop::collection::vec(os_string(), 0..5),
            terminal in prop::option::of((any::<u16>(), any::<u16>())),
            numbers in any::<[u64; 3]>(),
            flags in any::<(bool, bool)>(),
            cgroup in prop::option::of(os_string()),
        ) {
            let spec = Spec {
                process,
                arguments,
                directory: directory.into(),
                environment,
                input: if flags.0 { Input::Open } else { Input::Empty },
                terminal: terminal.map(|(rows, columns)| TerminalSize { rows, columns }),
                wakes: if flags.1 { OutputWakes::Wanted } else { OutputWakes::Silent },
                head: numbers[0],
                tail: numbers[1],
                open_files: numbers[2],
                cgroup: cgroup.map(PathBuf::from),
            };
            prop_assert_eq!(Spec::parse(spec.to_text().as_bytes()).unwrap(), spec);
        }

        #[test]
        fn nothing_panics(content in "(format=1\n)?((argument|input|terminal|head)=[ -~]{0,8}\n){0,6}(end=[0-9]\n)?") {
            let _ = Spec::parse(content.as_bytes());
        }
    }
}
