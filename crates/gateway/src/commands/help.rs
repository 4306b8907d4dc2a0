//! `/help`

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::StoreError;

use super::{COMMANDS, Call, Command, Outcome, find};

pub(super) const COMMAND: Command = Command {
    name: "help",
    usage: "[COMMAND]",
    summary: "what can be said here",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        Ok(Outcome::reply(text(
            call.arguments().first().map(String::as_str),
        )))
    }
    .boxed()
}

fn text(topic: Option<&str>) -> String {
    match topic.map(|topic| topic.trim_start_matches('/')) {
        Some(topic) => match find(topic) {
            Some(command) => format!("{} – {}", command.line(), command.summary),
            None => format!("There is no command /{topic}. /help lists all."),
        },
        None => {
            let lines: Vec<String> = COMMANDS
                .iter()
                .map(|command| format!("{} – {}", command.line(), command.summary))
                .collect();
            format!(
                "Everything that is not a command goes to the agent.\n{}",
                lines.join("\n")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_and_explained() {
        for command in COMMANDS {
            assert!(text(None).contains(&command.line()), "{}", command.name);
            assert!(
                text(Some(command.name)).contains(command.summary),
                "{}",
                command.name
            );
        }
        assert!(text(Some("nonsense")).contains("no command"));
    }
}
