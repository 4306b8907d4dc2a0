//! What people type: slash commands, shell requests, words.

use homing_domain::command::{self, Parsed, ShellRequest};
use homing_fuzz::{Reading, fuzz};

use crate::text;

const COMMANDS: [&str; 6] = ["new", "reset", "resume", "delete", "kill", "compress"];

#[test]
fn slash_commands() {
    fuzz("command", |input| {
        let text = text(input);
        assert_eq!(command::parse(&text, &[]), command::parse(text.trim(), &[]));
        let Parsed::Command(invocation) = command::parse(&text, &["homing_bot"]) else {
            return Reading::Refused;
        };
        let name = &invocation.name;
        assert!(
            name.len() <= command::NAME_LIMIT
                && name.starts_with(|first: char| first.is_ascii_lowercase())
        );
        assert!(
            name.bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
        );
        assert!(text.contains(&invocation.rest));
        // Typed again without the bot's name and with one space, it is the same.
        if !invocation.arguments.is_empty() {
            let again = format!("/{name} {}", invocation.rest);
            assert_eq!(
                command::parse(&again, &[]),
                Parsed::Command(invocation.clone())
            );
        }
        if let Some(guess) = command::suggest(name, &COMMANDS) {
            assert!(COMMANDS.contains(&guess));
        }
        Reading::Accepted
    });
}

#[test]
fn shell_requests() {
    fuzz("shell-request", |input| {
        let text = text(input);
        let request = command::shell_request(&text);
        let again = match &request {
            ShellRequest::NotShell => {
                let trimmed = text.trim();
                assert!(
                    !trimmed.starts_with('!')
                        || trimmed.starts_with("!!")
                        || trimmed.starts_with("!?")
                );
                return Reading::Refused;
            }
            ShellRequest::Malformed(sentence) => {
                assert!(sentence.contains('`') && sentence.ends_with('.'));
                return Reading::Refused;
            }
            ShellRequest::Help => "!help".to_owned(),
            ShellRequest::Run(command) => format!("! {command}"),
            ShellRequest::Background(command) => format!("!bg {command}"),
            ShellRequest::Delegate(command) => format!("!delegate {command}"),
            ShellRequest::Watch { patterns, command } => {
                assert!(!patterns.is_empty() && patterns.iter().all(|pattern| !pattern.is_empty()));
                let patterns: Vec<String> =
                    patterns.iter().map(|pattern| quoted(pattern)).collect();
                format!("!watch {} -- {command}", patterns.join(" "))
            }
        };
        assert_eq!(command::shell_request(&again), request, "{again:?}");
        match &request {
            ShellRequest::Run(command)
            | ShellRequest::Background(command)
            | ShellRequest::Delegate(command)
            | ShellRequest::Watch { command, .. } => {
                assert!(
                    !command.is_empty() && text.contains(command.as_str()),
                    "{command:?}"
                );
            }
            ShellRequest::Help | ShellRequest::NotShell | ShellRequest::Malformed(_) => {}
        }
        Reading::Accepted
    });
}

#[test]
fn words() {
    fuzz("words", |input| {
        let text = text(input);
        let words = command::words(&text);
        let again: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        assert_eq!(command::words(&again.join(" ")), words);
        Reading::of(!words.is_empty())
    });
}

/// As a person would write a word with anything in it.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}
