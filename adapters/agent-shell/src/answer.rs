//! What the shell agent says.

use homing_domain::block;
use homing_domain::process::Ending;
use homing_domain::time::Span;
use homing_ports::agent::ToolAnswer;

pub(crate) const USAGE: &str = "\
`!COMMAND` runs it and shows what it prints
`!bg COMMAND` runs it in the background and tells you here when it ends
`!watch PATTERN -- COMMAND` tells you when a line of its output matches (`re:…` for a regular expression)
`/ps` shows what runs, `/new` begins a fresh session, `/help` lists everything else";

/// Bytes of output that are shown.
const SHOWN: usize = 3_000;

pub(crate) fn greeting() -> String {
    format!("I run commands; I am not a model.\n{USAGE}")
}

/// The answer to `!COMMAND`.
pub(crate) fn ran(answer: &ToolAnswer) -> String {
    let ToolAnswer::Ran {
        ending,
        output,
        output_total,
        ran_for,
        ..
    } = answer
    else {
        return "That is not an answer I know how to tell.".into();
    };
    let shown = block::output(output, *output_total, SHOWN);
    match ending {
        Ending::Code(0) => shown,
        Ending::Code(_) | Ending::Signal(_) | Ending::Lost(_) => {
            format!("{shown}\n{ending} after {}", Span(*ran_for))
        }
    }
}

/// What a sub-agent's command printed, and how it ended if that was not well.
pub(crate) fn printed(answer: &ToolAnswer) -> String {
    match answer {
        ToolAnswer::Ran {
            ending,
            output,
            ran_for,
            ..
        } => {
            let text = String::from_utf8_lossy(output);
            match ending {
                Ending::Code(0) => text.into_owned(),
                Ending::Code(_) | Ending::Signal(_) | Ending::Lost(_) => {
                    format!("{text}\n{ending} after {}", Span(*ran_for))
                }
            }
        }
        ToolAnswer::Moved { process } => format!("{process} goes on in the background."),
        other => format!("an answer that does not fit: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homing_domain::ids::ProcessId;
    use homing_domain::process::LostReason;
    use std::time::Duration;

    fn said(ending: Ending, output: &str) -> String {
        ran(&ToolAnswer::Ran {
            process: ProcessId::from_number(1),
            ending,
            output: output.into(),
            output_total: output.len() as u64,
            ran_for: Duration::from_secs(2),
        })
    }

    #[test]
    fn success_is_the_output_alone() {
        assert_eq!(said(Ending::Code(0), ""), "(no output)");
        assert!(said(Ending::Code(0), "hello\n").contains("hello"));
        assert!(!said(Ending::Code(0), "hello\n").contains("exit code"));
    }

    // OWN-91
    #[test]
    fn failure_and_the_unknown_say_so() {
        assert!(said(Ending::Code(7), "x\n").contains("exit code 7 after 2.0 s"));
        assert!(said(Ending::Signal(9), "").contains("SIGKILL"));
        let lost = said(Ending::Lost(LostReason::SupervisorGone), "");
        assert!(
            lost.contains("unknown") && !lost.contains("code 0"),
            "{lost}"
        );
    }
}
