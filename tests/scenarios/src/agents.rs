//! What differs between the scripted agent and one with a model: how failures are told, and what a model's agent does not do. Pure.
//!
//! **Invariant:** a scenario is told with other words only where the words are the agent's own; how often, where and in which order something is said
//! stays as it was written.

use std::collections::BTreeSet;

use crate::model::{Expect, Scenario, Step};

/// Scenarios that a model's agent cannot play, each with the reason.
const NOT_OF_A_MODEL: [(&str, &str); 2] = [
    (
        "two questions never mix: a plain yes answers neither, and each number its own (64001)",
        "its calls are made one after another, so a conversation never has two questions at once",
    ),
    (
        "a message that was offered and not taken up is answered afterwards, once, in order",
        "it takes up what was offered before it says its last word, so nothing is left over",
    ),
];

/// What a person reads when the server refused a request, whatever it said of it.
const REFUSED: &str = "The model server refused the request.";

/// How the scripted agent says something, and how the other does.
const WORDS: [(&str, &str); 3] = [
    // There is nothing before the message that could be compressed.
    (
        "That did not work: the conversation is too long",
        "That did not work: this message is too long for the model",
    ),
    ("cannot be summarized", REFUSED),
    // It reads arguments itself, before a tool does.
    ("not valid JSON", "are no JSON object"),
];

/// Why a scenario is none of a model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotOfAModel(&'static str);

/// The same scenario for an agent with a model.
///
/// # Errors
/// It is about what such an agent does not do.
pub fn told_of_a_model(scenario: &Scenario) -> Result<Scenario, NotOfAModel> {
    if let Some((_, why)) = NOT_OF_A_MODEL
        .iter()
        .find(|(name, _)| *name == scenario.name)
    {
        return Err(NotOfAModel(why));
    }
    let mut told = scenario.clone();
    // A sub-agent fails because its server refuses.
    let failures: BTreeSet<String> = scenario.steps.iter().filter_map(failure).collect();
    for step in &mut told.steps {
        if let Step::Expect(expect) = step {
            for text in wanted(expect) {
                let word = WORDS.iter().find(|(scripted, _)| text == scripted);
                match word {
                    Some((_, words)) => *text = (*words).to_owned(),
                    None if failures.contains(text) => *text = REFUSED.to_owned(),
                    None => {}
                }
            }
        }
    }
    Ok(told)
}

/// What a sub-agent fails with.
fn failure(step: &Step) -> Option<String> {
    match step {
        Step::Finish(finish) => finish.result.clone().err(),
        _ => None,
    }
}

/// Texts that are to be seen.
fn wanted(expect: &mut Expect) -> impl Iterator<Item = &mut String> {
    let posts = expect.posts.iter_mut().flatten();
    let answers = expect.answers.iter_mut().flatten();
    posts
        .flat_map(|post| &mut post.has)
        .chain(answers.flat_map(|answer| &mut answer.has))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use serde_json::json;

    use super::*;

    const HERE: &str = "agent:main:telegram:group:-100:42";

    fn scenario(name: &str) -> Scenario {
        Scenario {
            file: "test.json".into(),
            name: name.into(),
            steps: serde_json::from_value(json!([
                {"message": {"at": HERE, "text": "no luck"}},
                {"finish": {"delegation": "d1", "error": "no luck"}},
                {"expect": {
                    "posts": [{"at": HERE, "has": ["no luck", "d1"]}],
                    "answers": [{"at": HERE, "count": 1, "has": ["not valid JSON"], "lacks": ["no luck"]}],
                }},
            ]))
            .unwrap(),
        }
    }

    #[test]
    fn a_failure_is_expected_in_the_agents_words_and_nothing_else_changes() {
        let told = told_of_a_model(&scenario("some")).unwrap();
        let Step::Expect(expect) = &told.steps[2] else {
            panic!()
        };
        assert_eq!(expect.posts.as_ref().unwrap()[0].has, [REFUSED, "d1"]);
        let answers = &expect.answers.as_ref().unwrap()[0];
        assert_eq!(
            (
                answers.count,
                answers.has.as_slice(),
                answers.lacks.as_slice()
            ),
            (
                1,
                &["are no JSON object".to_owned()][..],
                &["no luck".to_owned()][..]
            )
        );
        let Step::Message(message) = &told.steps[0] else {
            panic!()
        };
        assert_eq!(message.text.as_deref(), Some("no luck"));
    }

    #[test]
    fn what_a_model_does_not_do_says_why() {
        let (name, why) = NOT_OF_A_MODEL[0];
        assert_eq!(
            told_of_a_model(&scenario(name)).unwrap_err().to_string(),
            why
        );
    }

    /// A scenario that is renamed must not be left out by its old name, nor played by accident.
    #[test]
    fn every_scenario_that_is_left_out_is_there_and_none_of_the_promised() {
        let cases = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/extra");
        let texts: Vec<String> = cases
            .read_dir()
            .unwrap()
            .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
            .collect();
        for (name, _) in NOT_OF_A_MODEL {
            let named = serde_json::to_string(name).unwrap();
            let count: usize = texts.iter().map(|text| text.matches(&named).count()).sum();
            assert_eq!(count, 1, "{name}");
        }
    }
}
