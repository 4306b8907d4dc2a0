//! Which conversations of a scenario are Telegram's, and what there must be for them. Pure.
//!
//! | key | over Telegram |
//! |---|---|
//! | `dm:CHAT` | the private chat of a person of its own |
//! | `dm:CHAT:THREAD` | a topic of it |
//! | `group:CHAT` without any thread | a group |
//! | `group:CHAT`, elsewhere with threads | the general topic of a forum |
//! | `group:CHAT:THREAD` | a topic of a forum |
//!
//! Accounts of one platform meet in one chat if they name it alike, as bots do; then each is addressed by its name.

use std::collections::{BTreeMap, BTreeSet};

use homing_domain::key::{ChatType, SessionKey};
use homing_domain::origin::{AccountName, Origin};

use crate::check::{Plan, keys_of};
use crate::keys::{self, SOMEONE};
use crate::model::{Scenario, Step, Window};

/// Whose conversations go over Telegram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Those of the platform `telegram`.
    Own,
    /// All that can.
    All,
}

/// Why a scenario is none of Telegram's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOfTelegram {
    #[error("it is about windows, which only the console has")]
    Windows,
    #[error("somebody without a name writes, and on Telegram everybody has a number")]
    Nameless,
    #[error("Telegram has no chats of the type {0}")]
    ChatType(ChatType),
    #[error("none of its conversations is on Telegram")]
    Elsewhere,
}

/// The chat that a platform's keys name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoomName {
    pub platform: String,
    pub chat_type: ChatType,
    pub chat: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    pub bots: BTreeSet<AccountName>,
    pub threads: BTreeSet<String>,
}

/// Everything that has to be there before the first step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Casting {
    pub bots: BTreeSet<AccountName>,
    pub rooms: BTreeMap<RoomName, Room>,
    /// Those who write in groups, as the scenario calls them.
    pub people: BTreeSet<String>,
}

impl RoomName {
    pub fn of(key: &SessionKey) -> RoomName {
        RoomName {
            platform: key.platform.clone(),
            chat_type: key.chat_type,
            chat: key.chat.clone(),
        }
    }
}

impl Casting {
    pub fn of(scenario: &Scenario, whose: Whose) -> Result<Casting, NotOfTelegram> {
        let plan = Plan::of(scenario);
        let windowed: BTreeSet<AccountName> = scenario.steps.iter().filter_map(windowed).collect();
        let bots: BTreeSet<AccountName> = plan
            .accounts
            .iter()
            .filter(|account| !windowed.contains(account))
            .filter(|account| whose == Whose::All || account.platform == "telegram")
            .cloned()
            .collect();
        match (bots.is_empty(), windowed.is_empty()) {
            (true, true) => return Err(NotOfTelegram::Elsewhere),
            (true, false) => return Err(NotOfTelegram::Windows),
            (false, _) => {}
        }
        let mut casting = Casting {
            bots,
            people: BTreeSet::from([SOMEONE.to_owned()]),
            ..Casting::default()
        };
        for key in scenario.steps.iter().flat_map(keys_of).chain(&plan.home) {
            casting.note_place(key)?;
        }
        for step in &scenario.steps {
            casting.note_person(step, &plan)?;
        }
        Ok(casting)
    }

    pub fn has(&self, key: &SessionKey) -> bool {
        self.bots.contains(&Origin::from_key(key).account_name())
    }

    fn note_place(&mut self, key: &SessionKey) -> Result<(), NotOfTelegram> {
        if !self.has(key) {
            return Ok(());
        }
        if !matches!(key.chat_type, ChatType::Dm | ChatType::Group) {
            return Err(NotOfTelegram::ChatType(key.chat_type));
        }
        let room = self.rooms.entry(RoomName::of(key)).or_default();
        room.bots.insert(Origin::from_key(key).account_name());
        room.threads.extend(key.thread.clone());
        self.people.extend(key.user.clone());
        Ok(())
    }

    fn note_person(&mut self, step: &Step, plan: &Plan) -> Result<(), NotOfTelegram> {
        let (at, user) = match step {
            Step::Message(message) => (&message.at, &message.user),
            Step::Command(command) => (&command.at, &command.user),
            _ => return Ok(()),
        };
        if !self.has(at) {
            return Ok(());
        }
        self.people.extend(user.clone());
        match keys::origin(at, user.as_deref(), plan.keys) {
            Ok(Origin { user: Some(_), .. }) => Ok(()),
            Ok(_) | Err(_) => Err(NotOfTelegram::Nameless),
        }
    }
}

/// The account whose windows a step is about.
fn windowed(step: &Step) -> Option<AccountName> {
    let at = match step {
        Step::Window(Window::Open { at, .. }) => at.as_ref(),
        Step::Spawn(spawn) if spawn.window.is_some() => &spawn.at,
        Step::Delegate(delegate) if delegate.window.is_some() => &delegate.at,
        _ => return None,
    };
    Some(Origin::from_key(at).account_name())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn scenario(steps: Value) -> Scenario {
        Scenario {
            file: "test.json".into(),
            name: "test".into(),
            steps: serde_json::from_value(steps).unwrap(),
        }
    }

    fn of(steps: Value, whose: Whose) -> Result<Casting, NotOfTelegram> {
        Casting::of(&scenario(steps), whose)
    }

    #[test]
    fn two_bots_that_name_a_chat_alike_meet_in_it() {
        let casting = of(
            json!([
                {"message": {"at": "agent:main:telegram:group:-100:42", "user": "u7"}},
                {"message": {"at": "agent:ops:telegram@ops:group:-100"}},
                {"message": {"at": "agent:main:slack@T1:group:-100:17.1"}},
            ]),
            Whose::All,
        )
        .unwrap();
        let rooms: Vec<_> = casting
            .rooms
            .values()
            .map(|room| (room.bots.len(), room.threads.len()))
            .collect();
        assert_eq!(rooms, [(1, 1), (2, 1)]);
        assert_eq!(Vec::from_iter(casting.people), ["u1", "u7"]);
    }

    #[test]
    fn only_its_own_conversations_if_so_wanted() {
        let steps = json!([
            {"message": {"at": "agent:main:telegram:dm:7"}},
            {"message": {"at": "agent:main:discord:group:1:2"}},
        ]);
        assert_eq!(of(steps.clone(), Whose::Own).unwrap().bots.len(), 1);
        assert_eq!(of(steps, Whose::All).unwrap().bots.len(), 2);
    }

    #[test]
    fn what_cannot_be_is_said() {
        let windows = json!([{"window": {"open": "w1", "at": "agent:main:console:dm:local"}}]);
        assert_eq!(of(windows, Whose::All), Err(NotOfTelegram::Windows));
        let nameless = json!([
            {"message": {"at": "agent:main:telegram:group:-1::u7"}},
            {"message": {"at": "agent:main:telegram:group:-1"}},
        ]);
        assert_eq!(of(nameless, Whose::All), Err(NotOfTelegram::Nameless));
        let thread = json!([{"message": {"at": "agent:main:discord:thread:5"}}]);
        assert_eq!(
            of(thread.clone(), Whose::All),
            Err(NotOfTelegram::ChatType(ChatType::Thread))
        );
        assert_eq!(of(thread, Whose::Own), Err(NotOfTelegram::Elsewhere));
    }
}
