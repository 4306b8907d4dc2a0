//! What a scenario calls places and people, and what Telegram numbers them. Pure.
//!
//! **Invariant:** renaming forth and back is no change; what is not Telegram's keeps its name.

use std::collections::BTreeMap;

use homing_domain::key::{ChatType, SessionKey};
use homing_domain::origin::{AccountName, Origin};

use crate::keys::SOMEONE;
use crate::model::{Expect, PlatformIs, Scenario, Step, Window};

/// A place of one bot, as the scenario calls it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    pub account: AccountName,
    pub chat_type: ChatType,
    pub chat: String,
    pub thread: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    pub chat: i64,
    pub thread: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    places: BTreeMap<Spot, Number>,
    people: BTreeMap<String, i64>,
}

impl Spot {
    fn of(key: &SessionKey) -> Spot {
        Spot {
            account: Origin::from_key(key).account_name(),
            chat_type: key.chat_type,
            chat: key.chat.clone(),
            thread: key.thread.clone(),
        }
    }
}

impl Names {
    pub fn place(&mut self, spot: Spot, number: Number) {
        self.places.insert(spot, number);
    }

    pub fn person(&mut self, name: &str, number: i64) {
        self.people.insert(name.to_owned(), number);
    }

    /// The key of the same conversation on Telegram.
    pub fn forth(&self, key: &SessionKey) -> SessionKey {
        let Some(number) = self.places.get(&Spot::of(key)) else {
            return key.clone();
        };
        SessionKey {
            chat: number.chat.to_string(),
            thread: number.thread.map(|thread| thread.to_string()),
            user: key.user.as_deref().map(|user| self.number_of(user)),
            ..key.clone()
        }
    }

    /// A text with the scenario's keys in place of Telegram's.
    pub fn back(&self, text: &str) -> String {
        let mut texts: Vec<(String, String)> = self
            .places
            .keys()
            .flat_map(|spot| {
                let people = self.people.keys().map(Some).chain([None]);
                people.map(move |user| spot.key(user))
            })
            .map(|key| (self.forth(&key).to_string(), key.to_string()))
            .collect();
        // A chat's key begins those of its topics.
        texts.sort_by_key(|(number, _)| std::cmp::Reverse(number.len()));
        texts
            .into_iter()
            .fold(text.to_owned(), |text, (number, name)| {
                text.replace(&number, &name)
            })
    }

    /// Who writes there; in a private chat that is its person, whoever is named.
    fn writer(&self, at: &SessionKey, user: Option<&str>) -> Option<String> {
        let number = self.places.get(&Spot::of(at))?;
        match at.chat_type {
            ChatType::Dm => Some(number.chat.to_string()),
            _ => Some(self.number_of(user.or(at.user.as_deref()).unwrap_or(SOMEONE))),
        }
    }

    /// Files write what is said in Markdown; Telegram shows it without the marks.
    fn expect_what_is_shown(&self, expect: &mut Expect) {
        let posts = expect.posts.iter_mut().flatten();
        let posts = posts.map(|post| (&post.at, &mut post.has));
        let answers = expect.answers.iter_mut().flatten();
        let answers = answers.map(|answers| (&answers.at, &mut answers.has));
        let texts = posts
            .chain(answers)
            .filter(|(at, _)| self.places.contains_key(&Spot::of(at)));
        let texts = texts.map(|(_, texts)| texts);
        let reply = expect.reply.iter_mut().map(|reply| &mut reply.has);
        texts.chain(reply).flatten().for_each(|text| {
            if text.contains(['`', '*']) {
                let parts = homing_telegram::markup::render(text).into_iter();
                *text = parts.map(|part| part.text).collect();
            }
        });
    }

    fn number_of(&self, person: &str) -> String {
        self.people
            .get(person)
            .map_or_else(|| person.to_owned(), i64::to_string)
    }

    /// The same scenario, told with Telegram's numbers.
    pub fn tell(&self, scenario: &Scenario) -> Scenario {
        let mut told = scenario.clone();
        for step in &mut told.steps {
            match step {
                Step::Message(message) => {
                    message.user = self
                        .writer(&message.at, message.user.as_deref())
                        .or(message.user.take());
                }
                Step::Command(command) => {
                    command.user = self
                        .writer(&command.at, command.user.as_deref())
                        .or(command.user.take());
                }
                Step::Config(config) => config.rename_home(|home| self.forth(home)),
                Step::Expect(expect) => self.expect_what_is_shown(expect),
                _ => {}
            }
            for key in keys_of(step) {
                *key = self.forth(key);
            }
        }
        told
    }
}

impl Spot {
    fn key(&self, user: Option<&String>) -> SessionKey {
        SessionKey {
            profile: self.account.profile.clone(),
            platform: self.account.platform.clone(),
            account: self.account.account.clone(),
            chat_type: self.chat_type,
            chat: self.chat.clone(),
            thread: self.thread.clone(),
            user: user.cloned(),
        }
    }
}

