//! The full run: the true model within its bounds, then every planted bug.
//!
//! Prints one JSON object; exits with 1 if a rule is broken, if the run was not complete, or if a planted bug was not caught by the rule that
//! is meant to catch it.

use std::io::Write;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use homing_model::bug::{self, Bug, Planted};
use homing_model::rules::Rule;
use homing_model::{Found, Homing, check, scenes};
use serde_json::json;

const AT_MOST: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let json_only = std::env::args().any(|argument| argument == "--json");
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let begun = Instant::now();
    let model = Homing::new(Bug::None, scenes::full());
    let found = check(model, &Rule::ALL, threads, AT_MOST);
    let seconds = begun.elapsed().as_secs_f64();
    let mut wrong = complaints(&found);
    let planted = bug::planted();
    let (mut caught, mut table) = (0, Vec::new());
    for Planted { bug, rule, scene } in &planted {
        let found = check(Homing::new(*bug, vec![*scene]), &[*rule], threads, AT_MOST);
        match found.broken.get(rule.sentence()) {
            Some(steps) => {
                caught += 1;
                table.push(json!({ "bug": format!("{bug:?}"), "caught_by": rule.sentence(), "steps": steps.join(", ") }));
            }
            None => wrong.push(format!(
                "the planted bug {bug:?} was not caught by {rule:?}"
            )),
        }
    }
    let mut report = json!({
        "name": "model",
        "figures": {
            "states": found.states,
            "unique": found.unique,
            "depth": found.depth,
            "properties": Rule::ALL.len(),
            "seconds": (seconds * 10.0).round() / 10.0,
            "planted": planted.len(),
            "caught": caught,
        },
    });
    if !json_only {
        report["planted"] = table.into();
        report["wrong"] = wrong.clone().into();
    }
    let mut out = std::io::stdout().lock();
    let printed = if json_only {
        writeln!(out, "{report}")
    } else {
        writeln!(out, "{report:#}")
    };
    if printed.is_ok() && wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn complaints(found: &Found) -> Vec<String> {
    let mut wrong: Vec<String> = found
        .broken
        .iter()
        .map(|(rule, steps)| format!("broken: {rule}\n  {}", steps.join("\n  ")))
        .collect();
    wrong.extend(
        found
            .unreached
            .iter()
            .map(|what| format!("never seen: {what}")),
    );
    if !found.complete && wrong.is_empty() {
        wrong.push("the time was over before everything was seen".into());
    }
    wrong
}
