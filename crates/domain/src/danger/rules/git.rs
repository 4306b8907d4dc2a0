//! Git: what cannot be taken back.

use super::super::Rule;
use super::super::call::{Call, Findings};
use super::super::shell::HOLE;

pub fn judge(call: &Call<'_>, findings: &mut Findings) {
    if call.name != "git" {
        if matches!(call.name, "git-filter-repo" | "bfg") {
            findings.add(Rule::GitHistory, "Writes the history of a repository anew.");
        }
        return;
    }
    let Some(at) = subcommand(call) else { return };
    let inner = Call {
        name: &call.arguments[at].text,
        arguments: &call.arguments[at + 1..],
        ..*call
    };
    if inner.name.contains(HOLE) {
        return findings.add(
            Rule::HiddenCode,
            "What git is to do is only known when it runs.",
        );
    }
    if let Some(why) = loses(&inner) {
        findings.add(Rule::GitHistory, why);
    }
    let removes = inner.name == "rm"
        && (inner.short('r') || inner.short('f') || inner.long("force"))
        && !inner.has("--cached");
    findings.add_if(
        removes,
        Rule::RecursiveDelete,
        "Deletes files of the working folder.",
    );
    let cleans = inner.name == "clean"
        && (inner.short('f') || inner.long("force"))
        && !inner.short('n')
        && !inner.long("dry-run");
    findings.add_if(
        cleans,
        Rule::RecursiveDelete,
        "Deletes all files that git does not know.",
    );
}

/// Where the subcommand stands, after options of git itself.
fn subcommand(call: &Call<'_>) -> Option<usize> {
    let mut at = 0;
    loop {
        let text = call.arguments.get(at)?.text.as_str();
        match text {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
            | "--config-env" => at += 2,
            _ if text.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
}

fn loses(call: &Call<'_>) -> Option<&'static str> {
    const WORK: &str = "Throws away changes that are not committed.";
    const REMOTE: &str = "Overwrites or deletes branches on the server.";
    const BRANCH: &str =
        "Deletes a branch, a tag or a stash, and maybe the last way to its commits.";
    const HISTORY: &str = "Writes the history anew, or removes what could restore it.";
    let forced = call.short('f') || call.long("force");
    match call.name {
        "push" => (forced
            || call.short('d')
            || call.texts().any(|text| {
                text.starts_with("--force")
                    || matches!(text, "--mirror" | "--delete" | "--prune")
                    || (text.starts_with('+') || text.starts_with(':')) && text.len() > 1
            }))
        .then_some(REMOTE),
        "reset" => (call.long("hard") || call.has("--merge") || call.has("--keep")).then_some(WORK),
        "checkout" => checkout_loses(call, forced).then_some(WORK),
        "restore" => {
            (!(call.long("staged") || call.short('S')) || call.long("worktree") || call.short('W'))
                .then_some(WORK)
        }
        "switch" => (forced || call.has_any(&["--discard-changes", "-C"])).then_some(WORK),
        "branch" => (call.short('D')
            || call.has("-M")
            || call.long("delete") && forced
            || call.short('d') && call.short('f'))
        .then_some(BRANCH),
        "tag" => (call.short('d') || call.long("delete")).then_some(BRANCH),
        "stash" => matches!(call.operand(0), "drop" | "clear").then_some(BRANCH),
        "worktree" => (call.operand(0) == "remove" && forced).then_some(WORK),
        "reflog" => matches!(call.operand(0), "expire" | "delete").then_some(HISTORY),
        "filter-branch" | "filter-repo" | "replace" => Some(HISTORY),
        "gc" => call
            .texts()
            .any(|text| text.starts_with("--prune") && text != "--prune=never")
            .then_some(HISTORY),
        "prune" => Some(HISTORY),
        "update-ref" => call.short('d').then_some(BRANCH),
        "read-tree" => call.has("--reset").then_some(WORK),
        "checkout-index" => forced.then_some(WORK),
        "remote" => matches!(call.operand(0), "prune").then_some(BRANCH),
        "submodule" => (call.operand(0) == "deinit" && forced).then_some(WORK),
        _ => None,
    }
}

/// By force, or with paths: those are overwritten. With a branch only, git refuses to overwrite changes.
fn checkout_loses(call: &Call<'_>, forced: bool) -> bool {
    let makes_a_branch =
        call.short('b') || call.short('t') || call.long("track") || call.long("orphan");
    let is_path = |text: &str| {
        // No branch may be called so.
        let is_no_branch = text.starts_with(['.', '/', ':'])
            || text.ends_with('/')
            || text.contains(['*', '?', '[']);
        is_no_branch || is_file_name(text)
    };
    forced
        || call.has("--")
        || call.has_any(&["-B", "--ours", "--theirs"])
        || call.texts().any(|text| text.starts_with("--pathspec"))
        || !makes_a_branch
            && (call.operands().count() > 1
                || call.operands().any(|operand| is_path(&operand.text)))
}

/// Ends as files do, and not as versions.
fn is_file_name(text: &str) -> bool {
    let last = text.rsplit('/').next().unwrap_or_default();
    last.rsplit_once('.').is_some_and(|(_, ending)| {
        (2..=5).contains(&ending.len()) && ending.bytes().all(|letter| letter.is_ascii_lowercase())
    })
}
