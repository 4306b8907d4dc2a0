//! `/model`: which model answers in this conversation.

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::{Change, StoreError};

use super::{Call, Choice, Command, Outcome, Step};

pub(super) const COMMAND: Command = Command {
    name: "model",
    usage: "[NAME|default]",
    summary: "which models there are, or another one for this conversation",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let agent = call.inside.directory.agent(&call.row.key.profile);
        let models = agent.map(|agent| agent.models()).unwrap_or_default();
        if models.is_empty() {
            return Ok(Outcome::reply(
                "What answers here has no models to choose from.",
            ));
        }
        let wanted = call.invocation.rest.trim();
        if wanted.is_empty() {
            return Ok(Outcome::Choice(offer(&models, call.row.model.as_deref())));
        }
        let chosen = match choose(&models, wanted) {
            Ok(chosen) => chosen,
            Err(problem) => return Ok(Outcome::reply(problem)),
        };
        let reply = match &chosen {
            Some(model) => format!("From your next message on `{model}` answers here."),
            None => format!(
                "From your next message on `{}` answers here, as everywhere.",
                models.first().map(String::as_str).unwrap_or_default()
            ),
        };
        Ok(Outcome::Step(Step {
            reply,
            changes: vec![Change::SetModel(chosen)],
            effects: Vec::new(),
        }))
    }
    .boxed()
}

/// Every other one can be chosen.
fn offer(models: &[String], chosen: Option<&str>) -> Choice {
    let now = chosen.or(models.first().map(String::as_str));
    let others = models.iter().filter(|model| Some(model.as_str()) != now);
    Choice {
        reply: list(models, chosen),
        options: others
            .map(|model| (model.clone(), format!("/model {model}")))
            .collect(),
    }
}

fn list(models: &[String], chosen: Option<&str>) -> String {
    let now = chosen.or(models.first().map(String::as_str));
    let mut lines: Vec<String> = models
        .iter()
        .map(|model| match Some(model.as_str()) == now {
            true => format!("• `{model}` ← answers here"),
            false => format!("• `{model}`"),
        })
        .collect();
    if let Some(gone) = chosen.filter(|chosen| !models.iter().any(|model| model == chosen)) {
        lines.push(format!(
            "Chosen here is `{gone}`, which is not there any more."
        ));
    }
    lines.push("/model NAME changes it, /model default changes it back.".to_owned());
    lines.join("\n")
}

/// By its name, or by a part of it that no other one has. `None` is the profile's own.
fn choose(models: &[String], wanted: &str) -> Result<Option<String>, String> {
    if wanted == "default" {
        return Ok(None);
    }
    if let Some(model) = models.iter().find(|model| *model == wanted) {
        return Ok(Some(model.clone()));
    }
    let lower = wanted.to_lowercase();
    let mut fitting = models
        .iter()
        .filter(|model| model.to_lowercase().contains(&lower));
    match (fitting.next(), fitting.next()) {
        (Some(model), None) => Ok(Some(model.clone())),
        (Some(_), Some(_)) => Err(format!(
            "`{wanted}` fits several models; give more of the name. /model lists them."
        )),
        (None, _) => Err(format!(
            "There is no model `{wanted}`. There are: {}.",
            models.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_chosen_by_its_name_or_a_part_that_is_its_own() {
        let models: Vec<String> = ["big-1", "big-2", "small"].map(str::to_owned).to_vec();
        assert_eq!(choose(&models, "big-1"), Ok(Some("big-1".into())));
        assert_eq!(choose(&models, "SMALL"), Ok(Some("small".into())));
        assert_eq!(choose(&models, "default"), Ok(None));
        assert!(choose(&models, "big").is_err_and(|said| said.contains("several")));
        assert!(choose(&models, "huge").is_err_and(|said| said.contains("big-1, big-2, small")));
    }

    #[test]
    fn every_other_model_is_offered_as_a_button_that_a_platform_takes() {
        let long = "x".repeat(64);
        let models: Vec<String> = ["a", "b", &long].map(str::to_owned).to_vec();
        let buttons = offer(&models, Some("b")).buttons();
        let says: Vec<&str> = buttons
            .iter()
            .flatten()
            .map(|one| one.says.as_str())
            .collect();
        // The long one can be written, and is in the list.
        assert_eq!(says, ["/model a"]);
    }

    #[test]
    fn the_list_says_which_one_answers_and_when_the_chosen_one_is_gone() {
        let models: Vec<String> = ["a", "b"].map(str::to_owned).to_vec();
        assert!(list(&models, None).contains("`a` ← answers here"));
        assert!(list(&models, Some("b")).contains("`b` ← answers here"));
        assert!(list(&models, Some("c")).contains("not there any more"));
    }
}
