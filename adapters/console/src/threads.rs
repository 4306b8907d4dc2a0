//! Threads of the console: how they are named, and which conversations a person can write into from here.
//!
//! **Invariant:** a thread is nothing but a name until somebody opens a window on it or writes into it (OWN-10).

use homing_domain::key::{ChatType, KeySettings, SessionKey};
use homing_domain::origin::Origin;

pub(crate) const PLATFORM: &str = "console";
/// The console has one chat; its threads are the conversations.
const CHAT: &str = "local";
/// Characters of a thread's name.
const NAME_LIMIT: usize = 48;

const MOODS: [&str; 24] = [
    "amber", "bold", "brisk", "calm", "clear", "cosy", "early", "fair", "fond", "gentle", "glad",
    "keen", "kind", "light", "lucky", "merry", "neat", "quiet", "quick", "ready", "sunny", "swift",
    "warm", "wise",
];
/// Animals that find their way home.
const HOMERS: [&str; 24] = [
    "albatross",
    "bat",
    "bee",
    "cat",
    "crane",
    "eel",
    "finch",
    "goose",
    "heron",
    "lark",
    "lobster",
    "newt",
    "osprey",
    "otter",
    "pigeon",
    "robin",
    "salmon",
    "seal",
    "stork",
    "swallow",
    "swan",
    "tern",
    "turtle",
    "whale",
];

/// Where a message written in a thread comes from. Without a user: whoever sits at the console is the operator.
pub(crate) fn origin(profile: &str, thread: &str) -> Origin {
    Origin {
        profile: profile.to_owned(),
        platform: PLATFORM.to_owned(),
        account: None,
        chat_type: ChatType::Dm,
        chat: CHAT.to_owned(),
        thread: Some(thread.to_owned()),
        user: None,
        anchor: None,
    }
}

pub(crate) fn key(profile: &str, thread: &str) -> SessionKey {
    origin(profile, thread).key(KeySettings::default())
}

/// The thread of a key that a person can write into from this console.
pub(crate) fn writable<'a>(profile: &str, at: &'a SessionKey) -> Option<&'a str> {
    let thread = at.thread.as_deref()?;
    (key(profile, thread) == *at).then_some(thread)
}

/// What people call a conversation.
pub(crate) fn title(at: &SessionKey) -> String {
    match (&at.thread, at.platform == PLATFORM) {
        (Some(thread), true) => thread.clone(),
        (Some(thread), false) => format!("{} {} / {thread}", at.chat_type, at.chat),
        (None, _) => format!("{} {}", at.chat_type, at.chat),
    }
}

/// A friendly name out of a random number.
pub(crate) fn name(number: u64) -> String {
    let pick = |words: [&'static str; 24], number: u64| words[(number % 24) as usize];
    format!("{}-{}", pick(MOODS, number), pick(HOMERS, number / 24))
}

/// A name that a person typed, as a thread: lower case, digits and dashes. `None` if nothing is left of it.
pub(crate) fn slug(typed: &str) -> Option<String> {
    let kept = |character: char| {
        if character.is_alphanumeric() {
            character.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let dashed: String = typed.trim().chars().take(NAME_LIMIT).map(kept).collect();
    let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    (!words.is_empty()).then(|| words.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_a_conversation_of_its_own_and_reads_back() {
        let at = key("main", "calm-otter");
        assert_eq!(at.to_string(), "agent:main:console:dm:local:calm-otter");
        assert_eq!(writable("main", &at), Some("calm-otter"));
        assert_eq!(writable("other", &at), None);
        assert_eq!(
            writable(
                "main",
                &"agent:main:telegram:group:-100:42".parse().unwrap()
            ),
            None
        );
        assert_eq!(
            writable("main", &"agent:main:console:dm:local".parse().unwrap()),
            None
        );
    }

    #[test]
    fn names_are_made_safe_whatever_is_typed() {
        assert_eq!(
            slug("  Deploy: staging!  ").as_deref(),
            Some("deploy-staging")
        );
        assert_eq!(slug("Häuser").as_deref(), Some("häuser"));
        assert_eq!(slug(" :-/ "), None);
        for number in [0, 23, 24, u64::MAX] {
            assert_eq!(slug(&name(number)), Some(name(number)));
        }
    }
}
