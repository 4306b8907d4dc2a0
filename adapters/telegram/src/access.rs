//! Who may speak, and where.
//!
//! **Invariant:** what is not allowed is refused; an empty list of people opens the allowed groups, never a private chat.

use std::collections::HashMap;

use homing_domain::key::ChatType;

use crate::place::{GENERAL, Place};
use crate::settings::ChatRule;

/// The configured rules.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub people: Vec<i64>,
    pub chats: Vec<ChatRule>,
    pub require_mention: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed { must_mention: bool },
    UnknownPerson,
    UnknownChat,
}

impl Access {
    /// `moved` are chats that Telegram gave new numbers since the rules were written: from old to new.
    pub fn judge(&self, place: &Place, speaker: i64, moved: &HashMap<i64, i64>) -> Verdict {
        let is_known = self.people.contains(&speaker);
        if place.chat_type == ChatType::Dm {
            return match is_known {
                true => Verdict::Allowed {
                    must_mention: false,
                },
                false => Verdict::UnknownPerson,
            };
        }
        let Some(rule) = self.rule(place, moved) else {
            return Verdict::UnknownChat;
        };
        // Who speaks as a channel in that channel is one of its administrators.
        let speaks_for_it = place.chat_type == ChatType::Channel && speaker == place.chat;
        match self.people.is_empty() || is_known || speaks_for_it {
            true => Verdict::Allowed {
                must_mention: rule.require_mention.unwrap_or(self.require_mention)
                    && !place.is_private(),
            },
            false => Verdict::UnknownPerson,
        }
    }

    /// Whether anything of this chat is allowed.
    pub fn knows_chat(&self, place: &Place, moved: &HashMap<i64, i64>) -> bool {
        match place.chat_type {
            ChatType::Dm => self.people.contains(&place.chat),
            _ => self.rules_of(place.chat, moved).next().is_some(),
        }
    }

    fn rule<'a>(&'a self, place: &Place, moved: &'a HashMap<i64, i64>) -> Option<&'a ChatRule> {
        let topic = match place.chat_type {
            ChatType::Channel => None,
            _ => Some(place.thread.unwrap_or(GENERAL)),
        };
        let mut rules: Vec<_> = self.rules_of(place.chat, moved).collect();
        rules.sort_by_key(|rule| rule.topic.is_none());
        rules
            .into_iter()
            .find(|rule| rule.topic.is_none() || rule.topic == topic)
    }

    fn rules_of<'a>(
        &'a self,
        chat: i64,
        moved: &'a HashMap<i64, i64>,
    ) -> impl Iterator<Item = &'a ChatRule> {
        self.chats
            .iter()
            .filter(move |rule| rule.chat == chat || moved.get(&rule.chat) == Some(&chat))
    }
}

/// What is said to somebody who may not speak here.
pub(crate) fn refusal(verdict: Verdict, place: &Place, speaker: i64) -> Option<String> {
    match verdict {
        Verdict::Allowed { .. } => None,
        Verdict::UnknownPerson => Some(format!(
            "I do not know you here. Your number is {speaker}. Whoever runs this gateway can add it to `people` of this Telegram account; what you wrote was not kept."
        )),
        Verdict::UnknownChat => Some(format!(
            "I am not set up for this chat. Its number is {}. Whoever runs this gateway can add it to `chats` of this Telegram account; what you wrote was not kept.",
            place.chat
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(chat_type: ChatType, chat: i64, thread: Option<i64>) -> Place {
        Place {
            chat_type,
            chat,
            thread,
            is_forum: false,
        }
    }

    fn rule(chat: i64, topic: Option<i64>, require_mention: Option<bool>) -> ChatRule {
        ChatRule {
            chat,
            topic,
            require_mention,
        }
    }

    fn allowed(must_mention: bool) -> Verdict {
        Verdict::Allowed { must_mention }
    }

    #[test]
    fn every_place_and_person() {
        let open = Access {
            people: vec![],
            chats: vec![
                rule(-1, None, None),
                rule(-1, Some(7), Some(false)),
                rule(-2, Some(5), None),
                rule(-3, Some(1), None),
                rule(-9, None, None),
            ],
            require_mention: true,
        };
        let closed = Access {
            people: vec![10],
            ..open.clone()
        };
        let moved = HashMap::from([(-9, -900)]);
        let group = |chat, thread| place(ChatType::Group, chat, thread);
        for (access, place, speaker, verdict) in [
            (
                &open,
                place(ChatType::Dm, 10, None),
                10,
                Verdict::UnknownPerson,
            ),
            (
                &closed,
                place(ChatType::Dm, 10, Some(3)),
                10,
                allowed(false),
            ),
            (
                &closed,
                place(ChatType::Dm, 11, None),
                11,
                Verdict::UnknownPerson,
            ),
            (&open, group(-1, None), 11, allowed(true)),
            (&open, group(-1, Some(6)), 11, allowed(true)),
            (&open, group(-1, Some(7)), 11, allowed(false)),
            (&closed, group(-1, Some(7)), 11, Verdict::UnknownPerson),
            (&closed, group(-1, Some(7)), 10, allowed(false)),
            // A rule for a topic opens that topic only; 1 is the general one.
            (&open, group(-2, Some(5)), 11, allowed(true)),
            (&open, group(-2, None), 11, Verdict::UnknownChat),
            (&open, group(-3, None), 11, allowed(true)),
            (&open, group(-4, None), 11, Verdict::UnknownChat),
            // OWN-72: the rules were written before the group became a supergroup.
            (&open, group(-900, None), 11, allowed(true)),
            (
                &closed,
                place(ChatType::Channel, -1, None),
                -1,
                allowed(true),
            ),
            (
                &closed,
                place(ChatType::Channel, -1, Some(8)),
                10,
                allowed(false),
            ),
            (
                &closed,
                place(ChatType::Channel, -1, Some(8)),
                12,
                Verdict::UnknownPerson,
            ),
        ] {
            assert_eq!(
                access.judge(&place, speaker, &moved),
                verdict,
                "{speaker} in {place:?}"
            );
        }
    }
}
