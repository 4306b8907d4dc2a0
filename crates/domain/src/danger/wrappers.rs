//! Commands that run other commands: what they run, and what they print.

mod elsewhere;
mod languages;
mod lines;
mod output;
mod programs;
mod table;

pub(super) use output::output;

use elsewhere::{cluster, container, device, mosh, ssh, toolbox, vagrant};
use languages::{SHELLS, language, language_code, script_file, shell, standard_commands};
use lines::{parallel, xargs};
use programs::{editor, env, find, git, group, script, terminals};
use table::{RUNNERS, WRAPPERS, Wrapper};

use super::call::{Argument, Call, Findings, after_options};
use super::input::Reads;
use super::paths::is_standard_input;

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
        "env" => env(call, findings),
        "xargs" | "gxargs" => xargs(call),
        "ssh" | "slogin" => ssh(call, findings),
        "mosh" => mosh(call, findings),
        "su" | "runuser" => user(call, findings),
        "sg" => group(call, findings),
        "script" => script(call, findings),
        "adb" => device(call, findings),
        "vagrant" => vagrant(call, findings),
        "distrobox" | "distrobox-enter" | "toolbox" => toolbox(call, findings),
        "login" | "newgrp" | "telnet" | "rlogin" | "rsh" | "picocom" | "minicom" | "zellij"
        | "byobu" | "dtach" | "abduco" | "wsl" | "machinectl" => {
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
        "docker" | "podman" | "nerdctl" | "lxc" | "incus" | "crictl" | "docker-compose"
        | "podman-compose" => container(call, findings),
        "kubectl" | "oc" => cluster(call, findings),
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

/// The values of an option, by its letter and by its long names. `valued` are the letters that take one.
fn given<'a>(call: &Call<'a>, letter: char, valued: &str, long: &[&str]) -> Vec<&'a str> {
    let mut given = call.short_values(letter, valued);
    given.extend(call.values(long));
    given
}

/// Commands in an option; without one they are typed.
fn user(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    const SHORT: &str = "cgGswTu";
    let by_name = !given(call, 'u', SHORT, &["--user"]).is_empty();
    if call.name == "runuser" && by_name {
        let long = ["user", "group", "supp-group"];
        return command(after_options(call.arguments, SHORT, &long));
    }
    let given = given(call, 'c', SHORT, &["--command", "--session-command"]);
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
    if matches!(name, "sudo" | "doas") {
        rest = after_assignments(rest, findings);
    }
    match name {
        "sudo" | "doas" | "run0" | "pkexec" | "chroot" | "nsenter" | "unshare" | "systemd-run"
        | "setpriv"
            if rest.is_empty() =>
        {
            return standard_commands(call.input, findings);
        }
        "flock" if matches!(rest.first(), Some(first) if first.text == "-c") => {
            return joined(&rest[1..]);
        }
        "hyperfine" => {
            return rest
                .iter()
                .flat_map(|argument| source(&argument.text))
                .collect();
        }
        "perf" | "pipx" => return command(rest.get(1..).unwrap_or_default()),
        "npx" | "bunx" | "pnpx" | "uvx" => {
            let own = call.own_options(wrapper.short, wrapper.long);
            let mut inner: Vec<Inner> = match name {
                "npx" => given(&own, 'c', wrapper.short, &["--call"]),
                _ => Vec::new(),
            }
            .into_iter()
            .flat_map(source)
            .collect();
            inner.extend(package(rest));
            return inner;
        }
        _ => {}
    }
    command(rest)
}

/// What follows variables that are given a value.
fn after_assignments<'a>(arguments: &'a [Argument], findings: &mut Findings) -> &'a [Argument] {
    let assignments = arguments
        .iter()
        .take_while(|argument| argument.text.contains('=') && !argument.text.starts_with('='))
        .count();
    let (assignments, rest) = arguments.split_at(assignments);
    for argument in assignments {
        if let Some((variable, value)) = argument.text.split_once('=') {
            super::rules::assignment(variable, &Argument::new(value), findings);
        }
    }
    rest
}

/// The program of a package, which may have a version.
fn package(arguments: &[Argument]) -> Vec<Inner> {
    let mut arguments = arguments.to_vec();
    if let Some(first) = arguments.first_mut()
        && let Some(at) = first.text.rfind('@').filter(|at| *at > 0)
    {
        first.text.truncate(at);
    }
    command(&arguments)
}

fn runner(call: &Call<'_>, words: &[&str]) -> Vec<Inner> {
    let position = call.texts().position(|text| words.contains(&text));
    let Some(at) = position else {
        return Vec::new();
    };
    let behind = call.with(&call.arguments[at + 1..]);
    let long = [
        "name",
        "prefix",
        "with",
        "python",
        "package",
        "extra",
        "group",
        "call",
        "workspace",
    ];
    let short = match call.name {
        "npm" => "npcw",
        _ => "np",
    };
    let rest = after_options(behind.arguments, short, &long);
    let own = call.with(&call.arguments[..call.arguments.len() - rest.len()]);
    match call.name {
        "npm" => {
            let given = given(&own, 'c', short, &["--call"]);
            let mut inner: Vec<Inner> = given.into_iter().flat_map(source).collect();
            inner.extend(package(rest));
            inner
        }
        // A shell reads it.
        "pnpm" if own.short('c') || own.long("shell-mode") => joined(rest),
        "pnpm" | "yarn" => package(rest),
        // The folder comes first; with mise, tools do.
        "direnv" => command(rest.get(1..).unwrap_or_default()),
        "mise" | "rtx" if call.has("--") => after_word(call.arguments, "--"),
        _ => command(rest),
    }
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
