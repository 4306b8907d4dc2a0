//! Keys and passwords: read, and sent away.

use super::super::Rule;
use super::super::call::{Call, Findings};
use super::super::paths::{self, is_private, is_secret};

const READS: &str = "Reads keys or passwords.";
const SENDS: &str = "Sends keys, passwords or private settings over the network.";

/// Programs that look at names only, or that keys are made for.
const LEAVE_CONTENTS: &[&str] = &[
    "ls",
    "stat",
    "test",
    "[",
    "[[",
    "echo",
    "printf",
    "chmod",
    "chown",
    "ssh",
    "ssh-add",
    "ssh-keygen",
    "ssh-copy-id",
    "rm",
    "unlink",
    "touch",
    "mkdir",
    "rmdir",
    "which",
    "find",
    "fd",
    "cd",
    "pushd",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "git",
    "du",
    "file",
    "gpg",
    "sudo",
    "doas",
    "env",
    "nohup",
    "timeout",
    "time",
    "nice",
    "xargs",
    "sh",
    "bash",
    "export",
    "alias",
    "kubectl",
    "docker",
    "aws",
    "exec",
    "command",
    "eval",
    "watch",
    "su",
    "tee",
    "chgrp",
    "pkill",
    "pgrep",
    "tree",
    "shred",
    "truncate",
];

pub fn leaves_contents_alone(name: &str) -> bool {
    LEAVE_CONTENTS.contains(&name)
}

/// A file that is read.
pub fn read(path: &str, findings: &mut Findings) {
    if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
        return findings.add(Rule::RemoteCode, "Connects a shell to the network.");
    }
    findings.add_if(is_secret(path), Rule::SecretRead, READS);
}

pub fn judge(call: &Call<'_>, findings: &mut Findings) {
    let sends = is_sender(call);
    if sends && (call.input.secret || sent(call)) {
        findings.add(Rule::SecretSent, SENDS);
    } else if !leaves_contents_alone(call.name) && reads(call) {
        findings.add(Rule::SecretRead, READS);
    }
    let dumps = match call.name {
        "security" => call
            .texts()
            .any(|text| text.starts_with("find-") || text.starts_with("dump-")),
        "gpg" | "gpg2" => call.texts().any(|text| text.starts_with("--export-secret")),
        "pass" | "secret-tool" | "keyctl" | "gopass" => {
            call.has_any(&["show", "lookup", "print", "-c"])
        }
        "unshadow" | "mimikatz" => true,
        "kubectl" | "oc" => {
            call.has("get")
                && call.has_any(&["secret", "secrets"])
                && call.texts().any(|text| {
                    text.starts_with("-o")
                        || text.starts_with("--output")
                        || text.starts_with("--template")
                })
        }
        "vault" => {
            matches!(call.operand(0), "read") || call.operand(0) == "kv" && call.operand(1) == "get"
        }
        "gh" => call.operand(0) == "auth" && call.operand(1) == "token",
        "aws" => call.has_any(&[
            "get-secret-value",
            "get-session-token",
            "get-login-password",
        ]),
        _ => false,
    };
    findings.add_if(dumps, Rule::SecretRead, READS);
}

/// Keys that open the connection, and stay here.
fn own_keys<'a>(call: &Call<'a>) -> Vec<&'a str> {
    match call.name {
        "ssh" | "scp" | "sftp" => call.values(&["-i", "-F"]),
        "curl" | "wget" => call.values(&["--cert", "--key", "--cacert", "-E", "--netrc-file"]),
        _ => Vec::new(),
    }
}

fn reads(call: &Call<'_>) -> bool {
    let keys = own_keys(call);
    // The first is what is looked for, and not a file.
    let skipped = usize::from(matches!(
        call.name,
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "sed" | "awk" | "gawk" | "jq" | "ack"
    ));
    let from = |text: &str| is_secret(&paths::normal(text, call.folder));
    // The last is where it goes.
    let copies = matches!(call.name, "cp" | "mv" | "ln" | "install");
    let count = call.operands().count();
    let taken = if copies {
        count.saturating_sub(1)
    } else {
        count
    };
    call.operands()
        .take(taken)
        .skip(skipped)
        .any(|operand| !keys.contains(&operand.text.as_str()) && from(&operand.text))
        || call.texts().any(|text| {
            ["if=", "--file=", "@"]
                .iter()
                .any(|start| text.strip_prefix(start).is_some_and(from))
        })
}

fn is_sender(call: &Call<'_>) -> bool {
    match call.name {
        "curl" | "wget" | "nc" | "ncat" | "netcat" | "socat" | "telnet" | "ftp" | "lftp"
        | "sftp" | "scp" | "http" | "https" | "xh" | "mail" | "mailx" | "sendmail" | "mutt"
        | "rclone" | "ssh" | "tftp" | "croc" | "wormhole" | "magic-wormhole" | "ngrok"
        | "transfer" | "dig" | "nslookup" => true,
        "rsync" => call.operands().any(|operand| operand.text.contains(':')),
        "aws" | "gsutil" | "s3cmd" | "mc" => call.has_any(&["cp", "mv", "sync", "put"]),
        "gh" => call.has("gist"),
        "openssl" => call.has("s_client"),
        _ => false,
    }
}

/// A private file among what is sent: as an argument, after `@`, or as the value of a field.
fn sent(call: &Call<'_>) -> bool {
    let private = |text: &str| is_private(&paths::normal(text, call.folder));
    let keys = own_keys(call);
    // Only what goes away counts, not what comes.
    let last = matches!(call.name, "scp" | "rsync" | "aws" | "rclone" | "gsutil")
        .then(|| call.operands().last())
        .flatten();
    call.arguments
        .iter()
        .filter(|argument| call.name != "ssh" && !keys.contains(&argument.text.as_str()))
        .filter(|argument| !last.is_some_and(|last| std::ptr::eq(last, *argument)))
        .any(|argument| {
            let text = argument.text.as_str();
            let after = text.rsplit(['@', '=']).next().unwrap_or_default();
            let remote = text.contains("://");
            !remote
                && (private(text)
                    || after.len() < text.len()
                        && private(after.split([';', ',']).next().unwrap_or_default()))
        })
}
