//! What compression keeps: deterministic, bounded, made of what was said.

use std::fmt::Write;

use homing_domain::ids::SessionId;
use homing_ports::store::{MessageRow, Role};

/// Newest lines that are kept.
const LINES: usize = 20;
/// Characters of each.
const WIDTH: usize = 160;

pub(crate) fn of(session: SessionId, history: &[MessageRow]) -> String {
    let count = |role: Role| {
        history
            .iter()
            .filter(|message| message.role == role)
            .count()
    };
    let mut summary = format!(
        "Summary of {session}: {} messages of people, {} answers, {} results.\n",
        count(Role::Person),
        count(Role::Agent),
        count(Role::Notification)
    );
    let said: Vec<&MessageRow> = history
        .iter()
        .filter(|message| message.role == Role::Person)
        .collect();
    for message in said.iter().skip(said.len().saturating_sub(LINES)) {
        let line: String = message
            .text
            .chars()
            .map(|character| {
                if character.is_control() {
                    ' '
                } else {
                    character
                }
            })
            .take(WIDTH)
            .collect();
        let _infallible = writeln!(summary, "- {line}");
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use homing_domain::ids::MessageId;
    use homing_domain::time::Timestamp;

    #[test]
    fn it_is_bounded_and_the_same_every_time() {
        let session = SessionId::from_number(1);
        let history: Vec<MessageRow> = (0..100)
            .map(|number| MessageRow {
                id: MessageId::from_number(number),
                session,
                turn: None,
                role: if number % 2 == 0 {
                    Role::Person
                } else {
                    Role::Agent
                },
                author: None,
                text: format!("line {number}\n{}", "x".repeat(1_000)),
                at: Timestamp(0),
                data: None,
            })
            .collect();
        let summary = of(session, &history);
        assert_eq!(summary, of(session, &history));
        assert_eq!(summary.lines().count(), 1 + LINES);
        assert!(
            summary.contains("50 messages of people, 50 answers")
                && summary.contains("line 98")
                && !summary.contains("line 0 ")
        );
        assert!(summary.len() < 5_000);
    }
}
