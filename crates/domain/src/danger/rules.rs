//! What is dangerous about one command. Each part knows some programs and adds what it finds; none looks at how the command was reached.

mod code;
mod databases;
mod files;
mod git;
mod machine;
mod secrets;
mod services;

pub(super) use code::code;
pub(super) use databases::{documents, keys, sql};
pub(super) use files::write;
pub(super) use secrets::{leaves_contents_alone, read};
pub(super) use services::{CLUSTER_OPTIONS, CONTAINER_OPTIONS};

use super::Rule;
use super::call::{Argument, Call, Findings};

pub(super) fn judge(call: &Call<'_>, findings: &mut Findings) {
    files::judge(call, findings);
    machine::judge(call, findings);
    git::judge(call, findings);
    services::judge(call, findings);
    databases::judge(call, findings);
    secrets::judge(call, findings);
    code::judge(call, findings);
}

/// Variables that change what other commands are.
pub(super) fn assignment(name: &str, value: &Argument, findings: &mut Findings) {
    let text = value.text.as_str();
    match name {
        "LD_PRELOAD"
        | "LD_AUDIT"
        | "DYLD_INSERT_LIBRARIES"
        | "BASH_ENV"
        | "ENV"
        | "PROMPT_COMMAND"
        | "PERL5OPT"
        | "PYTHONSTARTUP"
            if text.contains('/') || text.contains(' ') || text.contains(super::shell::HOLE) =>
        {
            findings.add(
                Rule::HiddenCode,
                format!("`{name}` makes other programs run code of its own."),
            );
        }
        "HISTFILE" | "HISTSIZE" | "HISTFILESIZE" if matches!(text, "/dev/null" | "0" | "") => {
            findings.add(Rule::Traces, "Switches off the history of commands.");
        }
        _ => {}
    }
}
