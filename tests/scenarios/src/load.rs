//! From files to scenarios, or to everything that is wrong with them.
//!
//! **Invariant:** a problem names the file, and the scenario and step it is in (counted from 1).

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::check;
use crate::model::{Scenario, Step};

/// Why a file cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    pub file: PathBuf,
    pub scenario: Option<String>,
    pub step: Option<usize>,
    pub problem: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        if let Some(scenario) = &self.scenario {
            write!(f, "scenario \"{scenario}\": ")?;
        }
        if let Some(step) = self.step {
            write!(f, "step {step}: ")?;
        }
        f.write_str(&self.problem)
    }
}

/// Reads all files.
///
/// # Errors
/// Everything that is wrong in any of them; then none is to be run.
pub fn load(files: &[PathBuf]) -> Result<Vec<Scenario>, Vec<Malformed>> {
    let mut scenarios = Vec::new();
    let mut problems = Vec::new();
    for file in files {
        match fs::read(file) {
            Ok(content) => parse(file, &content, &mut scenarios, &mut problems),
            Err(error) => problems.push(whole(file, format!("cannot be read: {error}"))),
        }
    }
    if problems.is_empty() {
        Ok(scenarios)
    } else {
        Err(problems)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    /// Rule numbers, for people and for a coverage table.
    #[serde(default, rename = "covers")]
    _covers: Vec<u32>,
    steps: Vec<Value>,
}

fn parse(
    file: &Path,
    content: &[u8],
    scenarios: &mut Vec<Scenario>,
    problems: &mut Vec<Malformed>,
) {
    let list: Vec<Value> = match serde_json::from_slice(content) {
        Ok(list) => list,
        Err(error) => {
            return problems.push(whole(file, format!("is not a list of scenarios: {error}")));
        }
    };
    let mut names: Vec<String> = Vec::new();
    for (index, value) in list.into_iter().enumerate() {
        let known_as = value["name"]
            .as_str()
            .map_or_else(|| format!("number {}", index + 1), str::to_owned);
        let problem = |step: Option<usize>, problem: String| Malformed {
            file: file.to_owned(),
            scenario: Some(known_as.clone()),
            step,
            problem,
        };
        let raw: Raw = match serde_json::from_value(value) {
            Ok(raw) => raw,
            Err(error) => {
                problems.push(problem(None, error.to_string()));
                continue;
            }
        };
        if raw.name.trim().is_empty() || raw.name.chars().any(char::is_control) {
            problems.push(problem(None, "a name is one line of text".into()));
        }
        if names.contains(&raw.name) {
            problems.push(problem(
                None,
                "another scenario of this file has the same name".into(),
            ));
        }
        names.push(raw.name.clone());
        match steps(raw.steps) {
            Ok(steps) => {
                let scenario = Scenario {
                    file: file.to_owned(),
                    name: raw.name,
                    steps,
                };
                problems.extend(
                    check::check(&scenario)
                        .into_iter()
                        .map(|(step, text)| problem(Some(step), text)),
                );
                scenarios.push(scenario);
            }
            Err(wrong) => problems.extend(
                wrong
                    .into_iter()
                    .map(|(step, text)| problem(Some(step), text)),
            ),
        }
    }
}

/// The steps, or what is wrong with which of them.
fn steps(values: Vec<Value>) -> Result<Vec<Step>, Vec<(usize, String)>> {
    let mut steps = Vec::new();
    let mut wrong = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        match step(value) {
            Ok(step) => steps.push(step),
            Err(problem) => wrong.push((index + 1, problem)),
        }
    }
    if wrong.is_empty() {
        Ok(steps)
    } else {
        Err(wrong)
    }
}

fn step(value: Value) -> Result<Step, String> {
    let action = match value
        .as_object()
        .map(|object| object.keys().collect::<Vec<_>>())
        .as_deref()
    {
        Some([action]) => (*action).clone(),
        Some(actions) => {
            return Err(format!(
                "a step has one action, this one has {}",
                actions.len()
            ));
        }
        None => return Err("a step is an object with one action".into()),
    };
    serde_json::from_value(value).map_err(|error| {
        let text = error.to_string();
        // serde names an unknown action itself.
        if text.starts_with("unknown variant") && text.contains(&format!("`{action}`")) {
            text
        } else {
            format!("`{action}`: {text}")
        }
    })
}

fn whole(file: &Path, problem: String) -> Malformed {
    Malformed {
        file: file.to_owned(),
        scenario: None,
        step: None,
        problem,
    }
}
