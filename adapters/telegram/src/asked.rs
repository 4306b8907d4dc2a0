//! Whether a message of a group is meant for the bot, and what is left of it without the address.
//!
//! **Invariant:** a command that names another bot is never ours.
//! **Absent on purpose:** mentions inside a sentence are left there: "what does @bot think" needs its object.

use homing_domain::command::{self, Parsed};
use teloxide_core::types::{MessageEntity, MessageEntityKind};

use crate::reading::Message;
use crate::utf16;

/// The bot, as people address it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Me {
    pub id: i64,
    /// Without `@`.
    pub username: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    Yes {
        text: String,
        /// By its name, by a reply, or in private. A bare `/command` may be meant for any bot.
        by_name: bool,
    },
    No,
}

/// `must_mention` is whether a message without an address is none of ours.
pub(crate) fn asked(message: &Message, me: &Me, must_mention: bool) -> Asked {
    let text = without_mentions(message, me);
    let names = [me.username.as_str()];
    let parsed = command::parse(&text, &names);
    if parsed == Parsed::ForAnotherBot {
        return Asked::No;
    }
    let command_to_us = without_our_name(&text, me);
    let by_name = message.place.is_private()
        || command_to_us.is_some()
        || mentions(message, me).next().is_some()
        || answers(message, me);
    let is_command = matches!(parsed, Parsed::Command(_));
    match by_name || is_command || !must_mention {
        true => Asked::Yes {
            text: command_to_us.unwrap_or(text),
            by_name,
        },
        false => Asked::No,
    }
}

fn answers(message: &Message, me: &Me) -> bool {
    let replied = message.reply.as_ref();
    replied
        .and_then(|reply| reply.speaker.as_ref())
        .is_some_and(|speaker| speaker.id == me.id)
}

fn mentions<'a>(
    message: &'a Message,
    me: &'a Me,
) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
    message
        .entities
        .iter()
        .filter_map(move |entity| mention(message, entity, me))
}

/// Where the entity is, if it names us.
fn mention(message: &Message, entity: &MessageEntity, me: &Me) -> Option<std::ops::Range<usize>> {
    let range = utf16::bytes(&message.text, entity.offset, entity.length)?;
    let is_us = match &entity.kind {
        MessageEntityKind::Mention => message.text[range.clone()]
            .strip_prefix('@')
            .is_some_and(|name| name.eq_ignore_ascii_case(&me.username)),
        MessageEntityKind::TextMention { user } => i64::try_from(user.id.0) == Ok(me.id),
        _ => false,
    };
    is_us.then_some(range)
}

/// The text without our name at its ends. If nothing else is there, the name is what was said.
fn without_mentions(message: &Message, me: &Me) -> String {
    let whole = message.text.as_str();
    let (mut from, mut to) = (0, whole.len());
    // Whoever writes the entities may have them overlap.
    let is_blank = |gap: Option<&str>| gap.is_some_and(|gap| gap.trim().is_empty());
    let mut ranges: Vec<_> = mentions(message, me).collect();
    ranges.sort_by_key(|range| range.start);
    for range in &ranges {
        if is_blank(whole.get(from..range.start)) && range.end <= to {
            from = range.end;
            let rest = &whole[from..];
            let after = rest.trim_start_matches([',', ':']);
            from += rest.len() - after.len();
        }
    }
    for range in ranges.iter().rev() {
        if range.start >= from && is_blank(whole.get(range.end..to)) {
            to = range.start;
        }
    }
    match whole.get(from..to).map(str::trim) {
        None | Some("") => whole.trim().to_owned(),
        Some(text) => text.to_owned(),
    }
}

/// `/status@us now` as `/status now`.
fn without_our_name(text: &str, me: &Me) -> Option<String> {
    let body = text.strip_prefix('/')?;
    let end = body.find(char::is_whitespace).unwrap_or(body.len());
    let (name, at) = body[..end].split_once('@')?;
    at.eq_ignore_ascii_case(&me.username)
        .then(|| format!("/{name}{}", &body[end..]))
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
