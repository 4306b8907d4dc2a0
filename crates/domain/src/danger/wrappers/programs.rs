//! Programs that run commands in ways of their own.

use super::super::call::{Argument, Call, Findings, after_options};
use super::super::shell::HOLE;
use super::languages::standard_commands;
use super::{Inner, after_assignments, command, given, joined, source};

pub fn env(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    const SHORT: &str = "uCSaP";
    const LONG: &[&str] = &["unset", "chdir", "split-string", "argv0"];
    if let Some((text, rest)) = split_text(&call.own_options(SHORT, LONG), SHORT) {
        return split(text, &call.arguments[rest..]);
    }
    let rest = match after_options(call.arguments, SHORT, LONG) {
        // The same as `-i`.
        [first, rest @ ..] if first.text == "-" => rest,
        rest => rest,
    };
    command(after_assignments(rest, findings))
}

/// The value of `-S`, and where what follows it begins: no option of its own any more.
fn split_text<'a>(own: &Call<'a>, short: &str) -> Option<(&'a str, usize)> {
    (1..=own.arguments.len()).find_map(|end| {
        let last = own.with(&own.arguments[end.saturating_sub(2)..end]);
        let text = *given(&last, 'S', short, &["--split-string"]).first()?;
        Some((text, end))
    })
}

/// `-S text`: words that stand where the text does, which may be options.
fn split(text: &str, rest: &[Argument]) -> Vec<Inner> {
    let text = text.replace("\\_", " ");
    if text.contains(['\'', '"', '\\', '$', '#']) {
        let quoted = rest
            .iter()
            .map(|argument| format!(" '{}'", argument.text.replace('\'', "'\\''")));
        return source(&format!("env {text}{}", quoted.collect::<String>()));
    }
    let mut arguments = vec![Argument::new("env")];
    arguments.extend(text.split_whitespace().map(Argument::new));
    arguments.extend_from_slice(rest);
    vec![Inner::Command(arguments)]
}

/// What it writes down: a command in an option, one behind the name of the log, or what is typed.
pub fn script(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    const SHORT: &str = "cIOBToEm";
    let mut inner: Vec<Inner> = given(call, 'c', SHORT, &["--command"])
        .into_iter()
        .flat_map(source)
        .collect();
    let rest = after_options(
        call.arguments,
        SHORT,
        &[
            "command",
            "log-in",
            "log-out",
            "log-io",
            "log-timing",
            "echo",
            "logging-format",
        ],
    );
    let ends_options = call.arguments.len() > rest.len()
        && call.arguments[call.arguments.len() - rest.len() - 1].text == "--";
    inner.extend(command(match rest {
        rest if ends_options => rest,
        [_, first, behind @ ..] if first.text == "--" => behind,
        [_, behind @ ..] => behind,
        [] => &[],
    }));
    if inner.is_empty() {
        inner.extend(standard_commands(call.input, findings));
    }
    inner
}

/// `sg group command`, which a shell reads.
pub fn group(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let rest = match call.arguments {
        [first, rest @ ..] if first.text == "-" => rest,
        rest => rest,
    };
    match rest.get(1..).unwrap_or_default() {
        [] => standard_commands(call.input, findings),
        [first, rest @ ..] if first.text == "-c" => joined(rest),
        rest => joined(rest),
    }
}

pub fn find(call: &Call<'_>) -> Vec<Inner> {
    let mut inner = Vec::new();
    let mut arguments = call.arguments;
    let starts = |argument: &Argument| {
        matches!(
            argument.text.as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "--exec" | "-X" | "--exec-batch"
        )
    };
    while let Some(at) = arguments.iter().position(starts) {
        let rest = &arguments[at + 1..];
        let end = rest
            .iter()
            .position(|argument| matches!(argument.text.as_str(), ";" | "+"))
            .unwrap_or(rest.len());
        let mut command = rest[..end].to_vec();
        for argument in &mut command {
            argument.text = argument.text.replace("{}", &HOLE.to_string());
        }
        if !command.is_empty() {
            if call.name.starts_with("fd") {
                command.push(Argument::unknown());
            }
            inner.push(Inner::Command(command));
        }
        arguments = rest.get(end..).unwrap_or_default();
    }
    inner
}

