//! The full run: the true model within its bounds, then every planted bug.
//!
//! Prints one JSON object; exits with 1 if a rule is broken, if the run was not complete, or if a planted bug was not caught by the rule that
//! is meant to catch it.

use std::io::Write;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use homing_model::bug::Bug;
use homing_model::rules::Rule;
use homing_model::state::Left;
use homing_model::{Found, Homing, check, settings};
use serde_json::json;

/// Of the true model.
const BOUNDS: Left = Left {
    commands: 2,
    messages: 1,
    compressions: 1,
    crashes: 1,
    mishaps: 2,
    waits: 1,
    windows: 2,
};
/// Of the planted ones: enough to reach each.
const SMALL: Left = Left {
    compressions: 0,
    ..BOUNDS
};
const AT_MOST: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let json_only = std::env::args().any(|argument| argument == "--json");
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let begun = Instant::now();
    let found = check(Homing::new(Bug::None, BOUNDS, settings()), threads, AT_MOST);
    let seconds = begun.elapsed().as_secs_f64();
    let mut wrong = complaints(&found);
    let mut caught = 0;
    let mut table = Vec::new();
    for (bug, rule) in Bug::PLANTED {
        let found = check(Homing::new(bug, SMALL, settings()), threads, AT_MOST);
        let by: Vec<Rule> = found
            .broken
            .keys()
            .filter_map(|sentence| Rule::of_sentence(sentence))
            .collect();
        if by.contains(&rule) {
            caught += 1;
        } else {
            wrong.push(format!(
                "the planted bug {bug:?} was not caught by {rule:?} but by {by:?}"
            ));
        }
        let steps = found
            .broken
            .get(rule.sentence())
            .cloned()
            .unwrap_or_default();
        table.push(json!({ "bug": format!("{bug:?}"), "caught_by": by.iter().map(|rule| format!("{rule:?}")).collect::<Vec<_>>(), "steps": steps }));
    }
    let mut report = json!({
        "name": "model",
        "figures": {
            "states": found.states,
            "unique": found.unique,
            "depth": found.depth,
            "properties": Rule::ALL.len(),
            "seconds": (seconds * 10.0).round() / 10.0,
            "planted": Bug::PLANTED.len(),
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
    if !found.complete && wrong.is_empty() {
        wrong.push("the time was over before everything was seen".into());
    }
    wrong
}
