//! `homing doctor telegram`: asks Telegram whether the bot can work as the settings say. Nothing is changed, but for a probe that is asked for.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use homing_config::Config;
use homing_ports::SystemClock;
use homing_telegram as adapter;

use super::{Finding, Grade};
use crate::arguments::Doctor;
use crate::command::block_on;
use crate::wiring;

const WHAT: &str = "telegram";

pub fn look(arguments: &Doctor) -> anyhow::Result<Vec<Finding>> {
    let Some(path) = &arguments.config else {
        bail!("the token and the chats are in the settings: name them with --config FILE");
    };
    let probe = arguments.probe.as_deref().map(place).transpose()?;
    let config = read(path)?;
    let Some(settings) = &config.telegram else {
        bail!(
            "{} has no [telegram]; config/homing.example.toml shows one",
            path.display()
        );
    };
    // A folder of its own: a gateway that runs keeps how far it has read in another one.
    let scratch = tempfile::tempdir().context("making a temporary folder")?;
    let bot = wiring::telegram::telegram(settings, scratch.path(), Arc::new(SystemClock))?;
    let findings = block_on(async move { Ok(bot.doctor(probe).await) })?;
    Ok(findings.into_iter().map(told).collect())
}

fn read(path: &Path) -> anyhow::Result<Config> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("reading the settings {}", path.display()))?;
    Config::parse(&text).with_context(|| format!("in {}", path.display()))
}

fn told(finding: adapter::Finding) -> Finding {
    Finding {
        grade: match finding.grade {
            adapter::Grade::Good => Grade::Fine,
            adapter::Grade::Warning => Grade::Note,
            adapter::Grade::Error => Grade::Wrong,
        },
        what: WHAT,
        said: match finding.way_out {
            Some(way_out) => format!("{}: {way_out}", finding.text),
            None => finding.text,
        },
    }
}

/// `-100123` or `-100123:42`.
fn place(text: &str) -> anyhow::Result<(i64, Option<i64>)> {
    let (chat, topic) = match text.split_once(':') {
        Some((chat, topic)) => (chat, Some(topic)),
        None => (text, None),
    };
    let number = |part: &str| {
        part.parse::<i64>().with_context(|| {
            format!(
                "`{text}` is no place: a chat's number, or CHAT:TOPIC, such as -1001234567890:42"
            )
        })
    };
    Ok((number(chat)?, topic.map(number).transpose()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_place_is_a_chat_or_a_chat_and_a_topic() {
        assert_eq!(place("-100123").unwrap(), (-100_123, None));
        assert_eq!(place("-100123:42").unwrap(), (-100_123, Some(42)));
        let refused = place("general").unwrap_err().to_string();
        assert!(refused.contains("CHAT:TOPIC"), "{refused}");
    }
}