/// What is typed into other terminals, or started in them.
pub fn terminals(call: &Call<'_>) -> Vec<Inner> {
    if call.name == "screen" {
        if let Some(at) = call.texts().position(|text| text == "stuff") {
            return typed(&call.arguments[at + 1..]);
        }
        return command(after_options(call.arguments, "ceghprsStTX", &[]));
    }
    call.arguments
        .split(|argument| argument.text == ";")
        .flat_map(|arguments| {
            let arguments = after_options(arguments, "cfLST", &[]);
            let Some((word, rest)) = arguments.split_first() else {
                return Vec::new();
            };
            match word.text.as_str() {
                "send-keys" | "send" => typed(after_options(rest, "Nt", &[])),
                "new-session" | "new" | "new-window" | "neww" | "split-window" | "splitw"
                | "respawn-pane" | "respawn-window" | "run-shell" | "run" | "if-shell" | "if"
                | "pipe-pane" | "pipep" | "display-popup" | "popup" | "confirm-before" => {
                    joined(after_options(rest, "ceFlnstTxy", &[]))
                }
                _ => Vec::new(),
            }
        })
        .collect()
}

/// Keys and texts, one after another.
fn typed(arguments: &[Argument]) -> Vec<Inner> {
    let text: String = arguments
        .iter()
        .map(|argument| match argument.text.as_str() {
            "Enter" | "C-m" | "C-j" | "KPEnter" => "\n",
            "Space" => " ",
            text => text,
        })
        .collect();
    source(
        &text
            .replace('\r', "\n")
            .replace("\\n", "\n")
            .replace("\\r", "\n")
            .replace("^M", "\n"),
    )
}

pub fn git(call: &Call<'_>) -> Vec<Inner> {
    let mut inner: Vec<Inner> = Vec::new();
    for setting in call.values(&["-c", "--config"]) {
        if let Some((key, value)) = setting.split_once('=') {
            inner.extend(git_setting(key, value));
        }
    }
    if call.has("config")
        && let Some(at) = call.texts().position(|text| text == "config")
    {
        let rest: Vec<&str> = call
            .texts()
            .skip(at + 1)
            .filter(|text| !text.starts_with('-'))
            .collect();
        if let [.., key, value] = rest.as_slice() {
            inner.extend(git_setting(key, value));
        }
    }
    for option in [
        "--exec",
        "-x",
        "--upload-pack",
        "--receive-pack",
        "--tree-filter",
        "--index-filter",
    ] {
        inner.extend(
            call.values(&[option])
                .into_iter()
                .filter(|_| !call.has("clean") && !call.has("ls-files"))
                .flat_map(source),
        );
    }
    for (word, after) in [("bisect", "run"), ("submodule", "foreach")] {
        if call.has(word)
            && let Some(at) = call.texts().position(|text| text == after)
        {
            let rest = after_options(&call.arguments[at + 1..], "", &[]);
            inner.extend(if rest.len() == 1 {
                joined(rest)
            } else {
                command(rest)
            });
        }
    }
    inner
}

/// Settings whose value is a command.
fn git_setting(key: &str, value: &str) -> Vec<Inner> {
    let key = key.to_ascii_lowercase();
    if key.starts_with("alias.") {
        return match value.strip_prefix('!') {
            Some(command) => source(command),
            None => source(&format!("git {value}")),
        };
    }
    let runs = [
        "sshcommand",
        "pager",
        "editor",
        "fsmonitor",
        "askpass",
        "external",
        "textconv",
        "helper",
        ".cmd",
        "gitproxy",
        "smudge",
        "clean",
        "process",
    ];
    if runs.iter().any(|end| key.ends_with(end)) {
        return source(value.trim_start_matches('!'));
    }
    Vec::new()
}

/// `:!command` of an editor.
pub fn editor(call: &Call<'_>) -> Vec<Inner> {
    let mut commands: Vec<&str> = call.values(&["-c", "--cmd"]);
    commands.extend(call.texts().filter(|text| text.starts_with('+')));
    commands
        .into_iter()
        .filter_map(|text| text.split_once('!'))
        .flat_map(|(_, command)| source(command))
        .collect()
}
