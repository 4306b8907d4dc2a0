//! Shells and other languages: code as an argument, as a file, or piped in.

use super::super::call::{Argument, Call, Findings, Flow};
use super::super::input::Reads;
use super::super::paths::is_standard_input;
use super::super::shell::HOLE;
use super::super::{Rule, rules};
use super::{Inner, source};

pub const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "rbash", "csh", "tcsh",
    "yash", "pwsh",
];
/// Languages, and the options that their code comes in.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("python", &["c"]),
    ("pypy", &["c"]),
    ("perl", &["e", "E"]),
    ("ruby", &["e"]),
    ("node", &["e", "p", "eval", "print"]),
    ("nodejs", &["e", "p", "eval", "print"]),
    ("bun", &["e", "eval"]),
    ("deno", &["eval"]),
    ("php", &["r", "run"]),
    ("lua", &["e"]),
    ("luajit", &["e"]),
    ("osascript", &["e"]),
    ("rscript", &["e"]),
    ("tclsh", &[]),
    ("expect", &["c"]),
    ("irb", &[]),
    ("julia", &["e"]),
];

const REMOTE: &str = "What the network answers would be executed.";
const UNKNOWN: &str = "What would be executed is only known when it runs.";

/// A script that is a file is like any program; one that is made as it runs is not.
pub fn script_file(file: &Argument, findings: &mut Findings) {
    match &file.file {
        Some(flow) if flow.remote => findings.add(Rule::RemoteCode, REMOTE),
        Some(_) => findings.add(Rule::HiddenCode, UNKNOWN),
        None if file.text.starts_with(HOLE) => findings.add(Rule::HiddenCode, UNKNOWN),
        None => {}
    }
}

pub fn shell(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let mut arguments = call.arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.text.as_str();
        if text == "-" || text == "--" {
            continue;
        }
        let Some(letters) = text.strip_prefix('-').or_else(|| text.strip_prefix('+')) else {
            if is_standard_input(text) {
                break;
            }
            script_file(argument, findings);
            return Vec::new();
        };
        if let Some(long) = letters.strip_prefix('-') {
            if matches!(long, "version" | "help") {
                return Vec::new();
            }
            if matches!(long, "rcfile" | "init-file") {
                arguments.next();
            }
            continue;
        }
        if text.starts_with('-') && letters.contains('c') {
            // More options may stand before the commands.
            let code = arguments.find(|argument| !argument.text.starts_with(['-', '+']));
            return code.map_or_else(Vec::new, |code| source(&code.text));
        }
        if letters.contains('s') {
            break;
        }
        if letters.ends_with('o') || letters.ends_with('O') {
            arguments.next();
        }
    }
    let reads = match call.name {
        "sh" | "bash" | "rbash" | "dash" | "ash" | "ksh" | "ksh93" | "mksh" | "fish" => {
            Reads::Commands
        }
        _ => Reads::Typed,
    };
    standard_input(call.input, reads, findings)
        .into_iter()
        .flat_map(|text| source(&text))
        .collect()
}

/// Commands that are read from the standard input.
pub fn standard_commands(input: &Flow, findings: &mut Findings) -> Vec<Inner> {
    standard_input(input, Reads::Typed, findings)
        .into_iter()
        .flat_map(|text| source(&text))
        .collect()
}

/// Code that is read from what is piped in: itself, or why it is not known.
fn standard_input(input: &Flow, reads: Reads, findings: &mut Findings) -> Option<String> {
    findings.reads(input, reads);
    match &input.text {
        Some(text) => return Some(text.to_string()),
        None if input.remote => findings.add(Rule::RemoteCode, REMOTE),
        None if input.piped => findings.add(Rule::HiddenCode, UNKNOWN),
        None => {}
    }
    None
}

pub fn language(name: &str) -> Option<&'static [&'static str]> {
    let plain = name.trim_end_matches(|end: char| end.is_ascii_digit() || end == '.');
    LANGUAGES
        .iter()
        .find(|(language, _)| *language == plain || *language == name)
        .map(|(_, options)| *options)
}

pub fn language_code(call: &Call<'_>, options: &[&str], findings: &mut Findings) {
    let mut arguments = call.arguments.iter();
    let mut given = false;
    if call.short('i') || call.short('a') || call.long("interactive") {
        findings.reads(call.input, Reads::Code);
    }
    while let Some(argument) = arguments.next() {
        let text = argument.text.as_str();
        if call.name == "deno" && text == "eval" {
            given = true;
            continue;
        }
        if text == "-" {
            break;
        }
        let Some(letters) = text.strip_prefix('-') else {
            if given && call.name == "deno" {
                rules::code(argument, findings);
            }
            if !is_standard_input(text) {
                script_file(argument, findings);
                return;
            }
            break;
        };
        let letters = letters.strip_prefix('-').unwrap_or(letters);
        if letters.starts_with("version") || letters == "help" || letters == "V" || letters == "v" {
            return;
        }
        let (option, value) = code_option(letters, options);
        if !option {
            if call.name.starts_with("python") && letters.starts_with('m') {
                return;
            }
            if matches!(letters, "W" | "X" | "r" | "I" | "M" | "require" | "import") {
                arguments.next();
            }
            continue;
        }
        let code = match value {
            Some(value) => Some(Argument::new(value)),
            None => arguments.next().cloned(),
        };
        if let Some(code) = code {
            rules::code(&code, findings);
        }
        given = true;
    }
    if !given && let Some(text) = standard_input(call.input, Reads::Code, findings) {
        rules::code(&Argument::new(text), findings);
    }
}

/// Whether the letters end in an option with code, or hold it (`-ccode`, `-pe code`, `--eval=code`).
fn code_option<'a>(letters: &'a str, options: &[&str]) -> (bool, Option<&'a str>) {
    for option in options {
        if letters == *option {
            return (true, None);
        }
        if option.len() > 1 {
            if let Some(value) = letters
                .strip_prefix(option)
                .and_then(|rest| rest.strip_prefix('='))
            {
                return (true, Some(value));
            }
        } else if let Some(at) = letters.find(option).filter(|at| {
            *at < 6
                && !letters.starts_with(|first: char| {
                    // These take the rest of the word as their value; `-I` of Python takes none.
                    let valued = "mMWXr".contains(first) || first == 'I' && *option != "c";
                    valued && !option.starts_with(first)
                })
        }) {
            let value = &letters[at + 1..];
            return (true, Some(value).filter(|value| !value.is_empty()));
        }
    }
    (false, None)
}