/// Every key that a step names, to be changed.
fn keys_of(step: &mut Step) -> Vec<&mut SessionKey> {
    match step {
        Step::Message(step) => vec![&mut step.at],
        Step::Release(step) => vec![&mut step.at],
        Step::Command(step) => vec![&mut step.at],
        Step::Label(step) => vec![&mut step.at],
        Step::Spawn(step) => vec![&mut step.at],
        Step::Delegate(step) => vec![&mut step.at],
        Step::Tool(step) => vec![&mut step.at],
        Step::Compress(step) => vec![&mut step.at],
        Step::AutoReset(step) => vec![&mut step.at],
        Step::Window(Window::Open { at, .. }) => vec![at],
        Step::Platform(step) => match &mut step.is {
            PlatformIs::Gone(key) => vec![key],
            PlatformIs::Down | PlatformIs::Up | PlatformIs::Slow(_) => Vec::new(),
        },
        Step::Expect(expect) => {
            let turns = expect.turns.iter_mut().flatten().map(|turn| &mut turn.at);
            let posts = expect.posts.iter_mut().flatten().map(|post| &mut post.at);
            let answers = expect
                .answers
                .iter_mut()
                .flatten()
                .map(|answers| &mut answers.at);
            let session = expect.session.iter_mut().map(|session| &mut session.at);
            turns.chain(posts).chain(answers).chain(session).collect()
        }
        Step::Window(Window::Close { .. } | Window::Touch { .. })
        | Step::Output(_)
        | Step::Exit(_)
        | Step::Finish(_)
        | Step::Store(_)
        | Step::Gateway(_)
        | Step::Clock(_)
        | Step::Config(_) => Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(text: &str) -> SessionKey {
        text.parse().unwrap()
    }

    fn names() -> Names {
        let mut names = Names::default();
        let forum = |thread: Option<&str>| {
            Spot::of(&SessionKey {
                thread: thread.map(str::to_owned),
                ..key("agent:main:slack@T1:group:C1")
            })
        };
        names.place(
            forum(None),
            Number {
                chat: -1001,
                thread: None,
            },
        );
        names.place(
            forum(Some("17.1")),
            Number {
                chat: -1001,
                thread: Some(2),
            },
        );
        names.place(
            Spot::of(&key("agent:main:slack@T1:dm:D1")),
            Number {
                chat: 9,
                thread: None,
            },
        );
        names.person("u1", 4);
        names.person("u7", 5);
        names
    }

    #[test]
    fn keys_go_forth_and_back() {
        for (name, number) in [
            (
                "agent:main:slack@T1:group:C1",
                "agent:main:slack@T1:group:-1001",
            ),
            (
                "agent:main:slack@T1:group:C1:17.1",
                "agent:main:slack@T1:group:-1001:2",
            ),
            (
                "agent:main:slack@T1:group:C1::u7",
                "agent:main:slack@T1:group:-1001::5",
            ),
            ("agent:main:slack@T1:dm:D1", "agent:main:slack@T1:dm:9"),
            ("agent:main:console:dm:local", "agent:main:console:dm:local"),
        ] {
            assert_eq!(names().forth(&key(name)).to_string(), number);
            assert_eq!(
                names().back(&format!("seen at {number}, so")),
                format!("seen at {name}, so")
            );
        }
    }

    #[test]
    fn a_scenario_is_told_with_numbers_and_everyone_who_writes_has_one() {
        let scenario = Scenario {
            file: "test.json".into(),
            name: "test".into(),
            steps: serde_json::from_value(json!([
                {"config": {"notifications.home": "agent:main:slack@T1:group:C1"}},
                {"message": {"at": "agent:main:slack@T1:group:C1:17.1"}},
                {"command": {"at": "agent:main:slack@T1:dm:D1", "user": "u7", "text": "/new"}},
                {"message": {"at": "agent:main:console:dm:local", "user": "u7"}},
                {"expect": {"posts": [{"at": "agent:main:slack@T1:group:C1"}]}},
            ]))
            .unwrap(),
        };
        let told = names().tell(&scenario);
        let Step::Config(config) = &told.steps[0] else {
            panic!()
        };
        assert_eq!(
            config.to_json(),
            json!({"notifications.home": "agent:main:slack@T1:group:-1001"})
        );
        let Step::Message(message) = &told.steps[1] else {
            panic!()
        };
        assert_eq!(
            (message.at.to_string().as_str(), message.user.as_deref()),
            ("agent:main:slack@T1:group:-1001:2", Some("4"))
        );
        let Step::Command(command) = &told.steps[2] else {
            panic!()
        };
        assert_eq!(command.user.as_deref(), Some("9"));
        let Step::Message(message) = &told.steps[3] else {
            panic!()
        };
        assert_eq!(message.user.as_deref(), Some("u7"));
        let Step::Expect(expect) = &told.steps[4] else {
            panic!()
        };
        assert_eq!(expect.posts.as_ref().unwrap()[0].at.chat, "-1001");
    }
}
