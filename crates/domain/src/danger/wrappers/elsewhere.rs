//! Programs that run commands elsewhere: on other machines, in containers, on devices.

use super::super::call::{Argument, Call, Findings, after_options};
use super::super::input::Reads;
use super::super::rules::{CLUSTER_OPTIONS, CONTAINER_OPTIONS};
use super::languages::standard_commands;
use super::{Inner, after_word, command, given, joined, source};

pub fn ssh(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    const SHORT: &str = "BbcDEeFIiJLlmOoPpQRSWw";
    let from_host = after_options(call.arguments, SHORT, &[]);
    // OpenSSH goes on with its options after the host.
    let remote = after_options(from_host.get(1..).unwrap_or_default(), SHORT, &[]);
    let own = call.with(&call.arguments[..call.arguments.len() - remote.len()]);
    let mut inner: Vec<Inner> = Vec::new();
    for option in own.short_values('o', SHORT) {
        let (key, value) = option.split_once(['=', ' ', '\t']).unwrap_or((option, ""));
        let runs = [
            "proxycommand",
            "localcommand",
            "knownhostscommand",
            "remotecommand",
        ];
        if runs.contains(&key.to_ascii_lowercase().as_str()) {
            inner.extend(source(value.trim_start_matches(['=', ' ', '\t'])));
        }
    }
    inner.extend(joined(remote));
    if remote.is_empty() && !from_host.is_empty() {
        inner.extend(standard_commands(call.input, findings));
    }
    inner
}

/// Like `ssh`, but what it starts is no text for a shell.
pub fn mosh(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    const LONG: &[&str] = &[
        "client",
        "server",
        "predict",
        "port",
        "family",
        "ssh",
        "bind-server",
        "experimental-remote-ip",
    ];
    let from_host = after_options(call.arguments, "p", LONG);
    let remote = after_options(from_host.get(1..).unwrap_or_default(), "p", LONG);
    let own = call.with(&call.arguments[..call.arguments.len() - remote.len()]);
    let mut inner: Vec<Inner> = own
        .values(&["--ssh", "--client", "--server"])
        .into_iter()
        .flat_map(source)
        .collect();
    inner.extend(command(remote));
    if remote.is_empty() && !from_host.is_empty() {
        inner.extend(standard_commands(call.input, findings));
    }
    inner
}

/// Options of `exec` and `run` that take no value.
const FLAGS: &[&str] = &[
    "--rm",
    "--detach",
    "--interactive",
    "--tty",
    "--no-tty",
    "--no-TTY",
    "--privileged",
    "--init",
    "--read-only",
    "--publish-all",
    "--quiet",
    "--quiet-pull",
    "--quiet-build",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--sig-proxy",
    "--disable-content-trust",
    "--no-deps",
    "--build",
    "--service-ports",
    "--use-aliases",
    "--remove-orphans",
    "--replace",
    "--rmi",
    "--env-host",
    "--http-proxy",
    "--no-hosts",
    "--no-hostname",
    "--tls-verify",
    "--unsetenv-all",
    "--latest",
];

pub fn container(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let Some((verb, mut rest)) = container_verb(call) else {
        return Vec::new();
    };
    let mut interactive = verb == "attach";
    let mut entrypoint = None;
    while let Some((first, after)) = rest
        .split_first()
        .filter(|(first, _)| first.text.starts_with('-'))
    {
        let text = first.text.as_str();
        if text == "--" {
            rest = after;
            break;
        }
        interactive |= text == "--interactive" || !text.starts_with("--") && text.contains('i');
        let valued = if text.starts_with("--") {
            !text.contains('=') && !FLAGS.contains(&text)
        } else {
            text.find(|letter: char| "vepwuhlmca".contains(letter)) == Some(text.len() - 1)
        };
        if text == "--entrypoint" {
            entrypoint = after.first().map(|value| value.text.as_str());
        } else if let Some(value) = text.strip_prefix("--entrypoint=") {
            entrypoint = Some(value);
        }
        rest = after.get(usize::from(valued)..).unwrap_or_default();
    }
    let arguments = rest.get(1..).unwrap_or_default();
    let behind = |word: &str| arguments.iter().position(|argument| argument.text == word);
    let arguments = match arguments.first() {
        // Some take options after the name, too.
        Some(first) if first.text.starts_with('-') && entrypoint.is_none() => {
            let start = behind("--").map_or(0, |at| at + 1);
            &arguments[start..]
        }
        _ => arguments,
    };
    // It is one word, words, or a list as in JSON.
    let mut started: Vec<Argument> = entrypoint
        .unwrap_or_default()
        .split(['[', ']', ',', '"', ' '])
        .filter(|word| !word.is_empty())
        .map(Argument::new)
        .collect();
    started.extend_from_slice(arguments);
    // What an image starts by itself may be a shell. Compose gives it an open input without being told.
    let is_compose = call.name.ends_with("-compose") || call.has("compose");
    if started.is_empty() && (interactive || is_compose) {
        findings.reads(call.input, Reads::Typed);
    }
    command(&started)
}

