//! Paths, as far as their names say what is there.

use super::shell::HOLE;

/// What kind of place a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Ordinary,
    /// A disk, a partition, or another device.
    Device,
    /// Talks to the kernel.
    Kernel,
    System,
    /// A log, or a history of commands.
    Trace,
    /// Read at every login or start, or at set times.
    Startup,
    /// Keys, passwords, and who may log in.
    Credential,
    /// The gateway's own data.
    Homing,
    /// The whole home, or all homes.
    Home,
}

const SYSTEM: &[&str] = &[
    "etc",
    "boot",
    "usr",
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "opt",
    "var",
    "sys",
    "proc",
    "run",
    "srv",
    "dev",
    "system",
    "library",
    "applications",
    "private",
    "efi",
    "nix",
];
const HARMLESS_DEVICES: &[&str] = &[
    "null", "zero", "full", "stdin", "stdout", "stderr", "tty", "random", "urandom", "fd", "shm",
    "pts", "ptmx",
];
const STARTUP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".login",
    ".cshrc",
    ".tcshrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".inputrc",
    ".envrc",
];
const CREDENTIAL_FILES: &[&str] = &[
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".gitconfig",
    ".htpasswd",
    "authorized_keys",
    "authorized_keys2",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    ".vault-token",
    ".rhosts",
    ".shosts",
];
const CREDENTIAL_FOLDERS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".azure",
    ".docker",
    ".password-store",
];
const HISTORIES: &[&str] = &[
    ".bash_history",
    ".zsh_history",
    ".sh_history",
    ".history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".ash_history",
    ".lesshst",
    ".viminfo",
    ".node_repl_history",
];

/// The path without detours. `~` is the home of whoever runs it, also where it is written out; `folder` is where a relative path begins.
pub(super) fn normal(text: &str, folder: Option<&str>) -> String {
    let joined;
    let text = match folder {
        Some(folder) if !text.starts_with(['/', '~', HOLE]) => {
            joined = format!("{folder}/{text}");
            &joined
        }
        _ => text,
    };
    let absolute = text.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." if absolute && parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    // Other names of the root.
    while absolute && parts.len() >= 3 && parts[0] == "proc" && matches!(parts[2], "root" | "cwd") {
        parts.drain(..3);
    }
    if absolute && parts.first() == Some(&"private") {
        parts.remove(0);
    }
    let home = match parts.as_slice() {
        ["root", ..] if absolute => Some(1),
        ["home" | "Users", _, ..] if absolute => Some(2),
        [first, ..] if !absolute && first.starts_with('~') => Some(1),
        _ => None,
    };
    match home {
        Some(skipped) => ["~"]
            .iter()
            .chain(&parts[skipped..])
            .copied()
            .collect::<Vec<_>>()
            .join("/"),
        None if absolute => format!("/{}", parts.join("/")),
        None => parts.join("/"),
    }
}

/// What a program finds there is what it was given to read, or may be.
pub(super) fn is_standard_input(path: &str) -> bool {
    matches!(path, "/dev/stdin" | "/dev/tty")
        || path.starts_with("/dev/fd/")
        || path.starts_with("/proc/") && path.contains("/fd/")
}

/// What is at a path that went through [`normal`].
pub(super) fn place(path: &str) -> Place {
    let lower = path.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split('/').filter(|part| !part.is_empty()).collect();
    let last = parts.last().copied().unwrap_or_default();
    if path == "~"
        || path == "/home"
        || path == "/Users"
        || path == "~/*"
        || path.starts_with("/home/*")
    {
        return Place::Home;
    }
    if parts
        .iter()
        .any(|part| matches!(*part, "homing" | ".homing" | "homing.db" | "homing.sqlite"))
        && (path.starts_with('~') || path.starts_with('/'))
        && parts.iter().any(|part| {
            matches!(
                *part,
                "data" | "share" | "lib" | ".homing" | "etc" | ".config" | "state"
            )
        })
    {
        return Place::Homing;
    }
    if HISTORIES.contains(&last) || lower.starts_with("/var/log") {
        return Place::Trace;
    }
    if is_startup(&lower, &parts, last) {
        return Place::Startup;
    }
    let in_a_credential_folder = parts.iter().any(|part| CREDENTIAL_FOLDERS.contains(part));
    if CREDENTIAL_FILES.contains(&last)
        || in_a_credential_folder
        || lower.contains(".config/gcloud")
        || lower.contains(".config/gh")
    {
        return Place::Credential;
    }
    if !path.starts_with('/') {
        return relative(&parts);
    }
    absolute(&lower, &parts)
}

