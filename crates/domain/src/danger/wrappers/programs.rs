//! Programs that run commands in ways of their own.

use super::super::call::{Argument, Call, Findings};
use super::super::input::Reads;
use super::super::shell::HOLE;
use super::languages::standard_commands;
use super::{Inner, after_options, command, joined, source};

pub fn ssh(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let mut inner: Vec<Inner> = Vec::new();
    for option in call.values(&["-o"]) {
        let lower = option.to_ascii_lowercase();
        for key in ["proxycommand=", "localcommand=", "knownhostscommand="] {
            if lower.starts_with(key) {
                inner.extend(source(&option[key.len()..]));
            }
        }
    }
    let rest = after_options(call.arguments, "BbcDEeFIiJLlmOopQRSWw", &[]);
    let remote = rest.get(1..).unwrap_or_default();
    inner.extend(joined(remote));
    if remote.is_empty() && !rest.is_empty() {
        inner.extend(standard_commands(call.input, findings));
    }
    inner
}

pub fn parallel(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let rest = after_options(
        call.arguments,
        "jSIaNnLdP",
        &[
            "jobs", "sshlogin", "arg-file", "colsep", "delay", "joblog", "results", "timeout",
        ],
    );
    let end = rest
        .iter()
        .position(|argument| argument.text.starts_with(":::"))
        .unwrap_or(rest.len());
    let mut texts: Vec<String> = rest[..end]
        .iter()
        .map(|argument| argument.text.clone())
        .collect();
    if texts.is_empty() {
        if end < rest.len() {
            return rest[end + 1..]
                .iter()
                .flat_map(|argument| source(&argument.text))
                .collect();
        }
        return standard_commands(call.input, findings);
    }
    if texts.iter().all(|text| !text.contains('{')) {
        texts.push("{}".to_owned());
    }
    source(&texts.join(" "))
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

pub fn container(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    const FLAGS: &[&str] = &[
        "--rm",
        "--detach",
        "--interactive",
        "--tty",
        "--privileged",
        "--init",
        "--read-only",
        "--publish-all",
        "--quiet",
        "--no-healthcheck",
        "-T",
        "--no-deps",
        "--build",
    ];
    let words = ["exec", "run", "attach"];
    let Some(at) = call.texts().position(|text| words.contains(&text)) else {
        return Vec::new();
    };
    let mut rest = &call.arguments[at + 1..];
    let mut interactive = call.arguments[at].text == "attach";
    while let Some(first) = rest.first().filter(|first| first.text.starts_with('-')) {
        let text = first.text.as_str();
        interactive |= text == "--interactive" || !text.starts_with("--") && text.contains('i');
        let valued = if text.starts_with("--") {
            !text.contains('=') && !FLAGS.contains(&text)
        } else {
            text.ends_with(|letter: char| "vepwuhlmca".contains(letter))
        };
        rest = rest.get(1 + usize::from(valued)..).unwrap_or_default();
    }
    let rest = match rest.get(1..).unwrap_or_default() {
        [first, rest @ ..] if first.text == "--" => rest,
        rest => rest,
    };
    // What an image starts by itself may be a shell.
    if rest.is_empty() && interactive {
        findings.reads(call.input, Reads::Typed);
    }
    command(rest)
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
