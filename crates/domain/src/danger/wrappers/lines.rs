//! Programs that make commands of the lines that they read: what stands for a line is not known.

use std::sync::LazyLock;

use regex::Regex;

use super::super::call::{Argument, Call, Findings, after_options};
use super::super::shell::HOLE;
use super::languages::standard_commands;
use super::{Inner, source};

/// What is read becomes arguments: of no known number, where a word stands for them, or at the end.
pub fn xargs(call: &Call<'_>) -> Vec<Inner> {
    let (rest, replaced) = after_xargs_options(call.arguments);
    if rest.is_empty() {
        return Vec::new();
    }
    let mut arguments = rest.to_vec();
    match replaced {
        Some(word) if !word.contains(HOLE) => {
            for argument in &mut arguments {
                argument.text = argument.text.replace(word, &HOLE.to_string());
            }
        }
        _ => arguments.push(Argument::unknown()),
    }
    vec![Inner::Command(arguments)]
}

/// The command, and the word that stands for a line. Some options take a value in the same word only.
fn after_xargs_options(arguments: &[Argument]) -> (&[Argument], Option<&str>) {
    const VALUED: &str = "aEIJLnPRsSd";
    const ATTACHED: &str = "eil";
    const LONG: &[&str] = &[
        "arg-file",
        "delimiter",
        "max-args",
        "max-procs",
        "max-chars",
        "process-slot-var",
    ];
    let mut replaced = None;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text = argument.text.as_str();
        let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            break;
        };
        at += 1;
        if letters == "-" {
            break;
        }
        if let Some(long) = letters.strip_prefix('-') {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            if "replace".starts_with(name) {
                replaced = value.or(Some("{}"));
            } else if value.is_none() && LONG.iter().any(|known| known.starts_with(name)) {
                at += 1;
            }
            continue;
        }
        let is_valued = |letter: &char| VALUED.contains(*letter) || ATTACHED.contains(*letter);
        let Some(letter) = letters.chars().find(is_valued) else {
            continue;
        };
        let attached = letters.split_once(letter).map_or("", |(_, value)| value);
        let value = match attached {
            "" if VALUED.contains(letter) => {
                at += 1;
                let next = arguments.get(at - 1);
                next.map_or("", |argument| argument.text.as_str())
            }
            attached => attached,
        };
        if matches!(letter, 'I' | 'J' | 'i') {
            replaced = Some(match value {
                "" => "{}",
                word => word,
            });
        }
    }
    (arguments.get(at..).unwrap_or_default(), replaced)
}

/// `{}`, `{.}`, `{/}`, `{1}`, `{= code =}` and the like.
static PLACES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{(?:=.*?=|[-+]?[0-9]*[./#%]*)\}")
        .expect("the pattern is a constant of this file, and every test compiles it")
});
/// With `--header`, columns have names.
static NAMED_PLACES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{[^{}\s,;]*\}")
        .expect("the pattern is a constant of this file, and every test compiles it")
});
/// In a text that a shell reads: one word that it is not told.
const UNKNOWN: &str = "${1}";

pub fn parallel(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    const SHORT: &str = "jPSIaNnLCdEsUJD";
    const LONG: &[&str] = &[
        "jobs",
        "max-procs",
        "max-args",
        "max-chars",
        "sshlogin",
        "sshloginfile",
        "ssh",
        "arg-file",
        "arg-sep",
        "colsep",
        "delimiter",
        "delay",
        "joblog",
        "results",
        "timeout",
        "tmpdir",
        "workdir",
        "wd",
        "env",
        "load",
        "memfree",
        "nice",
        "halt",
        "retries",
        "block",
        "recstart",
        "recend",
        "tagstring",
        "basefile",
        "return",
        "header",
        "profile",
        "termseq",
        "rpl",
        "shellquote",
        "trim",
    ];
    let own = call.own_options(SHORT, LONG);
    let rest = after_options(call.arguments, SHORT, LONG);
    let end = rest
        .iter()
        .position(|argument| argument.text.starts_with(":::"))
        .unwrap_or(rest.len());
    if end == 0 {
        return match rest.split_first() {
            Some((_, commands)) => commands
                .iter()
                .flat_map(|argument| source(&argument.text))
                .collect(),
            None => standard_commands(call.input, findings),
        };
    }
    let places = match own.long("header") {
        true => &*NAMED_PLACES,
        false => &*PLACES,
    };
    let word = own.short_values('I', SHORT).pop().unwrap_or_default();
    let with = |text: &str, place: &str| {
        let text = places
            .replace_all(text, regex::NoExpand(place))
            .into_owned();
        match word {
            "" => text,
            word => text.replace(word, place),
        }
    };
    let has_a_place = rest[..end]
        .iter()
        .any(|argument| with(&argument.text, "") != argument.text);
    if own.short('q') || own.long("quote") {
        // Each word stays one.
        let mut arguments = rest[..end].to_vec();
        for argument in &mut arguments {
            argument.text = with(&argument.text, &HOLE.to_string());
        }
        if !has_a_place {
            arguments.push(Argument::unknown());
        }
        return vec![Inner::Command(arguments)];
    }
    let mut texts: Vec<String> = rest[..end]
        .iter()
        .map(|argument| with(&argument.text, UNKNOWN))
        .collect();
    if !has_a_place {
        texts.push(UNKNOWN.to_owned());
    }
    source(&texts.join(" "))
}