fn is_startup(lower: &str, parts: &[&str], last: &str) -> bool {
    let pair = |one: &str, two: &str| parts.windows(2).any(|pair| pair == [one, two]);
    STARTUP.contains(&last)
        || pair(".git", "hooks")
        || pair(".config", "autostart")
        || pair(".config", "systemd")
        || pair(".config", "fish")
        || pair("library", "launchagents")
        || pair("library", "launchdaemons")
        || lower.starts_with("/etc/cron")
        || lower.starts_with("/var/spool/cron")
        || lower.starts_with("/etc/systemd")
        || lower.starts_with("/etc/profile")
        || lower.starts_with("/etc/init.d")
        || lower.starts_with("/etc/rc")
        || lower.starts_with("/etc/ld.so.preload")
}

/// `../../../etc` may be the system's.
fn relative(parts: &[&str]) -> Place {
    let ups = parts.iter().take_while(|part| **part == "..").count();
    match parts.get(ups) {
        Some(first)
            if ups > 0 && matches!(*first, "etc" | "boot" | "usr" | "dev" | "proc" | "sys") =>
        {
            Place::System
        }
        _ => Place::Ordinary,
    }
}

fn absolute(lower: &str, parts: &[&str]) -> Place {
    let is_pattern = |part: &str| part.contains(['*', '?', '[', '{', HOLE]);
    match parts {
        [] => Place::System,
        ["dev", rest @ ..] => match rest.first() {
            Some(first) if HARMLESS_DEVICES.contains(first) => Place::Ordinary,
            _ => Place::Device,
        },
        ["proc" | "sys", ..] => Place::Kernel,
        ["var", "tmp", _, ..] | ["var", "www" | "folders", _, ..] => Place::Ordinary,
        ["run", "user", _, ..] => Place::Ordinary,
        [first, ..] if SYSTEM.contains(first) || is_pattern(first) => Place::System,
        [only] if matches!(*only, "tmp" | "mnt" | "media" | "data" | "workspace") => Place::System,
        _ if lower.starts_with("//") => Place::System,
        _ => Place::Ordinary,
    }
}

/// Reading it shows a key or a password.
pub(super) fn is_secret(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or_default();
    if last.ends_with(".pub") || matches!(last, "known_hosts" | "config.d" | ".gitconfig") {
        return false;
    }
    if lower.starts_with("/etc/shadow")
        || lower.starts_with("/etc/gshadow")
        || lower.starts_with("/etc/sudoers")
    {
        return true;
    }
    if lower.starts_with("/proc/") && last == "environ" {
        return true;
    }
    let folder_of = |name: &str| lower.split('/').any(|part| part == name);
    if folder_of(".ssh") || folder_of(".docker") || folder_of(".kube") {
        let open = folder_of(".ssh") && matches!(last, "config" | "authorized_keys")
            || folder_of(".docker") && !matches!(last, ".docker" | "*" | "config.json");
        return !open;
    }
    place(path) == Place::Credential
        && !matches!(last, "authorized_keys" | "authorized_keys2" | ".npmrc")
        || last.starts_with("id_rsa")
        || last.starts_with("id_ed25519")
        || (last.contains(['*', '?', '[']) && lower.starts_with("/etc/sh"))
}

/// Holds secrets of a project: its own programs read it, but it stays on the machine.
pub(super) fn is_private(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    is_secret(path)
        || last == ".env"
        || last.starts_with(".env.")
            && !last.ends_with("example")
            && !last.ends_with("sample")
            && !last.ends_with("template")
        || last.ends_with(".pem")
        || last.ends_with(".key")
        || matches!(
            last,
            ".npmrc"
                | "credentials.json"
                | "secrets.yml"
                | "secrets.yaml"
                | "secrets.json"
                | ".env*"
        )
        || place(path) == Place::Homing
}
