//! Tables of commands that ask and commands that do not, and what holds for every text.

#![allow(clippy::unwrap_used, reason = "tests")]

mod dangerous;
mod deceiving;
mod harmless;
mod input;
mod keys;
mod options;
mod properties;
mod wrapped;

use super::{Rule, look};

fn names(command: &str) -> Vec<&'static str> {
    look(command)
        .iter()
        .map(|danger| danger.rule.name())
        .collect()
}

/// Every row that does not ask for its rule, so that one run shows them all.
fn missed(rows: &[(Rule, &str)]) -> Vec<String> {
    rows.iter()
        .filter(|(rule, command)| !look(command).iter().any(|danger| danger.rule == *rule))
        .map(|(rule, command)| {
            format!(
                "{command:?} should be {}, is {:?}",
                rule.name(),
                names(command)
            )
        })
        .collect()
}

/// Every row that is asked about, and why, so that one run shows them all.
fn asked_about(rows: &[&str]) -> Vec<String> {
    rows.iter()
        .map(|command| (command, look(command)))
        .filter(|(_, dangers)| !dangers.is_empty())
        .map(|(command, dangers)| {
            format!("{command:?} is {:?}: {:?}", names(command), dangers[0].why)
        })
        .collect()
}

#[test]
fn names_of_rules_are_unique_and_lead_back() {
    for rule in Rule::ALL {
        assert_eq!(Rule::named(rule.name()), Some(*rule));
    }
    assert_eq!(Rule::named("nothing"), None);
}

#[test]
fn every_rule_has_a_row() {
    for rule in Rule::ALL {
        let rows = dangerous::ROWS.iter().chain(deceiving::ROWS);
        assert!(
            rows.clone().any(|(named, _)| named == rule),
            "{} has no row",
            rule.name()
        );
    }
}
