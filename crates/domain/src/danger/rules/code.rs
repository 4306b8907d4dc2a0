//! Code of other languages in an argument: not read, only searched for calls that do what the shell would be asked about.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Rule;
use super::super::call::{Argument, Call, Findings};

static RUNS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
          \b os \s* \. \s* (?: system | popen | exec\w* | spawn\w* | posix_spawn\w* | fork | kill\w* | setuid | putenv | execute )
        | \b subprocess \b | \b pty \b | \b popen2? \b | \b ctypes \b | \b commands \. get | \b child_process \b | \b execSync | \b spawnSync | \b Deno \. (?: run | Command )
        | \b Bun \. (?: spawn | \$ ) | \b (?: system | exec | passthru | shell_exec | proc_open | popen | pcntl_exec | syscall ) \s* (?: \( | ["'`@$%] )
        | \b IO \. popen | \b Open3 \b | \b Kernel \b | %x | \b qx \b | ` | \bio \. popen | \b do \s+ shell \s+ script | \b spawn \b | \b Process \. (?: spawn | kill )
        | \b process \. (?: binding | kill )"#,
    )
    .expect("the pattern is a constant of this file, and every test compiles it")
});
static DELETES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x) \b rmtree | \b (?: os | fs | FileUtils | File | Dir | Pathname | pathlib | Deno | shutil ) \s* \. \s* (?: promises \s* \. \s* )? (?: rm\w* | remove\w* | unlink\w* | rmdir\w* | delete\w* | truncate\w* | rename\w* | move | chmod\w* | chown\w* )
        | \. (?: unlink | rmdir | rmSync | rm | unlinkSync ) \s* \( | \b unlink \b | \b rmdir \b | \b rimraf \b | \b remove_tree \b | \b (?: rm | rmSync | unlinkSync ) \s* \(",
    )
    .expect("the pattern is a constant of this file, and every test compiles it")
});
static HIDES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x) \b (?: eval | exec | compile | __import__ | getattr | importlib | runpy | instance_eval | class_eval | unserialize | assert ) \s* [\s(] | \b b(?:ase)?64 | \b codecs \b | \b marshal \b | \b pickle \b | \b fromhex \b | \b atob \b
        | \b new \s+ Function \b | \b unhexlify \b | \b __builtins__ \b | \b chr \s* \( | fromCharCode | \b unpack \b | \b pack \s* \( | \b globals \s* \( | \b vars \s* \(",
    )
    .expect("the pattern is a constant of this file, and every test compiles it")
});
static CONNECTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bsocket\b|\bnet\.connect|\bTCPSocket\b|\bIO::Socket\b|\bfsockopen\b|\burlopen\b.*\bexec\b").expect("the pattern is a constant of this file, and every test compiles it")
});
static WRITES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"["'](?:/etc/|/boot/|/usr/|/dev/(?:sd|nvme|vd|hd|disk|mem)|/proc/sys|/sys/|~?/?[^"'\s]*(?:\.ssh\b|\.bashrc|\.profile|\.aws/|authorized_keys|id_rsa|id_ed25519|crontab))"#)
        .expect("the pattern is a constant of this file, and every test compiles it")
});
/// In awk, text is piped to commands and files.
static AWK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\bsystem\s*\(|\|\s*&?\s*(?:getline|["a-zA-Z_])|["\w)]\s*\|\s*getline|@load|>\s*"/(?:etc|dev|usr|boot)"#).expect("the pattern is a constant of this file, and every test compiles it")
});
/// GNU sed runs commands: `e`, and `s///e`.
static SED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)(?:^|[;{}]|^[0-9$,]+)\s*e(?:\s|$)|s(?:/[^/]*/[^/]*/|\|[^|]*\|[^|]*\||#[^#]*#[^#]*#|,[^,]*,[^,]*,)[gpIiMm0-9]*e|(?:^|[;}0-9/])\s*w\s*/(?:etc|dev|usr|boot)")
        .expect("the pattern is a constant of this file, and every test compiles it")
});

/// Code that a language runs.
pub fn code(code: &Argument, findings: &mut Findings) {
    let text = code.text.as_str();
    findings.add_if(
        !code.is_exact(),
        Rule::HiddenCode,
        "A part of the code is only known when it runs.",
    );
    findings.add_if(
        RUNS.is_match(text),
        Rule::HiddenCode,
        "Code in another language starts programs of its own.",
    );
    findings.add_if(
        DELETES.is_match(text),
        Rule::RecursiveDelete,
        "Code in another language removes or moves files.",
    );
    findings.add_if(
        HIDES.is_match(text),
        Rule::HiddenCode,
        "Code in another language makes code as it runs.",
    );
    findings.add_if(
        CONNECTS.is_match(text),
        Rule::RemoteCode,
        "Code in another language opens connections.",
    );
    findings.add_if(
        WRITES.is_match(text),
        Rule::SystemFiles,
        "Code in another language uses files of the system or of logins.",
    );
}

pub fn judge(call: &Call<'_>, findings: &mut Findings) {
    let runs = match call.name {
        "awk" | "gawk" | "mawk" | "nawk" => call.texts().any(|text| AWK.is_match(text)),
        "sed" | "gsed" => sed_scripts(call).iter().any(|text| SED.is_match(text)),
        "nc" | "ncat" | "netcat" => call.short('e') || call.has_any(&["-c", "--exec", "--sh-exec"]),
        "socat" => call.texts().any(|text| {
            text.to_ascii_lowercase().contains("exec:")
                || text.to_ascii_lowercase().contains("system:")
        }),
        "fc" => !call.short('l'),
        "bind" | "bindkey" => call.texts().any(|text| text != "-l" && text != "-P"),
        "gdb" | "lldb" => call
            .values(&["-ex", "-eval-command", "-o"])
            .iter()
            .any(|text| text.contains("shell") || text.contains('!') || text.contains("call")),
        _ => false,
    };
    if matches!(call.name, "nc" | "ncat" | "netcat" | "socat") {
        findings.add_if(runs, Rule::RemoteCode, "Gives the network a shell.");
    } else {
        findings.add_if(
            runs,
            Rule::HiddenCode,
            "Lets a tool for texts or programs run commands.",
        );
    }
}

/// With `-e`, its values; without, the first operand.
fn sed_scripts<'a>(call: &Call<'a>) -> Vec<&'a str> {
    let mut scripts = call.values(&["-e", "--expression"]);
    if scripts.is_empty() {
        scripts.push(call.operand(0));
    }
    scripts
}
