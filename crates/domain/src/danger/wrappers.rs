//! Commands that run other commands: what they run, and what they print.

mod languages;
mod output;
mod programs;
mod table;

pub(super) use output::output;

use languages::{SHELLS, language, language_code, script_file, shell, standard_commands};
use programs::{container, editor, find, git, parallel, ssh, terminals};
use table::{RUNNERS, WRAPPERS, Wrapper};

use super::call::{Argument, Call, Findings};
use super::input::Reads;
use super::paths::is_standard_input;
use super::shell::HOLE;

/// What a command runs.
#[derive(Debug)]
pub(super) enum Inner {
    Command(Vec<Argument>),
    /// A shell reads it.
    Source(String),
}

/// Values of these are run by other programs.
pub(super) fn is_command_variable(name: &str) -> bool {
    name.ends_with("_COMMAND")
        || matches!(
            name,
            "PAGER"
                | "GIT_PAGER"
                | "MANPAGER"
                | "EDITOR"
                | "VISUAL"
                | "GIT_EDITOR"
                | "GIT_SSH"
                | "GIT_ASKPASS"
                | "SSH_ASKPASS"
                | "BROWSER"
                | "LESSOPEN"
        )
}

pub(super) fn inner(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let name = call.name;
    if SHELLS.contains(&name) {
        return shell(call, findings);
    }
    if let Some(options) = language(name) {
        language_code(call, options, findings);
        return Vec::new();
    }
    if let Some(wrapper) = WRAPPERS
        .iter()
        .find(|wrapper| wrapper.names.contains(&name))
    {
        return wrapped(call, wrapper, findings);
    }
    if let Some((_, words)) = RUNNERS.iter().find(|(runner, _)| *runner == name) {
        return runner(call, words);
    }
    match name {
        "eval" => joined(call.arguments),
        "trap" => call
            .operands()
            .take(1)
            .flat_map(|command| source(&command.text))
            .collect(),
        "." | "source" => sourced(call, findings),
        "watch" => joined(after_options(call.arguments, "nq", &["interval"])),
        "ssh" | "mosh" | "slogin" => ssh(call, findings),
        "su" => given_or_typed(call, &["-c", "--command", "--session-command"], findings),
        "script" => given_or_typed(call, &["-c", "--command"], findings),
        "login" | "newgrp" | "telnet" | "rlogin" | "rsh" | "adb" | "picocom" | "minicom"
        | "zellij" | "byobu" | "dtach" | "abduco" | "wsl" | "machinectl" | "vagrant"
        | "distrobox" | "toolbox" => {
            findings.reads(call.input, Reads::Typed);
            Vec::new()
        }
        "tmux" | "screen" => {
            findings.reads(call.input, Reads::Typed);
            terminals(call)
        }
        "make" | "gmake"
            if call
                .values(&["-f", "--file", "--makefile"])
                .into_iter()
                .any(is_stdin) =>
        {
            standard_commands(call.input, findings)
        }
        "nix-shell" | "guix" => call
            .values(&["--run", "--command"])
            .into_iter()
            .flat_map(source)
            .collect(),
        "alias" => aliases(call)
            .iter()
            .flat_map(|(_, value)| source(value))
            .collect(),
        "parallel" => parallel(call, findings),
        "find" | "gfind" | "fd" | "fdfind" => find(call),
        "docker" | "podman" | "nerdctl" | "lxc" => container(call, findings),
        "kubectl" | "oc" => {
            if call.has_any(&["attach", "rsh", "debug", "run"]) {
                findings.reads(call.input, Reads::Typed);
            }
            after_word(call.arguments, "--")
        }
        "git" => git(call),
        "tar" | "bsdtar" | "gtar" => call
            .values(&["--to-command", "-I", "--use-compress-program"])
            .into_iter()
            .chain(
                call.texts()
                    .filter_map(|text| text.split_once("exec="))
                    .map(|(_, command)| command),
            )
            .flat_map(source)
            .collect(),
        "rsync" => call
            .values(&["-e", "--rsh", "--rsync-path"])
            .into_iter()
            .flat_map(source)
            .collect(),
        "vim" | "vi" | "nvim" | "ex" | "view" | "ed" => {
            findings.reads(call.input, Reads::Escapes);
            editor(call)
        }
        "less" | "more" | "most" | "man" | "gdb" | "lldb" | "ftp" | "sftp" | "lftp" | "mail"
        | "mutt" => {
            findings.reads(call.input, Reads::Escapes);
            Vec::new()
        }
        "at" | "batch" => {
            findings.reads(call.input, Reads::Typed);
            call.input
                .text
                .iter()
                .flat_map(|text| source(text))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The names that `alias` defines, and what they stand for: `name=value`, or `name value` in some shells.
pub(super) fn aliases(call: &Call<'_>) -> Vec<(String, String)> {
    let texts: Vec<&str> = call
        .operands()
        .map(|operand| operand.text.as_str())
        .collect();
    let pairs: Vec<_> = texts
        .iter()
        .filter_map(|text| text.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    match texts.as_slice() {
        [name, value @ ..] if pairs.is_empty() && !value.is_empty() => {
            vec![((*name).to_owned(), value.join(" "))]
        }
        _ => pairs,
    }
}

fn is_stdin(path: &str) -> bool {
    path == "-" || is_standard_input(path)
}

/// Commands in an option; without one they are typed.
fn given_or_typed(call: &Call<'_>, options: &[&str], findings: &mut Findings) -> Vec<Inner> {
    let given = call.values(options);
    if given.is_empty() {
        return standard_commands(call.input, findings);
    }
    given.into_iter().flat_map(source).collect()
}

fn source(text: &str) -> Vec<Inner> {
    vec![Inner::Source(text.to_owned())]
}

/// The arguments with blanks between them, read again.
fn joined(arguments: &[Argument]) -> Vec<Inner> {
    if arguments.is_empty() {
        return Vec::new();
    }
    let texts: Vec<&str> = arguments
        .iter()
        .map(|argument| argument.text.as_str())
        .collect();
    vec![Inner::Source(texts.join(" "))]
}

fn command(arguments: &[Argument]) -> Vec<Inner> {
    if arguments.is_empty() {
        return Vec::new();
    }
    vec![Inner::Command(arguments.to_vec())]
}

/// What follows the options, given which of them take a value.
fn after_options<'a>(arguments: &'a [Argument], short: &str, long: &[&str]) -> &'a [Argument] {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text = argument.text.as_str();
        if text == "--" {
            return &arguments[at + 1..];
        }
        if let Some(name) = text.strip_prefix("--") {
            at += 1 + usize::from(long.contains(&name));
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let valued = letters.find(|letter| short.contains(letter));
            at += 1 + usize::from(valued.is_some_and(|index| index + 1 == letters.len()));
        } else {
            break;
        }
    }
    arguments.get(at..).unwrap_or_default()
}

fn after_word(arguments: &[Argument], word: &str) -> Vec<Inner> {
    let position = arguments.iter().position(|argument| argument.text == word);
    position.map_or_else(Vec::new, |at| command(&arguments[at + 1..]))
}

fn wrapped(call: &Call<'_>, wrapper: &Wrapper, findings: &mut Findings) -> Vec<Inner> {
    let name = call.name;
    let mut rest = after_options(call.arguments, wrapper.short, wrapper.long);
    if matches!(name, "command") && call.first().starts_with("-v") | call.first().starts_with("-V")
    {
        return Vec::new();
    }
    rest = rest.get(wrapper.operands..).unwrap_or_default();
    if matches!(name, "sudo" | "doas" | "env") {
        let assignments = rest
            .iter()
            .take_while(|argument| argument.text.contains('=') && !argument.text.starts_with('='))
            .count();
        for argument in &rest[..assignments] {
            if let Some((variable, value)) = argument.text.split_once('=') {
                super::rules::assignment(variable, &Argument::new(value), findings);
            }
        }
        rest = &rest[assignments..];
    }
    match name {
        "sudo" | "doas" | "run0" | "pkexec" | "chroot" | "nsenter" | "unshare" | "runuser"
        | "systemd-run" | "setpriv"
            if rest.is_empty() =>
        {
            return standard_commands(call.input, findings);
        }
        "env" => {
            let split = call.values(&["-S", "--split-string"]);
            if let Some(text) = split.first() {
                let more: Vec<&str> = rest.iter().map(|argument| argument.text.as_str()).collect();
                return source(&format!("{text} {}", more.join(" ")));
            }
        }
        "flock" if matches!(rest.first(), Some(first) if first.text == "-c") => {
            return joined(&rest[1..]);
        }
        "xargs" | "gxargs" => return xargs(call, rest),
        "hyperfine" => {
            return rest
                .iter()
                .flat_map(|argument| source(&argument.text))
                .collect();
        }
        "perf" | "pipx" => return command(rest.get(1..).unwrap_or_default()),
        _ => {}
    }
    command(rest)
}

/// What is read becomes arguments: of no known number, where a word stands for them, or at the end.
fn xargs(call: &Call<'_>, rest: &[Argument]) -> Vec<Inner> {
    if rest.is_empty() {
        return Vec::new();
    }
    let replaced = call.values(&["-I", "--replace", "-i"]);
    let mut arguments = rest.to_vec();
    match replaced.first() {
        Some(word) => {
            let word = if word.is_empty() { "{}" } else { word };
            for argument in &mut arguments {
                argument.text = argument.text.replace(word, &HOLE.to_string());
            }
        }
        None => arguments.push(Argument::unknown()),
    }
    vec![Inner::Command(arguments)]
}

fn runner(call: &Call<'_>, words: &[&str]) -> Vec<Inner> {
    let position = call.texts().position(|text| words.contains(&text));
    let Some(at) = position else {
        return Vec::new();
    };
    let rest = after_options(
        &call.arguments[at + 1..],
        "np",
        &[
            "name", "prefix", "with", "python", "package", "extra", "group",
        ],
    );
    command(rest)
}

fn sourced(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let Some(file) = call.arguments.first() else {
        return Vec::new();
    };
    if is_stdin(&file.text) {
        return standard_commands(call.input, findings);
    }
    script_file(file, findings);
    Vec::new()
}