/// `exec`, `run` or `attach`, and what follows it.
fn container_verb<'a>(call: &Call<'a>) -> Option<(&'a str, &'a [Argument])> {
    let is_verb = |text: &str| matches!(text, "exec" | "run" | "attach");
    let (short, long) = CONTAINER_OPTIONS;
    let mut rest = after_options(call.arguments, short, long);
    while let Some((first, after)) = rest.split_first() {
        match first.text.as_str() {
            "compose" | "container" => rest = after_options(after, short, long),
            verb if is_verb(verb) => return Some((verb, after)),
            _ => break,
        }
    }
    // Behind options that are not known here.
    let at = call.texts().position(is_verb)?;
    Some((&call.arguments[at].text, &call.arguments[at + 1..]))
}

pub fn cluster(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    if call.has_any(&["attach", "rsh", "debug", "run"]) {
        findings.reads(call.input, Reads::Typed);
    }
    let (short, long) = CLUSTER_OPTIONS;
    let from_verb = after_options(call.arguments, short, long);
    let is_verb = |argument: &Argument| matches!(argument.text.as_str(), "exec" | "rsh");
    let Some(at) = from_verb.iter().position(is_verb) else {
        return after_word(call.arguments, "--");
    };
    let from_pod = after_options(&from_verb[at + 1..], short, long);
    let dash = from_pod.iter().position(|argument| argument.text == "--");
    match dash.map(|dash| (dash, &from_pod[dash + 1..])) {
        // `pod`, and before it the value of an option that is not known here; or `pod command`, and its options behind.
        Some((2, remote)) if remote.first().is_some_and(is_no_option) => command(remote),
        // `exec pod -- command` and, as it was before, `exec pod command`.
        _ => command(after_options(
            from_pod.get(1..).unwrap_or_default(),
            short,
            long,
        )),
    }
}

fn is_no_option(argument: &Argument) -> bool {
    !argument.text.starts_with('-')
}

/// `adb shell command`: joined, as by `ssh`.
pub fn device(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let words = ["shell", "exec-out", "exec-in"];
    let Some(at) = call.texts().position(|text| words.contains(&text)) else {
        findings.reads(call.input, Reads::Typed);
        return Vec::new();
    };
    match after_options(&call.arguments[at + 1..], "e", &[]) {
        [] => standard_commands(call.input, findings),
        remote => joined(remote),
    }
}

/// `vagrant ssh`: with a command, or options for `ssh`.
pub fn vagrant(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let dash = call.texts().position(|text| text == "--");
    let own = call.with(&call.arguments[..dash.unwrap_or(call.arguments.len())]);
    let mut inner: Vec<Inner> = given(&own, 'c', "c", &["--command"])
        .into_iter()
        .flat_map(source)
        .collect();
    if let Some(dash) = dash {
        let mut ssh = vec![Argument::new("ssh"), Argument::new("host")];
        ssh.extend_from_slice(&call.arguments[dash + 1..]);
        inner.push(Inner::Command(ssh));
    }
    if inner.is_empty() {
        return typed(call, call.has("ssh"), findings);
    }
    inner
}

/// `distrobox enter` and `toolbox run`.
pub fn toolbox(call: &Call<'_>, findings: &mut Findings) -> Vec<Inner> {
    let starts: &[&str] = match call.name {
        "toolbox" => &["run"],
        _ => &["--", "-e", "--exec"],
    };
    let remote = call
        .texts()
        .position(|text| starts.contains(&text))
        .map(|at| &call.arguments[at + 1..])
        .unwrap_or_default();
    let remote = match call.name {
        "toolbox" => after_options(
            remote,
            "cdr",
            &["container", "distro", "release", "preserve-fds"],
        ),
        _ => remote,
    };
    if remote.is_empty() {
        let enters = call.name == "distrobox-enter" || call.has("enter");
        return typed(call, enters, findings);
    }
    command(remote)
}

/// A shell, or what may become one.
fn typed(call: &Call<'_>, is_shell: bool, findings: &mut Findings) -> Vec<Inner> {
    if is_shell {
        return standard_commands(call.input, findings);
    }
    findings.reads(call.input, Reads::Typed);
    Vec::new()
}
