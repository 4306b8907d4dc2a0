//! Scenario files.

use homing_fuzz::{Reading, fuzz};
use homing_scenarios::load::load;
use homing_scenarios::model::parse_span;

use crate::text;

#[test]
fn scenario_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.json");
    fuzz("scenario", |input| {
        std::fs::write(&file, input).unwrap();
        match load(std::slice::from_ref(&file)) {
            Ok(scenarios) => {
                assert!(scenarios.iter().all(|scenario| scenario.file == file));
                Reading::Accepted
            }
            Err(problems) => {
                assert!(!problems.is_empty());
                for problem in problems {
                    assert!(problem.to_string().contains("cases.json"), "{problem}");
                }
                Reading::Refused
            }
        }
    });
}

#[test]
fn spans() {
    fuzz("span", |input| match parse_span(&text(input)) {
        Ok(span) => {
            let again = format!("{}ms", span.as_millis());
            assert_eq!(parse_span(&again), Ok(span));
            Reading::Accepted
        }
        Err(problem) => {
            assert!(!problem.is_empty());
            Reading::Refused
        }
    });
}
